// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <list>
#include <pgas/detail/job/wait.hpp>
#include <pgas/detail/mpi/call.hpp>
#include <span>
#include <string>
#include <vector>

namespace PGAS_NAMESPACE::detail::mpi {

/// The mail of a job's ranks beside windows, by two-sided messages: failures, keys of the
/// bootstrap, and waits.
///
/// Each rank has a job block of its own, or shares that of its node. A failure goes from the rank that failed
/// to all others. A key goes down a binomial tree from the rank that put it. A rank that waits for long
/// reports to rank 0, whose search for deadlocks thus sees the waits of all ranks. A record whose rank has
/// stopped reporting may belong to a wait that has ended, so the search does not count it.
///
/// Every wait of the library polls. Polling also lets MPI carry out accesses of other ranks to this one.
class mail {
 public:
  /// The ranks `together` share the job block with this one.
  mail(MPI_Comm ranks, int tag, job const& mine, std::vector<rank_t> together)
      : ranks_(ranks), tag_(tag), job_(mine), together_(std::move(together)) {
    if (::gethostname(host_.data(), host_.size() - 1) != 0) host_.front() = '?';
  }
  mail(mail const&) = delete;
  mail& operator=(mail const&) = delete;

  /// Receives all letters that have arrived, and sends what is due.
  void poll() {
    receive();
    if (job_.failed()) [[unlikely]]
      announce();
    if (!shares_block(0)) report();
    if (!outgoing_.empty()) settle();
  }

  /// Puts a key of the bootstrap, and sends it on its way to all ranks.
  void put(std::string_view key, bytes_in value) {
    job_.put(key, value);
    ++keys_;
    ++own_keys_;
    letter l = begin(letter_kind::key);
    l.head.bytes = static_cast<std::uint32_t>(value.size());
    std::copy_n(key.begin(), std::min(key.size(), l.head.text.size() - 1), l.head.text.begin());
    l.value.assign(value.begin(), value.end());
    pass_on(l);
  }
  /// The number of keys that this rank knows, and the number that it has put.
  [[nodiscard]] std::uint64_t keys() const noexcept { return keys_; }
  [[nodiscard]] std::uint64_t own_keys() const noexcept { return own_keys_; }

  /// The host of the rank that has failed, if it is known.
  [[nodiscard]] std::string failed_host() const {
    return shares_block(job_.failed_rank()) ? host_.data() : failed_host_.data();
  }

  /// The letters that this rank has sent, and received.
  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }
  [[nodiscard]] std::uint64_t received() const noexcept { return received_; }

 private:
  enum class letter_kind : std::uint32_t { failure, key, record };
  using host_name = std::array<char, 64>;

  struct letter_head {
    letter_kind kind;
    rank_t from;  ///< the rank that failed, put the key, or waits
    std::int32_t code = 0;
    std::uint32_t bytes = 0;  ///< of a key's value
    host_name host{};
    std::array<char, 1024> text{};  ///< of a failure; else the key
  };
  struct letter {
    letter_head head;
    std::vector<std::byte> value;
  };
  struct wait_record {
    std::uint64_t wait;
    std::uint64_t checks;
    std::uint32_t phase;
    std::array<char, 24> operation;
    std::array<char, 24> label;
    std::array<std::uint64_t, job_block::max_ranks / 64> awaited;
    std::int32_t acquires;
    std::array<std::uint64_t, 2> wants;
    std::array<std::uint64_t, job_block::max_locks> holds;
  };
  struct parcel {
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<std::byte> bytes;
  };

  static constexpr std::int64_t between_reports = 200'000'000;  ///< nanoseconds

  [[nodiscard]] letter begin(letter_kind kind) const {
    letter l{{.kind = kind, .from = job_.rank()}, {}};
    l.head.host = host_;
    return l;
  }

  void send(rank_t to, letter const& l) {
    ++sent_;
    auto& sent = outgoing_.emplace_back();
    sent.bytes.resize(sizeof l.head + l.value.size());
    std::memcpy(sent.bytes.data(), &l.head, sizeof l.head);
    if (!l.value.empty()) std::memcpy(sent.bytes.data() + sizeof l.head, l.value.data(), l.value.size());
    check_call(MPI_Isend(sent.bytes.data(), static_cast<int>(sent.bytes.size()), MPI_BYTE, to, tag_, ranks_,
                         &sent.request),
               "MPI_Isend");
  }
  void settle() {
    outgoing_.remove_if([](parcel& p) {
      int sent = 0;
      check_call(MPI_Test(&p.request, &sent, MPI_STATUS_IGNORE), "MPI_Test");
      return sent != 0;
    });
  }

  void receive() {
    for (;;) {
      int there = 0;
      MPI_Status status;
      check_call(MPI_Iprobe(MPI_ANY_SOURCE, tag_, ranks_, &there, &status), "MPI_Iprobe");
      if (there == 0) [[likely]]
        return;
      int bytes = 0;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      std::vector<std::byte> all(static_cast<std::size_t>(bytes));
      check_call(MPI_Recv(all.data(), bytes, MPI_BYTE, status.MPI_SOURCE, tag_, ranks_, MPI_STATUS_IGNORE),
                 "MPI_Recv");
      ++received_;
      letter l;
      std::memcpy(&l.head, all.data(), sizeof l.head);
      l.value.assign(all.begin() + sizeof l.head, all.end());
      take(l);
    }
  }
  void take(letter const& l) {
    switch (l.head.kind) {
      case letter_kind::failure:
        told_ = true;  // by the rank that failed
        failed_host_ = l.head.host;
        job_.mark_failed(l.head.from, l.head.text.data(), static_cast<errc>(l.head.code));
        break;
      case letter_kind::key:
        if (together_.front() == job_.rank() && !shares_block(l.head.from))
          job_.put(l.head.text.data(), l.value);
        ++keys_;
        pass_on(l);
        break;
      case letter_kind::record:
        enter(l);
        break;
    }
  }

  /// Sends a key to the children of this rank in the binomial tree below the rank that put it.
  void pass_on(letter const& l) {
    rank_t const size = job_.size();
    rank_t const place = (job_.rank() - l.head.from + size) % size;
    for (rank_t step = 1; step < size && (place & step) == 0; step *= 2) {
      if (place + step < size) send((place + step + l.head.from) % size, l);
    }
  }

  [[nodiscard]] bool shares_block(rank_t rank) const noexcept {
    return std::binary_search(together_.begin(), together_.end(), rank);
  }

  /// Reports a failure to all others, unless they know it. One rank of a block does so: the one that failed,
  /// or the first for a rank of another block.
  void announce() {
    if (told_) return;
    told_ = true;
    rank_t const failed = job_.failed_rank();
    if (job_.rank() != (shares_block(failed) ? failed : together_.front())) return;
    letter l = begin(letter_kind::failure);
    l.head.from = job_.failed_rank();
    l.head.code = static_cast<std::int32_t>(job_.failure_code());
    std::string const text = job_.failure_text();
    std::copy_n(text.begin(), std::min(text.size(), l.head.text.size() - 1), l.head.text.begin());
    for (rank_t to = 0; to < job_.size(); ++to) {
      if (to != job_.rank()) send(to, l);
    }
  }

  /// Reports this rank's wait to rank 0 from time to time, if it has lasted long.
  void report() {
    auto const& mine = job_.record();
    std::uint64_t const wait = mine.wait.load(std::memory_order_relaxed);  // this thread's own
    if (wait % 2 == 0) [[likely]]
      return;
    std::int64_t const now = std::chrono::steady_clock::now().time_since_epoch().count();
    if (now < next_report_) return;
    next_report_ = now + between_reports;
    wait_record r{};
    r.wait = wait;
    r.checks = mine.checks.load(std::memory_order_relaxed);
    r.phase = mine.phase.load(std::memory_order_relaxed);
    r.acquires = mine.acquires.load(std::memory_order_relaxed);
    for_each_list(r, mine, [](auto& to, auto const& from) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i].load(std::memory_order_relaxed);
    });
    letter l = begin(letter_kind::record);
    auto const bytes = std::as_bytes(std::span(&r, 1));
    l.value.assign(bytes.begin(), bytes.end());
    send(0, l);
  }
  /// Calls use(list, list) for each list that a record has in a letter and in a job block.
  template <class Record, class Use>
  static void for_each_list(wait_record& r, Record& in_block, Use const& use) {
    use(r.operation, in_block.operation);
    use(r.label, in_block.label);
    use(r.awaited, in_block.awaited);
    use(r.wants, in_block.wants);
    use(r.holds, in_block.holds);
  }
  // relaxed, but for the last one: it publishes the others, as in long_wait, to ranks of this block.
  void enter(letter const& l) {
    wait_record r;
    std::memcpy(&r, l.value.data(), sizeof r);
    auto& theirs = job_.record(l.head.from);
    theirs.is_copy.store(1, std::memory_order_relaxed);
    job_.block().has_copies.store(1, std::memory_order_relaxed);
    theirs.wait.store(r.wait - 1, std::memory_order_release);  // even: none, while the others change
    theirs.acquires.store(r.acquires, std::memory_order_relaxed);
    for_each_list(r, theirs, [](auto const& from, auto& to) {
      for (std::size_t i = 0; i < from.size(); ++i) to[i].store(from[i], std::memory_order_relaxed);
    });
    theirs.phase.store(r.phase, std::memory_order_relaxed);
    theirs.checks.store(r.checks, std::memory_order_relaxed);
    theirs.wait.store(r.wait, std::memory_order_release);
  }

  MPI_Comm ranks_;
  int tag_;
  job job_;
  std::vector<rank_t> together_;  ///< the ranks of this job block, ascending
  std::list<parcel> outgoing_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t keys_ = 0;
  std::uint64_t own_keys_ = 0;
  std::int64_t next_report_ = 0;
  bool told_ = false;  ///< all ranks know of the failure, or will
  host_name host_{};
  host_name failed_host_{};
};

}  // namespace PGAS_NAMESPACE::detail::mpi
