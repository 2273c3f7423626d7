// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <pgas/backends/process_map.hpp>
#include <string_view>
#include <utility>
#include <vector>

/// Nodes that are not there: ranks of one node that treat each other as ranks of several.
namespace pgas_test::fake {

/// The cost of far transfers to a rank.
struct far_calls {
  std::size_t puts = 0;
  std::size_t gets = 0;
  std::size_t atomics = 0;
  std::size_t flushes = 0;  ///< round trips that wait for the arrival of puts
};

/// A rank's wire to other nodes: its transfers that are under way, of all windows.
///
/// A put arrives at a flush, and not before. On an ordered wire it also arrives if it has been put in order
/// and a control word of the same rank is stored to afterwards. A get fills its destination at a flush.
class wire {
 public:
  /// A copy that has been started.
  struct copy {
    void const* segment;
    pgas::rank_t target;  ///< its number in the job
    std::byte* to;
    std::byte const* from;         ///< of a get
    std::vector<std::byte> bytes;  ///< of a put
    std::size_t count;
    bool in_order;
  };
  using copies = std::vector<copy>;

  void put(void const* segment, pgas::rank_t target, std::byte* to, pgas::bytes_in from) {
    ++calls.puts;
    puts_.push_back({segment, target, to, nullptr, {from.begin(), from.end()}, from.size(), false});
  }
  void get(void const* segment, pgas::rank_t target, pgas::bytes_out into, std::byte const* from) {
    ++calls.gets;
    gets_.push_back({segment, target, into.data(), from, {}, into.size(), false});
  }

  template <class Which>
  void deliver_puts(Which const& which) {
    deliver(puts_, which);
  }
  template <class Which>
  void deliver_gets(Which const& which) {
    deliver(gets_, which);
  }
  void put_in_order(void const* segment, pgas::rank_t target) noexcept {
    for (copy& one : puts_) one.in_order = one.in_order || (one.segment == segment && one.target == target);
  }
  /// Comes before a control word of the rank changes.
  void deliver_in_order(pgas::rank_t target) {
    if (puts_.empty()) return;
    deliver_puts([&](copy const& one) { return one.in_order && one.target == target; });
  }

  far_calls calls;

 private:
  template <class Which>
  static void deliver(copies& from, Which const& which) {
    copies left;
    for (copy& one : from) {
      if (!which(one)) {
        left.push_back(std::move(one));
      } else if (one.count != 0) {
        std::memcpy(one.to, one.from != nullptr ? one.from : one.bytes.data(), one.count);
      }
    }
    from.swap(left);
  }

  copies puts_;
  copies gets_;
};

/// The ranks of a team, and the node of each: `size` ranks in the order of the job are a node.
class nodes {
 public:
  nodes(pgas::detail::team_ranks ranks, pgas::rank_t node_size)
      : ranks_(std::move(ranks)), size_(node_size) {}

  [[nodiscard]] bool is_near(pgas::rank_t rank) const noexcept {
    return ranks_.to_world(rank) / size_ == ranks_.to_world(ranks_.self()) / size_;
  }
  [[nodiscard]] pgas::rank_t to_world(pgas::rank_t rank) const noexcept { return ranks_.to_world(rank); }

 private:
  pgas::detail::team_ranks ranks_;
  pgas::rank_t size_;
};

/// A segment of process_map that gives away no address of a far part.
template <bool Ordered>
class segment {
  using mapped = pgas::detail::mapped_segment;

 public:
  template <class T>
  static constexpr bool is_atomic = mapped::is_atomic<T>;

  segment(mapped inner, nodes where, std::shared_ptr<wire> out)
      : inner_(std::make_unique<mapped>(std::move(inner))), nodes_(std::move(where)), wire_(std::move(out)) {}
  segment(segment&&) noexcept = default;
  segment& operator=(segment&&) noexcept = default;
  ~segment() {
    if (inner_ == nullptr) return;
    wire_->deliver_puts([&](auto const& one) { return one.segment == id(); });
    wire_->deliver_gets([&](auto const& one) { return one.segment == id(); });
  }

  [[nodiscard]] pgas::rank_t rank() const noexcept { return inner_->rank(); }
  [[nodiscard]] pgas::rank_t size() const noexcept { return inner_->size(); }
  [[nodiscard]] std::size_t part_bytes(pgas::rank_t rank) const noexcept { return inner_->part_bytes(rank); }
  [[nodiscard]] pgas::bytes_out local() const noexcept { return inner_->local(); }
  [[nodiscard]] std::byte* part_if_near(pgas::rank_t rank) const noexcept {
    return nodes_.is_near(rank) ? inner_->part(rank) : nullptr;
  }

  void put(pgas::location at, pgas::bytes_in from) {
    if (nodes_.is_near(at.rank)) return inner_->put(at, from);
    wire_->put(id(), nodes_.to_world(at.rank), inner_->part(at.rank) + at.offset, from);
  }
  void get(pgas::location at, pgas::bytes_out into) {
    if (nodes_.is_near(at.rank)) return inner_->get(at, into);
    wire_->get(id(), nodes_.to_world(at.rank), into, inner_->part(at.rank) + at.offset);
  }
  pgas::done rput(pgas::location at, pgas::bytes_in from) { return put(at, from), pgas::done{}; }
  pgas::done rget(pgas::location at, pgas::bytes_out into) {
    if (!nodes_.is_near(at.rank)) ++wire_->calls.gets;
    return inner_->get(at, into), pgas::done{};
  }
  void put_rows(pgas::location at, std::size_t pitch, std::byte const* from, std::size_t from_pitch,
                pgas::row_shape shape) {
    if (nodes_.is_near(at.rank)) return inner_->put_rows(at, pitch, from, from_pitch, shape);
    for (std::size_t row = 0; row < shape.rows; ++row)
      put({at.rank, at.offset + row * pitch}, {from + row * from_pitch, shape.row_bytes});
  }
  void get_rows(pgas::location at, std::size_t pitch, std::byte* into, std::size_t into_pitch,
                pgas::row_shape shape) {
    if (nodes_.is_near(at.rank)) return inner_->get_rows(at, pitch, into, into_pitch, shape);
    for (std::size_t row = 0; row < shape.rows; ++row)
      get({at.rank, at.offset + row * pitch}, {into + row * into_pitch, shape.row_bytes});
  }

  void flush(pgas::rank_t rank) {
    if (nodes_.is_near(rank)) return mapped::flush(rank);
    ++wire_->calls.flushes;
    wire_->deliver_puts(mine_to(rank));
    wire_->deliver_gets(mine_to(rank));
  }
  void order_puts(pgas::rank_t rank) noexcept
    requires Ordered
  {
    if (!nodes_.is_near(rank)) wire_->put_in_order(id(), nodes_.to_world(rank));
  }
  void flush_all() {
    for (pgas::rank_t rank = 0; rank < size(); ++rank) flush(rank);
  }
  void flush_local(pgas::rank_t rank) {
    mapped::flush_local(rank);
    if (!nodes_.is_near(rank)) wire_->deliver_gets(mine_to(rank));
  }
  void flush_local_all() {
    for (pgas::rank_t rank = 0; rank < size(); ++rank) flush_local(rank);
  }

  template <class T, class Op>
  T fetch_op(pgas::location at, T value, Op op) const {
    return counted(at), inner_->template fetch_op<T>(at, value, op);
  }
  template <class T>
  T compare_exchange(pgas::location at, T expected, T desired) const {
    return counted(at), inner_->template compare_exchange<T>(at, expected, desired);
  }
  template <class T>
  T atomic_load(pgas::location at) const {
    return counted(at), inner_->template atomic_load<T>(at);
  }
  template <class T>
  void atomic_store(pgas::location at, T value) const {
    counted(at), inner_->template atomic_store<T>(at, value);
  }

  /// The far transfers of this rank, of all windows.
  [[nodiscard]] far_calls& calls() const noexcept { return wire_->calls; }

 private:
  [[nodiscard]] void const* id() const noexcept { return inner_.get(); }
  [[nodiscard]] auto mine_to(pgas::rank_t rank) const noexcept {
    return [segment = id(), target = nodes_.to_world(rank)](wire::copy const& one) {
      return one.segment == segment && one.target == target;
    };
  }
  void counted(pgas::location at) const noexcept {
    if (!nodes_.is_near(at.rank)) ++wire_->calls.atomics;
  }

  std::unique_ptr<mapped> inner_;  ///< its address names the segment to the wire
  nodes nodes_;
  std::shared_ptr<wire> wire_;
};

/// The control words of process_map, which carry a rank's puts in order: before a word of a far rank changes,
/// the puts to that rank that are in order arrive.
class control : public pgas::detail::mapped_control {
  using mapped = pgas::detail::mapped_control;

  /// Comes before each change of a word.
  class carrier {
   public:
    carrier(wire* out, pgas::rank_t owner) noexcept : wire_(out), owner_(owner) {}
    void carry() const {
      if (wire_ != nullptr) wire_->deliver_in_order(owner_);
    }

   private:
    wire* wire_;  ///< null: the word is near
    pgas::rank_t owner_;
  };

 public:
  class slot_type : public mapped::slot_type, carrier {
   public:
    slot_type(mapped::slot_type word, carrier before) noexcept : mapped::slot_type(word), carrier(before) {}
    void store(pgas::word value, std::memory_order order) const {
      carry(), mapped::slot_type::store(value, order);
    }
  };
  class cell_type : public mapped::cell_type, carrier {
   public:
    cell_type(mapped::cell_type word, carrier before) noexcept : mapped::cell_type(word), carrier(before) {}
    pgas::word fetch_add(pgas::word value, std::memory_order order) const {
      return carry(), mapped::cell_type::fetch_add(value, order);
    }
    void without_waking() const = delete;  // each change carries what came before it
    pgas::word fetch_xor(pgas::word value, std::memory_order order) const {
      return carry(), mapped::cell_type::fetch_xor(value, order);
    }
    pgas::word exchange(pgas::word value, std::memory_order order) const {
      return carry(), mapped::cell_type::exchange(value, order);
    }
    bool compare_exchange(pgas::word& expected, pgas::word desired, std::memory_order order) const {
      return carry(), mapped::cell_type::compare_exchange(expected, desired, order);
    }
    void reset_unshared(pgas::word value, std::memory_order order) const {
      carry(), mapped::cell_type::reset_unshared(value, order);
    }
  };

  control(mapped inner, nodes where, std::shared_ptr<wire> out)
      : mapped(std::move(inner)), nodes_(std::move(where)), wire_(std::move(out)) {}

  [[nodiscard]] slot_type slot(pgas::rank_t owner, std::size_t i, pgas::rank_t writer) const {
    return {mapped::slot(owner, i, writer), before(owner)};
  }
  [[nodiscard]] cell_type cell(pgas::rank_t owner, std::size_t i) const {
    return {mapped::cell(owner, i), before(owner)};
  }

 private:
  [[nodiscard]] carrier before(pgas::rank_t owner) const noexcept {
    return {nodes_.is_near(owner) ? nullptr : wire_.get(), nodes_.to_world(owner)};
  }

  nodes nodes_;
  std::shared_ptr<wire> wire_;
};
static_assert(pgas::control<control>);

/// process_map or thread_map, with `NodeSize` ranks on each node. A missing flush shows, since a far put
/// arrives no earlier.
template <class Inner, pgas::rank_t NodeSize, bool Ordered = false>
class nodes_of : public Inner {
 public:
  using segment_type = segment<Ordered>;
  using control_type = control;
  static constexpr std::string_view name = "fake_nodes";

  template <class Main>
  static auto launch(pgas::rank_t ranks, Main const& main) {
    return Inner::launch(ranks, [&main](Inner const& inner, auto& bootstrap) {
      main(nodes_of(inner, std::make_shared<wire>()), bootstrap);
    });
  }

  [[nodiscard]] pgas::locality locality_of(pgas::rank_t rank) const {
    return where().is_near(rank) ? Inner::locality_of(rank) : pgas::locality::remote;
  }
  [[nodiscard]] segment_type attach_segment(typename Inner::handle extent, std::size_t own_bytes) const {
    return {Inner::attach_segment(extent, own_bytes), where(), wire_};
  }
  [[nodiscard]] control_type attach_control(typename Inner::handle extent, pgas::control_words words,
                                            std::string_view label) const {
    return {Inner::attach_control(extent, words, label), where(), wire_};
  }
  [[nodiscard]] nodes_of sub_team(pgas::group members, pgas::rank_t rank) const {
    return {Inner::sub_team(members, rank), wire_};
  }

 private:
  nodes_of(Inner inner, std::shared_ptr<wire> out) : Inner(std::move(inner)), wire_(std::move(out)) {}
  [[nodiscard]] nodes where() const { return {Inner::ranks(), NodeSize}; }

  std::shared_ptr<wire> wire_;
};

}  // namespace pgas_test::fake
