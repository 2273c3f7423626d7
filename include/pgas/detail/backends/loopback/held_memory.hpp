// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/detail/backends/loopback/agent.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail::loopback {

/// One rank's hold on memory that it has attached. The destructor gives the hold up and never blocks.
class held_memory {
 public:
  template <class Memory>
  held_memory(std::shared_ptr<agent> a, memory_id id, std::shared_ptr<Memory> memory)
      : agent_(std::move(a)), id_(id) {
    agent_->memory().attach(id, std::move(memory));
  }
  held_memory(held_memory&& other) noexcept = default;
  held_memory& operator=(held_memory&& other) noexcept {
    std::swap(agent_, other.agent_);
    std::swap(id_, other.id_);
    return *this;
  }
  ~held_memory() {
    if (agent_) agent_->release(id_);
  }

  [[nodiscard]] memory_id id() const noexcept { return id_; }
  [[nodiscard]] agent& owner() const noexcept { return *agent_; }
  [[nodiscard]] std::shared_ptr<agent> const& shared_owner() const noexcept { return agent_; }

 private:
  std::shared_ptr<agent> agent_;
  memory_id id_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::loopback
