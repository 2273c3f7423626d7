// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <exception>
#include <pgas/concepts/access_kind.hpp>
#include <pgas/window/state.hpp>
#include <span>
#include <type_traits>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS {

namespace detail {

/// True if a hint is a mode of stage. write_only: the program overwrites all of the piece. read_write: it
/// changes some of the piece; changed bytes are written back, others are not touched.
template <hints Mode>
inline constexpr bool is_stage_mode =
    Mode == read_only.value || Mode == write_only.value || Mode == read_write.value;

/// Stands for a copy that is made piece by piece.
struct by_pieces_t {};

/// A piece of the own part as a real span. It is in place if the part is plain memory, else a copy, which the
/// destructor writes back.
template <hints Mode, class Window>
class staged {
 public:
  static_assert(is_stage_mode<Mode>,
                "stage: its mode is pgas::read_only, pgas::write_only or pgas::read_write");
  static constexpr bool is_update = Mode == read_write.value;
  using element =
      std::conditional_t<Mode.read_only, typename Window::value_type const, typename Window::value_type>;

  // Inlined, as its callers are, so that a report of the emulated chip names the program's line.
  [[gnu::always_inline]] staged(Window const& w, std::size_t first, std::size_t count) : first_(first) {
    if constexpr (Window::is_contiguous) {
      span_ = w.local().subspan(first, count);
    } else {
      state_ = w.shared_state();
      copy_.resize(count);
      if (count != 0 && !Mode.write_only) {
        [[maybe_unused]] auto const as = copying();
        Window::state_type::coherence_type::load(state_->segment, at(0),
                                                 std::as_writable_bytes(std::span(copy_)));
      }
      if constexpr (is_update) before_ = copy_;
      span_ = copy_;
    }
  }
  /// The same, and loads nothing: the caller loads all of it, piece by piece.
  staged(Window const& w, std::size_t first, std::size_t count, by_pieces_t /*how*/)
    requires(Mode.read_only && !Window::is_contiguous)
      : state_(w.shared_state()), first_(first), copy_(count) {
    span_ = copy_;
  }
  /// Loads a piece. `counts`: the program reads it; else it may look at it, or not.
  [[gnu::always_inline]] void load(std::size_t first, std::size_t count, bool counts) {
    if (count == 0) return;
    bytes_out const into = std::as_writable_bytes(std::span(copy_).subspan(first, count));
    location const from = at(first * sizeof(value_type));
    if (counts) {
      [[maybe_unused]] auto const as = copying();
      Window::state_type::coherence_type::load(state_->segment, from, into);
    } else {
      [[maybe_unused]] auto const as = excused();
      Window::state_type::coherence_type::load(state_->segment, from, into);
    }
  }
  staged(staged const&) = delete;
  staged& operator=(staged const&) = delete;
  ~staged() {
    if constexpr (!Window::is_contiguous) write_back();
  }

  [[nodiscard]] std::span<element> span() const noexcept { return span_; }
  [[nodiscard]] std::size_t size() const noexcept { return span_.size(); }
  [[nodiscard]] element* data() const noexcept { return span_.data(); }
  [[nodiscard]] element* begin() const noexcept { return span_.data(); }
  [[nodiscard]] element* end() const noexcept { return span_.data() + span_.size(); }
  [[nodiscard]] element& operator[](std::size_t i) const noexcept { return span_[i]; }

 private:
  using value_type = typename Window::value_type;
  using segment_type = typename Window::state_type::segment_type;

  /// Tells a checker of the segment that a span to read counts as read. Of one to change, the program need
  /// not look at every element.
  [[nodiscard]] auto copying() const noexcept {
    if constexpr (Mode.read_only && access_checked_segment<segment_type>) {
      return state_->segment.access_as(access_kind::stage);
    } else {
      return excused();
    }
  }
  [[nodiscard]] auto excused() const noexcept {
    if constexpr (race_checked_segment<segment_type>) {
      return state_->segment.copying();
    } else {
      return nullptr;
    }
  }

  [[nodiscard]] location at(std::size_t byte) const noexcept {
    return {state_->segment.rank(), first_ * sizeof(value_type) + byte};
  }

  void write_back() noexcept {
    using Coherence = typename Window::state_type::coherence_type;
    try {
      auto const now = std::as_bytes(std::span(copy_));
      if constexpr (Mode.write_only) {
        if (!now.empty()) Coherence::store(state_->segment, at(0), now);
      } else if constexpr (is_update) {
        auto const before = std::as_bytes(std::span(before_));
        for (std::size_t i = 0; i < now.size();) {
          if (now[i] == before[i]) {
            ++i;
            continue;
          }
          std::size_t end = i + 1;
          while (end < now.size() && now[end] != before[end]) ++end;
          Coherence::store(state_->segment, at(i), now.subspan(i, end - i));
          i = end;
        }
      }
    } catch (...) {
      state_->team->deferred->record(std::current_exception());
    }
  }

  /// Keeps the part's memory until the copy has gone back there, also if the window is moved or swapped
  /// meanwhile.
  local_shared_ptr<typename Window::state_type> state_;
  std::size_t first_;
  std::span<element> span_;
  std::vector<value_type> copy_;
  std::vector<value_type> before_;
};

}  // namespace detail

/// Gives elements [first, first + count) of this rank's own part as a real span, on every backend: `auto in =
/// stage(w, pgas::read_only);`. Local.
///
/// The mode says how the span is used: read_only; write_only, which overwrites all of it; read_write, which
/// changes some of it and writes back the changed bytes alone. Free if memory is plain; else up to two
/// copies.
template <class Window, hints Mode>
[[nodiscard, gnu::always_inline]] inline auto stage(Window const& w, std::size_t first, std::size_t count,
                                                    hint<Mode>) {
  PGAS_EXPECTS(light, detail::fits(first, count, w.size()),
               detail::throw_out_of_range(w.state().job_rank(), "stage", w.rank(), first, count, w.size()));
  return detail::staged<Mode, Window>(w, first, count);
}
template <class Window, hints Mode>
[[nodiscard, gnu::always_inline]] inline auto stage(Window const& w, hint<Mode> mode) {
  return stage(w, 0, w.size(), mode);
}

}  // namespace pgas::inline PGAS_ASSERTIONS
