// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>

namespace PGAS_NAMESPACE::sync {

/// This post protocol waits for all targets when an access epoch opens, and not at the first access to each.
///
/// Source: immediate synchronization, Gropp and Thakur 2005; MPI implementations and foMPI do this. Christgau
/// 2017, section 3.2, argues for waits at the first access: one late target holds up the work with all
/// others. Use it if each target is accessed at once anyway, or to compare. Words, orders, memory and costs
/// are those of `Post`.
template <post_protocol Post>
struct immediate {
 private:
  static constexpr auto joined = detail::name_after<Post>("immediate_");

 public:
  static constexpr std::string_view name{joined.data(), joined.size()};
  static constexpr rmw needs = Post::needs;
  static constexpr bool completes_at_target = direct_post_protocol<Post>;
  static constexpr progress progress_by = detail::progress_of<Post>();
  static constexpr control_words words(rank_t ranks) noexcept { return Post::words(ranks); }

  template <control Control>
  class on : public Post::template on<Control> {
    using base = typename Post::template on<Control>;

   public:
    using base::base;

    template <boundary Boundary>
    void start(group targets, Boundary& b, exposure_state exposures) {
      for (rank_t target : targets) this->trigger(target, b, exposures);
    }
  };
};

}  // namespace PGAS_NAMESPACE::sync
