// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <launcher/descriptor.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pgas::launcher {

/// Writes the ranks' output to one of the launcher's own outputs, which may be slow or close.
///
/// It never blocks: it waits for room, and writes no more than fits. It leaves the mode of the open file as
/// it is, since other processes share the file, such as the user's shell.
class sink {
 public:
  /// `broken(errno)` is called once, when the output no longer takes bytes.
  sink(boost::asio::io_context& context, int fd, std::function<void(int)> broken)
      : output_(context, duplicate(fd).release()), broken_(std::move(broken)) {}

  /// Queues text. `writer` identifies its source. If another source has left a line open, the text begins a
  /// new line.
  void write(std::string_view text, void const* writer) {
    if (dead_ || text.empty()) return;
    if (writer != writer_ && !line_ended_) queue_ += '\n';
    queue_ += text;
    writer_ = writer;
    line_ended_ = text.back() == '\n';
    flush();
  }

  /// True while streams should not read: otherwise the launcher would grow while its reader is slow.
  [[nodiscard]] bool full() const noexcept { return queue_.size() - at_ >= enough; }
  [[nodiscard]] bool empty() const noexcept { return queue_.size() == at_; }
  [[nodiscard]] std::uint64_t written() const noexcept { return written_; }

  /// Calls `resume` once, when there is room again.
  void when_room(std::function<void()> resume) { parked_.push_back(std::move(resume)); }

  /// Calls `drained` whenever the last byte has been written.
  void when_empty(std::function<void()> drained) { drained_ = std::move(drained); }

 private:
  static constexpr std::size_t enough = 256 * 1024;
  static constexpr std::size_t piece = 4096;  // a pipe that is ready takes this many without blocking
  static constexpr int pieces_at_once = 64;   // then signals and deaths get their turn

  [[nodiscard]] bool ready() {
    ::pollfd descriptor{.fd = output_.native_handle(), .events = POLLOUT, .revents = 0};
    return ::poll(&descriptor, 1, 0) == 1;
  }

  void flush() {
    if (waiting_) return;
    for (int i = 0; i < pieces_at_once && !empty() && ready(); ++i) {
      auto const n =
          ::write(output_.native_handle(), queue_.data() + at_, std::min(piece, queue_.size() - at_));
      if (n < 0) {
        if (errno == EINTR) continue;
        if (errno == EAGAIN) break;
        give_up(errno);
        return;
      }
      at_ += static_cast<std::size_t>(n);
      written_ += static_cast<std::uint64_t>(n);
    }
    if (empty()) {
      queue_.clear();
      at_ = 0;
    } else {
      if (at_ > queue_.size() / 2) queue_.erase(0, std::exchange(at_, 0));
      waiting_ = true;
      // A file is always ready and cannot be waited for. Its handler comes with an error, at once.
      output_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                         [this](boost::system::error_code) {
                           waiting_ = false;
                           flush();
                           if (!full()) resume();
                           if (empty() && drained_) drained_();
                         });
    }
  }

  void resume() {
    for (auto const& go : std::exchange(parked_, {})) go();
  }

  void give_up(int why) {
    dead_ = true;
    queue_.clear();
    at_ = 0;
    resume();
    broken_(why);
    if (drained_) drained_();
  }

  boost::asio::posix::stream_descriptor output_;
  std::function<void(int)> broken_;
  std::function<void()> drained_;
  std::vector<std::function<void()>> parked_;
  std::string queue_;
  std::size_t at_ = 0;  ///< the queue is written up to here
  std::uint64_t written_ = 0;
  void const* writer_ = nullptr;
  bool line_ended_ = true;
  bool waiting_ = false;
  bool dead_ = false;
};

/// One rank's standard output or error. It reads the rank's pipe and passes whole lines on.
class stream {
 public:
  stream(boost::asio::io_context& context, descriptor pipe, sink& to, std::string tag,
         std::function<void()> ended)
      : pipe_(context, pipe.release()), sink_(to), tag_(std::move(tag)), ended_(std::move(ended)) {
    pipe_.non_blocking(true);
  }

  /// Reads whenever there is input and the sink has room.
  void start() {
    if (!open() || waiting_) return;
    if (sink_.full()) {
      waiting_ = true;
      sink_.when_room([this] {
        waiting_ = false;
        start();
      });
      return;
    }
    waiting_ = true;
    pipe_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [this](boost::system::error_code error) {
                       waiting_ = false;
                       if (error || !open()) return;
                       if (!sink_.full())
                         read_available(1);  // another stream may have filled the sink meanwhile
                       start();
                     });
  }

  /// Passes on the bytes that are in the pipe now, so that a rank's last output precedes the report of its
  /// end.
  void catch_up() { read_available(2); }

  /// Ends this stream although a process may still write to it.
  void close() {
    if (!open()) return;
    boost::system::error_code ignored;
    pipe_.close(ignored);
    pass_on_rest();
    ended_();
  }

  [[nodiscard]] bool open() const noexcept { return pipe_.is_open(); }

 private:
  static constexpr std::size_t longest_line = 1024 * 1024;  // a longer line is passed on in pieces

  void read_available(int times) {
    static std::array<char, 64 * 1024> buffer;  // as large as a pipe
    while (open() && times > 0) {
      auto const n = ::read(pipe_.native_handle(), buffer.data(), buffer.size());
      if (n > 0) {
        take({buffer.data(), static_cast<std::size_t>(n)});
        --times;
      } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
        close();
      } else if (errno == EAGAIN) {
        return;
      }
    }
  }

  void take(std::string_view text) {
    auto const last = text.rfind('\n');
    if (last == text.npos) {
      line_ += text;
      if (line_.size() >= longest_line) pass_on_rest();
      return;
    }
    line_ += text.substr(0, last + 1);
    if (tag_.empty()) {
      sink_.write(line_, this);
    } else {
      std::string tagged;
      for (std::size_t begin = 0; begin < line_.size();) {
        auto const end = line_.find('\n', begin) + 1;
        if (!std::exchange(inside_line_, false)) tagged += tag_;
        tagged.append(line_, begin, end - begin);
        begin = end;
      }
      sink_.write(tagged, this);
    }
    inside_line_ = false;
    line_ = text.substr(last + 1);
  }

  void pass_on_rest() {
    if (line_.empty()) return;
    sink_.write(std::exchange(inside_line_, true) ? line_ : tag_ + line_, this);
    line_.clear();
  }

  boost::asio::posix::stream_descriptor pipe_;
  sink& sink_;
  std::string tag_;
  std::function<void()> ended_;
  std::string line_;          ///< a line that has begun and not yet ended
  bool inside_line_ = false;  ///< the line's beginning has already been passed on
  bool waiting_ = false;
};

}  // namespace pgas::launcher
