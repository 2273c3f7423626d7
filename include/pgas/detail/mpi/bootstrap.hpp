// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <memory>
#include <pgas/concepts/bootstrap.hpp>
#include <pgas/detail/mpi/member.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail::mpi {

/// The bootstrap of ranks that are processes of MPI. Keys go by mail; a fence is a reduction that also counts
/// the keys, so that no rank leaves it before each key has reached that rank.
class rank_bootstrap {
 public:
  explicit rank_bootstrap(std::shared_ptr<member> mine) noexcept : member_(std::move(mine)) {}

  [[nodiscard]] rank_t rank() const noexcept { return member_->of_job().rank(); }
  [[nodiscard]] rank_t size() const noexcept { return member_->of_job().size(); }
  void put(std::string_view key, bytes_in value) const { member_->post().put(key, value); }
  void get(std::string_view key, bytes_out into) const { member_->of_job().get(key, into); }
  void fence() const {
    auto const counts = std::make_shared<std::array<std::uint64_t, 2>>();  // this rank's keys; those of all
    (*counts)[0] = member_->post().own_keys();
    MPI_Request request = MPI_REQUEST_NULL;
    check_call(MPI_Iallreduce(counts->data(), counts->data() + 1, 1, MPI_UINT64_T, MPI_SUM,
                              member_->world()->get(), &request),
               "MPI_Iallreduce");
    std::vector<rank_t> others;
    for (rank_t other = 0; other < size(); ++other) {
      if (other != rank()) others.push_back(other);
    }
    waiting_for const why{.operation = "run", .awaited = others};
    constexpr std::string_view label = "start or end of the job";
    member_->await(request, why, label, counts);
    auto const knows_all = [&] {
      member_->poll();  // also where waits do not
      return member_->post().keys() >= (*counts)[1];
    };
    member_->await(knows_all, why, label);
    if (member_->together().size() == static_cast<std::size_t>(size()) || !member_->shares_blocks()) return;
    // The first rank of a block enters the keys of other blocks, and may be the last to know them.
    check_call(MPI_Ibarrier(member_->world()->get(), &request), "MPI_Ibarrier");
    member_->await(request, why, label, nullptr);
  }
  void fail(std::string_view what) const noexcept { member_->of_job().fail(what); }

 private:
  std::shared_ptr<member> member_;
};
static_assert(bootstrap<rank_bootstrap>);

}  // namespace PGAS_NAMESPACE::detail::mpi
