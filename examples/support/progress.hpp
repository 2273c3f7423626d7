// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

namespace example {

/// A progress bar on standard error, for one thread of one rank:
///
///   heat  42% [==========>               ]  1234 it/s  0:12 left  residual 1.2e-04
///
/// On a terminal it redraws its line at most ten times a second. On other outputs (a log, a pipe) it prints
/// one line at the end and nothing before. The destructor ends the line, also during unwinding.
class progress {
 public:
  /// `total` is the number of iterations, 0 if unknown. `speaks` is false on all ranks but one.
  progress(std::string label, std::size_t total, bool speaks = true, int descriptor = STDERR_FILENO)
      : label_(std::move(label)),
        total_(total),
        speaks_(speaks),
        terminal_(speaks && ::isatty(descriptor) == 1),
        descriptor_(descriptor) {}
  progress(progress const&) = delete;
  progress& operator=(progress const&) = delete;
  ~progress() { finish(); }

  /// Reports that `done` iterations are complete. The text, with its value if there is one, ends the line.
  /// Costs a clock reading, and a write once a tenth of a second has passed.
  void update(std::size_t done, std::string_view text = {}, std::optional<double> value = std::nullopt) {
    if (!speaks_) return;
    done_ = done;
    text_.assign(text);  // no allocation once it has been as long before
    value_ = value;      // formatted when drawn
    if (!terminal_) return;
    auto const now = clock::now();
    if (now < due_) return;
    due_ = now + interval;
    draw(now);
  }

  /// Prints the last state and ends the line, so that the program can print after it. Later calls do nothing.
  void finish() noexcept {
    if (!std::exchange(speaks_, false)) return;
    try {
      auto const now = clock::now();
      if (terminal_) {
        finished_ = true;
        draw(now);
        put("\n");
      } else {
        put(label_ + ": " + std::to_string(done_) + (total_ ? " of " + std::to_string(total_) : "") +
            " iterations in " + time(seconds(now)) + ", " + rate(now) + tail(", ") + "\n");
      }
    } catch (...) {
      // A bar without memory must not end the computation.
    }
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds interval{100};

  [[nodiscard]] double seconds(clock::time_point now) const {
    return std::chrono::duration<double>(now - start_).count();
  }

  static std::string format(char const* form, double value) {
    char text[48];
    std::snprintf(text, sizeof text, form, value);
    return text;
  }

  static std::string time(double seconds) {
    auto const all = static_cast<unsigned long long>(std::clamp(seconds, 0.0, 3.6e9) + 0.5);
    char text[48];
    if (all < 3600)
      std::snprintf(text, sizeof text, "%llu:%02llu", all / 60, all % 60);
    else
      std::snprintf(text, sizeof text, "%llu:%02llu:%02llu", all / 3600, all / 60 % 60, all % 60);
    return text;
  }

  [[nodiscard]] double per_second(clock::time_point now) const {
    double const passed = seconds(now);
    return passed > 0 ? static_cast<double>(done_) / passed : 0;
  }
  [[nodiscard]] std::string rate(clock::time_point now) const {
    double const value = per_second(now);
    return format(value < 100 ? "%.3g it/s" : "%.0f it/s", value);
  }

  [[nodiscard]] std::string tail(char const* separator) const {
    std::string result;
    if (!text_.empty()) result = separator + text_;
    if (value_) {
      bool const whole = std::abs(*value_) < 1e15 && *value_ == std::floor(*value_);  // a population
      result += (text_.empty() ? separator : " ") + format(whole ? "%.0f" : "%.2e", *value_);
    }
    return result;
  }

  void draw(clock::time_point now) {
    double const part =
        total_ ? std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_)) : 0.0;
    std::string line = label_;
    line += total_ ? format(" %3.0f%%", std::floor(part * 100)) : " " + std::to_string(done_);
    std::string right = "  " + rate(now);
    if (finished_)
      right += "  " + time(seconds(now)) + " in all";
    else if (total_ && per_second(now) > 0)
      right += "  " + time(static_cast<double>(total_ - std::min(done_, total_)) / per_second(now)) + " left";
    right += tail("  ");

    // The last column stays free: a cursor there would wrap on some terminals.
    std::size_t const room = columns() - 1;
    std::size_t const taken = line.size() + right.size() + 3;
    if (total_ && taken + 10 <= room) {
      std::size_t const width = std::min<std::size_t>(room - taken, 40);
      auto const filled = static_cast<std::size_t>(part * static_cast<double>(width));
      std::string bar(width, ' ');
      std::fill_n(bar.begin(), filled, '=');
      if (filled < width) bar[filled] = '>';
      line += " [" + bar + "]";
    }
    line += right;
    if (line.size() > room) line.resize(room);
    std::size_t const length = line.size();
    if (length < drawn_) line.append(std::min(drawn_, room) - std::min(length, room), ' ');
    drawn_ = length;
    put("\r" + line);
  }

  [[nodiscard]] std::size_t columns() const noexcept {
    winsize size{};
    bool const known = ::ioctl(descriptor_, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20;
    return known ? size.ws_col : 80;
  }

  void put(std::string_view text) const noexcept {
    // One call, so that lines of other ranks do not interrupt it. A failure cannot be reported anywhere.
    [[maybe_unused]] auto const written = ::write(descriptor_, text.data(), text.size());
  }

  std::string label_;
  std::size_t total_;
  bool speaks_;
  bool terminal_;
  int descriptor_;
  bool finished_ = false;
  std::size_t done_ = 0;
  std::string text_;
  std::optional<double> value_;
  std::size_t drawn_ = 0;  // length of the line on the screen
  clock::time_point start_ = clock::now();
  clock::time_point due_ = start_ + interval;  // a rate over a shorter time means nothing
};

}  // namespace example
