// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <pgas/concepts/control.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail::scc {

/// One core's knowledge of the others: how many releases of each core happened before its present.
using vector_clock = std::array<std::uint32_t, 48>;

/// Adds the knowledge of `b` to `a`.
inline void join(vector_clock& a, vector_clock const& b) noexcept {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::max(a[i], b[i]);
}

/// The knowledge that releases of one control word left there, by the scopes of the releases.
class word_knowledge {
 public:
  /// The parts that not every acquire takes.
  struct scoped_parts {
    vector_clock shared{};   ///< of releases in scope shared_holder
    vector_clock element{};  ///< of releases in scope element
  };

  word_knowledge() = default;
  word_knowledge(word_knowledge const& other)
      : all(other.all), scoped_(other.scoped_ ? std::make_unique<scoped_parts>(*other.scoped_) : nullptr) {}
  word_knowledge& operator=(word_knowledge const& other) {
    if (this == &other) return *this;
    all = other.all;
    if (!other.scoped_) {
      scoped_.reset();
    } else if (scoped_) {
      *scoped_ = *other.scoped_;
    } else {
      scoped_ = std::make_unique<scoped_parts>(*other.scoped_);
    }
    return *this;
  }
  ~word_knowledge() = default;

  vector_clock all{};  ///< of releases in scope all

  /// Null until a release has another scope than `all`: few words have such parts.
  [[nodiscard]] scoped_parts const* scoped() const noexcept { return scoped_.get(); }
  [[nodiscard]] scoped_parts& make_scoped() {
    if (!scoped_) scoped_ = std::make_unique<scoped_parts>();
    return *scoped_;
  }

 private:
  std::unique_ptr<scoped_parts> scoped_;
};

/// The latest values of a control word, each with the knowledge that its releases left there, for the oracle.
///
/// A core that waits may be slow to look, and the word may have gone on meanwhile. A faster core would have
/// seen an earlier value. Only the knowledge beside that value is promised to the program, so a wait takes
/// the earliest value that ends it.
class word_history {
 public:
  struct told {
    word value = 0;
    std::uint64_t since = 0;     ///< the number of the access that stored it, among those of all cores
    word_knowledge knowledge{};  ///< of all releases to the word so far
  };

  /// The word's present value.
  [[nodiscard]] told const& latest() const noexcept { return all_[(stored_ - 1) % kept]; }

  /// The word has got this value. Its knowledge is that of the value before, until the caller adds to it.
  told& store(word value, std::uint64_t since) {
    told const& before = latest();
    told& now = all_[stored_++ % kept];
    now.value = value;
    now.since = since;
    now.knowledge = before.knowledge;
    return now;
  }

  /// The earliest value that satisfies the predicate, among those that the word had after access `after`. The
  /// present value satisfies it.
  template <class Predicate>
  [[nodiscard]] told const& earliest(std::uint64_t after, Predicate&& predicate) const {
    for (std::uint64_t i = stored_ > kept ? stored_ - kept : 0; i + 1 < stored_; ++i) {
      told const& one = all_[i % kept];
      if (all_[(i + 1) % kept].since > after && predicate(one.value)) return one;
    }
    return latest();
  }

 private:
  static constexpr std::uint64_t kept = 8;  ///< with more, few waits would find an earlier value

  std::array<told, kept> all_{};
  std::uint64_t stored_ = 1;  ///< the zero that each word begins with, too
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::scc
