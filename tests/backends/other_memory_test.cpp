// SPDX-License-Identifier: BSL-1.0
// A backend that differs from process_map only in the memory of its windows: it derives from process_map, and
// passes the suites of its concepts.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <pgas/backends/process_map.hpp>
#include <pgas/pgas.hpp>
#include <set>
#include <string_view>
#include <vector>

namespace pgas_test {

/// process_map with its payload in a mapping of its own, as a RAM disk of huge pages or a device would be.
class other_memory : public pgas::backends::process_map {
  using process_map = pgas::backends::process_map;

 public:
  static constexpr std::string_view name = "other_memory";

  template <class Main>
  static auto launch(pgas::rank_t ranks, Main const& main) {
    auto const memory = map();  // the ranks inherit it
    return process_map::launch(ranks, [&](process_map const& inner, auto& bootstrap) {
      main(other_memory(inner, memory), bootstrap);
    });
  }

  /// Takes the next bytes of the mapping. It never reuses them: the job is short.
  [[nodiscard]] handle reserve_segment(std::span<std::size_t const> sizes) const {
    std::uint64_t const wanted = (segment_type::bytes_for(sizes) + page - 1) / page * page;
    std::uint64_t const taken = std::atomic_ref(*reinterpret_cast<std::uint64_t*>(first()))
                                    .fetch_add(wanted, std::memory_order_relaxed);
    if (wanted > bytes || page + taken > bytes - wanted) {
      throw pgas::error(pgas::errc::no_space, rank(), "reserve", "the mapping has no room for so many bytes");
    }
    segment_type::write_header(first() + page + taken, sizes);
    return page + taken;
  }
  [[nodiscard]] segment_type attach_segment(handle offset, std::size_t) const {
    return {first() + offset, memory_, ranks()};
  }
  [[nodiscard]] other_memory sub_team(pgas::group members, pgas::rank_t rank) const {
    return {process_map::sub_team(members, rank), memory_};
  }

 private:
  static constexpr std::uint64_t page = 4096;
  static constexpr std::uint64_t bytes = std::uint64_t{1} << 30U;

  other_memory(process_map inner, std::shared_ptr<void const> memory)
      : process_map(std::move(inner)), memory_(std::move(memory)) {}

  static std::shared_ptr<void const> map() {
    void* const at =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw pgas::error(pgas::errc::no_space, -1, "run", "the mapping was refused");
    return {at, unmap};
  }
  static void unmap(void const* memory) noexcept { ::munmap(const_cast<void*>(memory), bytes); }
  [[nodiscard]] std::byte* first() const noexcept {
    return static_cast<std::byte*>(const_cast<void*>(memory_.get()));
  }

  std::shared_ptr<void const> memory_;
};
static_assert(pgas::shared_segment<other_memory::segment_type> && pgas::mailbox_backend<other_memory>);

}  // namespace pgas_test

#define PGAS_TEST_ONE_BACKEND pgas_test::other_memory
#include "conformance/bootstrap.hpp"
#include "conformance/control.hpp"
#include "conformance/mailbox.hpp"
#include "conformance/segment.hpp"

static_assert(std::is_same_v<pgas_test::all_backends, std::tuple<PGAS_TEST_ONE_BACKEND>>);

TEST_CASE("long parts of successive windows begin at different places of a page, on both kinds of memory") {
  auto const body = [](auto& team) {
    constexpr std::size_t page = 4096;
    std::size_t const most = 20 * page;
    std::size_t const own = team.rank() == 1 ? 0 : most;
    std::vector<decltype(pgas::make_window<std::byte>(team, own))> windows;
    std::set<std::uintptr_t> places;
    for (int i = 0; i < 4; ++i) {
      auto const& w = windows.emplace_back(pgas::make_window<std::byte>(team, own));
      std::ranges::fill(w.local(), std::byte{1});
      auto const first = reinterpret_cast<std::uintptr_t>(w.part(0).data());
      pgas_test::require_equal(first % 128, std::uintptr_t{0}, "the place of a part on its line");
      places.insert(first % page / 512);
    }
    pgas_test::require_equal(places.size(), windows.size(), "the places of all windows");
    team.barrier();
    for (auto const& w : windows) {
      pgas_test::require_equal(w.size(1), std::size_t{0}, "the size of an empty part");
      for (pgas::rank_t const r : {0, 2})
        pgas_test::require_equal(std::ranges::count(w.part(r), std::byte{1}),
                                 static_cast<std::ptrdiff_t>(most),
                                 "the bytes of a part that its owner has filled");
    }
    team.barrier();
  };
  pgas::run<pgas::backends::process_map>(3, body);
  pgas::run<pgas_test::other_memory>(3, body);
}
