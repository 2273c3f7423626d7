// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/backend.hpp>
#include <pgas/vocabulary/error.hpp>

namespace pgas_test {

/// The steps in which a backend reserves memory.
enum class memory_step { none, reserve_segment, attach_segment, reserve_control, attach_control };

/// Another backend that runs out of memory at a chosen step of a chosen rank: `team.state()->backend.lack`.
/// Sub-teams that are made while it is set inherit it.
template <pgas::backend Inner>
class scarce : public Inner {
 public:
  using handle = typename Inner::handle;

  struct lacking {
    memory_step at = memory_step::none;
    pgas::rank_t world_rank = 0;
    int after = 0;  // number of such steps that succeed before
  };
  lacking lack;

  template <class Main>
  static auto launch(pgas::rank_t ranks, Main const& main) {
    return Inner::launch(ranks, [&](auto&& b, auto& boot) { main(scarce(Inner(b)), boot); });
  }

  handle reserve_segment(std::span<std::size_t const> sizes) {
    return take(memory_step::reserve_segment), Inner::reserve_segment(sizes);
  }
  typename Inner::segment_type attach_segment(handle which, std::size_t own_bytes) {
    return take(memory_step::attach_segment), Inner::attach_segment(which, own_bytes);
  }
  handle reserve_control(pgas::control_words words) {
    return take(memory_step::reserve_control), Inner::reserve_control(words);
  }
  typename Inner::control_type attach_control(handle which, pgas::control_words words,
                                              std::string_view label) {
    return take(memory_step::attach_control), Inner::attach_control(which, words, label);
  }
  scarce sub_team(pgas::group members, pgas::rank_t rank) {
    scarce sub(Inner::sub_team(members, rank));
    sub.lack = lack;
    return sub;
  }

 private:
  explicit scarce(Inner inner) : Inner(std::move(inner)) {}

  void take(memory_step step) {
    pgas::rank_t const self = this->world_rank(this->rank());
    if (step == lack.at && self == lack.world_rank && lack.after-- == 0)
      throw pgas::error(pgas::errc::no_space, self, "test", "rank " + std::to_string(self) + " has no more");
  }
};

}  // namespace pgas_test
