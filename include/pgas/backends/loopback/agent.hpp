// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <pgas/backends/loopback/link.hpp>
#include <pgas/backends/loopback/server.hpp>
#include <pgas/platform/job/wait.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail::loopback {

/// The answer to a question. The asking agent writes it, and the asking rank reads it.
struct reply {
  std::atomic<bool> arrived{false};
  message head;
  packet body;
  std::size_t room = 0;  ///< its bytes in the agent's bound
};

/// One rank's progress engine: a thread that carries out other ranks' requests and sends this rank's own.
///
/// Members have three kinds of callers: the thread that starts and ends the job, the rank's thread, and the
/// agent's own thread. The first two hand bytes to the third through its io_context. The agent never blocks.
/// A rank blocks in `await` only, which throws when the job has failed.
///
/// One-way messages to a rank are numbered, and an answer names the last number that was carried out.
/// `settle` uses the numbers to give a release its meaning in shared memory: it covers all earlier stores,
/// not only those to its target.
///
/// A link opens when the first message between two ranks goes. A mutex of the job decides which end opens it;
/// the other end takes up its own half. So a job costs descriptors for the pairs that talk, not for all.
class agent {
 public:
  /// The state that the agents of a job share: the mutex under which a link opens, and all agents by rank.
  struct exchange {
    std::mutex opening;
    std::vector<std::shared_ptr<agent>> agents;
  };

  agent(job const& mine, exchange& all)
      : job_(mine),
        all_(&all),
        server_(memory_),
        work_(context_.get_executor()),
        links_(static_cast<std::size_t>(mine.size())),
        sent_(links_.size()),
        asked_(links_.size()),
        done_(links_.size()),
        is_open_(links_.size()) {}
  agent(agent const&) = delete;
  agent& operator=(agent const&) = delete;
  ~agent() { end(); }

  // Called by the thread that starts and ends the job

  void start() {
    thread_ = std::thread([this] {
      try {
        context_.run();
      } catch (std::exception const& e) {
        fail(e.what());
      }
    });
  }

  /// Ends the agent's thread. Its descriptors stay open until `close`, so a running peer sees no broken
  /// stream.
  void end() noexcept {
    ended_.store(true, std::memory_order_relaxed);  // for calls after the job; the joins order it
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }
  void close() noexcept {
    links_.clear();
    offered_.clear();
  }

  // Called by the rank

  [[nodiscard]] rank_t rank() const noexcept { return job_.rank(); }
  [[nodiscard]] job const& of_job() const noexcept { return job_; }
  [[nodiscard]] directory& memory() noexcept { return memory_; }

  /// Returns a new handle for memory of these ranks of the job.
  [[nodiscard]] memory_id reserve(std::vector<rank_t> holders) {
    memory_id const id = (static_cast<memory_id>(rank()) << home_shift) + ++reservations_;
    memory_.reserve(id, std::move(holders));
    return id;
  }

  /// Gives up this rank's hold on the memory. All parts are freed when the last rank has given up its hold.
  void release(memory_id id) noexcept {
    if (ended_.load(std::memory_order_relaxed)) return;
    try {
      boost::asio::post(context_, [this, id] { release_at_home(id); });
    } catch (...) {
      // There is no memory for a message: this rank's part stays until the job ends.
    }
  }

  /// Sends a one-way message whose order and completion matter. It has copied the body when it returns.
  void tell(rank_t to, message m, std::byte const* rows = nullptr, std::size_t pitch = 0,
            row_shape shape = {}) {
    wait_for_room("put");
    m.number = ++sent_[index(to)];
    if (m.kind == message_kind::word_store) asked_[index(to)] = m.number;
    if (!is_open_[index(to)]) {
      is_open_[index(to)] = true;
      open_.push_back(to);
    }
    send(to, pack(m, rows, pitch, shape));
  }

  /// Sends a one-way message without a number and without waiting for room.
  void notify(rank_t to, message const& m, bytes_in body = {}) { send(to, pack(m, body)); }

  /// Sends a question; `answer_to` waits for its reply.
  [[nodiscard]] std::shared_ptr<reply> ask(rank_t to, message m) {
    auto expected = std::make_shared<reply>();
    if (m.kind == message_kind::get) {
      wait_for_room("get");
      expected->room = m.rows * m.row_bytes;
      under_way_.fetch_add(expected->room, std::memory_order_relaxed);  // a bound: orders nothing
    }
    if (m.kind == message_kind::flush) m.number = asked_[index(to)] = sent_[index(to)];
    m.ticket = ++tickets_;
    send(to, pack(m), expected);
    return expected;
  }

  /// Waits for the answer to a question. Throws if the owner refused.
  message const& answer_to(reply const& r, rank_t owner, std::string_view operation) const {
    await([&] { return has_arrived(r); }, operation);
    if (r.head.result != outcome::done) refuse(r.head.result, owner, operation);
    return r.head;
  }
  message ask_now(rank_t to, message const& m, std::string_view operation) {
    return answer_to(*ask(to, m), to, operation);
  }

  // acquire: pairs with the release in received(); the answer is complete.
  static bool has_arrived(reply const& r) noexcept { return r.arrived.load(std::memory_order_acquire); }

  /// Returns when all one-way messages of this rank, except those to `except`, have been carried out.
  ///
  /// A release needs this: a rank that has seen this rank's next signal finds all earlier stores, at whatever
  /// rank they are. The streams alone keep the order towards one rank only.
  void settle(std::string_view operation, rank_t except = -1) {
    if (open_.empty()) return;
    for (rank_t to : open_) {
      if (to == except || asked_[index(to)] == sent_[index(to)]) continue;
      message m;
      m.kind = message_kind::flush;
      m.number = asked_[index(to)] = sent_[index(to)];
      send(to, pack(m));
    }
    std::erase_if(open_, [&](rank_t to) {
      if (to == except) return false;
      // acquire: pairs with the release in received(); the owner has carried the messages out.
      await([&] { return done_[index(to)].load(std::memory_order_acquire) >= sent_[index(to)]; }, operation);
      is_open_[index(to)] = false;
      return true;
    });
  }

  /// Waits for an agent. Agents always make progress, so the job does not publish this as a wait for a rank.
  template <std::predicate Condition>
  void await(Condition&& condition, std::string_view operation) const {
    using clock = std::chrono::steady_clock;
    for (int i = 0; i < eager_yields; ++i) {
      if (condition()) return;
      std::this_thread::yield();
    }
    for (auto const started = clock::now(); !condition();) {
      check(operation);
      auto const waited = clock::now() - started;
      if (waited < std::chrono::milliseconds(1)) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::min<clock::duration>(waited / 8, std::chrono::milliseconds(1)));
      }
    }
  }

  void check(std::string_view operation) const {
    job_.check(operation);
    if (ended_.load(std::memory_order_relaxed)) {
      throw error(errc::wrong_order, rank(), operation,
                  "the job of this memory has ended: use a window inside run only");
    }
  }

  [[noreturn]] void refuse(outcome result, rank_t owner, std::string_view operation) const {
    std::string const who = "rank " + std::to_string(owner);
    switch (result) {
      case outcome::out_of_range:
        throw error(errc::out_of_range, rank(), operation,
                    "the access is past the end of the memory of " + who + ", or is not aligned");
      case outcome::unsupported:
        throw error(errc::unsupported, rank(), operation,
                    who + " has no such operation for elements of this type");
      default:
        throw error(errc::wrong_order, rank(), operation,
                    who + " has not attached this memory yet, or all ranks have released it");
    }
  }

  // Called by the agent's own links

  void received(rank_t from, message const& m, packet body) {
    if (m.kind == message_kind::answer) {
      // release: pairs with the acquire in settle. A stream keeps its order, so the numbers only grow.
      if (m.number != 0) done_[index(from)].store(m.number, std::memory_order_release);
      if (m.ticket == 0) return;
      auto const it = awaited_.find(m.ticket);
      if (it == awaited_.end()) return;
      auto const to = std::move(it->second);
      awaited_.erase(it);
      to->head = m;
      to->body = std::move(body);
      under_way_.fetch_sub(to->room, std::memory_order_relaxed);
      to->arrived.store(true, std::memory_order_release);  // pairs with the acquire in has_arrived
    } else if (m.kind == message_kind::release) {
      release_here(m.memory);
    } else if (auto back = server_.serve(from, m, body)) {
      under_way_.fetch_add(back->size(), std::memory_order_relaxed);
      link_to(from).write(std::move(*back));
    }
  }

  void written(std::size_t bytes) noexcept { under_way_.fetch_sub(bytes, std::memory_order_relaxed); }

  void broken(rank_t peer, boost::system::error_code const& error) {
    if (ended_.load(std::memory_order_relaxed)) return;
    fail("its connection to rank " + std::to_string(peer) + " broke: " + error.message());
  }

 private:
  /// A rank that wants to send more than this waits until fewer bytes are under way.
  static constexpr std::size_t bound = std::size_t{16} << 20U;

  static std::size_t index(rank_t rank) noexcept { return static_cast<std::size_t>(rank); }
  [[nodiscard]] std::size_t index() const noexcept { return index(rank()); }

  void fail(std::string const& why) const noexcept {
    try {
      job_.mark_failed(rank(), "the agent of rank " + std::to_string(rank()) + " failed: " + why);
    } catch (...) {
      job_.mark_failed(rank(), "an agent failed");
    }
  }

  void wait_for_room(std::string_view operation) const {
    await([&] { return under_way_.load(std::memory_order_relaxed) < bound; }, operation);
  }

  void send(rank_t to, packet bytes, std::shared_ptr<reply> expected = nullptr) {
    if (ended_.load(std::memory_order_relaxed)) check("send");
    under_way_.fetch_add(bytes.size(), std::memory_order_relaxed);
    std::uint64_t const ticket = expected ? tickets_ : 0;
    boost::asio::post(context_,
                      [this, to, bytes = std::move(bytes), expected = std::move(expected), ticket]() mutable {
                        if (expected) awaited_.emplace(ticket, std::move(expected));
                        link_to(to).write(std::move(bytes));
                      });
  }

  // Called by the agent's thread

  /// The link to a rank, opened at its first use.
  link<agent>& link_to(rank_t to) {
    auto& mine = links_[index(to)];
    if (mine) return *mine;
    std::lock_guard const hold(all_->opening);
    if (auto offer = offered_.extract(to)) {
      mine = std::move(offer.mapped());
    } else {
      open_link(to);
    }
    mine->read();
    return *mine;
  }
  /// Opens both ends and offers the peer its own. The caller holds the mutex.
  void open_link(rank_t to) {
    agent& peer = *all_->agents[index(to)];
    auto here = std::make_unique<link<agent>>(*this, to, context_);
    auto there = std::make_unique<link<agent>>(peer, rank(), peer.context_);
    boost::system::error_code error;
    boost::asio::local::connect_pair(here->socket(), there->socket(), error);
    if (error) {
      throw std::runtime_error("its connection to rank " + std::to_string(to) +
                               " cannot be opened: " + error.message() + "; raise the limit of descriptors");
    }
    peer.offered_.emplace(rank(), std::move(there));
    links_[index(to)] = std::move(here);
    boost::asio::post(peer.context_, [&peer, from = rank()] { peer.link_to(from); });
  }

  void release_at_home(memory_id id) {
    if (home_of(id) == rank()) {
      release_here(id);
    } else {
      post_from_agent(home_of(id), message_kind::release, id);
    }
  }
  void release_here(memory_id id) {
    for (rank_t holder : memory_.release(id)) {
      if (holder == rank()) {
        memory_.forget(id);
      } else {
        post_from_agent(holder, message_kind::forget, id);
      }
    }
  }
  void post_from_agent(rank_t to, message_kind kind, memory_id id) {
    message m;
    m.kind = kind;
    m.memory = id;
    packet bytes = pack(m);
    under_way_.fetch_add(bytes.size(), std::memory_order_relaxed);
    link_to(to).write(std::move(bytes));
  }

  job job_;
  exchange* all_;
  directory memory_;
  server server_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::vector<std::unique_ptr<link<agent>>> links_;         ///< by rank of the job; none: no message went
  std::map<rank_t, std::unique_ptr<link<agent>>> offered_;  ///< opened by peers; guarded by exchange::opening
  std::thread thread_;
  std::atomic<bool> ended_{false};
  std::atomic<std::size_t> under_way_{0};  ///< bytes not yet written, or requested and not yet received

  // The rank's thread uses these
  std::vector<std::uint64_t> sent_;   ///< the number of the last one-way message to each rank
  std::vector<std::uint64_t> asked_;  ///< the number up to which this rank has asked for an answer
  std::vector<std::atomic<std::uint64_t>>
      done_;                   ///< the last number that rank has answered; the agent stores it
  std::vector<bool> is_open_;  ///< true if a rank is in open_
  std::vector<rank_t> open_;   ///< ranks that may not have carried out all messages
  std::uint64_t tickets_ = 0;
  std::uint64_t reservations_ = 0;

  // The agent's thread uses these
  std::unordered_map<std::uint64_t, std::shared_ptr<reply>> awaited_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::loopback
