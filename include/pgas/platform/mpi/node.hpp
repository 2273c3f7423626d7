// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <pgas/platform/job/job.hpp>
#include <pgas/platform/mpi/call.hpp>
#include <string>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::mpi {

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

  /// Makes one job for the ranks of this node, of `ranks` ranks on all nodes. The first rank of the node
  /// makes the memory, and the others open it in /proc. Collective over the node.
  [[nodiscard]] job share_job(rank_t self, rank_t ranks) const {
    std::array<int, 2> place{::getpid(), -1};
    if (rank() == 0) {
      job const made = job::create_for_launcher(ranks);
      place[1] = made.fd();
      check_call(MPI_Bcast(place.data(), 2, MPI_INT, 0, here_), "MPI_Bcast");
      MPI_Barrier(here_);
      made.close_memfd();
      return made.as(self);
    }
    check_call(MPI_Bcast(place.data(), 2, MPI_INT, 0, here_), "MPI_Bcast");
    std::string const path = text_of({"/proc/", place[0], "/fd/", place[1]});
    int const fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    int const why = errno;
    MPI_Barrier(here_);
    if (fd < 0) {
      throw error(
          errc::unsupported, self, "run",
          text_of({"cannot open the memory of process ", place[0], " on this node: ", std::strerror(why),
                   "; start its ranks as one user in one container, or set PGAS_NODE_SIZE=1"}));
    }
    job joined = job::share(fd, self);
    ::close(fd);
    return joined;
  }

 private:
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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::mpi
