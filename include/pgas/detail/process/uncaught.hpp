// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <unistd.h>

#include <sys/syscall.h>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <pgas/vocabulary/error.hpp>

namespace PGAS_NAMESPACE::detail {

/// Ends a program that catches no pgas::error with the error's sentence in one line, and with exit code 1.
///
/// std::terminate would print the name of a type and dump core, though a core does not help there. The
/// handler is installed when the program first calls run, and only in place of the standard library's own;
/// one that the program sets, before or after, stays. Other exceptions go to the previous handler. Within the
/// body of a rank, whose errors run catches, an error has left a function that must not throw: then the
/// previous handler also ends the process, after the message.
class uncaught_errors {
 public:
  /// Installs the handler, once.
  static void report() noexcept {
    if (std::get_terminate() == standard()) std::set_terminate(&end);
  }
  /// Makes an uncaught error end other processes, too: MPI's.
  static void end_all_by(void (*how)() noexcept) noexcept { end_all = how; }

  /// This thread runs the body of a rank, or several fibers do.
  class in_body {
   public:
    in_body() noexcept { ++bodies; }
    in_body(in_body const&) = delete;
    in_body& operator=(in_body const&) = delete;
    ~in_body() { --bodies; }
  };

 private:
  /// The standard library's handler.
  static std::terminate_handler standard() noexcept {
#if defined(__GLIBCXX__) && _GLIBCXX_HOSTED
    return &__gnu_cxx::__verbose_terminate_handler;
#else
    return at_start;
#endif
  }

  [[noreturn]] static void end() noexcept {
    if (auto const thrown = std::current_exception()) {
      try {
        std::rethrow_exception(thrown);
      } catch (error const& e) {
        say(e);
      } catch (...) {  // the previous handler names it
      }
    }
    standard()();
    std::abort();
  }

  static void say(error const& e) noexcept {
    if (bodies != 0) {
      std::fprintf(stderr,
                   "pgas: %s; the error left a function that must not throw, such as a destructor; catch it "
                   "there\n",
                   e.description().c_str());
      return;
    }
    std::fflush(stdout);  // what the program has said comes before
    std::fprintf(stderr, "pgas: %s\n", e.description().c_str());
    if (end_all != nullptr) end_all();
    if (::syscall(SYS_gettid) == ::getpid()) std::exit(1);  // as if main returned 1: streams are written
    std::fflush(nullptr);
    std::_Exit(1);
  }

  static inline std::terminate_handler const at_start = std::get_terminate();
  static inline void (*end_all)() noexcept = nullptr;
  static inline thread_local int bodies = 0;
};

}  // namespace PGAS_NAMESPACE::detail
