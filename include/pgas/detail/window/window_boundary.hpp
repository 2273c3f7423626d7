// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/boundary.hpp>
#include <pgas/concepts/coherence_policy.hpp>
#include <pgas/vocabulary/hints.hpp>

namespace PGAS_NAMESPACE::detail {

/// The boundaries of several windows as one boundary, for a signal that covers all of them.
template <boundary... Each>
class joined_boundary {
 public:
  template <class Targets>
  void publish(Targets const&) noexcept {}
  template <class Targets>
  void refresh(Targets const&) noexcept {}
};
template <boundary First, boundary... Others>
class joined_boundary<First, Others...> {
 public:
  template <class Segment, class... Segments>
  explicit joined_boundary(Segment& segment, Segments&... segments) noexcept
      : first_(segment), others_(segments...) {}

  void publish(group targets) {
    first_.publish(targets);
    others_.publish(targets);
  }
  void publish(everyone_t) {
    first_.publish(everyone);
    others_.publish(everyone);
  }
  void refresh(group targets) {
    first_.refresh(targets);
    others_.refresh(targets);
  }
  void refresh(everyone_t) {
    first_.refresh(everyone);
    others_.refresh(everyone);
  }

 private:
  First first_;
  joined_boundary<Others...> others_;
};
static_assert(boundary<joined_boundary<no_boundary>>);

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE {

/// The memory that an epoch's boundary makes agree: this rank's own part (an exposure), the parts it accesses
/// (an access), or both (a fence, a lock).
enum class boundary_of {
  own,     ///< this rank's part
  remote,  ///< the parts that it accesses
  both,    ///< all of them
};

/// What the signal behind a boundary tells its receivers.
enum class signal_tells {
  anything,      ///< a rank may learn of all memory: all puts have arrived before
  of_own_parts,  ///< by a change of its own control words, each target learns of its own part and of no other
};

namespace detail {

/// Under such a policy copies always agree: it cleans, drops and drains nothing.
template <class Coherence>
concept empty_policy = requires { requires Coherence::is_empty; };

}  // namespace detail

/// The boundary that a window's epochs hand to its protocols. It alone calls a coherence policy.
///
/// publish = remote completion, then clean, then drain_stores; refresh = drop, then drain_all. The table in
/// coherence/README.md lists the memory that each epoch cleans and drops; hints erase cells of it at compile
/// time.
///
/// If a signal tells its targets about their own parts only, and the segment is ordered, publish(targets)
/// waits for no arrival. That is true only of the end of an access and of a signal. It is not true of an
/// unlock: the next holder may be any rank, and learns of the target's part from a word that may lie
/// elsewhere, or from another rank. Nor is it true of a fence, since each rank learns of the parts of all.
template <segment Segment, class Coherence, boundary_of Side, hints Hints = hints{},
          signal_tells Signal = signal_tells::anything>
  requires coherence_policy_for<Coherence, Segment>
class window_boundary {
 public:
  /// The boundary of an epoch on the segment.
  explicit window_boundary(Segment& s) noexcept : segment_(&s) {}

  /// The boundary does the same on whichever side of the window.
  static constexpr bool is_of_any_side = detail::empty_policy<Coherence> && !cache_controlled<Segment>;

  void publish(group targets) {
    if constexpr (accesses) {
      for (rank_t target : targets) finish(target);
    }
    clean(targets);
  }
  void publish(everyone_t) {
    if constexpr (accesses && Hints.read_only) {
      segment_->flush_local_all();
    } else if constexpr (accesses) {
      segment_->flush_all();
    }
    clean(everyone);
  }

  void refresh(group targets) {
    if constexpr (drops_remote) {
      for (rank_t target : targets) drop_target(target);
    }
    drop_own();
  }
  void refresh(everyone_t) {
    if constexpr (drops_remote) {
      for (rank_t target = 0; target < segment_->size(); ++target) drop_target(target);
    }
    drop_own();
  }

 private:
  static constexpr bool accesses = Side != boundary_of::own;
  static constexpr bool exposes = Side != boundary_of::remote;
  static constexpr bool cleans_remote = accesses && !Hints.read_only;
  static constexpr bool cleans_own = exposes && !Hints.no_store;
  static constexpr bool drops_remote = accesses && !Hints.write_only && !Hints.no_succeed;
  static constexpr bool drops_own = exposes && !Hints.no_put;

  void finish(rank_t target) {
    if constexpr (Hints.read_only) {
      segment_->flush_local(target);
    } else if constexpr (Signal == signal_tells::of_own_parts && ordered_segment<Segment> &&
                         !cache_controlled<Segment>) {
      segment_->order_puts(target);
      if constexpr (!Hints.write_only)
        segment_->flush_local(target);  // gets have arrived when the epoch ends
    } else {
      segment_->flush(target);
    }
  }

  void clean(group targets) {
    if constexpr (cleans_remote) {
      for (rank_t target : targets) Coherence::clean_remote(*segment_, target);
    }
    clean_own_and_drain();
  }
  void clean(everyone_t) {
    if constexpr (cleans_remote) {
      for (rank_t target = 0; target < segment_->size(); ++target) {
        if (!exposes || target != segment_->rank()) Coherence::clean_remote(*segment_, target);
      }
    }
    clean_own_and_drain();
  }
  void clean_own_and_drain() {
    if constexpr (cleans_own) Coherence::clean_own(*segment_);
    if constexpr (cleans_own || cleans_remote) Coherence::drain_stores(*segment_);
  }
  // A rank that is its own target reads its part through the copies from which it loads.
  void drop_target(rank_t target) {
    if (target != segment_->rank()) {
      Coherence::drop_remote(*segment_, target);
    } else if constexpr (!drops_own) {
      if constexpr (!exposes) {  // else publish has done it
        Coherence::clean_own(*segment_);
        Coherence::drain_stores(*segment_);
      }
      Coherence::drop_own(*segment_);
    }
  }
  void drop_own() {
    if constexpr (drops_own) Coherence::drop_own(*segment_);
    if constexpr (drops_own || drops_remote) Coherence::drain_all(*segment_);
  }

  Segment* segment_;
};
static_assert(boundary<window_boundary<detail::cache_archetype, detail::any_policy, boundary_of::both>>);

}  // namespace PGAS_NAMESPACE
