// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mpi.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/mpi/call.hpp>
#include <pgas/detail/mpi/member.hpp>
#include <pgas/vocabulary/request.hpp>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::mpi {

/// The request of an rput or rget: some requests of MPI, all for one transfer. A request of MPI that is under
/// way cannot be dropped, so the destructor waits for its completion at this rank.
class transfer_request {
 public:
  transfer_request() = default;
  explicit transfer_request(std::shared_ptr<member> mine) noexcept : member_(std::move(mine)) {}
  transfer_request(transfer_request&& other) noexcept = default;
  transfer_request& operator=(transfer_request&& other) noexcept {
    std::swap(member_, other.member_);
    std::swap(pieces_, other.pieces_);
    return *this;
  }
  ~transfer_request() {
    if (!pieces_.empty()) MPI_Waitall(static_cast<int>(pieces_.size()), pieces_.data(), MPI_STATUSES_IGNORE);
  }

  /// Adds a piece of the transfer.
  void add(MPI_Request piece) { pieces_.push_back(piece); }

  /// Returns whether all pieces are complete at this rank. Never blocks; throws if the job has failed.
  [[nodiscard]] bool test() {
    if (pieces_.empty() || is_complete()) return true;
    // The end of an epoch has completed its requests. MPI may report that only after further progress.
    member_->poll();
    member_->of_job().check("test");
    return is_complete();
  }
  /// Returns when all are complete at this rank.
  void wait() {
    if (!test()) member_->await([this] { return test(); }, {.operation = "wait"}, "a transfer");
  }

 private:
  [[nodiscard]] bool is_complete() {
    int complete = 0;
    check_call(MPI_Testall(static_cast<int>(pieces_.size()), pieces_.data(), &complete, MPI_STATUSES_IGNORE),
               "MPI_Testall");
    if (complete != 0) pieces_.clear();
    return complete != 0;
  }

  std::shared_ptr<member> member_;
  std::vector<MPI_Request> pieces_;
};
static_assert(request<transfer_request>);

/// The derived types of MPI for rows of bytes. It keeps the last few, since a program moves the same boxes
/// repeatedly.
class row_types {
 public:
  row_types() = default;
  row_types(row_types&& other) noexcept : kept_(std::exchange(other.kept_, {})) {}
  row_types& operator=(row_types&& other) noexcept {
    std::swap(kept_, other.kept_);
    return *this;
  }
  ~row_types() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized != 0) return;
    for (auto& each : kept_) {
      if (each.type != MPI_DATATYPE_NULL) MPI_Type_free(&each.type);
    }
  }

  /// The type of rows that are `pitch` bytes apart. It is valid until `most` - 1 others have been requested.
  MPI_Datatype of(row_shape shape, std::size_t pitch) {
    auto known = std::find_if(kept_.begin(), kept_.end(), [&](entry const& each) {
      return each.type != MPI_DATATYPE_NULL && each.rows == shape.rows && each.bytes == shape.row_bytes &&
             each.pitch == pitch;
    });
    if (known == kept_.end()) {
      --known;  // the one that has not been asked for longest
      if (known->type != MPI_DATATYPE_NULL) MPI_Type_free(&known->type);  // after the operations that use it
      *known = {make(shape, pitch), shape.rows, shape.row_bytes, pitch};
    }
    std::rotate(kept_.begin(), known, known + 1);
    return kept_.front().type;
  }

 private:
  static constexpr std::size_t most = 8;

  struct entry {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    std::size_t rows = 0;
    std::size_t bytes = 0;
    std::size_t pitch = 0;
  };

  static MPI_Datatype make(row_shape shape, std::size_t pitch) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    check_call(MPI_Type_create_hvector(static_cast<int>(shape.rows), static_cast<int>(shape.row_bytes),
                                       static_cast<MPI_Aint>(pitch), MPI_BYTE, &made),
               "MPI_Type_create_hvector");
    check_call(MPI_Type_commit(&made), "MPI_Type_commit");
    return made;
  }

  std::array<entry, most> kept_{};  ///< the last one asked for comes first
};

}  // namespace PGAS_NAMESPACE::detail::mpi
