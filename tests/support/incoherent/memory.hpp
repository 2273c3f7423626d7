// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/job/limits.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <vector>

#include "adversary.hpp"

namespace pgas_test::incoherent {

using pgas::bytes_in;
using pgas::bytes_out;
using pgas::errc;
using pgas::error;
using pgas::location;
using pgas::rank_t;
using pgas::word;

/// The parts of one window in memory, the origin of all copies.
///
/// One mutex guards them, so a wrong program reads stale bytes and has no data race.
class home_memory {
 public:
  explicit home_memory(std::span<std::size_t const> sizes) {
    parts_.reserve(sizes.size());
    for (std::size_t const bytes : sizes) parts_.emplace_back(bytes);
  }

  [[nodiscard]] std::size_t part_bytes(rank_t rank) const noexcept { return part(rank).size(); }
  [[nodiscard]] rank_t size() const noexcept { return static_cast<rank_t>(parts_.size()); }

  void read(location at, bytes_out into) const {
    std::scoped_lock const hold(mutex_);
    std::copy_n(part(at.rank).begin() + static_cast<std::ptrdiff_t>(at.offset), into.size(), into.begin());
  }
  void write(location at, bytes_in from) {
    std::scoped_lock const hold(mutex_);
    auto& to = parts_[static_cast<std::size_t>(at.rank)];
    std::copy(from.begin(), from.end(), to.begin() + static_cast<std::ptrdiff_t>(at.offset));
  }

 private:
  [[nodiscard]] std::vector<std::byte> const& part(rank_t rank) const noexcept {
    return parts_[static_cast<std::size_t>(rank)];
  }

  mutable std::mutex mutex_;
  std::vector<std::vector<std::byte>> parts_;  ///< never resized, so sizes need no lock
};

/// The control words of one team or window, and one test-and-set register per rank.
class home_words {
 public:
  struct alignas(64) control_word {
    std::atomic<word> value{0};
    std::atomic<rank_t> writer{-1};  ///< of a slot, once it has been stored to
  };
  struct alignas(64) test_and_set {
    std::atomic_flag taken;
  };

  home_words(rank_t ranks, pgas::control_words words)
      : words_(words),
        all_(static_cast<std::size_t>(ranks) * each()),
        registers_(static_cast<std::size_t>(ranks)) {}

  [[nodiscard]] pgas::control_words words() const noexcept { return words_; }
  [[nodiscard]] control_word& at(rank_t owner, std::size_t i) noexcept {
    return all_[static_cast<std::size_t>(owner) * each() + i];
  }
  [[nodiscard]] test_and_set& register_of(rank_t owner) noexcept {
    return registers_[static_cast<std::size_t>(owner)];
  }

 private:
  [[nodiscard]] std::size_t each() const noexcept { return words_.slots + words_.cells; }

  pgas::control_words words_;
  std::vector<control_word> all_;
  std::vector<test_and_set> registers_;
};

/// Reserved memory to which some ranks have still to attach. After the last attach only the ranks hold it,
/// and the last of them frees it.
template <class Memory>
class registry {
 public:
  using handle = std::uint64_t;

  [[nodiscard]] handle add(std::shared_ptr<Memory> memory, std::size_t holders) {
    std::scoped_lock const hold(mutex_);
    entries_.emplace(++last_, entry{std::move(memory), holders});
    return last_;
  }
  [[nodiscard]] std::shared_ptr<Memory> attach(handle which, rank_t self) {
    std::scoped_lock const hold(mutex_);
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

  std::mutex mutex_;
  std::map<handle, entry> entries_;
  handle last_ = 0;
};

/// Makes `Memory` of about `bytes` bytes. Throws errc::no_space before the machine runs out of memory.
template <class Memory, class... Arguments>
[[nodiscard]] std::shared_ptr<Memory> allocate(rank_t self, std::uint64_t bytes,
                                               Arguments const&... arguments) {
  auto const refuse = [&](std::string const& why) {
    throw error(errc::no_space, self, "reserve", std::to_string(bytes) + " bytes were asked for: " + why);
  };
  if (std::uint64_t const left = pgas::detail::available_memory(bytes); bytes > left) {
    refuse("only " + std::to_string(left) + " are left");
  }
  try {
    return std::make_shared<Memory>(arguments...);
  } catch (std::bad_alloc const&) {
    refuse("the allocator has no more");
  }
  return nullptr;
}

/// The state that the ranks of one launch share.
struct world {
  explicit world(adversary a) noexcept : against(a) {}

  adversary const against;
  registry<home_memory> memory;
  registry<home_words> words;
};

}  // namespace pgas_test::incoherent
