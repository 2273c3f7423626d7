// SPDX-License-Identifier: BSL-1.0
#include "launches.hpp"

template void pgas::detail::launch_ranks(std::optional<pgas::rank_t>, std::span<std::byte>,
                                         pgas_test::body_on<pgas::backends::self> const&);
template void pgas::detail::launch_ranks(std::optional<pgas::rank_t>, std::span<std::byte>,
                                         pgas_test::body_on<pgas::backends::thread_map> const&);
template void pgas::detail::launch_ranks(std::optional<pgas::rank_t>, std::span<std::byte>,
                                         pgas_test::body_on<pgas::backends::process_map> const&);
template void pgas::detail::launch_ranks(std::optional<pgas::rank_t>, std::span<std::byte>,
                                         pgas_test::body_on<pgas::backends::loopback> const&);
template void pgas::detail::launch_ranks(std::optional<pgas::rank_t>, std::span<std::byte>,
                                         pgas_test::body_on<pgas::backends::scc> const&);
template void pgas::detail::launch_ranks(std::optional<pgas::rank_t>, std::span<std::byte>,
                                         pgas_test::body_on<pgas_test::incoherent::backend> const&);
template void pgas::detail::launch_ranks(std::optional<pgas::rank_t>, std::span<std::byte>,
                                         pgas_test::body_on<pgas_test::pool_backend> const&);
template void pgas_test::launch<pgas::backends::self>(pgas::rank_t,
                                                      pgas_test::main_on<pgas::backends::self> const&);
template void pgas_test::launch<pgas::backends::thread_map>(
    pgas::rank_t, pgas_test::main_on<pgas::backends::thread_map> const&);
template void pgas_test::launch<pgas::backends::process_map>(
    pgas::rank_t, pgas_test::main_on<pgas::backends::process_map> const&);
template void pgas_test::launch<pgas::backends::loopback>(
    pgas::rank_t, pgas_test::main_on<pgas::backends::loopback> const&);
template void pgas_test::launch<pgas::backends::scc>(pgas::rank_t,
                                                     pgas_test::main_on<pgas::backends::scc> const&);
template void pgas_test::launch<pgas_test::incoherent::backend>(
    pgas::rank_t, pgas_test::main_on<pgas_test::incoherent::backend> const&);
template void pgas_test::launch<pgas_test::pool_backend>(pgas::rank_t,
                                                         pgas_test::main_on<pgas_test::pool_backend> const&);
