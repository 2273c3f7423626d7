// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail::emulation {

/// Reserved memory to which some ranks have still to attach. The last attach removes the entry.
template <class Memory>
class registry {
 public:
  using handle = std::uint64_t;

  [[nodiscard]] handle add(std::shared_ptr<Memory> memory, std::size_t holders) {
    entries_.emplace(++last_, entry{std::move(memory), holders});
    return last_;
  }
  [[nodiscard]] std::shared_ptr<Memory> attach(handle which, rank_t self) {
    auto const found = entries_.find(which);
    if (found == entries_.end()) {
      throw error(errc::invalid_argument, self, "attach",
                  "there is no reserved memory " + std::to_string(which) +
                      ", or all its ranks have attached already");
    }
    auto memory = found->second.memory;
    if (--found->second.missing == 0) entries_.erase(found);
    return memory;
  }

 private:
  struct entry {
    std::shared_ptr<Memory> memory;
    std::size_t missing;
  };
  std::map<handle, entry> entries_;
  handle last_ = 0;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::emulation
