// SPDX-License-Identifier: BSL-1.0
// Messages as RCKMPI sends them (Christgau 2017, sections 2.3.3 and 4.1.2). Each core's message passing
// buffer has a section for each other process. A sender copies header and payload into its section of the
// receiver's buffer and then increments a count. The receiver polls all its sections, copies the packet out
// and increments a count. Further packets move while the sender waits for anything, to all receivers in turn
// (section 4.4.5). On top: send and receive, and one-sided calls that queue operations until an epoch ends.
//
// Rules for all programs:
// A payload goes from the buffer to its place if the place is known, and is else copied once more. The place
// is not known to handlers of one-sided messages, nor for a receive that comes late. The caches hold a buffer
// as the program leaves it: if it has read the buffer, and has not displaced it since. No program prepares a
// cache for a measurement. The library works once for each packet, at either end.
#pragma once

#include <array>
#include <deque>
#include <optional>

#include "chip.hpp"

namespace papers {

/// RCKMPI's own time for each packet, at either end. Set by: one byte by send and receive takes 6.4 us
/// (Christgau 2017, section 4.4.3). That message is one packet, so this value cannot tell a packet's time
/// from a message's. Each packet has a header, a count and a poll of its own, so it is a packet's here.
inline constexpr double rckmpi_packet_us = 2.87;

/// The unit for which the library works once: the two readings of the time above.
enum class work_for { each_packet, each_message };

/// One rank's end of all its channels.
class messages {
 public:
  enum class kind : std::uint32_t {
    data,   // goes to the place that its receiver has named
    early,  // the same for a receive that comes late: it arrives before the receiver asks for it
    post,
    put,
    last
  };

  explicit messages(machine& m, work_for unit = work_for::each_packet)
      : m_(m), unit_(unit), in_(count(m)), out_(count(m)), sent_(count(m)), pending_(count(m)) {}

  /// Sends `bytes` bytes of this core's scratch memory in as many packets as needed; returns when the last
  /// has left. `offset`: the place of a put, counted from the place that the target has named.
  void send(rank_t to, kind what, std::uint32_t from, std::size_t bytes, std::size_t offset = 0) {
    start(to, what, from, bytes, offset);
    finish();
  }
  /// The same, but at most one packet leaves now. The others leave while this core waits for something.
  void start(rank_t to, kind what, std::uint32_t from, std::size_t bytes, std::size_t offset = 0) {
    if (unit_ == work_for::each_message) m_.work(rckmpi_packet_us);
    out_[index(to)].push_back({what, from, bytes, offset});
    push(to);
  }
  /// Returns when all packets have left.
  void finish() {
    while (std::any_of(out_.begin(), out_.end(), [](auto const& queue) { return !queue.empty(); }))
      progress();
  }

  /// Waits for the next message of a kind from a rank, and copies its payload to scratch memory.
  void receive(rank_t from, kind what, std::uint32_t into) {
    expect(from, into);
    wait(from, what);
  }
  void wait(rank_t from, kind what) {
    while (!take(from, what)) progress();
  }
  /// Takes a message of this kind from a rank, if one has come; returns whether it has.
  bool take(rank_t from, kind what) {
    auto& waiting = pending_[index(from)];
    auto const found = std::find(waiting.begin(), waiting.end(), what);
    if (found == waiting.end()) return false;
    waiting.erase(found);
    return true;
  }
  /// Names the place for the payload of the next messages from a rank.
  void expect(rank_t from, std::uint32_t into) { in_[index(from)].into = into; }

  /// Polls each section once, takes a packet from each that has one, and sends one to each that has room.
  /// After half a millisecond in vain, it polls more seldom: that changes little, and the emulator need not
  /// count every poll.
  void progress() {
    m_.core().drop_tagged();
    in_vain_ += m_.size();
    if (in_vain_ > 5000) m_.work(50);
    for (rank_t from = 0; from < m_.size(); ++from) {
      if (from == m_.rank()) continue;
      push(from);
      auto& in = in_[index(from)];
      std::uint32_t const here = section(m_.rank(), from);
      if (m_.load(page_type::mpbt_wb, here) == in.taken) continue;
      if (in.left == 0 || unit_ == work_for::each_packet) m_.work(rckmpi_packet_us);
      if (in.left == 0) {
        in.what = static_cast<kind>(m_.load(page_type::mpbt_wb, here + header_at));
        in.left = m_.load(page_type::mpbt_wb, here + header_at + 4);
        in.done = m_.load(page_type::mpbt_wb, here + header_at + 8);
      }
      in_vain_ = 0;
      std::size_t const count = std::min<std::size_t>(in.left, payload_bytes());
      std::uint32_t const into = in.into + static_cast<std::uint32_t>(in.done);
      std::size_t const words = (count + 3) / 4 * 4;
      if (in.what == kind::put || in.what == kind::last || in.what == kind::early) {
        take_out(packet, here + payload_at, words);
        m_.copy(page_type::dcm, into, page_type::dcm, packet, words);
      } else {
        take_out(into, here + payload_at, words);
      }
      in.done += count;
      in.left -= static_cast<std::uint32_t>(count);
      m_.store(page_type::ncm, here + taken_at, ++in.taken);
      if (in.left == 0) pending_[index(from)].push_back(in.what);
    }
  }

 private:
  static constexpr std::uint32_t line = 32;
  // A line for each count, one for the header, then the payload.
  static constexpr std::uint32_t taken_at = line;
  static constexpr std::uint32_t header_at = 2 * line;
  static constexpr std::uint32_t payload_at = 3 * line;

  struct incoming {
    std::uint32_t taken = 0;
    std::uint32_t left = 0;  // of the message whose packets are arriving
    std::size_t done = 0;    // from `into` on
    std::uint32_t into = machine::scratch(std::size_t{8} << 20U);
    kind what = kind::data;
  };

  struct outgoing {
    kind what;
    std::uint32_t from;
    std::size_t bytes, offset;
    std::size_t done = 0;
  };

  /// Sends the next packet to a rank, if there is one and its section is empty.
  void push(rank_t to) {
    auto& queue = out_[index(to)];
    std::uint32_t const there = section(to, m_.rank());
    if (queue.empty() || m_.load(page_type::ncm, there + taken_at) != sent_[index(to)]) return;
    if (unit_ == work_for::each_packet) m_.work(rckmpi_packet_us);
    auto& out = queue.front();
    std::size_t const count = std::min(out.bytes - out.done, payload_bytes());
    // Header and payload go through the write-combining buffer, and so reach their place before the count.
    m_.store(page_type::mpbt_wt, there + header_at, static_cast<std::uint32_t>(out.what));
    m_.store(page_type::mpbt_wt, there + header_at + 4, static_cast<std::uint32_t>(out.bytes));
    m_.store(page_type::mpbt_wt, there + header_at + 8, static_cast<std::uint32_t>(out.offset));
    for (std::uint32_t word = 12; word < line; word += 4)
      m_.store(page_type::mpbt_wt, there + header_at + word, 0);
    m_.copy(page_type::mpbt_wt, there + payload_at, page_type::dcm,
            out.from + static_cast<std::uint32_t>(out.done), (count + 3) / 4 * 4);
    m_.core().drain();
    m_.store(page_type::ncm, there, ++sent_[index(to)]);
    in_vain_ = 0;
    out.done += count;
    if (out.done == out.bytes) queue.pop_front();
  }

  /// A packet's place before a handler or a late receiver copies it to a window. That is a plain copy, whose
  /// stores bypass caches that do not hold the line. Before RCKMPI's one-sided calls were repaired, "received
  /// data" were "not copied into the supplied buffer" (Christgau 2017, section 4.1.2).
  static constexpr std::uint32_t packet = machine::scratch(std::size_t{15} << 20U);

  /// Copies as this chip does: no store fetches a line, so each line is read before it is written.
  void take_out(std::uint32_t to, std::uint32_t from, std::size_t bytes) {
    for (std::uint32_t i = 0; i < bytes; i += line) {
      static_cast<void>(m_.load(page_type::dcm, to + i));
      m_.copy(page_type::dcm, to + i, page_type::mpbt_wb, from + i, std::min<std::size_t>(line, bytes - i));
    }
  }

  static std::size_t count(machine const& m) { return static_cast<std::size_t>(m.size()); }
  static std::size_t index(rank_t rank) { return static_cast<std::size_t>(rank); }
  /// Whole lines, an equal number for each other rank.
  [[nodiscard]] std::size_t section_bytes() const {
    return pgas::detail::scc::mpb_bytes / (static_cast<std::size_t>(m_.size()) - 1) / line * line;
  }
  [[nodiscard]] std::size_t payload_bytes() const { return section_bytes() - payload_at; }
  [[nodiscard]] std::uint32_t section(rank_t receiver, rank_t sender) const {
    std::size_t const number = index(sender) - (sender > receiver ? 1 : 0);
    return machine::buffer_of(receiver, number * section_bytes());
  }

  machine& m_;
  work_for unit_;
  int in_vain_ = 0;  // sections polled since the last packet
  std::vector<incoming> in_;
  std::vector<std::deque<outgoing>> out_;
  std::vector<std::uint32_t> sent_;
  std::vector<std::deque<kind>> pending_;
};

/// One-sided calls over messages, deferred as MPICH has them. Each post sends an empty message. Puts leave
/// when the epoch closes, and the last message to each target marks the end.
class message_windows {
 public:
  message_windows(machine& m, messages& channel, library const& how) : m_(m), channel_(channel), how_(how) {}

  void post(pgas::group origins) {
    m_.work(how_.call);
    for (rank_t origin : origins) channel_.send(origin, messages::kind::post, machine::scratch(0), 0);
  }
  void start() { m_.work(how_.call); }
  void put(rank_t target, std::uint32_t from, std::size_t bytes, std::size_t offset = 0) {
    m_.work(how_.call);
    queue_.push_back({target, from, bytes, offset});
  }
  void complete(pgas::group targets) {
    m_.work(how_.call);
    for (rank_t target : targets) {
      channel_.wait(target, messages::kind::post);
      bool told = false;
      for (std::size_t i = 0; i < queue_.size(); ++i) {
        auto const& q = queue_[i];
        if (q.target != target) continue;
        bool const last = std::none_of(queue_.begin() + static_cast<std::ptrdiff_t>(i) + 1, queue_.end(),
                                       [&](auto const& other) { return other.target == target; });
        channel_.start(target, last ? messages::kind::last : messages::kind::put, q.from, q.bytes, q.offset);
        told = told || last;
      }
      if (!told) channel_.start(target, messages::kind::last, machine::scratch(0), 0);
    }
    channel_.finish();
    queue_.clear();
  }
  void wait(pgas::group origins) {
    m_.work(how_.call);
    for (rank_t origin : origins) channel_.wait(origin, messages::kind::last);
  }

 private:
  struct operation {
    rank_t target;
    std::uint32_t from;
    std::size_t bytes, offset;
  };

  machine& m_;
  messages& channel_;
  library how_;
  std::vector<operation> queue_;
};

}  // namespace papers
