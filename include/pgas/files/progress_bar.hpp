// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <pgas/vocabulary/expects.hpp>
#include <string>

#include <unistd.h>

namespace PGAS_NAMESPACE {

/// A line on a terminal that shows the progress of a transfer:
/// `save(a, path, progress_bar("save", team.rank() == 0))`.
///
///   save  42% [=================>                       ] 1.3 of 3.1 GiB
///
/// It shows the strip of the rank that draws it; the other ranks' strips are about as long. Local. It draws
/// at most ten times per second and ends the line when all is done. It prints nothing if standard error is no
/// terminal.
class progress_bar {
 public:
  /// A bar with a label, on a terminal; only the rank where `speaks` is true draws it.
  explicit progress_bar(std::string label, bool speaks = true, int descriptor = STDERR_FILENO)
      : label_(std::move(label)), speaks_(speaks && ::isatty(descriptor) == 1), descriptor_(descriptor) {}

  /// Shows that `done` of `total` bytes are moved; save and load call it.
  void operator()(std::uint64_t done, std::uint64_t total) {
    if (!speaks_ || total == 0) return;
    auto const now = std::chrono::steady_clock::now();
    if (done < total && now < due_) return;
    due_ = now + std::chrono::milliseconds(100);
    constexpr std::size_t width = 40;
    auto const part = static_cast<double>(done) / static_cast<double>(total);
    auto const filled = static_cast<std::size_t>(part * static_cast<double>(width));
    std::string bar(filled, '=');
    if (filled < width) bar += '>';
    bar.resize(width, ' ');
    constexpr char const* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double scale = 1;
    std::size_t unit = 0;
    while (static_cast<double>(total) / scale >= 1024 && unit + 1 < std::size(units)) {
      scale *= 1024;
      ++unit;
    }
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, "%.1f of %.1f %s", static_cast<double>(done) / scale,
                  static_cast<double>(total) / scale, units[unit]);
    char percent[16];
    std::snprintf(percent, sizeof percent, " %3d%% [", static_cast<int>(part * 100));
    std::string const line =
        "\r" + label_ + percent + bar + "] " + numbers + "\x1b[K" + (done < total ? "" : "\n");
    // A failed write to the terminal must not end a transfer.
    [[maybe_unused]] auto const written = ::write(descriptor_, line.data(), line.size());
  }

 private:
  std::string label_;
  bool speaks_;
  int descriptor_;
  std::chrono::steady_clock::time_point due_{};
};

}  // namespace PGAS_NAMESPACE
