// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include "../support/ranks.hpp"

/// The promises of every bootstrap, checked on every backend.
namespace pgas_test {

TEST_CASE("bootstrap: every rank gets what one rank put") {
  on_every_backend([](auto& b, auto& boot) {
    require_equal(boot.rank(), b.rank(), "rank");
    require_equal(boot.size(), b.size(), "size");
    for (rank_t root = 0; root < b.size(); ++root) {
      std::string const key = "from " + std::to_string(root);
      int value = b.rank() == root ? 1000 + root : -1;
      if (b.rank() == root) boot.put(key, std::as_bytes(std::span(&value, 1)));
      boot.fence();
      boot.get(key, std::as_writable_bytes(std::span(&value, 1)));
      require_equal(value, 1000 + root, key);
    }
    boot.fence();
  });
}

TEST_CASE("bootstrap: a key may be put again between fences") {
  on_every_backend([](auto& b, auto& boot) {
    for (int round = 0; round < 20; ++round) {
      rank_t const root = round % b.size();
      if (b.rank() == root) boot.put("again", std::as_bytes(std::span(&round, 1)));
      boot.fence();
      int value = -1;
      boot.get("again", std::as_writable_bytes(std::span(&value, 1)));
      require_equal(value, round, "the latest value");
      boot.fence();
    }
  });
}

TEST_CASE("bootstrap: long values and empty ones arrive whole") {
  on_every_backend([](auto& b, auto& boot) {
    std::vector<std::byte> value(2000);
    for (std::size_t i = 0; i < value.size(); ++i) value[i] = static_cast<std::byte>(i * 7);
    if (b.rank() == 0) {
      boot.put("long", value);
      boot.put("empty", {});
    }
    boot.fence();
    std::vector<std::byte> into(value.size());
    boot.get("long", into);
    require(into == value, "a value arrives with every byte");
    boot.get("empty", {});
    boot.fence();
  });
}

TEST_CASE("backend: it knows where ranks run, and its clock never goes back") {
  on_every_backend([](auto& b, auto& boot) {
    auto const before = b.now();
    for (rank_t r = 0; r < b.size(); ++r) {
      require_equal(b.world_rank(r), r, "a rank of the world");
      require((b.locality_of(r) == pgas::locality::self) == (r == b.rank()),
              "locality_of is self for this rank only");
    }
    b.charge(1000);
    b.check("check");
    require(b.now() >= before, "time does not go back");
    boot.fence();
  });
}

TEST_CASE("backend: a sub-team has its own numbers and memory") {
  on_every_backend([](auto& b, auto& boot) {
    // The ranks in reverse order, so that no number is its own.
    std::vector<rank_t> members;
    for (rank_t r = b.size(); r-- > 0;) members.push_back(r);
    rank_t const mine = b.size() - 1 - b.rank();
    auto sub = b.sub_team(members, mine);
    require_equal(sub.rank(), mine, "rank in the sub-team");
    require_equal(sub.size(), b.size(), "size of the sub-team");
    for (rank_t r = 0; r < sub.size(); ++r) require_equal(sub.world_rank(r), b.size() - 1 - r, "world_rank");
    typename std::remove_cvref_t<decltype(sub)>::handle handle{};
    auto const bytes = std::as_writable_bytes(std::span(&handle, 1));
    std::vector<std::size_t> const sizes(members.size(), 8);
    if (sub.rank() == 0) {
      handle = sub.reserve_segment(sizes);
      boot.put("sub", bytes);
    }
    boot.fence();
    boot.get("sub", bytes);
    auto s = sub.attach_segment(handle, 8);
    boot.fence();
    std::uint64_t value = static_cast<std::uint64_t>(b.rank());
    s.put({(mine + 1) % sub.size(), 0}, std::as_bytes(std::span(&value, 1)));
    s.flush_all();
    boot.fence();
    s.get({mine, 0}, std::as_writable_bytes(std::span(&value, 1)));
    s.flush_local(mine);
    require_equal(static_cast<rank_t>(value), (b.rank() + 1) % b.size(),
                  "the value put by the previous rank, whose job rank is one more");
    boot.fence();
  });
}

}  // namespace pgas_test
