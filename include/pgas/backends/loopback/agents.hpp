// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/resource.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <pgas/backends/loopback/agent.hpp>
#include <stdexcept>
#include <string>
#include <system_error>

namespace pgas::inline PGAS_ASSERTIONS::detail::loopback {

/// The agents of a job, running. The destructor ends all of them before it closes any stream.
class agents {
 public:
  explicit agents(job const& all) {
    try {
      expect_descriptors(all.size());
      for (rank_t rank = 0; rank < all.size(); ++rank) {
        all_.agents.push_back(std::make_shared<agent>(all.as(rank), all_));
      }
      for (auto const& a : all_.agents) a->start();
    } catch (std::exception const& e) {
      stop();
      throw error(errc::no_space, job::supervisor,
                  "run: loopback needs a descriptor for every pair of ranks at each of them, and a thread "
                  "for each rank; " +
                      std::to_string(all.size()) + " ranks cannot be connected: " + e.what());
    }
  }
  agents(agents const&) = delete;
  agents& operator=(agents const&) = delete;
  ~agents() { stop(); }

  [[nodiscard]] std::shared_ptr<agent> const& share(rank_t rank) const noexcept {
    return all_.agents[static_cast<std::size_t>(rank)];
  }

 private:
  /// Throws if the process may not open enough descriptors for every pair of ranks. A job must not fail for
  /// want of one in the middle.
  static void expect_descriptors(rank_t ranks) {
    auto const count = static_cast<std::uint64_t>(ranks);
    std::uint64_t const needed = count * (count + 2);
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    std::error_code unreadable;
    std::filesystem::directory_iterator const open("/proc/self/fd", unreadable);
    auto const used = unreadable ? 0 : static_cast<std::uint64_t>(std::distance(begin(open), end(open)));
    if (needed > limit.rlim_cur || used > limit.rlim_cur - needed) {
      throw std::runtime_error("Too many open files: " + std::to_string(needed) +
                               " more descriptors exceed the limit of " + std::to_string(limit.rlim_cur));
    }
  }

  void stop() noexcept {
    for (auto const& a : all_.agents) a->end();
    for (auto const& a : all_.agents) a->close();
  }

  agent::exchange all_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::loopback
