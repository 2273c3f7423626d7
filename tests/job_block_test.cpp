// SPDX-License-Identifier: BSL-1.0
// The memory that the ranks of a job share beside payload.
#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <memory>
#include <pgas/platform/job/block.hpp>

using pgas::detail::job_block;

TEST_CASE("a block made in zeros equals a block whose constructor wrote every member") {
  // Both are zero before, so the gaps between members are equal.
  struct alignas(job_block) memory {
    std::array<std::byte, sizeof(job_block)> bytes{};
  };
  auto const first = std::make_unique<memory>();
  auto const second = std::make_unique<memory>();
  auto* const written = ::new (first.get()) job_block;
  auto* const made = job_block::make_in(second.get());
  CHECK(std::memcmp(written, made, sizeof(job_block)) == 0);
  CHECK(made->version.load() == job_block::layout);
}
