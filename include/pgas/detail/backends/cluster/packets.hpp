// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <pgas/detail/backends/cluster/packet.hpp>
#include <pgas/detail/job/service.hpp>
#include <pgas/detail/job/wait.hpp>
#include <pgas/detail/mpi/member.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/detail/types/function_ref.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::cluster {

/// Packets of requests between ranks of different nodes. `Receiver` derives from it, and its
/// carry_out(peer, head, body) carries out a request.
///
/// Messages  Requests to a rank gather in a packet, which leaves when it is full or when `send` is called. A
///           receiver carries out a rank's requests in the order of their sending. A receipt, in the head of
///           any packet back, says how many packets it has carried out.
/// Long ones Bytes that do not fit into a packet are a message of their own, behind a request that announces
///           them. MPI delivers those in order, so they need no number. A rank's packets behind its long put
///           wait until that put has arrived.
/// Bound     A rank sends at most `most_unreceived` packets with requests without a receipt. A long put has a
///           packet of its own, whose receipt says that the put has arrived. So as many long puts to a rank
///           are under way, and MPI holds no more requests for them.
/// Memory    grows with the ranks that this rank has met: a packet for each.
template <class Receiver>
class packets {
 public:
  static constexpr std::uint64_t most_unreceived = 64;

  packets(packets const&) = delete;
  packets& operator=(packets const&) = delete;

  [[nodiscard]] mpi::member& owner() const noexcept { return *member_; }

  /// Lets the waits of this thread serve, if it is not the thread that has joined the job.
  class serving {
   public:
    explicit serving(Receiver& by) {
      job_block const& block = by.owner().of_job().block();
      if (!service::must_look(block))
        here_.emplace(block, nullptr, [&by] {
          by.poll();
          by.owner().poll();
        });
    }

   private:
    std::optional<service> here_;
  };

  /// The number of packets that this rank has sent.
  [[nodiscard]] std::uint64_t sent() const noexcept { return packets_sent_; }
  /// The number of long puts and gets under way, to and from this rank.
  [[nodiscard]] std::size_t long_under_way() const noexcept { return long_ones_.size(); }

  /// Ends the exchange after the last request of this rank. Collective. Serves the others until all are here.
  void close() {
    for_each_peer([&](peer& each) {
      each.last_request = std::max(each.last_request, each.last_letter);
      ask_receipt(each);
    });
    meet_all();
    while (!is_quiet()) {
      go_on();
      free_sent();
      give_up_core();
    }
    meet_all();
    for (auto& each : arriving_) {
      MPI_Cancel(&each.request);
      MPI_Wait(&each.request, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&ranks_);
  }

 protected:
  explicit packets(std::shared_ptr<mpi::member> mine) : member_(std::move(mine)) {
    mpi::check_call(MPI_Comm_dup(member_->world()->get(), &ranks_), "MPI_Comm_dup");
    mpi::check_call(MPI_Comm_set_errhandler(ranks_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    for (auto& each : arriving_) expect(each);
  }
  ~packets() = default;

  [[nodiscard]] peer& meet(rank_t rank) {
    if (last_met_ == nullptr || last_met_->rank != rank)
      last_met_ = &peers_.try_emplace(rank, rank).first->second;
    return *last_met_;
  }

  /// A new peer may come while `use` runs, if another rank's first packet arrives.
  template <class Use>
  void for_each_peer(Use&& use) {
    std::vector<peer*> known;
    known.reserve(peers_.size());
    for (auto& [rank, each] : peers_) known.push_back(&each);
    for (peer* const each : known) use(*each);
  }

  /// Sends the peer's packet of requests, and waits if too many packets are without a receipt.
  void send_in_bounds(peer& to, bool wants_receipt = false) {
    send(to, wants_receipt || to.sent - to.asked >= between_receipts);
    // A receipt for one of the last `between_receipts` packets is under way.
    if (std::uint64_t const least = to.sent - std::min(to.sent, most_unreceived); to.arrived < least)
      await([&] { return to.arrived >= least; }, to, "put");
  }
  /// Makes room for a request and its body in the peer's packet; returns the address of the body.
  std::byte* begin_request(peer& to, request_head const& head, std::size_t body) {
    packed_head const packed = pack(head, body);
    while (!has_room(to, packed, body)) send_in_bounds(to);
    to.has_requests = true;
    return append(to, packed, body);
  }
  void request(peer& to, request_head const& head, bytes_in body = {}) {
    std::byte* const at = begin_request(to, head, body.size());
    if (!body.empty()) std::memcpy(at, body.data(), body.size());
  }
  /// Sends a request at once, for whose receipt no flush waits. It does not wait: the caller bounds the
  /// number of such requests.
  void send_at_once(peer& to, request_head const& head, bytes_in body) {
    packed_head const packed = pack(head, body.size());
    if (!has_room(to, packed, body.size())) send(to, false);
    std::byte* const at = append(to, packed, body.size());
    if (!body.empty()) std::memcpy(at, body.data(), body.size());
    send(to, false);
    to.last_letter = to.sent;
  }
  /// Makes room for the answer to the peer's oldest open question. It does not wait.
  std::byte* begin_answer(peer& to, std::uint64_t value, std::size_t body) {
    packed_head const packed = pack({.what = action::answer, .value = value}, body);
    if (!has_room(to, packed, body)) send(to, false);
    to.has_answers = true;
    return append(to, packed, body);
  }

  /// Sends the peer's packet, and a receipt for its own packets with it.
  void send(peer& to, bool wants_receipt) {
    // release: pairs with the acquire in receive of the rank that gets the receipt; carries what this rank
    // has stored for it.
    std::atomic_thread_fence(std::memory_order_release);
    packet_head const head(to.carried_out, to.next.size(), wants_receipt);
    std::memcpy(to.next.data(), &head, sizeof head);
    ++to.sent;
    ++packets_sent_;
    if (to.has_requests) to.last_request = to.sent;
    if (wants_receipt) to.asked = to.sent;
    to.has_requests = false;
    to.has_answers = false;
    auto& one = sent_.emplace_back();
    one.bytes.swap(to.next);
    if (!unused_.empty()) {
      to.next.swap(unused_.back());
      unused_.pop_back();
    }
    to.next.resize(sizeof head);
    mpi::check_call(MPI_Isend(one.bytes.data(), static_cast<int>(one.bytes.size()), MPI_BYTE, to.rank,
                              owner().tag(packet_kind), ranks_, &one.request),
                    "MPI_Isend");
  }
  /// Makes sure that a receipt for all requests to the peer arrives.
  void ask_receipt(peer& to) {
    if (to.has_requests || (to.asked < to.last_request && to.arrived < to.last_request)) send(to, true);
  }

  /// A put or get in a message of its own.
  struct long_one {
    std::shared_ptr<transfer> of = {};  ///< this rank's
    peer* gets_from = nullptr;          ///< of this rank's get
    peer* puts_here = nullptr;          ///< of another rank's put
    packet scratch = {};                ///< its bytes, if the memory is unknown
    MPI_Request request = MPI_REQUEST_NULL;
  };
  /// The kinds of long ones, which are tags of MPI.
  enum class long_kind : int { put = 2, get = 3 };

  void send_long(long_one one, rank_t to, long_kind kind, bytes_in from) {
    mpi::check_call(MPI_Isend(from.data(), static_cast<int>(from.size()), MPI_BYTE, to,
                              owner().tag(static_cast<int>(kind)), ranks_, &one.request),
                    "MPI_Isend");
    long_ones_.push_back(std::move(one));
  }
  void receive_long(long_one one, rank_t from, long_kind kind, bytes_out into) {
    if (one.puts_here != nullptr) one.puts_here->is_stalled = true;
    mpi::check_call(MPI_Irecv(into.data(), static_cast<int>(into.size()), MPI_BYTE, from,
                              owner().tag(static_cast<int>(kind)), ranks_, &one.request),
                    "MPI_Irecv");
    long_ones_.push_back(std::move(one));
  }

  /// Carries out what has arrived, and continues what is under way.
  void go_on() {
    receive();
    for (auto one = long_ones_.begin(); one != long_ones_.end();) {
      if (!mpi::member::is_complete(one->request)) {
        ++one;
        continue;
      }
      if (one->of) --one->of->open;
      if (one->gets_from != nullptr) --one->gets_from->long_gets;
      peer* const waits = one->puts_here;
      one = long_ones_.erase(one);
      if (waits != nullptr) resume(*waits);
    }
    if (!sent_.empty()) free_sent();
  }

  /// Waits for an action of another node's rank. The wait does not name that rank, since it may be computing,
  /// and then answers at its next call.
  template <class Condition>
  void await(Condition&& condition, peer const& other, std::string_view operation) {
    if (condition()) return;
    int const looks = keeps_core(member_->of_job()) ? eager_looks : 1;
    for (int i = 0; i < looks; ++i) {
      self().poll();
      if (condition()) return;
    }
    await_long(condition, other, operation);
  }

 private:
  [[gnu::noinline]] void await_long(function_ref<bool()> condition, peer const& other,
                                    std::string_view operation) {
    serving const here(self());
    std::string const label = text_of({"an answer of rank ", other.rank});
    constexpr auto nobody = [] { return group(); };
    wait_for(member_->of_job(), condition, {.operation = operation}, label, nobody);
  }

  static constexpr int packet_kind = 4;
  static constexpr std::uint64_t between_receipts = 16;
  static constexpr std::size_t looked_at = 16;  ///< packets on their way, at a time

  /// A packet on its way from this rank.
  struct outgoing {
    packet bytes = {};
    MPI_Request request = MPI_REQUEST_NULL;
  };
  /// Room for an arriving packet.
  struct incoming {
    std::array<std::byte, packet_bytes> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  [[nodiscard]] Receiver& self() noexcept { return static_cast<Receiver&>(*this); }

  static packed_head pack(request_head head, std::size_t body) noexcept {
    head.body = static_cast<std::uint32_t>(body);
    return packed_head(head);
  }
  static bool has_room(peer const& to, packed_head const& head, std::size_t body) noexcept {
    return to.next.size() + head.bytes() + body <= packet_bytes;
  }
  static std::byte* append(peer& to, packed_head const& head, std::size_t body) {
    std::size_t const at = to.next.size();
    to.next.resize(at + head.bytes() + body);
    head.write(to.next.data() + at);
    return to.next.data() + at + head.bytes();
  }

  /// Recycles the packets that have left. A peer that does not poll keeps its own, but not those of others.
  /// One call of MPI tests several packets. The next packet uses the bytes of one that has just left, which
  /// are in the cache.
  void free_sent() {
    std::array<MPI_Request, looked_at> requests;
    std::array<int, looked_at> left;
    for (std::size_t first = 0; first < sent_.size(); first += looked_at) {
      std::size_t const count = std::min(looked_at, sent_.size() - first);
      for (std::size_t i = 0; i < count; ++i) requests[i] = sent_[first + i].request;
      int how_many = 0;
      mpi::check_call(
          MPI_Testsome(static_cast<int>(count), requests.data(), &how_many, left.data(), MPI_STATUSES_IGNORE),
          "MPI_Testsome");
      for (std::size_t i = 0; i < count; ++i) sent_[first + i].request = requests[i];
      if (how_many == 0 && sent_.size() <= most_unreceived) break;
    }
    std::erase_if(sent_, [this](outgoing& one) {
      if (one.request != MPI_REQUEST_NULL) return false;
      if (unused_.size() < most_unreceived) unused_.push_back(std::move(one.bytes));
      return true;
    });
  }

  void expect(incoming& room) {
    mpi::check_call(MPI_Irecv(room.bytes.data(), static_cast<int>(packet_bytes), MPI_BYTE, MPI_ANY_SOURCE,
                              owner().tag(packet_kind), ranks_, &room.request),
                    "MPI_Irecv");
  }
  /// Receives the packets that have arrived. A rank with a core of its own receives one, since the caller
  /// likely waits for it, and a poll that finds nothing costs as much as one that finds a packet.
  void receive() {
    std::size_t const looks = keeps_core(member_->of_job()) ? 1 : arriving_.size();
    for (std::size_t i = 0; i < looks; ++i) {
      incoming& room = arriving_[next_arrival_];
      int there = 0;
      MPI_Status status;
      mpi::check_call(MPI_Test(&room.request, &there, &status), "MPI_Test");
      if (there == 0) return;
      std::atomic_thread_fence(std::memory_order_acquire);  // pairs with the release in send
      take(meet(status.MPI_SOURCE),
           {room.bytes.data(), read_as<packet_head>(room.bytes.data()).packet_length()});
      expect(room);
      next_arrival_ = (next_arrival_ + 1) % arriving_.size();
    }
  }
  void take(peer& from, bytes_in bytes) {
    from.arrived = std::max(from.arrived, read_as<packet_head>(bytes.data()).carried_out());
    if (from.waiting.empty()) {
      from.position = sizeof(packet_head);
      if (carry_out(from, bytes)) return;
    }
    from.waiting.emplace_back(bytes.begin(), bytes.end());
  }
  /// Continues after a long put has arrived.
  void resume(peer& from) {
    from.is_stalled = false;
    while (!from.waiting.empty() && carry_out(from, from.waiting.front())) {
      from.waiting.pop_front();
      from.position = sizeof(packet_head);
    }
  }
  /// Carries out the rest of a packet. Returns false if a long put must arrive first.
  bool carry_out(peer& from, bytes_in bytes) {
    while (!from.is_stalled && from.position < bytes.size()) {
      request_head head;
      std::size_t const first = from.position + packed_head::read(bytes.data() + from.position, head);
      bytes_in const body = bytes.subspan(first, head.body);
      from.position = first + body.size();
      self().carry_out(from, head, body);
    }
    if (from.is_stalled) return false;
    ++from.carried_out;
    bool const wants_receipt = read_as<packet_head>(bytes.data()).wants_receipt();
    if (wants_receipt || from.has_answers) send(from, false);
    return true;
  }

  /// Returns when all ranks of the job have called it.
  void meet_all() {
    MPI_Request meeting = MPI_REQUEST_NULL;
    mpi::check_call(MPI_Ibarrier(ranks_, &meeting), "MPI_Ibarrier");
    while (!mpi::member::is_complete(meeting)) {
      go_on();
      free_sent();
      give_up_core();
    }
  }
  [[nodiscard]] bool is_quiet() const {
    return sent_.empty() && long_ones_.empty() &&
           std::all_of(peers_.begin(), peers_.end(), [](auto const& each) {
             peer const& p = each.second;
             return p.arrived >= std::max(p.last_request, p.asked) && p.open.empty();
           });
  }

  std::shared_ptr<mpi::member> member_;
  MPI_Comm ranks_ = MPI_COMM_NULL;
  std::unordered_map<rank_t, peer> peers_;
  peer* last_met_ = nullptr;
  std::uint64_t packets_sent_ = 0;
  std::deque<outgoing> sent_;
  std::vector<packet> unused_;
  std::list<long_one> long_ones_;
  std::array<incoming, 8> arriving_;
  std::size_t next_arrival_ = 0;
};

}  // namespace PGAS_NAMESPACE::detail::cluster
