// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <span>
#include <string>
#include <thread>
#include <vector>

#include "../conformance/make.hpp"

/// Rounds of post, start, complete and wait among ranks, and the values that they must see.
namespace pgas_test {

/// One rank's state of a protocol, and a word for each origin in each part that stands for payload. The
/// protocol alone orders its relaxed accesses.
template <class Protocol, class Backend>
class post_fixture {
 public:
  using control_type = control_for<Protocol, Backend>;

  template <class Boot>
  post_fixture(Backend& b, Boot& boot, std::string const& key)
      : n_(b.size()),
        own_(Protocol::words(n_)),
        control(make_control_for<Protocol>(
            b, boot, key + std::string(Protocol::name),
            own_ + pgas::control_words{.slots = static_cast<std::size_t>(n_), .cells = 0})),
        protocol(control, {}) {}

  /// The word in `target`'s part that `writer` writes.
  auto payload(rank_t target, rank_t writer) {
    return control.slot(target, own_.slots + static_cast<std::size_t>(writer), writer);
  }
  void write(rank_t target, rank_t writer, pgas::word value) {
    payload(target, writer).store(value, std::memory_order_relaxed);
  }
  pgas::word read(rank_t target, rank_t writer) {
    return payload(target, writer).load(std::memory_order_relaxed);
  }

 private:
  rank_t n_;
  pgas::control_words own_;

 public:
  control_type control;
  typename Protocol::template on<control_type> protocol;
};

/// The origins of each rank in a round: the same on every rank.
inline std::vector<std::vector<bool>> random_graph(random_source& rng, rank_t n) {
  auto const size = static_cast<std::size_t>(n);
  std::vector<std::vector<bool>> exposes(size, std::vector<bool>(size));
  std::size_t const sparse = 1 + rng.below(4);
  for (auto& row : exposes) {
    for (std::size_t o = 0; o < size; ++o) row[o] = rng.below(sparse) == 0;
  }
  return exposes;
}
inline std::vector<rank_t> origins_of(std::vector<std::vector<bool>> const& exposes, rank_t target) {
  std::vector<rank_t> origins;
  auto const& row = exposes[static_cast<std::size_t>(target)];
  for (std::size_t o = 0; o < row.size(); ++o) {
    if (row[o]) origins.push_back(static_cast<rank_t>(o));
  }
  return origins;
}
inline std::vector<rank_t> targets_of(std::vector<std::vector<bool>> const& exposes, rank_t origin) {
  std::vector<rank_t> targets;
  for (std::size_t t = 0; t < exposes.size(); ++t) {
    if (exposes[t][static_cast<std::size_t>(origin)]) targets.push_back(static_cast<rank_t>(t));
  }
  return targets;
}

/// One round: this rank posts to its origins, and puts `value` to its targets. Checks every value.
template <class Fixture, class Backend>
void play_round(Fixture& f, Backend& b, std::vector<std::vector<bool>> const& exposes, pgas::word value,
                random_source& rng, bool wait_by_test) {
  rank_t const self = b.rank();
  auto const origins = origins_of(exposes, self);
  auto const targets = targets_of(exposes, self);
  pgas::no_boundary nothing;
  auto const old_value = [&](rank_t target) { return f.read(target, self); };
  dawdle(rng);
  f.protocol.post(origins, nothing);
  dawdle(rng);
  f.protocol.start(targets, nothing, pgas::exposure_state::awaited);
  for (rank_t target : targets) {
    if (rng.one_in(3)) continue;  // complete meets the others
    f.protocol.trigger(target, nothing, pgas::exposure_state::awaited);
    f.protocol.trigger(target, nothing, pgas::exposure_state::awaited);  // the second call finds it open
    require(old_value(target) < value, "an origin's own word is older than this round");
    f.write(target, self, value);
  }
  std::vector<rank_t> late;
  for (rank_t target : targets) {
    if (f.read(target, self) != value) late.push_back(target);
  }
  for (rank_t target : late) {
    f.protocol.trigger(target, nothing, pgas::exposure_state::awaited);
    f.write(target, self, value);
  }
  dawdle(rng);
  // All at once, or some first: their targets go on while the others still wait.
  auto const first = static_cast<std::size_t>(rng.below(targets.size() + 1));
  std::span<rank_t const> const all(targets);
  if (first != 0) f.protocol.complete(all.first(first), nothing, pgas::exposure_state::awaited);
  dawdle(rng);
  if (first != all.size() || all.empty())
    f.protocol.complete(all.subspan(first), nothing, pgas::exposure_state::awaited);
  if (wait_by_test) {
    while (!f.protocol.test(origins, nothing)) {
      b.check("test");
      std::this_thread::yield();
    }
  } else {
    f.protocol.wait(origins, nothing);
  }
  for (rank_t origin : origins)
    require_equal(f.read(self, origin), value, "the value that an origin wrote before it completed");
}

}  // namespace pgas_test
