// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstring>
#include <exception>
#include <pgas/concepts/access_kind.hpp>
#include <pgas/detail/types/anything.hpp>
#include <pgas/detail/window/state.hpp>
#include <span>
#include <type_traits>
#include <vector>

namespace PGAS_NAMESPACE {

namespace detail {

/// True if a hint is a mode of stage. write_only: the program overwrites all of the piece. read_write: it
/// changes some of the piece; changed bytes are written back, others are not touched.
template <hints Mode>
inline constexpr bool is_stage_mode =
    Mode == read_only.value || Mode == write_only.value || Mode == read_write.value;

/// Stands for a piece whose owner loads or stores its rows, one by one.
struct by_pieces_t {};

/// True if a piece is in place, and the checker of the segment learns of its accesses.
template <class Window>
concept recorded_in_place =
    !Window::is_contiguous && recording_segment<typename Window::state_type::segment_type>;

/// A piece of the own part as a real span. It is in place if the part is plain memory, or if a checker relies
/// on the program to report its accesses; else it is a copy, which the destructor writes back.
template <hints Mode, class Window>
class staged {
 public:
  static_assert(is_stage_mode<Mode>,
                "stage: its mode is pgas::read_only, pgas::write_only or pgas::read_write");
  static constexpr bool is_update = Mode == read_write.value;
  using element =
      std::conditional_t<Mode.read_only, typename Window::value_type const, typename Window::value_type>;

  // Inlined, like its callers, so that a report of the emulated chip names the program's line.
  [[gnu::always_inline]] staged(Window const& w, std::size_t first, std::size_t count) : first_(first) {
    if constexpr (Window::is_contiguous) {
      span_ = w.local().subspan(first, count);
    } else if constexpr (recorded_in_place<Window>) {
      take_in_place(w, count);
      if constexpr (!Mode.write_only)
        record_load(0, count * sizeof(value_type), {1, count * sizeof(value_type)});
      if constexpr (is_update) before_.assign(span_.begin(), span_.end());
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
  /// The same, but it loads and stores nothing: the caller does that, piece by piece.
  staged(Window const& w, std::size_t first, std::size_t count, by_pieces_t /*how*/)
    requires((Mode.read_only && !Window::is_contiguous) || (Mode.write_only && recorded_in_place<Window>))
      : first_(first), is_by_pieces_(true) {
    if constexpr (recorded_in_place<Window>) {
      take_in_place(w, count);
    } else {
      state_ = w.shared_state();
      copy_.resize(count);
      span_ = copy_;
    }
  }
  /// Loads a piece. `counts`: the program reads it; otherwise it may or may not.
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
  /// Reports loads of rows to the checker, from byte `first` of the piece on, before the program reads.
  [[gnu::always_inline]] void record_load(std::size_t first, std::size_t pitch, row_shape rows)
    requires recorded_in_place<Window>
  {
    if (rows.rows == 0 || rows.row_bytes == 0) return;
    [[maybe_unused]] auto const as = copying();
    state_->segment.record_load(at(first).offset, pitch, rows);
  }
  /// Reports stores to rows, after the program has stored.
  void record_store(std::size_t first, std::size_t pitch, row_shape rows) noexcept
    requires recorded_in_place<Window>
  {
    if (rows.rows == 0 || rows.row_bytes == 0) return;
    try {
      state_->segment.record_store(at(first).offset, pitch, rows);
    } catch (...) {
      state_->team->deferred->record(std::current_exception());
    }
  }
  staged(staged const&) = delete;
  staged& operator=(staged const&) = delete;
  ~staged() {
    if constexpr (!Window::is_contiguous && !Mode.read_only) {
      if (!is_by_pieces_) write_back();
    }
  }

  [[nodiscard]] std::span<element> span() const noexcept { return span_; }
  [[nodiscard]] std::size_t size() const noexcept { return span_.size(); }
  [[nodiscard]] element* data() const noexcept { return span_.data(); }
  [[nodiscard]] element* begin() const noexcept { return span_.data(); }
  [[nodiscard]] element* end() const noexcept { return span_.data() + span_.size(); }
  [[nodiscard]] element& operator[](std::size_t i) const noexcept { return span_[i]; }

  /// Does not compile: says how an element is named.
  template <class... Indices>
  auto operator()(Indices const&...) const {
    static_assert(always_false<Indices...>, "stage: write `own[i]` for an element of a window's own part");
  }

 private:
  using value_type = typename Window::value_type;
  using segment_type = typename Window::state_type::segment_type;

  /// A span to be read counts as read by a checker. In a span to be changed, the program need not read every
  /// element.
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

  void take_in_place(Window const& w, std::size_t count) {
    state_ = w.shared_state();
    auto* const memory = reinterpret_cast<value_type*>(state_->segment.own_memory(at(0).offset));
    span_ = std::span(memory, count);
  }

  /// Writes a part of a copy back, or reports that it was stored in place.
  void store(std::size_t byte, bytes_in what) {
    if constexpr (recorded_in_place<Window>) {
      state_->segment.record_store(at(byte).offset, what.size(), {1, what.size()});
    } else {
      Window::state_type::coherence_type::store(state_->segment, at(byte), what);
    }
  }
  void write_back() noexcept {
    try {
      auto const now = std::as_bytes(span_);
      if constexpr (Mode.write_only) {
        if (!now.empty()) store(0, now);
      } else if constexpr (is_update) {
        auto const before = std::as_bytes(std::span(before_));
        // Other bytes of an element stay untouched. A checker counts whole elements, as the program stores
        // them.
        constexpr std::size_t unit = recorded_in_place<Window> ? sizeof(value_type) : 1;
        auto const changed = [&](std::size_t i) { return std::memcmp(&now[i], &before[i], unit) != 0; };
        for (std::size_t i = 0; i < now.size();) {
          std::size_t end = i;
          while (end < now.size() && changed(end)) end += unit;
          if (end != i) store(i, now.subspan(i, end - i));
          i = end == i ? i + unit : end;
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
  bool is_by_pieces_ = false;
};

template <class Window>
concept stageable = requires { typename Window::state_type; };
template <class Window>
consteval void refuse_stage() {
  static_assert(
      always_false<Window>,
      "stage: write `auto const own = pgas::stage(array, pgas::read_only);` with an array or a window, "
      "and pgas::read_only, pgas::read_write or pgas::write_only");
}

}  // namespace detail

/// Gives elements [first, first + count) of this rank's own part as a real span, on every backend: `auto in =
/// stage(w, pgas::read_only);`. Local.
///
/// The mode says how the span is used: read_only; write_only, which overwrites all of it; read_write, which
/// changes some of it and writes back the changed bytes alone. Free if memory is plain; else up to two
/// copies.
template <class Window, hints Mode>
[[nodiscard, gnu::always_inline]] inline auto stage(Window const& w, std::size_t first, std::size_t count,
                                                    hint<Mode>, detail::caller by = detail::here()) {
  if constexpr (detail::stageable<Window>) {
    PGAS_EXPECTS(
        light, detail::fits(first, count, w.size()),
        detail::throw_out_of_range(w.state().job_rank(), {"stage", by}, w.rank(), first, count, w.size()));
    return detail::staged<Mode, Window>(w, first, count);
  } else {
    detail::refuse_stage<Window>();
  }
}
template <class Window, hints Mode>
[[nodiscard, gnu::always_inline]] inline auto stage(Window const& w, hint<Mode> mode) {
  if constexpr (detail::stageable<Window>) {
    return stage(w, 0, w.size(), mode);
  } else {
    detail::refuse_stage<Window>();
  }
}

/// Does not compile: says how memory is staged.
template <class None = void>
auto stage(detail::anything = {}, detail::anything = {}, detail::anything = {}, detail::anything = {}) {
  static_assert(detail::always_false<None>,
                "stage: write `auto const own = pgas::stage(array, pgas::read_only);` with an array or a "
                "window, and pgas::read_only, pgas::read_write or pgas::write_only");
}

}  // namespace PGAS_NAMESPACE
