// SPDX-License-Identifier: BSL-1.0
// Puts and gets of eight bytes, compared with stores and loads through a plain pointer to the same memory.
#include "harness.hpp"

namespace {

constexpr std::size_t elements = 1024;  // in the first level cache, so that instructions are measured

/// Only rank 0 works. The other ranks return when it is done, since every row ends with a barrier of the
/// harness.
template <class Work>
auto on_first(pgas::rank_t self, Work work) {
  return [self, work](std::size_t n) mutable {
    if (self != 0) return;
    for (std::size_t pass = 0; pass < n; ++pass) {
      work(pass);
      bench::forget();
    }
  };
}

}  // namespace

int main(int argc, char** argv) {
  bench::options const options(argc, argv);
  return bench::run(options, "put_get", {2}, [](auto& b) {
    auto& team = b.team();
    auto doubles = pgas::make_window<double>(team, elements);
    auto words = pgas::make_window<std::uint64_t>(team, elements);
    pgas::fence epoch{doubles};
    pgas::fence word_epoch{words};
    pgas::rank_t const self = team.rank();
    pgas::rank_t const neighbour = (self + 1) % team.size();
    auto const target = epoch.to(neighbour);
    auto const word_target = word_epoch.to(neighbour);
    double* const base = doubles.part(neighbour).data();
    std::uint64_t* const word_base = words.part(neighbour).data();
    std::vector<std::uint32_t> where(elements);  // a walk that no compiler can predict
    for (std::size_t i = 0; i < elements; ++i) where[i] = static_cast<std::uint32_t>(i * 389 % elements);
    auto const* const at = where.data();
    constexpr double per_call = elements;

    b.compare({.name = "put8", .target = 1.1, .per_call = per_call},
              {"put", on_first(self,
                               [=](std::size_t pass) {
                                 for (std::size_t i = 0; i < elements; ++i)
                                   target.put(i, static_cast<double>(pass));
                               })},
              {{"store", on_first(self, [=](std::size_t pass) {
                  for (std::size_t i = 0; i < elements; ++i) base[i] = static_cast<double>(pass);
                })}});
    b.compare({.name = "put8, scattered", .target = 1.1, .per_call = per_call},
              {"put", on_first(self,
                               [=](std::size_t pass) {
                                 for (std::size_t i = 0; i < elements; ++i)
                                   target.put(at[i], static_cast<double>(pass));
                               })},
              {{"store", on_first(self, [=](std::size_t pass) {
                  for (std::size_t i = 0; i < elements; ++i) base[at[i]] = static_cast<double>(pass);
                })}});
    b.compare({.name = "put8 and flush", .target = 1.1, .per_call = per_call},
              {"put, flush", on_first(self,
                                      [=](std::size_t pass) {
                                        for (std::size_t i = 0; i < elements; ++i) {
                                          target.put(i, static_cast<double>(pass));
                                          target.flush();
                                        }
                                      })},
              {{"store, compiler barrier", on_first(self, [=](std::size_t pass) {
                  for (std::size_t i = 0; i < elements; ++i) {
                    base[i] = static_cast<double>(pass);
                    std::atomic_signal_fence(std::memory_order_seq_cst);
                  }
                })}});
    b.compare({.name = "get8", .target = 1.1, .per_call = per_call},
              {"get", on_first(self,
                               [=](std::size_t) {
                                 std::uint64_t sum = 0;
                                 for (std::size_t i = 0; i < elements; ++i) sum += word_target.get(i);
                                 bench::keep(sum);
                               })},
              {{"load", on_first(self, [=](std::size_t) {
                  std::uint64_t sum = 0;
                  for (std::size_t i = 0; i < elements; ++i) sum += word_base[i];
                  bench::keep(sum);
                })}});
    b.compare({.name = "get8, scattered", .target = 1.1, .per_call = per_call},
              {"get", on_first(self,
                               [=](std::size_t) {
                                 std::uint64_t sum = 0;
                                 for (std::size_t i = 0; i < elements; ++i) sum += word_target.get(at[i]);
                                 bench::keep(sum);
                               })},
              {{"load", on_first(self, [=](std::size_t) {
                  std::uint64_t sum = 0;
                  for (std::size_t i = 0; i < elements; ++i) sum += word_base[at[i]];
                  bench::keep(sum);
                })}});
    // Without a target view: the epoch looks the part up at each access. Reported without a verdict.
    auto* const opened = &epoch;
    b.compare({.name = "put8 through the epoch", .per_call = per_call},
              {"put", on_first(self,
                               [=](std::size_t pass) {
                                 for (std::size_t i = 0; i < elements; ++i)
                                   opened->put(neighbour, i, static_cast<double>(pass));
                               })},
              {{"store", on_first(self, [=](std::size_t pass) {
                  for (std::size_t i = 0; i < elements; ++i) base[i] = static_cast<double>(pass);
                })}});
    b.compare({.name = "fetch_add", .target = 1.1, .per_call = per_call},
              {"fetch_add", on_first(self,
                                     [=](std::size_t) {
                                       for (std::size_t i = 0; i < elements; ++i)
                                         static_cast<void>(word_target.fetch_add(i, 1));
                                     })},
              {{"atomic_ref", on_first(self, [=](std::size_t) {
                  for (std::size_t i = 0; i < elements; ++i) {
                    std::atomic_ref(word_base[i]).fetch_add(1, std::memory_order_acq_rel);
                  }
                })}});
  });
}
