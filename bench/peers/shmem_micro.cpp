// SPDX-License-Identifier: BSL-1.0
// The rows of micro.cpp by OpenSHMEM, as its specification describes the calls. Its quiet is a flush.
#include "shmem_support.hpp"

namespace {

using bench::mib;

class micro {
 public:
  explicit micro(bench::meter& m)
      : m_(m), there_(bench::region), other_(1 - m.rank()), mapped_(there_.mapped(other_)) {}

  void all() {
    on_origin(bench::latency_key("put_latency", "flush", 8), [this] {
      shmem_uint64_p(there_.words(), 7, other_);
      shmem_quiet();
    });
    on_origin(bench::latency_key("get_latency", "flush", 8),
              [this] { bench::keep(shmem_uint64_g(there_.words(), other_)); });
    for (std::size_t const bytes : bench::latency_sizes(m_.quick())) {
      if (bytes == 8) continue;
      auto const put = [=, this] {
        shmem_putmem(there_.data(), here_.data(), bytes, other_);
        shmem_quiet();
      };
      auto const get = [=, this] { shmem_getmem(here_.data(), there_.data(), bytes, other_); };
      bench::beside_copy(m_, bench::latency_key("put_latency", "flush", bytes), put, mapped_, here_.data());
      bench::beside_copy(m_, bench::latency_key("get_latency", "flush", bytes), get, here_.data(), mapped_);
    }
    for (std::size_t const bytes : bench::bandwidth_sizes(m_.quick())) {
      auto const walk = bench::window_of(
          bytes, bench::in_flight,
          [this](std::size_t at, std::size_t size) {
            shmem_putmem_nbi(there_.data() + at, here_.data() + at, size, other_);
          },
          [] { shmem_quiet(); });
      auto const gets = bench::window_of(
          bytes, bench::in_flight,
          [this](std::size_t at, std::size_t size) {
            shmem_getmem_nbi(here_.data() + at, there_.data() + at, size, other_);
          },
          [] { shmem_quiet(); });
      bench::beside_walk(m_, bench::bandwidth_key("put_bw", bytes), walk, mapped_, here_.data(), false);
      bench::beside_walk(m_, bench::bandwidth_key("put_bibw", bytes), walk, mapped_, here_.data(), true);
      bench::beside_walk(m_, bench::bandwidth_key("get_bw", bytes), gets, here_.data(), mapped_, false);
    }
    on_origin(bench::rate_key("put_mr"), [this] {
      for (std::size_t i = 0; i < bench::small_in_flight; ++i) shmem_uint64_p(there_.words() + i, i, other_);
      shmem_quiet();
    });
    on_origin(bench::latency_key("acc_latency", "flush", 8), [this] {
      shmem_ulong_atomic_add(numbers(), 1, other_);
      shmem_quiet();
    });
    on_origin(bench::latency_key("fop_latency", "flush", 8),
              [this] { bench::keep(shmem_ulong_atomic_fetch_add(numbers(), 1, other_)); });
    on_origin(bench::latency_key("cas_latency", "flush", 8),
              [this] { bench::keep(shmem_ulong_atomic_compare_swap(numbers(), 1, 1, other_)); });
    if (m_.rank() == 0) {
      std::vector<std::uint64_t> const chain = bench::chain();
      shmem_putmem(there_.data(), chain.data(), chain.size() * 8, other_);
      shmem_quiet();
    }
    on_origin(bench::latency_key("get_chain", "flush", 8),
              [this, at = std::uint64_t{0}]() mutable { at = shmem_uint64_g(there_.words() + at, other_); });
    on_origin(bench::latency_key("put_get_chain", "flush", 8), [this, value = std::uint64_t{0}]() mutable {
      shmem_uint64_p(there_.words(), value + 1, other_);
      shmem_quiet();
      value = shmem_uint64_g(there_.words(), other_);
    });
    on_origin(bench::latency_key("put_block", "flush", bench::block_edge * bench::block_edge * 8), [this] {
      for (std::size_t i = 0; i < bench::block_edge; ++i) {
        std::size_t const at = i * bench::block_pitch * 8;
        shmem_putmem(there_.data() + at, here_.data() + at, bench::block_edge * 8, other_);
      }
      shmem_quiet();
    });
    on_origin(bench::latency_key("put_overlap", "flush", mib), [this] {
      shmem_putmem_nbi(there_.data(), here_.data(), mib, other_);
      bench::compute();
      shmem_quiet();
    });
    m_.measure(bench::latency_key("put_target_busy", "flush", 8), {bench::put_to_busy_target(m_, [this] {
                 shmem_uint64_p(there_.words(), 7, other_);
                 shmem_quiet();
               })});
  }

 private:
  template <class Step>
  void on_origin(bench::row_key const& key, Step step) {
    m_.measure(key, {bench::origin_only(m_, "", step)});
  }

  /// For atomics that OpenSHMEM 1.4 of Open MPI does not have for uint64_t.
  [[nodiscard]] unsigned long* numbers() const { return reinterpret_cast<unsigned long*>(there_.data()); }

  bench::meter& m_;
  bench::shmem::symmetric there_;
  bench::buffer here_;
  int other_;
  std::byte* mapped_;  ///< where the other rank's memory is in this one, or else the own
};

}  // namespace

int main(int argc, char** argv) { return bench::shmem::run<micro>(argc, argv); }
