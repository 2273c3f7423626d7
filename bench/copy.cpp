// SPDX-License-Identifier: BSL-1.0
// A bulk put, against the best copy the machine can do to the same memory: memcpy, rep movsb, or stores that
// pass the caches. Repeated to one place, which stays in the caches as long as it fits, and walking through memory.
#include "harness.hpp"

int main(int argc, char** argv) {
  bench::options const options(argc, argv);
  return bench::run(options, "copy", {2}, [&options](auto& b) {
    constexpr std::size_t kib = 1024;
    constexpr std::size_t mib = 1024 * kib;
    std::size_t const region = (options.quick ? 64 : 256) * mib;
    auto& team = b.team();
    bool const works = team.rank() == 0;
    auto window = pgas::make_window<std::byte>(team, works ? 0 : region);
    std::vector<std::byte> source(works ? region : 0, std::byte{1});
    pgas::lock_all epoch{window};
    auto const target = epoch.to(team.size() - 1);
    std::byte* const base = window.part(team.size() - 1).data();

    for (std::size_t const bytes : {4 * kib, 16 * kib, 64 * kib, 256 * kib, 1 * mib, 4 * mib, 16 * mib, 64 * mib}) {
      for (bool const walks : {false, true}) {
        if (walks && bytes > region / 4) continue;
        auto const copying = [&](char const* name, auto copy) {
          return bench::contender{name, [&, bytes, walks, copy, at = std::size_t{0}](std::size_t n) mutable {
                                    if (!works) return;
                                    for (; n > 0; --n) {
                                      copy(at, bytes);
                                      bench::forget();
                                      if (walks) at = (at + bytes) % region;
                                    }
                                  }};
        };
        auto const ours = copying("put", [&](std::size_t at, std::size_t size) {
          target.put(at, std::span<std::byte const>(source.data() + at, size));
        });
        auto const plain = copying(
            "memcpy", [&](std::size_t at, std::size_t size) { std::memcpy(base + at, source.data() + at, size); });
        std::string const name =
            "put " + (bytes < mib ? std::to_string(bytes / kib) + " KiB" : std::to_string(bytes / mib) + " MiB") +
            (walks ? ", walking" : "");
        bench::row const row{.name = name, .target = bytes == 4 * mib ? 1 / 0.97 : 0, .bytes = bytes};
#if defined(__x86_64__)
        auto const movsb = copying("rep movsb", [&](std::size_t at, std::size_t size) {
          bench::raw::rep_movsb(base + at, source.data() + at, size);
        });
        auto const sse2 = copying("stream 16 B", [&](std::size_t at, std::size_t size) {
          bench::raw::stream_sse2(base + at, source.data() + at, size);
        });
        if (bench::raw::has_avx512()) {
          auto const wide = copying("stream 64 B", [&](std::size_t at, std::size_t size) {
            bench::raw::stream_avx512(base + at, source.data() + at, size);
          });
          b.compare(row, ours, {plain, movsb, sse2, wide});
        } else {
          b.compare(row, ours, {plain, movsb, sse2});
        }
#else
        b.compare(row, ours, {plain});
#endif
      }
    }
  });
}
