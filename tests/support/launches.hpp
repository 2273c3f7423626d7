// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "models.hpp"

/// launches.cpp compiles the launch of these backends once. In each unit it was a third of the compiler's
/// time. Other backends' launches are compiled in the units that use them.
namespace pgas_test {

template <class Backend>
using body_on = std::function<void(typename model<Backend>::team&, std::span<std::byte>)>;

}  // namespace pgas_test

extern template void pgas::detail::launch_ranks(std::optional<pgas::rank_t>, std::span<std::byte>,
                                                pgas_test::body_on<pgas::backends::self> const&);
extern template void pgas::detail::launch_ranks(std::optional<pgas::rank_t>, std::span<std::byte>,
                                                pgas_test::body_on<pgas::backends::thread_map> const&);
extern template void pgas::detail::launch_ranks(std::optional<pgas::rank_t>, std::span<std::byte>,
                                                pgas_test::body_on<pgas::backends::process_map> const&);
extern template void pgas::detail::launch_ranks(std::optional<pgas::rank_t>, std::span<std::byte>,
                                                pgas_test::body_on<pgas::backends::loopback> const&);
extern template void pgas::detail::launch_ranks(std::optional<pgas::rank_t>, std::span<std::byte>,
                                                pgas_test::body_on<pgas::backends::scc> const&);
extern template void pgas::detail::launch_ranks(std::optional<pgas::rank_t>, std::span<std::byte>,
                                                pgas_test::body_on<pgas_test::incoherent::backend> const&);
extern template void pgas::detail::launch_ranks(std::optional<pgas::rank_t>, std::span<std::byte>,
                                                pgas_test::body_on<pgas_test::pool_backend> const&);
