// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <pgas/detail/machines/tile/machine.hpp>
#include <pgas/detail/text/text.hpp>
#include <string>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// The channel of the emulated machine: its hardware queues, four a core, of 118 words each.
///
/// States    A message is on the wire, or in a queue. Its words occupy the queue from the end of its send
///           until its receiver has read them. A send without room waits at the queue, behind those that
///           waited before it. The receiver that makes room lets the first in.
/// Time      A send takes o_send, then the message takes L; a receive takes o_rcv; a handler takes o_arcv, or
///           o_rcv if it runs in a poll. A wait runs handlers, so their time does not delay it.
/// Differs   from the hardware, where a core has four queues in all. Here each channel has four a core, so
///           that sub-teams and libraries do not share them. There, several senders to a full queue are let
///           in as the mesh arbitrates, and a message that waits holds up others on its links.
class tile_channel {
 public:
  static constexpr std::size_t queues = tile_machine::home_queues::queues;
  static constexpr std::size_t most_words = 118;
  static constexpr bool interrupts = true;

  tile_channel(std::shared_ptr<tile_machine::machine> m, std::shared_ptr<tile_machine::home_queues> home,
               team_ranks ranks, std::string_view label)
      : end_(std::make_unique<end>(std::move(m), std::move(home), std::move(ranks), std::string(label))) {}

  [[nodiscard]] rank_t rank() const noexcept { return end_->ranks.self(); }
  [[nodiscard]] rank_t size() const noexcept { return end_->ranks.size(); }
  /// The words for which a queue has room. All senders share them.
  [[nodiscard]] std::size_t queue_words() const noexcept { return end_->of->how().queue_words; }

  void send(rank_t to, std::size_t queue, std::span<word const> message, caller by = here()) {
    end_->check(to, queue, message, {"send", by});
    end_->of->begin(end_->self);
    end_->pay_send(message.size());
    end_->send(to, queue, message, "send");
  }
  void multicast(std::span<rank_t const> to, std::size_t queue, std::span<word const> message) {
    for (rank_t const each : to) end_->check(each, queue, message, "multicast");
    end_->of->begin(end_->self);
    auto const* const costs = end_->of->how().clock;
    bool const at_once = costs != nullptr && costs->has_multicast;
    if (at_once && !to.empty()) end_->pay_send(message.size());
    for (rank_t const each : to) {
      if (!at_once) end_->pay_send(message.size());
      end_->send(each, queue, message, "multicast");
    }
  }

  received receive(std::size_t queue, std::span<word> into) {
    end_->check_receive(queue, "receive");
    end_->of->begin(end_->self);
    tile_machine::queue& q = end_->own(queue);
    end_->of->wait(
        end_->self, {}, [&] { return end_->has_arrived(q); }, [&] { return q.next_arrival(); },
        {.operation = "receive", .awaited = end_->others}, end_->label, end_->ranks);
    return end_->read(q, into, "receive");
  }
  [[nodiscard]] std::optional<received> try_receive(std::size_t queue, std::span<word> into) {
    end_->check_receive(queue, "try_receive");
    end_->of->begin(end_->self);
    tile_machine::queue& q = end_->own(queue);
    if (end_->has_arrived(q)) return end_->read(q, into, "try_receive");
    end_->look("try_receive");
    return std::nullopt;
  }

  void handle(std::size_t queue, message_handler handler) {
    end_->check_queue(queue, "handle");
    end_->at.handlers[queue] =
        handler ? std::make_shared<message_handler const>(std::move(handler)) : nullptr;
  }
  std::size_t poll() {
    auto const before = end_->handled();
    end_->of->begin(end_->self);
    end_->of->take(end_->self, end_->of->how().by == pgas::tile_machine::delivery::interrupts);
    auto const handled = static_cast<std::size_t>(end_->handled() - before);
    if (handled == 0) end_->look("poll");
    return handled;
  }

  /// While it lives, no handler runs: interrupts stay pending.
  class held {
   public:
    held(held const&) = delete;
    held& operator=(held const&) = delete;
    ~held() { --at_->holds; }

   private:
    friend tile_channel;
    explicit held(tile_machine::port& p) noexcept : at_(&p) { ++p.holds; }
    tile_machine::port* at_;
  };
  [[nodiscard]] held hold() noexcept { return held(end_->at); }

  void charge(std::uint64_t cycles) { end_->of->compute(end_->self, cycles); }

 private:
  /// This rank's end of the channel. The machine knows its port by address.
  struct end {
    end(std::shared_ptr<tile_machine::machine> m, std::shared_ptr<tile_machine::home_queues> h, team_ranks r,
        std::string l)
        : of(std::move(m)), home(std::move(h)), ranks(std::move(r)), label(std::move(l)) {
      self = ranks.to_world(ranks.self());
      for (rank_t other = 0; other < ranks.size(); ++other) {
        if (other != ranks.self() || ranks.size() == 1) others.push_back(other);
      }
      at.queues = &home->of(ranks.self());
      of->attach(self, at);
    }
    end(end const&) = delete;
    end& operator=(end const&) = delete;
    ~end() { of->detach(self, at); }

    [[nodiscard]] tile_machine::queue& own(std::size_t number) noexcept {
      return home->of(ranks.self())[number];
    }
    [[nodiscard]] bool has_arrived(tile_machine::queue const& q) const noexcept {
      return q.next_arrival() <= of->now(self);
    }
    [[nodiscard]] std::uint64_t handled() const noexcept {
      auto const& c = of->count(self);
      return c.interrupts + c.polled;
    }
    void pay_send(std::size_t words) {
      if (auto const* const costs = of->how().clock; costs != nullptr) of->spend(self, costs->send(words));
    }
    void send(rank_t to, std::size_t queue, std::span<word const> message, std::string_view operation) {
      of->send(self, {home, to, queue, {ranks.self(), 0, {message.begin(), message.end()}}},
               {.operation = operation, .awaited = group(&to, 1)}, label, ranks);
    }
    received read(tile_machine::queue& q, std::span<word> into, std::string_view operation) {
      if (auto const& first = q.arrived.front(); first.words.size() > into.size()) {
        throw error(errc::invalid_argument, self, operation,
                    text_of({"the message of ", first.words.size(), " words from rank ", first.from,
                             " does not fit into ", into.size(), "; give room for ", most_words, " words"}));
      }
      tile_machine::packet const one = of->read(self, q, 0);
      ++of->count(self).received;
      std::copy(one.words.begin(), one.words.end(), into.begin());
      return {one.from, one.words.size()};
    }
    /// A poll in vain: takes time, so that a loop of polls ends, and notices failures.
    void look(std::string_view operation) {
      of->turns().point();
      of->of_job().as(self).check(operation);
    }

    void check_queue(std::size_t queue, called operation) const {
      if (queue >= queues) {
        throw error(errc::out_of_range, self, operation,
                    text_of({"queue ", index_text(queue), " does not exist, a rank has ", queues}));
      }
    }
    void check(rank_t to, std::size_t queue, std::span<word const> message, called operation) const {
      if (to < 0 || to >= ranks.size()) throw_bad_rank(self, operation, to, ranks.size());
      check_queue(queue, operation);
      std::size_t const most = std::min(most_words, of->how().queue_words);
      if (message.empty() || message.size() > most) {
        throw error(
            errc::invalid_argument, self, operation,
            text_of({"a message of ", message.size(), " words cannot be sent; send 1 to ", most, " words"}));
      }
    }
    void check_receive(std::size_t queue, called operation) const {
      check_queue(queue, operation);
      if (of->handles(self)) {
        throw error(errc::wrong_order, self, operation,
                    "a handler must not receive; let it note the message, and receive after it");
      }
    }

    std::shared_ptr<tile_machine::machine> of;
    std::shared_ptr<tile_machine::home_queues> home;
    team_ranks ranks;
    std::string label;
    rank_t self = 0;             ///< number in the job
    std::vector<rank_t> others;  ///< the ranks that may send; a rank alone sends to itself
    tile_machine::port at;
  };

  std::unique_ptr<end> end_;
};
static_assert(channel<tile_channel>);

}  // namespace PGAS_NAMESPACE::detail
