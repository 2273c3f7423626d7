// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <launcher/descriptor.hpp>
#include <string_view>
#include <utility>

namespace pgas::launcher {

/// Passes input from the launcher's terminal on to rank 0.
///
/// Rank 0 cannot read the terminal itself: its process group is not in the foreground, so the kernel would
/// stop it. Rank 0 inherits any other input directly, and this class has no part in it.
class terminal_input {
 public:
  terminal_input(boost::asio::io_context& context, descriptor to_rank)
      : terminal_(context, duplicate(0).release()), rank_(context, to_rank.release()), later_(context) {
    rank_.non_blocking(true);
  }

  void start() {
    // A background process may not read the terminal either. Looks again later, since the user may have
    // brought it back.
    if (::tcgetpgrp(terminal_.native_handle()) != ::getpgrp()) {
      later_.expires_after(std::chrono::milliseconds(500));
      later_.async_wait([this](boost::system::error_code error) {
        if (!error) start();
      });
      return;
    }
    terminal_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this](boost::system::error_code error) {
                           if (error || !rank_.is_open()) return;
                           if (::tcgetpgrp(terminal_.native_handle()) == ::getpgrp()) {
                             auto const n = ::read(terminal_.native_handle(), buffer_.data(), buffer_.size());
                             if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) {
                               stop();
                               return;
                             }
                             if (n > 0) left_ = {buffer_.data(), static_cast<std::size_t>(n)};
                           }
                           pass_on();
                         });
  }

  void stop() {
    boost::system::error_code ignored;
    later_.cancel();
    terminal_.cancel(ignored);
    rank_.close(ignored);
  }

 private:
  void pass_on() {
    while (!left_.empty()) {
      auto const n = ::write(rank_.native_handle(), left_.data(), left_.size());
      if (n >= 0) {
        left_.remove_prefix(static_cast<std::size_t>(n));
      } else if (errno == EAGAIN) {
        rank_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                         [this](boost::system::error_code error) {
                           if (!error) pass_on();
                         });
        return;
      } else if (errno != EINTR) {  // rank 0 no longer reads
        stop();
        return;
      }
    }
    start();
  }

  boost::asio::posix::stream_descriptor terminal_;
  boost::asio::posix::stream_descriptor rank_;
  boost::asio::steady_timer later_;
  std::array<char, 4096> buffer_{};
  std::string_view left_;
};

}  // namespace pgas::launcher
