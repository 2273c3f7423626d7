// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <unistd.h>

#include <array>
#include <exception>
#include <pgas/detail/mpi/session.hpp>
#include <string>
#include <utility>
#include <vector>

namespace pgas_test {

/// The number of processes that the launcher has started; main.cpp sets it.
inline pgas::rank_t processes = 1;

/// The backend `Inner`, mpi or cluster, on the first processes of an MPI program, so that one start of the
/// program tests jobs of each size. The other processes sleep meanwhile, and then learn how the job has
/// ended.
template <class Inner>
class sized_world : public Inner {
 public:
  using handle = typename Inner::handle;

  static inline pgas::rank_t const& max_ranks = processes;

  static std::optional<pgas::rank_t> launched_ranks() { return std::nullopt; }

  /// What the caller of launch may ask after the job.
  struct outcome {
    std::vector<std::byte> result;

    void get(std::string_view, std::span<std::byte> into) const {
      std::copy_n(result.begin(), std::min(into.size(), result.size()), into.begin());
    }
  };

  template <class Main>
  static outcome launch(pgas::rank_t ranks, Main const& main) {
    pgas::detail::mpi::session::begin();
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm some = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, 0, &some);
    ending end{};
    if (some != MPI_COMM_NULL) {
      try {
        auto job = Inner::launch_on(
            some, [&](Inner&& inner, auto& boot) { main(sized_world(std::move(inner)), boot); });
        if (auto const* entry = job.find("result"); entry != nullptr) {
          end.bytes = entry->bytes;
          std::copy_n(entry->value.begin(), entry->bytes, end.result.begin());
        }
      } catch (pgas::error const& e) {
        end.code = e.code().value();
        end.rank = e.rank();
        std::string const text = e.description();
        std::copy_n(text.begin(), std::min(text.size(), end.text.size() - 1), end.text.begin());
      }
      MPI_Comm_free(&some);
    }
    MPI_Request told = MPI_REQUEST_NULL;
    MPI_Ibcast(&end, sizeof end, MPI_BYTE, 0, MPI_COMM_WORLD, &told);
    for (int there = 0; there == 0;) {
      MPI_Test(&told, &there, MPI_STATUS_IGNORE);
      if (there == 0) ::usleep(200);
    }
    if (end.code != 0)
      throw pgas::error(static_cast<pgas::errc>(end.code), end.rank, std::string(end.text.data()));
    return {{end.result.begin(), end.result.begin() + end.bytes}};
  }

  sized_world sub_team(pgas::group members, pgas::rank_t rank) const {
    return sized_world(Inner::sub_team(members, rank));
  }

 private:
  struct ending {
    int code = 0;
    pgas::rank_t rank = 0;
    std::uint32_t bytes = 0;
    std::array<std::byte, 4096> result{};
    std::array<char, 2048> text{};
  };

  explicit sized_world(Inner inner) : Inner(std::move(inner)) {}
};

}  // namespace pgas_test
