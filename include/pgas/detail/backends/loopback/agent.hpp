// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <pgas/detail/backends/loopback/server.hpp>
#include <pgas/detail/job/wait.hpp>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

namespace PGAS_NAMESPACE::detail::loopback {

/// The answer to a question. The answering agent writes it, and the asking rank reads it.
struct reply {
  std::atomic<bool> arrived{false};
  message head;
  packet bytes;
  std::size_t room = 0;  ///< its bytes in the agent's bound

  [[nodiscard]] bytes_in body() const noexcept { return body_of(bytes); }
};

/// One rank's progress engine: a thread that carries out other ranks' requests, in the order of each sender.
///
/// Only packets pass between ranks. A rank hands a packet to the target's io_context. The target's agent
/// carries the request out, and stores the answer where the asking rank looks for it. An agent never blocks.
/// A rank blocks in `await` only, which throws when the job has failed.
///
/// One-way messages to a rank are numbered, and an answer names the last number that was carried out.
/// `settle` uses the numbers to give a release its meaning in shared memory: it covers all earlier stores,
/// not only those to its target.
class agent {
 public:
  /// All agents of a job, by rank.
  using agents_of_job = std::vector<std::shared_ptr<agent>>;

  agent(job const& mine, agents_of_job const& all)
      : job_(mine),
        all_(&all),
        server_(memory_),
        work_(context_.get_executor()),
        sent_(static_cast<std::size_t>(mine.size())),
        asked_(sent_.size()),
        done_(sent_.size()),
        is_open_(sent_.size()) {}
  agent(agent const&) = delete;
  agent& operator=(agent const&) = delete;
  ~agent() { end(); }

  // Called by the thread that starts and ends the job

  void start() {
    thread_ = std::thread([this] {
      try {
        serve();
      } catch (std::exception const& e) {
        fail(e.what());
      }
    });
  }

  void end() noexcept {
    ended_.store(true, std::memory_order_relaxed);  // for calls after the job; the joins order it
    context_.stop();
    if (thread_.joinable()) thread_.join();
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

  /// Releases this rank's hold on the memory. All parts are freed when the last rank has released its hold.
  void release(memory_id id) noexcept {
    if (ended_.load(std::memory_order_relaxed)) return;
    try {
      pass(home_of(id), packed(message_kind::release, id));
    } catch (...) {
      // There is no memory for a message, so this rank's part stays until the job ends.
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
      under_way_.fetch_add(expected->room, std::memory_order_relaxed);
    }
    if (m.kind == message_kind::flush) m.number = asked_[index(to)] = sent_[index(to)];
    m.ticket = ++tickets_;
    {
      std::lock_guard const hold(asking_);
      awaited_.emplace(m.ticket, expected);
    }
    send(to, pack(m));
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

  // acquire: pairs with the release in answered(); the answer is complete.
  static bool has_arrived(reply const& r) noexcept { return r.arrived.load(std::memory_order_acquire); }

  /// Returns when all one-way messages of this rank, except those to `except`, have been carried out.
  ///
  /// A release needs this: a rank that has seen this rank's next signal must find all earlier stores, on any
  /// rank. The queue of a target keeps only the order towards that rank.
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
      // acquire: pairs with the release in answered(); the owner has carried the messages out.
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
      } else if (std::chrono::nanoseconds const longest =
                     std::min<clock::duration>(waited / 8, longest_sleep);
                 !bell::sleep(bells(), longest.count(), condition)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
  }

  /// The bell of this rank's waits: agents ring it when they have stored anything for this rank.
  [[nodiscard]] std::array<std::uint32_t*, 1> bells() const noexcept { return {&bell_}; }

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

 private:
  /// A rank that wants to send more than this waits until fewer bytes are under way.
  static constexpr std::size_t bound = std::size_t{16} << 20U;
  static constexpr std::chrono::milliseconds longest_sleep{100};

  static std::size_t index(rank_t rank) noexcept { return static_cast<std::size_t>(rank); }

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

  static packet packed(message_kind kind, memory_id id) {
    message m;
    m.kind = kind;
    m.memory = id;
    return pack(m);
  }

  void send(rank_t to, packet bytes) {
    if (ended_.load(std::memory_order_relaxed)) check("send");
    pass(to, std::move(bytes));
  }

  // Called by the rank and by this agent's thread

  /// Passes a packet to the target's agent, which receives the packets of one rank in the order of the calls.
  void pass(rank_t to, packet bytes) {
    under_way_.fetch_add(bytes.size(), std::memory_order_relaxed);  // a bound: orders nothing
    agent& target = *(*all_)[index(to)];
    boost::asio::post(target.context_, [this, &target, bytes = std::move(bytes)] {
      target.received(rank(), bytes);
      under_way_.fetch_sub(bytes.size(), std::memory_order_relaxed);
      bell::ring(&bell_);
    });
  }

  // Called by this agent's thread

  /// Carries out requests until the job ends. A wake-up costs more than a yield, so an idle agent yields a
  /// few times before it sleeps.
  void serve() {
    constexpr int most_yields = 4;
    for (int yields = 0; !context_.stopped();) {
      if (context_.poll() != 0) {
        yields = 0;
      } else if (yields < most_yields) {
        ++yields;
        std::this_thread::yield();
      } else {
        context_.run_one();
        yields = 0;
      }
    }
  }

  void received(rank_t from, packet const& bytes) {
    message const m = head_of(bytes);
    if (m.kind == message_kind::release) {
      for (rank_t holder : memory_.release(m.memory)) pass(holder, packed(message_kind::forget, m.memory));
    } else if (auto back = server_.serve(from, m, body_of(bytes))) {
      (*all_)[index(from)]->answered(rank(), std::move(*back));
    }
    bell::ring(&bell_);
  }

  // Called by other agents' threads

  /// Stores an answer for this rank, which may be computing.
  void answered(rank_t by, packet bytes) {
    message const m = head_of(bytes);
    // release: pairs with the acquire in settle. A target keeps a sender's order, so the numbers only grow.
    if (m.number != 0) done_[index(by)].store(m.number, std::memory_order_release);
    if (m.ticket != 0) store_reply(m, std::move(bytes));
    bell::ring(&bell_);
  }
  void store_reply(message const& m, packet bytes) {
    std::shared_ptr<reply> to;
    {
      std::lock_guard const hold(asking_);
      auto const it = awaited_.find(m.ticket);
      if (it == awaited_.end()) return;
      to = std::move(it->second);
      awaited_.erase(it);
    }
    to->head = m;
    to->bytes = std::move(bytes);
    under_way_.fetch_sub(to->room, std::memory_order_relaxed);
    to->arrived.store(true, std::memory_order_release);  // pairs with the acquire in has_arrived
  }

  job job_;
  agents_of_job const* all_;
  directory memory_;
  server server_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
  mutable std::uint32_t bell_ = 0;
  std::atomic<bool> ended_{false};
  std::atomic<std::size_t> under_way_{0};  ///< bytes that no agent has taken, or requested and not received

  // The rank's thread uses these
  std::vector<std::uint64_t> sent_;   ///< the number of the last one-way message to each rank
  std::vector<std::uint64_t> asked_;  ///< the number up to which this rank has asked for an answer
  std::vector<std::atomic<std::uint64_t>> done_;  ///< the last number that each rank's agent has answered
  std::vector<bool> is_open_;                     ///< true if a rank is in open_
  std::vector<rank_t> open_;                      ///< ranks that may not have carried out all messages
  std::uint64_t tickets_ = 0;
  std::uint64_t reservations_ = 0;

  std::mutex asking_;                                                  ///< guards the table below, briefly
  std::unordered_map<std::uint64_t, std::shared_ptr<reply>> awaited_;  ///< by ticket
};

/// The agents of a job, running. The destructor ends the thread of each before it frees any.
class agents {
 public:
  explicit agents(job const& all) {
    try {
      for (rank_t rank = 0; rank < all.size(); ++rank) {
        all_.push_back(std::make_shared<agent>(all.as(rank), all_));
      }
      for (auto const& a : all_) a->start();
    } catch (std::exception const& e) {
      stop();
      throw error(errc::no_space, job::supervisor,
                  "run: loopback needs a thread for each rank and one for its agent; " +
                      std::to_string(all.size()) + " agents cannot be started: " + e.what());
    }
  }
  agents(agents const&) = delete;
  agents& operator=(agents const&) = delete;
  ~agents() { stop(); }

  [[nodiscard]] std::shared_ptr<agent> const& share(rank_t rank) const noexcept {
    return all_[static_cast<std::size_t>(rank)];
  }

 private:
  void stop() noexcept {
    for (auto const& a : all_) a->end();
  }

  agent::agents_of_job all_;
};

/// One rank's hold on memory that it has attached. The destructor releases the hold and never blocks.
class held_memory {
 public:
  template <class Memory>
  held_memory(std::shared_ptr<agent> a, memory_id id, std::shared_ptr<Memory> memory)
      : agent_(std::move(a)), id_(id) {
    agent_->memory().attach(id, std::move(memory));
  }
  held_memory(held_memory&& other) noexcept = default;
  held_memory& operator=(held_memory&& other) noexcept {
    std::swap(agent_, other.agent_);
    std::swap(id_, other.id_);
    return *this;
  }
  ~held_memory() {
    if (agent_) agent_->release(id_);
  }

  [[nodiscard]] memory_id id() const noexcept { return id_; }
  [[nodiscard]] agent& owner() const noexcept { return *agent_; }
  [[nodiscard]] std::shared_ptr<agent> const& shared_owner() const noexcept { return agent_; }

 private:
  std::shared_ptr<agent> agent_;
  memory_id id_;
};

}  // namespace PGAS_NAMESPACE::detail::loopback
