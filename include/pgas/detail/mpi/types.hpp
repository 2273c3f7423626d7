// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <pgas/vocabulary/op.hpp>
#include <type_traits>

namespace pgas::inline PGAS_ASSERTIONS::detail::mpi {

/// The types of which MPI modifies single elements: arithmetic ones of four and of eight bytes. Open
/// MPI 4.1.4 on UCX also takes smaller ones, reports success, and does nothing.
template <class T>
inline constexpr bool has_type = std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);

/// MPI's name of an element type.
template <class T>
  requires has_type<T>
[[nodiscard]] MPI_Datatype type_of() noexcept {
  constexpr bool is_short = sizeof(T) == 4;
  if constexpr (std::is_floating_point_v<T>) {
    return is_short ? MPI_FLOAT : MPI_DOUBLE;
  } else if constexpr (std::is_signed_v<T>) {
    return is_short ? MPI_INT32_T : MPI_INT64_T;
  } else {
    return is_short ? MPI_UINT32_T : MPI_UINT64_T;
  }
}

/// MPI's name of an operation.
[[nodiscard]] inline MPI_Op operation_of(op_kind kind) noexcept {
  switch (kind) {
    case op_kind::sum:
      return MPI_SUM;
    case op_kind::product:
      return MPI_PROD;
    case op_kind::min:
      return MPI_MIN;
    case op_kind::max:
      return MPI_MAX;
    case op_kind::bit_and:
      return MPI_BAND;
    case op_kind::bit_or:
      return MPI_BOR;
    case op_kind::bit_xor:
      return MPI_BXOR;
    case op_kind::replace:
      return MPI_REPLACE;
    case op_kind::no_op:
      break;
  }
  return MPI_NO_OP;
}

/// The unsigned number of the same size, whose bytes MPI compares.
template <class T>
using bits_of = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::mpi
