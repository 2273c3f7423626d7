// SPDX-License-Identifier: BSL-1.0
// The rows of maps.cpp by threads of one process: a std::unordered_map behind a mutex for each of 256 shards.
#include <malloc.h>
#include <omp.h>

#include <mutex>
#include <optional>
#include <unordered_map>

#include "../map_shapes.hpp"

namespace {

template <class Value>
class sharded_map {
 public:
  explicit sharded_map(std::uint64_t keys) {
    for (shard& s : shards_) s.map.reserve(2 * keys / shards_.size());
  }
  [[nodiscard]] std::optional<Value> lookup(std::uint64_t key) {
    shard& of = of_key(key);
    std::lock_guard const lock(of.mutex);
    auto const found = of.map.find(key);
    return found == of.map.end() ? std::nullopt : std::optional(found->second);
  }
  void update(std::uint64_t key, Value const& value) {
    shard& of = of_key(key);
    std::lock_guard const lock(of.mutex);
    of.map.insert_or_assign(key, value);
  }
  void add(std::uint64_t key, Value const& value) {
    shard& of = of_key(key);
    std::lock_guard const lock(of.mutex);
    of.map[key] += value;
  }

  void count_bytes(double bytes) { bytes_ = bytes; }
  [[nodiscard]] double bytes() const { return bytes_; }

 private:
  struct alignas(128) shard {
    std::mutex mutex;
    std::unordered_map<std::uint64_t, Value, bench::key_hash> map;
  };
  shard& of_key(std::uint64_t key) { return shards_[bench::key_hash{}(key) >> 56U]; }
  std::vector<shard> shards_ = std::vector<shard>(256);
  double bytes_ = 0;
};

/// The bytes that the heap has given away.
double heap_in_use() {
  struct ::mallinfo2 const now = ::mallinfo2();
  return static_cast<double>(now.uordblks) + static_cast<double>(now.hblkhd);
}

template <class Value>
void measure(bench::meter& m, int threads, std::vector<bench::drawn_steps>& clients) {
  double const before = heap_in_use();
  sharded_map<Value> map(m.keys());
  for (std::uint64_t i = 0; i < m.keys(); ++i)
    map.update(bench::key_of(i), bench::value_of<Value>(bench::key_of(i)));
  map.count_bytes(heap_in_use() - before);
  // All threads do n steps. The region is opened once for them, so that it takes no part of the time.
  auto const each = [threads](auto step) {
    return bench::way{.name = "", .run = [threads, step](std::size_t n) {
#pragma omp parallel num_threads(threads)
                        for (std::size_t i = 0; i < n; ++i)
                          step(static_cast<std::size_t>(omp_get_thread_num()));
                      }};
  };
  bench::map_rows<Value>(m, map, clients, each);
}

}  // namespace

int main(int argc, char** argv) {
  bench::measure_alone(argc, argv, [](bench::meter& m, int threads) {
    std::vector<bench::drawn_steps> clients;
    for (int i = 0; i < threads; ++i) clients.emplace_back(i, threads, m.keys());
    measure<bench::short_value>(m, threads, clients);
    measure<bench::long_value>(m, threads, clients);
  });
}
