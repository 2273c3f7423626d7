// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>

namespace PGAS_NAMESPACE::sync {

/// This fence chooses between two protocols: `Few` if at most `most` ranks can run at once and words have
/// native read-modify-writes, as they have on one node, else `Many`.
///
/// The number that counts is that of the ranks that can be at one word at the same time. If many ranks share
/// few cores, a fence in rounds costs a switch between ranks for each round of each rank.
///
/// It has no algorithm of its own: like `biased` and `deferred` it is made of other protocols. All ranks of a
/// team have the same size, cores and kind of words, so they choose alike. Costs one predicted branch a
/// fence, and the words of both.
template <fence_protocol Few, fence_protocol Many, rank_t most>
struct by_size {
  static constexpr std::string_view name = "by_size";
  static constexpr rmw needs = Many::needs;
  static constexpr control_words words(rank_t ranks) noexcept {
    return Few::words(ranks) + Many::words(ranks);
  }

  template <control Control>
  class on {
   public:
    on(Control& control, control_words first)
        : few_(control, first),
          many_(control, first + Few::words(control.size())),
          takes_few_(detail::most_at_once(control) <= most && is_native(control)) {}

    template <boundary Boundary>
    void fence(Boundary& b, std::string_view operation) {
      if (takes_few_) {
        few_.fence(b, operation);
      } else {
        fence_many(b, operation);
      }
    }

   private:
    /// Not inlined, so that the path for few ranks saves no registers for it.
    template <boundary Boundary>
    [[gnu::noinline]] void fence_many(Boundary& b, std::string_view operation) {
      many_.fence(b, operation);
    }

    static bool is_native(Control const& control) {
      if constexpr (control_of_nodes<Control>) {
        return control.leaders().size() == 1;
      } else {
        return true;
      }
    }

    typename Few::template on<Control> few_;
    typename Many::template on<Control> many_;
    bool takes_few_;
  };

  // `Few` is not compiled for words without native read-modify-writes.
  template <control Control>
    requires(Control::read_modify_write != rmw::native && !control_of_nodes<Control>)
  class on<Control> : public Many::template on<Control> {
   public:
    on(Control& control, control_words first)
        : Many::template on<Control>(control, first + Few::words(control.size())) {}
  };
};

}  // namespace PGAS_NAMESPACE::sync
