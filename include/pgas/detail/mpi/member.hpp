// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mpi.h>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/job/wait.hpp>
#include <pgas/detail/mpi/call.hpp>
#include <pgas/detail/mpi/letters.hpp>
#include <pgas/detail/mpi/mail.hpp>
#include <pgas/detail/mpi/node.hpp>
#include <pgas/detail/mpi/session.hpp>
#include <pgas/detail/process/cores.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <string>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::mpi {

/// A window of MPI that a communicator keeps. The objects of the library on this rank share it; when the last
/// of them is destroyed, the window is unused.
struct kept_window {
  MPI_Win window = MPI_WIN_NULL;
  std::shared_ptr<void> memory = {};  ///< of the library, if MPI has not allocated it
};

/// A communicator of MPI for the ranks of a team, and the windows that were made on it.
///
/// MPI_Win_free is collective, while the destructor of a window must not wait for other ranks. An unused
/// window therefore stays until the next creation on the same communicator. There the ranks agree on the
/// windows that none of them uses, by one reduction of a bit for each window, and free those.
class communicator {
 public:
  /// Takes the communicator over.
  explicit communicator(MPI_Comm given) : ranks_(given) {
    check_call(MPI_Comm_set_errhandler(ranks_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    int size = 0;
    MPI_Comm_size(ranks_, &size);
    is_alone_ = size == 1;
  }
  communicator(communicator const&) = delete;
  communicator& operator=(communicator const&) = delete;

  [[nodiscard]] MPI_Comm get() const noexcept { return ranks_; }

  /// Returns whether this process is its only one.
  [[nodiscard]] bool is_alone() const noexcept { return is_alone_; }

  /// A communicator of the same ranks, for the program.
  [[nodiscard]] MPI_Comm duplicate() const {
    MPI_Comm made = MPI_COMM_NULL;
    check_call(MPI_Comm_dup(ranks_, &made), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(made, MPI_ERRORS_ARE_FATAL);  // MPI's default, which programs expect
    return made;
  }

  /// Keeps a window that all ranks of the team have just made; MPI_WIN_NULL for memory without a window.
  std::shared_ptr<kept_window> keep(MPI_Win made) {
    return windows_.emplace_back(std::make_shared<kept_window>(kept_window{made}));
  }

  /// A bit for each window, in the order in which all ranks have made them: 1 if this rank does not use it.
  [[nodiscard]] std::vector<std::uint64_t> unused() const {
    std::vector<std::uint64_t> bits((windows_.size() + 63) / 64);
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      if (windows_[i].use_count() == 1) bits[i / 64] |= std::uint64_t{1} << (i % 64);
    }
    return bits;
  }
  /// Frees the windows with a bit. All ranks call it with the same bits.
  void free(std::vector<std::uint64_t> const& bits) {
    std::vector<std::shared_ptr<kept_window>> left;
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      if ((bits[i / 64] >> (i % 64) & 1U) != 0) {
        free(*windows_[i]);
      } else {
        left.push_back(std::move(windows_[i]));
      }
    }
    windows_.swap(left);
  }
  /// Frees all windows, then the communicator. All ranks of the team call it.
  void free_all() {
    for (auto const& each : windows_) free(*each);
    windows_.clear();
    MPI_Comm_free(&ranks_);
  }
  [[nodiscard]] std::size_t windows() const noexcept { return windows_.size(); }

 private:
  static void free(kept_window& w) {
    if (w.window == MPI_WIN_NULL) return;
    MPI_Win_unlock_all(w.window);
    MPI_Win_free(&w.window);
  }

  MPI_Comm ranks_;
  bool is_alone_ = false;
  std::vector<std::shared_ptr<kept_window>> windows_;
};

/// The memory that the ranks of a node share besides MPI.
enum class node_shares {
  nothing,  ///< each rank has a job block of its own
  memory,   ///< a job block and an arena; PGAS_NODE_SIZE makes nodes of fewer ranks
};

/// One rank's membership in a job whose ranks are processes of MPI.
///
/// The job works on duplicates of the communicator that it is given: one for windows and collectives, and one
/// for mail. It waits by polling, so that a failure ends every wait. Between polls it gives up its core,
/// which MPI's own waits do not.
class member {
 public:
  /// Joins the job of all ranks of `given`. Collective over them.
  explicit member(MPI_Comm given, node_shares shares = node_shares::nothing)
      : session_(session::begin()),
        shares_(shares),
        mail_ranks_(duplicate(given)),
        number_(session_.new_job_number(mail_ranks_)),
        job_(join(shares, mail_ranks_, together_)),
        mail_(mail_ranks_, tag(0), job_, together_),
        letters_(mail_ranks_, tag(5)) {
    session_.enter_job();
    meet_neighbours();
    std::vector<rank_t> everybody(static_cast<std::size_t>(job_.size()));
    for (rank_t rank = 0; rank < job_.size(); ++rank) everybody[static_cast<std::size_t>(rank)] = rank;
    world_ = std::make_shared<communicator>(duplicate(given));
    teams_.emplace_back(std::move(everybody), world_);
    open_guards();
  }
  member(member const&) = delete;
  member& operator=(member const&) = delete;

  [[nodiscard]] job const& of_job() const noexcept { return job_; }
  [[nodiscard]] mail& post() noexcept { return mail_; }
  /// The letters of mailboxes, unless a backend carries them by itself.
  [[nodiscard]] letters& of_mailboxes() noexcept { return letters_; }
  /// The communicator of all ranks.
  [[nodiscard]] std::shared_ptr<communicator> const& world() const noexcept { return world_; }
  /// Returns whether the ranks of the job are on several hosts.
  [[nodiscard]] bool has_nodes() const noexcept {
    return static_cast<rank_t>(neighbours_.size()) < job_.size();
  }
  /// Returns whether a rank of the job is on this node.
  [[nodiscard]] bool is_near(rank_t rank) const noexcept {
    return std::binary_search(neighbours_.begin(), neighbours_.end(), rank);
  }
  /// The ranks of the job that share a job block with this one, ascending.
  [[nodiscard]] group together() const noexcept { return together_; }
  /// Returns whether ranks of a node share a job block.
  [[nodiscard]] bool shares_blocks() const noexcept { return shares_ == node_shares::memory; }
  [[nodiscard]] bool is_together(rank_t rank) const noexcept {
    return std::binary_search(together_.begin(), together_.end(), rank);
  }
  /// Returns whether this MPI compares and swaps, see `session`. If not, a window's atomic operations hold
  /// the guard of their target.
  [[nodiscard]] bool has_compare_and_swap() const noexcept { return has_compare_and_swap_; }
  /// The window with a guard for each rank of several: one word, which is 1 while a rank modifies elements.
  [[nodiscard]] MPI_Win guards() const noexcept { return guards_->window; }

  /// Returns whether it pays to call `knock` before MPI waits for a target.
  [[nodiscard]] bool yields() const noexcept { return yields_; }
  /// Asks a rank of the job for an answer, and returns when it has come. It throws no failure of the job: the
  /// memory of an operation under way must outlast it, and MPI's own waits do not end earlier either.
  ///
  /// MPICH 4.0 carries out every access at its target's next call of MPI, also within a node, and spins until
  /// then. If ranks share cores, the target does not run before the time slice of this rank ends. So this
  /// rank asks the target for its guard, and yields until the answer. The target is then in its own wait, and
  /// serves the access at once.
  void knock(rank_t target) {
    if (target == job_.rank()) return;
    word answer = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    check_call(MPI_Rget_accumulate(&answer, 1, MPI_UINT64_T, &answer, 1, MPI_UINT64_T, target, 0, 1,
                                   MPI_UINT64_T, MPI_NO_OP, guards(), &request),
               "MPI_Rget_accumulate");
    while (!is_complete(request)) give_up_core();
  }

  /// Returns when these ranks of the job have all called it, and serves meanwhile. Call it before a
  /// collective call of MPI, which does not serve. Collective over them.
  void meet(std::vector<rank_t> const& members) const {
    std::size_t const size = members.size();
    auto const self =
        static_cast<std::size_t>(std::find(members.begin(), members.end(), job_.rank()) - members.begin());
    for (std::size_t distance = 1; distance < size; distance *= 2) {
      std::array<MPI_Request, 2> requests{};
      check_call(MPI_Isend(nullptr, 0, MPI_BYTE, members[(self + distance) % size], tag(1), mail_ranks_,
                           requests.data()),
                 "MPI_Isend");
      check_call(MPI_Irecv(nullptr, 0, MPI_BYTE, members[(self + size - distance) % size], tag(1),
                           mail_ranks_, &requests[1]),
                 "MPI_Irecv");
      for (auto& each : requests)
        await([&] { return is_complete(each); }, {.operation = "team"}, "its ranks");
    }
  }
  /// The communicator of these ranks of the job, in this order. Collective over them. A communicator is kept
  /// for teams with the same members, since MPI has only a few thousand.
  std::shared_ptr<communicator> communicator_of(std::vector<rank_t> const& members) {
    for (auto const& [known, made] : teams_) {
      if (known == members) return made;
    }
    meet(members);
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    check_call(MPI_Comm_group(world_->get(), &all), "MPI_Comm_group");
    check_call(MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some),
               "MPI_Group_incl");
    check_call(MPI_Comm_create_group(world_->get(), some, 0, &made), "MPI_Comm_create_group");
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    return teams_.emplace_back(members, std::make_shared<communicator>(made)).second;
  }

  /// A tag for messages of this job, for kinds from 0 to 7.
  [[nodiscard]] int tag(int kind) const noexcept { return number_ % 4000 * 8 + kind; }

  /// Receives and sends mail and letters, and lets MPI progress.
  void poll() {
    mail_.poll();
    letters_.poll();
  }

  /// Returns when the request is complete. `kept` holds the memory of the operation, which goes on if an
  /// exception ends the wait. `why.awaited` are numbers in the job.
  void await(MPI_Request request, waiting_for const& why, std::string_view label,
             std::shared_ptr<void const> kept) {
    in_flight_.push_back(std::move(kept));
    await([&] { return is_complete(request); }, why, label);
    in_flight_.pop_back();
  }
  template <std::predicate Condition>
  void await(Condition&& condition, waiting_for const& why, std::string_view label) const {
    wait_for(job_, condition, why, label,
             [&] { return std::vector<rank_t>(why.awaited.begin(), why.awaited.end()); });
  }

  [[nodiscard]] static bool is_complete(MPI_Request& request) {
    int complete = 0;
    check_call(MPI_Test(&request, &complete, MPI_STATUS_IGNORE), "MPI_Test");
    return complete != 0;
  }

  /// Frees the windows of a team that none of its ranks uses. Collective over the team.
  void free_unused(communicator& of) {
    auto const mine = of.unused();
    if (mine.empty()) return;
    auto const both =
        std::make_shared<std::pair<std::vector<std::uint64_t>, std::vector<std::uint64_t>>>(mine, mine);
    MPI_Request request = MPI_REQUEST_NULL;
    check_call(MPI_Iallreduce(both->first.data(), both->second.data(), static_cast<int>(mine.size()),
                              MPI_UINT64_T, MPI_BAND, of.get(), &request),
               "MPI_Iallreduce");
    await(request, {.operation = "make_window"}, "windows that no rank uses", both);
    of.free(both->second);
  }

  /// Returns when all ranks have returned from their bodies. Collective. After a failure a rank may never
  /// arrive; then this rank ends all processes, and says why. Calls `serve` meanwhile.
  void await_all(function_ref<void()> serve) {
    if (job_.failed()) mail_.poll();
    auto const started = std::chrono::steady_clock::now();
    constexpr std::chrono::milliseconds patience(1500);
    // All letters have arrived when two counts in a row agree that as many were received as were sent
    // (Mattern 1987). A letter that is not received would stay in MPI.
    std::array<std::uint64_t, 2> before{1, 0};
    for (std::array<std::uint64_t, 2> all{}; all[0] != all[1] || all != before;) {
      before = all;
      std::array<std::uint64_t, 2> const mine{mail_.sent() + letters_.sent(),
                                              mail_.received() + letters_.received()};
      MPI_Request count = MPI_REQUEST_NULL;
      check_call(MPI_Iallreduce(mine.data(), all.data(), 2, MPI_UINT64_T, MPI_SUM, mail_ranks_, &count),
                 "MPI_Iallreduce");
      while (!is_complete(count)) {
        poll();
        serve();
        if (job_.failed() && std::chrono::steady_clock::now() - started > patience) abort();
        give_up_core();
      }
    }
  }
  /// Ends the membership, after `await_all`. Collective.
  void leave() {
    session_.keep(std::move(in_flight_));
    session_.leave_job();
    for (auto const& [_, each] : teams_) each->free_all();
    MPI_Comm_free(&mail_ranks_);
  }

  /// The job's failure, with the host of the rank that failed.
  [[nodiscard]] std::string failure_text() const {
    std::string const host = mail_.failed_host();
    return host.empty() || job_.failed_rank() < 0
               ? job_.failure_text()
               : text_of({job_.failure_text(), "; rank ", job_.failed_rank(), " is on host ", host});
  }

 private:
  static MPI_Comm duplicate(MPI_Comm given) {
    MPI_Comm made = MPI_COMM_NULL;
    check_call(MPI_Comm_dup(given, &made), "MPI_Comm_dup");
    check_call(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    return made;
  }
  /// Makes or joins the job block, and says which ranks share it.
  static job join(node_shares shares, MPI_Comm ranks, std::vector<rank_t>& together) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(ranks, &rank);
    MPI_Comm_size(ranks, &size);
    together = {rank};
    if (shares == node_shares::nothing) return job::create(size, false).as(rank);
    auto const most = setting::variable("PGAS_NODE_SIZE");
    node const here(ranks,
                    most.given() ? static_cast<rank_t>(most.whole("a number of ranks", 1, 1'000'000)) : size);
    together = here.ranks();
    return here.share_job(ranks, rank, size);
  }

  /// Learns which ranks are on this node, and on how many cores they run.
  void meet_neighbours() {
    node const here(mail_ranks_);
    neighbours_ = here.ranks();
    int const cores = here.cores();
    job_.set_shares_cores(static_cast<int>(neighbours_.size()) > cores);
    if (together_.front() == job_.rank()) job_.block().cores = static_cast<std::uint32_t>(cores);
  }

  void open_guards() {
    if (world_->is_alone()) return;  // see rma_window
    MPI_Win made = MPI_WIN_NULL;
    auto guard = std::make_shared<word>(0);
    check_call(MPI_Win_create(guard.get(), sizeof(word), 1, MPI_INFO_NULL, world_->get(), &made),
               "MPI_Win_create");
    check_call(MPI_Win_lock_all(MPI_MODE_NOCHECK, made), "MPI_Win_lock_all");
    guards_ = world_->keep(made);
    guards_->memory = std::move(guard);
#if defined(OPEN_MPI)
    // Open MPI names a window after the component that serves it.
    std::array<char, MPI_MAX_OBJECT_NAME> name{};
    int length = 0;
    MPI_Win_get_name(made, name.data(), &length);
    has_compare_and_swap_ = !std::string_view(name.data()).starts_with("rdma");
#else
    yields_ = job_.shares_cores();
#endif
  }

  [[noreturn]] void abort() const {
    std::fprintf(stderr, "pgas: %s\npgas: rank %d ends the job, since not all ranks have answered\n",
                 failure_text().c_str(), job_.rank());
    abort_all(mail_ranks_);
  }

  session& session_;
  node_shares shares_;
  MPI_Comm mail_ranks_;
  int number_;  ///< of this job
  std::vector<rank_t> together_;
  job job_;
  mail mail_;
  letters letters_;
  std::vector<rank_t> neighbours_;  ///< the ranks of this host, in order
  std::shared_ptr<communicator> world_;
  std::vector<std::pair<std::vector<rank_t>, std::shared_ptr<communicator>>> teams_;
  std::shared_ptr<kept_window> guards_;
  bool has_compare_and_swap_ = true;
  bool yields_ = false;  ///< this rank waits for a target with yields, before MPI waits without
  std::vector<std::shared_ptr<void const>> in_flight_;  ///< memory of operations that are under way
};

}  // namespace PGAS_NAMESPACE::detail::mpi
