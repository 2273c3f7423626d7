// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <pgas/concepts/backend.hpp>
#include <pgas/concepts/collective.hpp>
#include <pgas/detail/exchange/eager.hpp>
#include <pgas/detail/exchange/links.hpp>
#include <pgas/detail/exchange/media.hpp>
#include <pgas/detail/exchange/patience.hpp>
#include <pgas/detail/exchange/shared_area.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/detail/team/started_collective.hpp>
#include <pgas/detail/types/scoped_value.hpp>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// One rank's share of what the collectives of one team need: media on control words of the team, memory that
/// is made when the first collective needs it, and the queue of those that have been started.
///
/// The collectives of a team run one after the other on each rank, in the order of the calls, so that the
/// pieces of one never meet those of another. A collective that throws, for example because its operation
/// does, leaves pieces behind that no rank expects. So it is the team's last one: each later call throws the
/// same error, and so does a wait that carries on a started one.
template <class Backend>
class collectives_state {
 public:
  using control_type = typename Backend::control_type;
  using segment_type = typename Backend::segment_type;
  using slot_type = typename patience<control_type>::slot_type;

  /// Whether every rank can read the memory of every other rank in place.
  static constexpr bool has_shared_areas = shared_segment<segment_type> && roomy_slot<slot_type>;

  /// Whether the backend knows which ranks share a node.
  static constexpr bool has_nodes = backend_of_nodes<Backend> && !has_shared_areas;
  /// Whether ranks of a node can read each other's memory in place.
  static constexpr bool has_near_areas = [] {
    if constexpr (has_nodes) return node_media<control_type, segment_type, Backend>::has_shared_areas;
    return false;
  }();

  static constexpr control_words words(rank_t ranks) noexcept {
    return links_type::words(ranks) + area_words(ranks) + node_words(ranks);
  }

  collectives_state(Backend& backend, control_type& control, control_words first)
      : backend_(&backend),
        control_(&control),
        first_(first),
        waits_(control),
        links_(control, first, waits_, 0),
        pull_area_(links_, links_type::bytes(control.size())),
        area_(backend, control, first + links_type::words(control.size()), waits_),
        buffers_(waits_) {}

  /// The medium of this kind. Throws if ranks of several nodes were to read one shared area.
  template <collective_medium Kind>
  auto& medium() {
    if constexpr (Kind == collective_medium::shared_areas && has_near_areas) {
      if (!is_one_node()) refuse_shared_areas();
      return by_nodes().near();
    } else if constexpr (Kind == collective_medium::shared_areas) {
      return area_;
    } else if constexpr (Kind == collective_medium::nodes) {
      static_assert(has_nodes, "pgas: this backend knows no nodes; take another algorithm");
      return by_nodes();
    } else if constexpr (Kind == collective_medium::links) {
      return links_;
    } else if constexpr (Kind == collective_medium::buffers) {
      return buffers_;
    } else {
      return pull_area_;
    }
  }

  /// Returns whether all ranks of the team share a node's memory, and whether they are on several nodes, some
  /// with several ranks. Where backends know that at compile time, or ranks share no memory: false.
  [[nodiscard]] bool is_one_node() {
    if constexpr (has_near_areas) return by_nodes().nodes().count() == 1;
    return false;
  }
  [[nodiscard]] bool has_levels() {
    if constexpr (has_near_areas) return by_nodes().nodes().form_levels();
    return false;
  }

  /// Returns whether the media of this kind have their memory, and how many bytes of each rank they need.
  [[nodiscard]] bool has_memory(collective_medium kind) const noexcept {
    return static_cast<bool>(memory(kind));
  }
  /// Returns whether a collective with pieces of up to this length needs that memory.
  [[nodiscard]] bool needs_memory(collective_medium kind, std::size_t longest) {
    if constexpr (has_shared_areas) {
      if (kind == collective_medium::shared_areas) return longest > area_type::sure_bytes;
    }
    if constexpr (has_nodes) {
      if (lies_on_nodes(kind)) return longest > by_nodes().short_bytes();
    }
    return kind != collective_medium::links || longest > links_type::short_bytes;
  }
  [[nodiscard]] std::size_t bytes(collective_medium kind, rank_t ranks) {
    if constexpr (has_shared_areas) {
      if (kind == collective_medium::shared_areas) return area_type::bytes(ranks);
    }
    if constexpr (has_nodes) {
      if (lies_on_nodes(kind)) return by_nodes().bytes();
    }
    if (kind == collective_medium::buffers) return buffers_type::buffer_bytes;
    return links_type::bytes(ranks) + pull_area_type::bytes(ranks);
  }
  /// The flags of buffers, which are made with their memory.
  [[nodiscard]] static control_words buffer_words() noexcept { return buffers_type::words(); }
  void lie_on(collective_medium kind, std::unique_ptr<segment_type> memory) {
    if (lies_on_nodes(kind) || kind == collective_medium::shared_areas) {
      area_memory_ = std::move(memory);
      if constexpr (has_shared_areas) area_.lie_on(*area_memory_);
      if constexpr (has_nodes) by_nodes().lie_on(*area_memory_);
    } else {
      link_memory_ = std::move(memory);
      links_.lie_on(*link_memory_);
      pull_area_.lie_on(*link_memory_);
    }
  }

  /// The same for buffers, whose flags are words of their own.
  void lie_on(std::unique_ptr<segment_type> memory, std::unique_ptr<control_type> flags) {
    buffer_memory_ = std::move(memory);
    flags_ = std::move(flags);
    buffers_.lie_on(*buffer_memory_, *flags_);
  }
  /// Finds out how ranks reach each other's memory, once the media of this kind have theirs. Collective, by
  /// `slots`, the collectives on control words.
  template <class Slots>
  void find_reach(collective_medium kind, Slots& slots, std::string_view operation) {
    auto const find = [&](auto& area) {
      area.find_reach([&] { slots.barrier(); },
                      [&](word mine) {
                        slots.least(std::span(&mine, 1), operation);
                        return mine;
                      });
    };
    if constexpr (has_shared_areas && reaching_backend<Backend>) {
      if (kind == collective_medium::shared_areas) find(area_);
    }
    if constexpr (has_near_areas && reaching_backend<Backend>) {
      if (lies_on_nodes(kind)) find(by_nodes().near());
    }
  }

  /// Carries out a collective, after those that were started earlier. `begin()` returns its steps.
  template <class Begin>
  void run(std::string_view operation, collective_call call, Begin&& begin) {
    run_at_once(operation, call, [&] {
      auto const here = waits_.in_place();
      steps all = begin();
      all.begin();
      all.conclude();
    });
  }
  /// The same for a collective without steps, which has ended when `body()` returns.
  template <class Body>
  void run_at_once(std::string_view operation, collective_call call, Body&& body) {
    while (!queue_.empty()) finish_first();
    rethrow();
    rest();
    waits_.begin(operation, call);
    try {
      body();
    } catch (...) {
      last_error_ = std::current_exception();
      throw;
    }
  }

  /// Returns whether an eager collective on this medium may begin now without waiting.
  template <class Medium>
  [[nodiscard]] bool may_begin_eagerly(Medium& medium) {
    return queue_.empty() && !last_error_ && medium.is_next_free();
  }
  /// Begins an eager collective; `may_begin_eagerly` has returned true. Returns whether it is over.
  template <class Body>
  bool start_eagerly(std::string_view operation, collective_call call, Body&& body) {
    bool is_over = true;
    run_at_once(operation, call, [&] { is_over = body(eager_exchange{.writes = true, .waits = false}); });
    return is_over;
  }
  /// Queues a collective that has begun and not ended.
  void queue(std::shared_ptr<started_collective> one) { queue_.push(std::move(one)); }
  /// Queues a collective, and carries it out as far as possible without waiting.
  void start(std::shared_ptr<started_collective> one) {
    rethrow();
    queue_.push(std::move(one));
    advance();
    rethrow();
    work();
  }
  /// Carries on started collectives as far as possible without waiting.
  void advance() {
    // A wait in these steps may call this function again, as the work of this rank.
    if (is_at_work_) return;
    scoped_value const now(is_at_work_, true);
    bool goes_on = true;
    while (goes_on && !queue_.empty()) {
      started_collective& first = queue_.front();
      if (first.read) {
        goes_on = read_messages(first, false);
      } else {
        goes_on = first.run ? waits_.advance_if_ready() : begin(first);
      }
      if (goes_on) conclude_first();
      if (last_error_) return;
    }
  }
  /// Returns when this one has ended.
  void finish(started_collective const& one) {
    while (!one.is_done) {
      rethrow();
      finish_first();
    }
    work();
  }
  /// Like advance, for a program that asks for this one.
  void test(started_collective const& one) {
    advance();
    if (queue_.empty() && !last_error_) rest();
    if (!one.is_done) rethrow();
  }

 private:
  struct no_area {
    no_area(Backend&, control_type&, control_words, patience<control_type>&) noexcept {}
  };
  using area_type =
      std::conditional_t<has_shared_areas, shared_area<control_type, segment_type, Backend>, no_area>;
  struct no_nodes {};
  using node_media_type =
      std::conditional_t<has_nodes, node_media<control_type, segment_type, Backend>, no_nodes>;
  using links_type = links<control_type, segment_type>;
  using pull_area_type = pull_area<control_type, segment_type>;
  using buffers_type = message_buffers<control_type, segment_type>;

  [[nodiscard]] std::unique_ptr<segment_type> const& memory(collective_medium kind) const noexcept {
    if (kind == collective_medium::buffers) return buffer_memory_;
    return lies_on_nodes(kind) || kind == collective_medium::shared_areas ? area_memory_ : link_memory_;
  }

  static constexpr control_words area_words(rank_t ranks) noexcept {
    if constexpr (has_shared_areas) {
      return area_type::words(ranks);
    } else {
      return {};
    }
  }

  static constexpr control_words node_words(rank_t ranks) noexcept {
    if constexpr (has_nodes) {
      return node_media_type::words(ranks);
    } else {
      return {};
    }
  }
  /// Whether media of this kind lie on the memory of the media of nodes.
  static constexpr bool lies_on_nodes(collective_medium kind) noexcept {
    return has_nodes &&
           (kind == collective_medium::nodes || (has_near_areas && kind == collective_medium::shared_areas));
  }
  /// The media of nodes, which are made when they are asked for: the backend then knows the nodes.
  node_media_type& by_nodes()
    requires has_nodes
  {
    if (!by_nodes_)
      by_nodes_.emplace(*backend_, *control_,
                        first_ + links_type::words(control_->size()) + area_words(control_->size()), waits_,
                        backend_->nodes());
    return *by_nodes_;
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_shared_areas() const {
    throw_error(
        errc::unsupported, backend_->world_rank(backend_->rank()), waits_.operation(),
        "the ranks of the team are on several nodes, and this algorithm needs memory that all of them "
        "load; let the library choose, or name an algorithm on links");
  }

  void rethrow() const {
    if (last_error_) std::rethrow_exception(last_error_);
  }

  bool begin(started_collective& one) {
    waits_.begin(one.operation, one.call);
    one.run = one.begin(one);
    return one.run.begin();
  }
  /// Reads the messages of others, if they are there or this rank `waits`. Returns whether the collective has
  /// ended.
  bool read_messages(started_collective& one, bool waits) {
    try {
      return one.read(one, eager_exchange{.writes = false, .waits = waits});
    } catch (...) {
      one.error = last_error_ = std::current_exception();
      return true;
    }
  }
  /// Lets this rank carry on started collectives while it waits for anything else. If its only collective has
  /// yet to read messages, it holds up no rank: the others may be many buffers ahead, and further collectives
  /// need further calls of this rank.
  void work() {
    if constexpr (working_backend<Backend>) {
      bool const waits_for_messages = queue_.has_one() && queue_.front().read;
      if (!queue_.empty() && !waits_for_messages && !working_) {
        working_ = backend_->while_waiting([this] {
          advance();
          rethrow();
        });
      }
    }
  }
  /// Ends that, so that waits are fast again.
  void rest() noexcept {
    if constexpr (working_backend<Backend>) working_.reset();
  }
  void finish_first() {
    rest();
    started_collective& first = queue_.front();
    if (first.read) {
      read_messages(first, true);
    } else if (first.run) {
      waits_.finish();
    } else {
      auto const here = waits_.in_place();
      begin(first);
    }
    conclude_first();
  }
  void conclude_first() {
    auto const first = queue_.pop();
    first->is_done = true;
    if (!first->run) return;
    try {
      first->run.conclude();
    } catch (...) {
      first->error = last_error_ = std::current_exception();
    }
    first->run = {};
  }

  template <class B>
  struct work_of {
    using type = no_area*;
  };
  template <working_backend B>
  struct work_of<B> {
    using type = decltype(std::declval<B&>().while_waiting({}));
  };

  Backend* backend_;
  control_type* control_;
  control_words first_;
  patience<control_type> waits_;
  links_type links_;
  pull_area_type pull_area_;
  area_type area_;
  buffers_type buffers_;
  std::conditional_t<has_nodes, std::optional<node_media_type>, no_nodes> by_nodes_;
  std::unique_ptr<segment_type> link_memory_;
  std::unique_ptr<segment_type> area_memory_;
  std::unique_ptr<segment_type> buffer_memory_;
  std::unique_ptr<control_type> flags_;
  collective_queue queue_;
  bool is_at_work_ = false;
  std::exception_ptr last_error_;              ///< of a collective that has thrown
  typename work_of<Backend>::type working_{};  ///< null while it does not work
};

}  // namespace PGAS_NAMESPACE::detail
