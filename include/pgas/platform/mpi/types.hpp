// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <pgas/vocabulary/op.hpp>
#include <type_traits>

namespace pgas::inline PGAS_ASSERTIONS::detail::mpi {

/// The types of which MPI modifies single elements: arithmetic ones of up to eight bytes.
template <class T>
inline constexpr bool has_type = std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8;

/// MPI's name of an element type.
template <class T>
  requires has_type<T>
[[nodiscard]] MPI_Datatype type_of() noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    return sizeof(T) == sizeof(float) ? MPI_FLOAT : MPI_DOUBLE;
  } else if constexpr (std::is_signed_v<T>) {
    return sizeof(T) == 1   ? MPI_INT8_T
           : sizeof(T) == 2 ? MPI_INT16_T
           : sizeof(T) == 4 ? MPI_INT32_T
                            : MPI_INT64_T;
  } else {
    return sizeof(T) == 1   ? MPI_UINT8_T
           : sizeof(T) == 2 ? MPI_UINT16_T
           : sizeof(T) == 4 ? MPI_UINT32_T
                            : MPI_UINT64_T;
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
using bits_of =
    std::conditional_t<sizeof(T) == 8, std::uint64_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t,
                                          std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>>;

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::mpi
