// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <exception>
#include <memory>
#include <pgas/detail/backends/loopback/agent.hpp>
#include <string>

namespace pgas::inline PGAS_ASSERTIONS::detail::loopback {

/// The agents of a job, running. The destructor ends the thread of each before it frees any.
class agents {
 public:
  explicit agents(job const& all) {
    try {
      for (rank_t rank = 0; rank < all.size(); ++rank) {
        all_.push_back(std::make_shared<agent>(all.as(rank), all_));
      }
      for (auto const& a : all_) a->start();
    } catch (std::exception const& e) {
      stop();
      throw error(errc::no_space, job::supervisor,
                  "run: loopback needs a thread for each rank and one for its agent; " +
                      std::to_string(all.size()) + " agents cannot be started: " + e.what());
    }
  }
  agents(agents const&) = delete;
  agents& operator=(agents const&) = delete;
  ~agents() { stop(); }

  [[nodiscard]] std::shared_ptr<agent> const& share(rank_t rank) const noexcept {
    return all_[static_cast<std::size_t>(rank)];
  }

 private:
  void stop() noexcept {
    for (auto const& a : all_) a->end();
  }

  agent::agents_of_job all_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::loopback
