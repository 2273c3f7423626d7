// SPDX-License-Identifier: BSL-1.0
#include "launches.hpp"

#include "ranks.hpp"

template void pgas::detail::launch_ranks(pgas::rank_t, std::span<std::byte>,
                                         pgas_test::body_on<pgas::backends::self> const&);
template void pgas::detail::launch_ranks(pgas::rank_t, std::span<std::byte>,
                                         pgas_test::body_on<pgas::backends::thread_map> const&);
template void pgas::detail::launch_ranks(pgas::rank_t, std::span<std::byte>,
                                         pgas_test::body_on<pgas::backends::process_map> const&);
template void pgas::detail::launch_ranks(pgas::rank_t, std::span<std::byte>,
                                         pgas_test::body_on<pgas::backends::loopback> const&);
template void pgas::detail::launch_ranks(pgas::rank_t, std::span<std::byte>,
                                         pgas_test::body_on<pgas::backends::scc> const&);
template void pgas::detail::launch_ranks(pgas::rank_t, std::span<std::byte>,
                                         pgas_test::body_on<pgas_test::incoherent::backend> const&);
template void pgas::detail::launch_ranks(pgas::rank_t, std::span<std::byte>,
                                         pgas_test::body_on<pgas_test::pool_backend> const&);
template void pgas_test::launch_main<pgas::backends::self>(pgas::rank_t,
                                                           pgas_test::main_on<pgas::backends::self>);
template void pgas_test::launch_main<pgas::backends::thread_map>(
    pgas::rank_t, pgas_test::main_on<pgas::backends::thread_map>);
template void pgas_test::launch_main<pgas::backends::process_map>(
    pgas::rank_t, pgas_test::main_on<pgas::backends::process_map>);
template void pgas_test::launch_main<pgas::backends::loopback>(pgas::rank_t,
                                                               pgas_test::main_on<pgas::backends::loopback>);
template void pgas_test::launch_main<pgas::backends::scc>(pgas::rank_t,
                                                          pgas_test::main_on<pgas::backends::scc>);
template void pgas_test::launch_main<pgas_test::incoherent::backend>(
    pgas::rank_t, pgas_test::main_on<pgas_test::incoherent::backend>);
template void pgas_test::launch_main<pgas_test::pool_backend>(pgas::rank_t,
                                                              pgas_test::main_on<pgas_test::pool_backend>);
template void pgas_test::run_on<pgas_test::self_model>(pgas_test::rank_t,
                                                       pgas_test::body_for<pgas_test::self_model>);
template void pgas_test::run_on<pgas_test::thread_model>(pgas_test::rank_t,
                                                         pgas_test::body_for<pgas_test::thread_model>);
template void pgas_test::run_on<pgas_test::process_model>(pgas_test::rank_t,
                                                          pgas_test::body_for<pgas_test::process_model>);
template void pgas_test::run_on<pgas_test::loopback_model>(pgas_test::rank_t,
                                                           pgas_test::body_for<pgas_test::loopback_model>);
template void pgas_test::run_on<pgas_test::scc_model>(pgas_test::rank_t,
                                                      pgas_test::body_for<pgas_test::scc_model>);
template void pgas_test::run_on<pgas_test::scc_write_back_model>(
    pgas_test::rank_t, pgas_test::body_for<pgas_test::scc_write_back_model>);
template void pgas_test::run_on<pgas_test::write_back_model>(
    pgas_test::rank_t, pgas_test::body_for<pgas_test::write_back_model>);
template void pgas_test::run_on<pgas_test::at_get_model>(pgas_test::rank_t,
                                                         pgas_test::body_for<pgas_test::at_get_model>);
template void pgas_test::run_on<pgas_test::uncached_model>(pgas_test::rank_t,
                                                           pgas_test::body_for<pgas_test::uncached_model>);
template void pgas_test::run_on<pgas_test::pool_model>(pgas_test::rank_t,
                                                       pgas_test::body_for<pgas_test::pool_model>);
