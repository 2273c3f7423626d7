// SPDX-License-Identifier: BSL-1.0
// own_backend: a backend in a page, which writes every transfer into a diary and then does it.
#include <cstdio>
#include <pgas/backends/self.hpp>
#include <pgas/pgas.hpp>

// A backend may replace any of its parts and take the others from an existing backend. This one replaces only
// the payload: its own model of the concept `segment`.
class diary_segment {
 public:
  explicit diary_segment(std::size_t bytes)
      : memory_(bytes / sizeof(line) + 1), part_(&memory_[0].first, bytes) {}

  static int rank() noexcept { return 0; }
  static int size() noexcept { return 1; }
  std::size_t part_bytes(int) const noexcept { return part_.size(); }
  std::span<std::byte> local() noexcept { return part_; }

  void put(pgas::location at, pgas::bytes_in from) {
    std::printf("  diary: put %2zu bytes to rank %d at byte %zu\n", from.size(), at.rank, at.offset);
    std::memcpy(part_.data() + at.offset, from.data(), from.size());
  }
  void get(pgas::location at, pgas::bytes_out into) {
    std::printf("  diary: get %2zu bytes of rank %d at byte %zu\n", into.size(), at.rank, at.offset);
    std::memcpy(into.data(), part_.data() + at.offset, into.size());
  }
  pgas::done rput(pgas::location at, pgas::bytes_in from) { return put(at, from), pgas::done{}; }
  pgas::done rget(pgas::location at, pgas::bytes_out into) { return get(at, into), pgas::done{}; }
  void flush(int) {}
  void flush_all() { std::printf("  diary: flush\n"); }
  void flush_local(int) {}
  void flush_local_all() {}

 private:
  struct alignas(pgas::part_alignment) line {  // parts are aligned to lines
    std::byte first;
  };
  std::vector<line> memory_;  // moves keep its address
  std::span<std::byte> part_;
};
static_assert(pgas::local_segment<diary_segment>);

struct diary : pgas::backends::self {
  using segment_type = diary_segment;
  static constexpr std::string_view name = "diary";

  template <class Main>
  static auto launch(int ranks, Main const& main) {
    return self::launch(ranks, [&](self, auto& bootstrap) { main(diary{}, bootstrap); });
  }
  static diary_segment attach_segment(handle, std::size_t own_bytes) { return diary_segment(own_bytes); }
  static diary sub_team(pgas::group, int) { return {}; }
};
static_assert(pgas::backend<diary>);  // the compiler lists the missing parts

int main() {
  // All parts of the library work on it now, and the conformance suites could test it.
  pgas::run<diary>(1, [](auto& team) {
    auto numbers = pgas::make_window<double>(team, 8);
    pgas::fence epoch{numbers};
    epoch.put(0, 3, 2.5);
    epoch.accumulate(0, 3, 1.0);  // the segment has no fetch_op: the library locks, gets and puts
    std::printf("element 3 is %.1f\n", epoch.get(0, 3));
  });
}
