// SPDX-License-Identifier: BSL-1.0
// The owners of objects on the heap. Without memory for the number of owners: see memory_test.cpp.
#include <doctest/doctest.h>

#include <pgas/detail/types/shared_owner.hpp>
#include <pgas/detail/types/sole_owner.hpp>
#include <thread>
#include <utility>

#include "support/counts_its_end.hpp"

using pgas::detail::shared_owner;
using pgas::detail::sole_owner;
using pgas_test::counts_its_end;

TEST_CASE("owners: the last of shared owners destroys the object as the type that was made") {
  struct numbered {
    int value;
  };
  struct made : numbered, counts_its_end {
    made(int v, int& destroyed) : numbered{v}, counts_its_end(destroyed) {}
  };
  int destroyed = 0;
  {
    shared_owner<numbered> first(new made(3, destroyed));
    auto second = first;
    CHECK(first == second);
    CHECK(first.as_keeper().use_count() == 2);
    auto memory = first.as_keeper();
    auto const& itself = first;
    first = itself;
    CHECK(memory.use_count() == 3);
    first = {};
    CHECK(!first);
    CHECK(first.as_keeper().use_count() == 0);
    second = shared_owner<numbered>(new made(4, destroyed));
    CHECK(second->value == 4);
    CHECK(memory.use_count() == 1);
    CHECK(destroyed == 0);  // the keeper is left
    memory = {};
    CHECK(destroyed == 1);
    auto const third = std::move(second);
    CHECK((*third).value == 4);
    CHECK(!second);  // NOLINT(bugprone-use-after-move)
    CHECK(third.as_keeper().use_count() == 1);
  }
  CHECK(destroyed == 2);
}

TEST_CASE("owners: the last owner in two threads sees what both have written to the object") {
  struct written {
    explicit written(int& s) noexcept : sum(&s) {}
    written(written const&) = delete;
    written& operator=(written const&) = delete;
    ~written() { *sum += here + there; }
    int here = 0;
    int there = 0;
    int* sum;
  };
  int sum = 0;
  for (int i = 0; i < 100; ++i) {
    shared_owner<written> owner(new written(sum));
    std::thread other([mine = owner]() mutable {
      mine->there = 2;
      mine = {};
    });
    owner->here = 1;
    owner = {};
    other.join();
  }
  CHECK(sum == 300);
}

TEST_CASE("owners: a sole owner destroys its object when it takes another, and once") {
  int destroyed = 0;
  {
    sole_owner<counts_its_end> first(new counts_its_end(destroyed));
    sole_owner<counts_its_end> second(std::move(first));
    CHECK(!first);  // NOLINT(bugprone-use-after-move)
    first.reset(new counts_its_end(destroyed));
    second = std::move(first);
    CHECK(destroyed == 1);
    CHECK(!first);  // NOLINT(bugprone-use-after-move)
    auto& itself = second;
    second = std::move(itself);
    CHECK(second);
    CHECK(destroyed == 1);
    second.reset();
    CHECK(destroyed == 2);
    second.reset(new counts_its_end(destroyed));
  }
  CHECK(destroyed == 3);
}
