// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <exception>
#include <pgas/window.hpp>
#include <type_traits>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS {

/// What a staged piece of the own part is for.
struct read {};    ///< it is looked at
struct write {};   ///< all of it is overwritten
struct update {};  ///< some of it is changed: changed bytes are written back, others are not touched

namespace detail {

/// A piece of the own part as a real span: in place where it is plain memory, else a copy that goes
/// back when the guard goes.
template <class Mode, class Window>
class staged {
 public:
  using element =
      std::conditional_t<std::is_same_v<Mode, read>, typename Window::value_type const, typename Window::value_type>;

  staged(Window const& w, std::size_t first, std::size_t count) : state_(&w.state()), first_(first) {
    if constexpr (Window::is_contiguous) {
      span_ = w.local().subspan(first, count);
    } else {
      copy_.resize(count);
      if (count != 0 && !std::is_same_v<Mode, write>) {
        unseen const copying(state_->segment);
        Window::state_type::coherence_type::load(state_->segment, at(0), std::as_writable_bytes(std::span(copy_)));
      }
      if constexpr (std::is_same_v<Mode, update>) before_ = copy_;
      span_ = copy_;
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

  /// Not every element that is copied need be one that the program looks at.
  struct unseen {
    explicit unseen(segment_type& s) noexcept : segment(s) { tell(true); }
    unseen(unseen const&) = delete;
    unseen& operator=(unseen const&) = delete;
    ~unseen() { tell(false); }
    void tell(bool begins) noexcept {
      if constexpr (watched_segment<segment_type>) segment.copies_unseen(begins);
    }
    segment_type& segment;
  };

  [[nodiscard]] location at(std::size_t byte) const noexcept {
    return {state_->segment.rank(), first_ * sizeof(value_type) + byte};
  }

  void write_back() noexcept {
    using Coherence = typename Window::state_type::coherence_type;
    try {
      auto const now = std::as_bytes(std::span(copy_));
      if constexpr (std::is_same_v<Mode, write>) {
        if (!now.empty()) Coherence::store(state_->segment, at(0), now);
      } else if constexpr (std::is_same_v<Mode, update>) {
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

  typename Window::state_type* state_;
  std::size_t first_;
  std::span<element> span_;
  std::vector<value_type> copy_;
  std::vector<value_type> before_;
};

}  // namespace detail

/// Gives elements [first, first + count) of this rank's own part as a real span, on every backend:
/// `auto in = stage<pgas::read>(w);`. Free where memory is plain; else two copies. Local.
template <class Mode, class Window>
[[nodiscard]] auto stage(Window const& w, std::size_t first, std::size_t count) {
  static_assert(std::is_same_v<Mode, read> || std::is_same_v<Mode, write> || std::is_same_v<Mode, update>,
                "stage: say what for: stage<pgas::read>, stage<pgas::write> or stage<pgas::update>");
  PGAS_EXPECTS(light, detail::fits(first, count, w.size()),
               detail::throw_out_of_range(w.state().job_rank(), "stage", w.rank(), first, count, w.size()));
  return detail::staged<Mode, Window>(w, first, count);
}
template <class Mode, class Window>
[[nodiscard]] auto stage(Window const& w) {
  return stage<Mode>(w, 0, w.size());
}

}  // namespace pgas::inline PGAS_ASSERTIONS
