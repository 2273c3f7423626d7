// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <pgas/detail/process/setting.hpp>
#include <pgas/detail/types/function_ref.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// The bytes of a rank's stack on backends whose ranks are fibers, if the variable PGAS_STACK_BYTES chooses
/// them; else `usual`.
[[nodiscard]] inline std::size_t stack_bytes_or(std::size_t usual) {
  auto const given = setting::variable("PGAS_STACK_BYTES");
  return given.given() ? given.whole("a number of bytes", std::size_t{32} << 10U, std::size_t{1} << 30U)
                       : usual;
}

/// While it lives, a fiber of this thread that overflows its stack ends the process with a message that names
/// the rank. Without it, the process would end by a SIGSEGV without a message.
///
/// The handler of SIGSEGV has a stack of its own. It writes the message, and restores the previous action.
/// The access then ends the process, or does what the program has chosen.
class stack_watch {
 public:
  /// `rank_at` returns the rank below whose stack an address lies, or -1; it outlives the watch. It may call
  /// nothing that is unsafe in a handler of signals. `bytes` is the size of a stack.
  stack_watch(function_ref<rank_t(std::byte const*)> rank_at, std::size_t bytes)
      : rank_at_(rank_at), bytes_(bytes), outer_(std::exchange(of_thread(), this)) {
    ::stack_t now{};
    ::sigaltstack(nullptr, &now);
    if ((now.ss_flags & SS_DISABLE) != 0) {
      room_.resize(std::size_t{64} << 10U);
      ::stack_t mine{};
      mine.ss_sp = room_.data();
      mine.ss_size = room_.size();
      ::sigaltstack(&mine, nullptr);
    }
    struct ::sigaction action {};
    action.sa_sigaction = &handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGSEGV, &action, &before_);
  }
  stack_watch(stack_watch const&) = delete;
  stack_watch& operator=(stack_watch const&) = delete;
  ~stack_watch() {
    ::sigaction(SIGSEGV, &before_, nullptr);
    if (!room_.empty()) {
      ::stack_t none{};
      none.ss_flags = SS_DISABLE;
      ::sigaltstack(&none, nullptr);
    }
    of_thread() = outer_;
  }

  /// Writes the message.
  static void tell(rank_t rank, std::size_t bytes) noexcept {
    std::array<char, 320> text{};
    char* end = text.data();
    auto const room = [&] { return static_cast<std::size_t>(text.data() + text.size() - end); };
    auto const add = [&](std::string_view piece) { end += piece.copy(end, room()); };
    auto const add_number = [&](auto number) {
      end = std::to_chars(end, text.data() + text.size(), number).ptr;
    };
    add("pgas: rank ");
    add_number(rank);
    add(" has left its stack of ");
    add_number(bytes);
    add(" bytes: its local variables are too large, or a recursion is too deep; keep large data in a window "
        "or a std::vector, or set PGAS_STACK_BYTES to more bytes\n");
    static_cast<void>(!::write(STDERR_FILENO, text.data(), static_cast<std::size_t>(end - text.data())));
  }

 private:
  static stack_watch*& of_thread() noexcept {
    static constinit thread_local stack_watch* now = nullptr;
    return now;
  }
  static void handle(int /*signal*/, ::siginfo_t* info, void* /*context*/) noexcept {
    stack_watch const* const mine = of_thread();
    struct ::sigaction standard {};
    standard.sa_handler = SIG_DFL;
    if (mine != nullptr) {
      rank_t const rank = mine->rank_at_(static_cast<std::byte const*>(info->si_addr));
      if (rank >= 0) tell(rank, mine->bytes_);
    }
    ::sigaction(SIGSEGV, mine != nullptr ? &mine->before_ : &standard, nullptr);
  }

  function_ref<rank_t(std::byte const*)> rank_at_;
  std::size_t bytes_;
  stack_watch* outer_;
  std::vector<std::byte> room_;
  struct ::sigaction before_ {};
};

}  // namespace PGAS_NAMESPACE::detail
