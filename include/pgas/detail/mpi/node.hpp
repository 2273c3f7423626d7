// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <pgas/detail/job/job.hpp>
#include <pgas/detail/job/limits.hpp>
#include <pgas/detail/mpi/call.hpp>
#include <string>
#include <vector>

namespace PGAS_NAMESPACE::detail::mpi {

/// The ranks of a communicator that can share memory with this rank, and a communicator of them.
class node {
 public:
  /// At most `most` ranks, in the order of their numbers, are one node. Collective over `ranks`.
  explicit node(MPI_Comm ranks, rank_t most = std::numeric_limits<rank_t>::max()) {
    int self = 0;
    MPI_Comm_rank(ranks, &self);
    check_call(MPI_Comm_split_type(ranks, MPI_COMM_TYPE_SHARED, self, MPI_INFO_NULL, &here_),
               "MPI_Comm_split_type");
    if (int const there = size(); there > most) {
      MPI_Comm all = here_;
      check_call(MPI_Comm_split(all, rank() / most, self, &here_), "MPI_Comm_split");
      MPI_Comm_free(&all);
    }
    ranks_.resize(static_cast<std::size_t>(size()));
    check_call(MPI_Allgather(&self, 1, MPI_INT, ranks_.data(), 1, MPI_INT, here_), "MPI_Allgather");
    std::sort(ranks_.begin(), ranks_.end());
  }
  node(node const&) = delete;
  node& operator=(node const&) = delete;
  ~node() { MPI_Comm_free(&here_); }

  /// Their numbers in `ranks`, ascending.
  [[nodiscard]] std::vector<rank_t> const& ranks() const noexcept { return ranks_; }

  /// The number of cores that the ranks of this node can use at once. A launcher may bind each rank to cores
  /// of its own. Collective over the node.
  [[nodiscard]] int cores() const {
    core_set const mine = allowed_cores();
    core_set all;
    check_call(MPI_Allreduce(mine.bits.data(), all.bits.data(), static_cast<int>(all.bits.size()),
                             MPI_UINT64_T, MPI_BOR, here_),
               "MPI_Allreduce");
    return usable_cores(all);
  }

  /// Makes one job for the ranks of this node; the job has `size` ranks on all nodes. The first rank of the
  /// node makes the memory, and the others open it in /proc. All ranks throw if that fails on one of them.
  /// Collective over `all`.
  [[nodiscard]] job share_job(MPI_Comm all, rank_t self, rank_t size) const {
    std::optional<job> mine;
    std::string failure;
    try {
      mine = rank() == 0 ? make_job(self, size) : join_job(self);
    } catch (error const& e) {
      failure = e.description();
    }
    int const failed = mine ? 0 : self + 1;
    int anybody = 0;
    check_call(MPI_Allreduce(&failed, &anybody, 1, MPI_INT, MPI_MAX, all), "MPI_Allreduce");
    if (mine && mine->fd() >= 0) mine->close_memfd();
    if (anybody == 0) return *mine;
    if (failure.empty()) failure = text_of({"rank ", anybody - 1, " cannot share memory with its node"});
    throw error(errc::unsupported, self, "run", failure);
  }

 private:
  /// The memory of a job, as the others find it.
  struct place {
    std::int64_t process = 0;
    std::int64_t descriptor = -1;
    std::uint64_t device = 0;
    std::uint64_t file = 0;
  };

  [[nodiscard]] job make_job(rank_t self, rank_t size) const {
    place where;
    std::optional<job> made;
    std::string failure;
    try {
      made = job::create_for_launcher(size).as(self);
      struct ::stat info {};
      ::fstat(made->fd(), &info);
      where = {::getpid(), made->fd(), info.st_dev, info.st_ino};
    } catch (error const& e) {
      failure = e.description();
    }
    tell(where);
    if (!made) throw error(errc::no_space, self, "run", failure);
    return *made;
  }
  [[nodiscard]] job join_job(rank_t self) const {
    place where;
    tell(where);
    std::string const path = text_of({"/proc/", where.process, "/fd/", where.descriptor});
    int const fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    int const why = errno;
    struct ::stat info {};
    if (fd < 0 || ::fstat(fd, &info) != 0 || info.st_dev != where.device || info.st_ino != where.file) {
      if (fd >= 0) ::close(fd);
      throw error(errc::unsupported, self, "run",
                  text_of({"cannot open the memory of process ", where.process, " on this node",
                           fd < 0 ? text_of({": ", std::strerror(why)}) : ", whose file is another one",
                           "; start its ranks as one user in one container, or set PGAS_NODE_SIZE=1"}));
    }
    job joined = job::share(fd, self);
    ::close(fd);
    return joined;
  }
  /// The first rank of the node sends it to the others. Collective over the node.
  void tell(place& where) const {
    check_call(MPI_Bcast(&where, sizeof where, MPI_BYTE, 0, here_), "MPI_Bcast");
  }

  [[nodiscard]] int rank() const noexcept {
    int number = 0;
    MPI_Comm_rank(here_, &number);
    return number;
  }
  [[nodiscard]] int size() const noexcept {
    int count = 0;
    MPI_Comm_size(here_, &count);
    return count;
  }

  MPI_Comm here_ = MPI_COMM_NULL;
  std::vector<rank_t> ranks_;
};

}  // namespace PGAS_NAMESPACE::detail::mpi
