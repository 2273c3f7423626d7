// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mpi.h>
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <pgas/detail/backends/cluster/control.hpp>
#include <pgas/detail/backends/cluster/segment.hpp>
#include <pgas/detail/backends/cluster/wire.hpp>
#include <pgas/detail/job/service.hpp>
#include <pgas/detail/mpi/bootstrap.hpp>
#include <pgas/detail/mpi/member.hpp>
#include <pgas/detail/process/one_per_process.hpp>
#include <pgas/vocabulary/node_ranges.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::cluster {

/// One rank's membership in the job, and its wire. All waits of the rank serve the wire if the job has
/// several nodes. On one node they sleep as on process_map, until the first window over memory that ranks
/// already have.
class endpoint {
 public:
  explicit endpoint(MPI_Comm ranks)
      : member_(std::make_shared<mpi::member>(ranks, mpi::node_shares::memory)),
        wire_(std::make_shared<wire>(member_)) {
    if (has_nodes()) serve();
  }

  [[nodiscard]] std::shared_ptr<mpi::member> const& of_member() const noexcept { return member_; }
  [[nodiscard]] job const& of_job() const noexcept { return member_->of_job(); }
  [[nodiscard]] std::shared_ptr<wire> const& of_wire() const noexcept { return wire_; }
  /// The wire if the job has several nodes, else null.
  [[nodiscard]] std::shared_ptr<wire> between_nodes() const noexcept { return has_nodes() ? wire_ : nullptr; }
  [[nodiscard]] bool has_nodes() const noexcept {
    return static_cast<rank_t>(member_->together().size()) < of_job().size();
  }

  /// Makes all later waits of this rank serve the wire.
  void serve() {
    if (polls_) return;
    polls_.emplace(of_job().block(), nullptr, [this] { poll(); });
  }
  void poll() {
    wire_->poll();
    if (++polled_ % between_mail == 0) member_->poll();
  }

  /// Ends the membership. Collective.
  void leave() {
    polls_.reset();
    auto const serve = [this] { wire_->poll(); };
    member_->await_all(serve);
    wire_->close();
    member_->leave();
  }

 private:
  static constexpr unsigned between_mail = 64;

  std::shared_ptr<mpi::member> member_;
  std::shared_ptr<wire> wire_;
  std::optional<service> polls_;
  unsigned polled_ = 0;
};

/// The bootstrap of these ranks. No request of a rank is under way when the others leave a fence.
class rank_bootstrap : public mpi::rank_bootstrap {
 public:
  explicit rank_bootstrap(endpoint const& end) : mpi::rank_bootstrap(end.of_member()), wire_(end.of_wire()) {}

  void fence() const {
    wire_->drain();
    mpi::rank_bootstrap::fence();
  }

 private:
  std::shared_ptr<wire> wire_;
};
static_assert(bootstrap<rank_bootstrap>);

/// Memory that ranks of other nodes reach by its number, as long as this object is there.
template <class Memory>
struct home {
  home(std::shared_ptr<wire> w, std::uint64_t n, Memory held, bytes_out own)
      : by(std::move(w)), number(n), memory(std::move(held)) {
    by->own_memory().add(number, own.data(), own.size());
  }
  home(home const&) = delete;
  home& operator=(home const&) = delete;
  ~home() { by->own_memory().remove(number); }

  std::shared_ptr<wire> by;
  std::uint64_t number;
  Memory memory;
};

/// The ranks of a team on all nodes: it makes their segments and control words.
///
/// If the team is on one node, one rank reserves the memory for all, as on process_map. Else the first rank
/// of each node reserves that of its node when the ranks attach. Such memory outlasts its window until no
/// rank uses it, which the ranks find out when they make the next one.
class team {
 public:
  team(endpoint const& end, team_ranks ranks)
      : member_(end.of_member()),
        wire_(end.of_wire()),
        between_nodes_(end.between_nodes()),
        ranks_(std::move(ranks)),
        near_(find_near()) {}

  [[nodiscard]] team_ranks const& ranks() const noexcept { return ranks_; }
  [[nodiscard]] near_ranks const& near() const noexcept { return near_; }
  [[nodiscard]] bool is_on_one_node() const noexcept { return near_.count() == ranks_.size(); }
  /// See backend_of_nodes.
  [[nodiscard]] node_ranges const& nodes() const noexcept { return nodes_; }

  /// Names new memory. If the team is on one node, calls `extent()`, whose offset is the name.
  template <class Extent>
  [[nodiscard]] std::uint64_t name(Extent&& extent) const {
    return is_on_one_node() ? extent() : new_name();
  }
  [[nodiscard]] std::uint64_t new_name() const {
    constexpr unsigned short_bits = 21;  // with the bits of a rank 32: requests for such numbers are short
    std::uint64_t const next = ++one_per_process<given_names>().count;
    return static_cast<std::uint64_t>(self() + 1) << (next >> short_bits == 0 ? short_bits : 40U) | next;
  }

  [[nodiscard]] cluster_segment attach_segment(std::uint64_t named, std::size_t own_bytes) {
    if (is_on_one_node()) {
      mapped_segment near({member_->of_job(), named}, ranks_on_node());
      std::vector<std::uint64_t> each(static_cast<std::size_t>(ranks_.size()));
      for (rank_t rank = 0; rank < ranks_.size(); ++rank)
        each[static_cast<std::size_t>(rank)] = near.part_bytes(rank);
      return {std::move(near), near_, ranks_, part_sizes(std::move(each)), {between_nodes_, 0, ranks_},
              nullptr};
    }
    meet();
    auto const sizes = learn_sizes(own_bytes);
    auto const extent = take_near([&](job const& j) {
      std::vector<std::size_t> near(static_cast<std::size_t>(near_.count()));
      for (rank_t i = 0; i < near_.count(); ++i) near[static_cast<std::size_t>(i)] = sizes[near_[i]];
      return mapped_segment::reserve(j, near);
    });
    std::optional<mapped_segment> made;
    auto kept = agree([&]() -> std::shared_ptr<void> {
      if (!extent) return nullptr;
      made.emplace(held_extent(member_->of_job(), *extent), ranks_on_node());
      return std::make_shared<home<mapped_segment>>(wire_, named, *made, made->local());
    });
    return {*made, near_, ranks_, sizes, {wire_, named, ranks_}, std::move(kept)};
  }

  [[nodiscard]] cluster_user_segment attach_user_segment(std::uint64_t named, bytes_out own) {
    meet();
    auto const sizes = learn_sizes(own.size());
    auto kept = agree([&] { return std::make_shared<home<done>>(wire_, named, done{}, own); });
    return {own, near_, ranks_, sizes, {wire_, named, ranks_}, std::move(kept)};
  }

  [[nodiscard]] cluster_control attach_control(std::uint64_t named, control_words words,
                                               std::string_view label) {
    auto const map = [&](std::uint64_t extent) {
      return std::make_shared<mapped_control>(held_extent(member_->of_job(), extent), ranks_, words, label);
    };
    if (is_on_one_node())
      return {map(named), near_, ranks_, leaders_, words, label, between_nodes_, 0, nullptr};
    meet();
    auto const extent = take_near(
        [&](job const& j) { return j.reserve(mapped_control::bytes(near_.count(), words), near_.count()); });
    std::shared_ptr<mapped_control> made;
    auto kept = agree([&]() -> std::shared_ptr<void> {
      if (!extent) return nullptr;
      made = map(*extent);
      auto const bytes = static_cast<std::size_t>(mapped_control::bytes(1, words));
      auto* const first = made->share(near_.index_of(ranks_.self()));
      return std::make_shared<home<std::shared_ptr<mapped_control>>>(wire_, named, made,
                                                                     bytes_out(first, bytes));
    });
    return {made, near_, ranks_, leaders_, words, label, wire_, named, std::move(kept)};
  }

  [[nodiscard]] cluster_mailbox attach_mailbox(std::uint64_t named) {
    auto const map = [&](std::uint64_t extent) {
      return mapped_mailbox(held_extent(member_->of_job(), extent), ranks_on_node());
    };
    if (is_on_one_node()) return {map(named), near_, std::nullopt, self(), between_nodes_, nullptr};
    meet();
    auto const extent = take_near(
        [&](job const& j) { return j.reserve(cluster_mailbox::near_bytes(near_.count()), near_.count()); });
    mpi::mailbox<wire> far(wire_, member_->of_job(), named,
                           ranks_);  // all ranks have theirs when it returns on one
    std::optional<mapped_mailbox> made;
    auto kept = agree([&]() -> std::shared_ptr<void> {
      if (!extent) return nullptr;
      made.emplace(map(*extent));
      return std::make_shared<done>();
    });
    return {std::move(*made), near_, std::move(far), self(), wire_, std::move(kept)};
  }

  /// A communicator of the team's ranks, for the program.
  [[nodiscard]] MPI_Comm duplicate() {
    meet();
    member_->meet(everyone());
    return all_->duplicate();
  }

 private:
  /// The names that this process has given to memory.
  struct given_names {
    static constexpr std::string_view shared_name = "names of memory in cluster";
    std::uint64_t count = 0;
  };

  [[nodiscard]] rank_t self() const noexcept { return member_->of_job().rank(); }
  [[nodiscard]] team_ranks ranks_on_node() const noexcept {
    return {near_.index_of(ranks_.self()), near_.count()};
  }
  [[nodiscard]] near_ranks find_near() const {
    std::vector<rank_t> near;
    for (rank_t rank = 0; rank < ranks_.size(); ++rank) {
      if (member_->is_together(ranks_.to_world(rank))) near.push_back(rank);
    }
    return near_ranks(std::move(near));
  }

  [[nodiscard]] std::vector<rank_t> everyone() const {
    std::vector<rank_t> all(static_cast<std::size_t>(ranks_.size()));
    for (rank_t rank = 0; rank < ranks_.size(); ++rank)
      all[static_cast<std::size_t>(rank)] = ranks_.to_world(rank);
    return all;
  }

  /// Makes the communicators, the first time, and frees memory that no rank uses any more.
  void meet() {
    wire_->drain();  // no request of this rank waits for a rank in a call of MPI, or for memory to be freed
    if (all_ == nullptr) {
      std::vector<rank_t> node(static_cast<std::size_t>(near_.count()));
      for (rank_t i = 0; i < near_.count(); ++i)
        node[static_cast<std::size_t>(i)] = ranks_.to_world(near_[i]);
      all_ = member_->communicator_of(everyone());
      node_ = member_->communicator_of(node);
      learn_leaders();
    }
    member_->free_unused(*all_);
  }

  void learn_leaders() {
    struct firsts {
      rank_t mine;
      std::vector<rank_t> of_all;
    };
    auto const both = std::make_shared<firsts>(firsts{near_[0], {}});
    both->of_all.resize(static_cast<std::size_t>(ranks_.size()));
    MPI_Request request = MPI_REQUEST_NULL;
    mpi::check_call(
        MPI_Iallgather(&both->mine, 1, MPI_INT, both->of_all.data(), 1, MPI_INT, all_->get(), &request),
        "MPI_Iallgather");
    await(request, both);
    nodes_ = node_ranges::of(both->of_all);
    auto& all = both->of_all;
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    leaders_ = std::make_shared<std::vector<rank_t> const>(all);
  }
  [[nodiscard]] part_sizes learn_sizes(std::uint64_t own) const {
    struct extremes {
      std::array<std::uint64_t, 2> mine;
      std::array<std::uint64_t, 2> of_all;
    };
    auto const both = std::make_shared<extremes>(extremes{{own, ~own}, {}});
    MPI_Request request = MPI_REQUEST_NULL;
    mpi::check_call(MPI_Iallreduce(both->mine.data(), both->of_all.data(), 2, MPI_UINT64_T, MPI_MAX,
                                   all_->get(), &request),
                    "MPI_Iallreduce");
    await(request, both);
    if (both->of_all[0] == ~both->of_all[1]) return part_sizes(own);
    auto const each = std::make_shared<std::vector<std::uint64_t>>(static_cast<std::size_t>(ranks_.size()));
    mpi::check_call(MPI_Iallgather(both->mine.data(), 1, MPI_UINT64_T, each->data(), 1, MPI_UINT64_T,
                                   all_->get(), &request),
                    "MPI_Iallgather");
    await(request, each);
    return part_sizes(*each);
  }

  /// The first rank of the node calls take(job), and all of the node learn the extent, or that there is none.
  template <class Take>
  [[nodiscard]] std::optional<std::uint64_t> take_near(Take&& take) {
    constexpr std::uint64_t none = ~std::uint64_t{0};
    auto const extent = std::make_shared<std::uint64_t>(none);
    failure_.clear();
    if (near_.index_of(ranks_.self()) == 0) {
      try {
        *extent = take(member_->of_job());
      } catch (error const& e) {
        failure_ = e.description();
      }
    }
    MPI_Request request = MPI_REQUEST_NULL;
    mpi::check_call(MPI_Ibcast(extent.get(), 1, MPI_UINT64_T, 0, node_->get(), &request), "MPI_Ibcast");
    await(request, extent);
    if (*extent == none) return std::nullopt;
    return *extent;
  }
  /// Opens this rank's memory to other nodes by open(), which returns null if there is none. All ranks throw
  /// unless all have theirs. All keep an entry, since they number entries alike.
  template <class Open>
  [[nodiscard]] std::shared_ptr<void const> agree(Open&& open) {
    auto kept = all_->keep(MPI_WIN_NULL);
    try {
      kept->memory = open();
    } catch (error const& e) {
      failure_ = e.description();
    }
    auto const both = std::make_shared<std::array<rank_t, 2>>();
    (*both)[0] = kept->memory ? 0 : self() + 1;
    MPI_Request request = MPI_REQUEST_NULL;
    mpi::check_call(
        MPI_Iallreduce(both->data(), both->data() + 1, 1, MPI_INT, MPI_MAX, all_->get(), &request),
        "MPI_Iallreduce");
    await(request, both);
    if (rank_t const without = (*both)[1] - 1; without >= 0) {
      throw error(errc::no_space, self(), "make_window",
                  failure_.empty()
                      ? text_of({"there is no memory on the node of rank ", without, "; take less"})
                      : failure_);
    }
    return kept;
  }
  void await(MPI_Request request, std::shared_ptr<void const> memory) const {
    member_->await(request, {.operation = "make_window"}, "memory of all nodes", std::move(memory));
  }

  std::shared_ptr<mpi::member> member_;
  std::shared_ptr<wire> wire_;
  std::shared_ptr<wire> between_nodes_;  ///< the same, or null if the job has one node
  team_ranks ranks_;
  near_ranks near_;
  /// The first rank of each node; rank 0 if the team is on one.
  std::shared_ptr<std::vector<rank_t> const> leaders_ = std::make_shared<std::vector<rank_t> const>(1);
  node_ranges nodes_{{0}, ranks_.size()};
  std::shared_ptr<mpi::communicator> all_;   ///< made for the first window
  std::shared_ptr<mpi::communicator> node_;  ///< of the ranks on this node
  std::string failure_;                      ///< why this rank could reserve no memory
};

}  // namespace PGAS_NAMESPACE::detail::cluster
