// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/backends/scc.hpp>

#include <cstring>

/// The emulated chip without the library: its cores, one fiber each.
namespace emulated {

using pgas::errc;
using pgas::rank_t;
using pgas::detail::scc::chip;
using pgas::detail::scc::core;
using pgas::detail::scc::line_bytes;
using pgas::detail::scc::page_bytes;
using pgas::detail::scc::physical_address;
using pgas::scc::options;
using pgas::scc::page_type;
using pgas::scc::with_options;
using backend = pgas::backends::scc;
using number = std::uint32_t;

inline number load(core& c, page_type type, physical_address at) {
  number value = 0;
  c.load(type, at, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}
inline void store(core& c, page_type type, physical_address at, number value) {
  c.store(type, at, std::as_bytes(std::span(&value, 1)));
}

/// Runs body(chip, rank) on a fiber for each rank; then looks at the chip.
template <class Body, class Look>
void on_chip(rank_t ranks, options const& how, Body const& body, Look const& look) {
  auto const j = pgas::detail::job::create(ranks, false);
  chip c(j, how);
  c.turns().run([&](rank_t rank) { pgas::detail::run_rank(j.as(rank), [&] { body(c, rank); }); });
  pgas::detail::throw_failure(j);
  look(c);
}
template <class Body>
void on_chip(rank_t ranks, options const& how, Body const& body) {
  on_chip(ranks, how, body, [](chip&) {});
}

}  // namespace emulated
