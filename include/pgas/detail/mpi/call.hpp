// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string_view>

namespace PGAS_NAMESPACE::detail::mpi {

/// Throws MPI's message about a call that has failed.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_call(int code, std::string_view call) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  int kind = MPI_ERR_OTHER;
  MPI_Error_class(code, &kind);
  throw error(
      kind == MPI_ERR_NO_MEM ? errc::no_space : errc::unsupported, -1,
      text_of({"MPI refuses ", call, ": ", std::string_view(text.data(), static_cast<std::size_t>(length))}));
}

/// Throws unless a call of MPI has succeeded. Communicators and windows of the library return their errors.
inline void check_call(int code, std::string_view call) {
  if (code != MPI_SUCCESS) [[unlikely]]
    refuse_call(code, call);
}

/// Ends all processes. The launcher of MPICH may drop output written just before, so it gets time to pass
/// that on.
[[noreturn]] inline void abort_all(MPI_Comm ranks) {
  std::fflush(stderr);
  ::usleep(200'000);
  MPI_Abort(ranks, 1);
  std::abort();
}

}  // namespace PGAS_NAMESPACE::detail::mpi
