// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>
#include <pgas/detail/backends/traced/event.hpp>
#include <system_error>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Records the operations of one rank in its own memory. It appends them to a file that all ranks have open,
/// when many have come together and at the end.
class recorder {
 public:
  recorder(int file, rank_t rank, std::function<time_point()> now)
      : file_(file), rank_(rank), now_(std::move(now)) {}
  recorder(recorder const&) = delete;
  recorder& operator=(recorder const&) = delete;
  ~recorder() { write(); }

  [[nodiscard]] std::int64_t now() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now_().time_since_epoch()).count();
  }
  void add(traced_event&& e) {
    e.rank = rank_;
    e.end = now();
    // A cache operation often has nothing to do, and takes no time.
    if (e.kind == span_kind::memory && e.end == e.begin) return;
    chunk_.add(e);
    if (chunk_.size() >= much) write();
  }

 private:
  static constexpr std::size_t much = std::size_t{1} << 18U;

  void write() noexcept {
    if (chunk_.is_empty()) return;
    // A single call appends a chunk, so the chunks of several ranks do not mix.
    auto const bytes = chunk_.finished();
    ssize_t written = 0;
    do written = ::write(file_, bytes.data(), bytes.size());
    while (written < 0 && errno == EINTR);
    if (written != static_cast<ssize_t>(bytes.size()) && !std::exchange(complained_, true)) {
      std::fprintf(stderr, "pgas: rank %d: its trace is incomplete, since a write failed: %s\n", rank_,
                   std::generic_category().message(written < 0 ? errno : ENOSPC).c_str());
    }
    chunk_.clear();
  }

  int file_;
  rank_t rank_;
  std::function<time_point()> now_;
  traced_chunk chunk_;
  bool complained_ = false;
};

/// A span of the trace from its construction to its destruction; an empty one records nothing.
class recorded_span {
 public:
  recorded_span() = default;
  recorded_span(std::shared_ptr<recorder> to, traced_event what)
      : to_(std::move(to)), what_(std::move(what)) {
    what_.begin = to_->now();
  }
  recorded_span(recorded_span&&) noexcept = default;
  recorded_span& operator=(recorded_span&& other) noexcept {
    end();
    to_ = std::move(other.to_);
    what_ = std::move(other.what_);
    return *this;
  }
  ~recorded_span() { end(); }

  void end() {
    if (auto const to = std::exchange(to_, nullptr)) to->add(std::move(what_));
  }
  /// Discards the span.
  void forget() noexcept { to_ = nullptr; }

 private:
  std::shared_ptr<recorder> to_;
  traced_event what_;
};

/// A source of spans: a control or a segment of one team.
class span_source {
 public:
  span_source(std::shared_ptr<recorder> to, std::vector<rank_t> world, std::string_view place)
      : to_(std::move(to)), world_(std::move(world)), place_(place) {}

  [[nodiscard]] recorded_span begin(span_kind kind, std::string_view operation, group ranks,
                                    std::size_t bytes) const {
    if (!to_) return {};
    traced_event e{
        .kind = kind, .bytes = bytes, .name = std::string(operation), .place = place_, .ranks = {}};
    for (rank_t r : ranks) {
      // A rank that does not exist is skipped: the operation is about to be refused.
      if (r >= 0 && static_cast<std::size_t>(r) < world_.size())
        e.ranks.push_back(world_[static_cast<std::size_t>(r)]);
    }
    return {to_, std::move(e)};
  }

 private:
  std::shared_ptr<recorder> to_;  ///< null: nothing is recorded
  std::vector<rank_t> world_;     ///< the team's ranks, as numbers in the job
  std::string place_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
