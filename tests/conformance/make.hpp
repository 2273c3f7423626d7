// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string_view>
#include <vector>

#include "../support/ranks.hpp"

namespace pgas_test {

/// Makes a segment with these part sizes, by all ranks together, as windows do.
template <class Backend, class Boot>
auto make_segment(Backend& b, Boot& boot, std::string_view key, std::vector<std::size_t> const& sizes) {
  typename Backend::handle handle{};
  auto const bytes = std::as_writable_bytes(std::span(&handle, 1));
  if (b.rank() == 0) {
    handle = b.reserve_segment(sizes);
    boot.put(key, bytes);
  }
  boot.fence();
  boot.get(key, bytes);
  auto made = b.attach_segment(handle, sizes[static_cast<std::size_t>(b.rank())]);
  boot.fence();
  return made;
}

/// Makes control words, by all ranks together, as windows do.
template <class Backend, class Boot>
auto make_control(Backend& b, Boot& boot, std::string_view key, pgas::control_words words) {
  typename Backend::handle handle{};
  auto const bytes = std::as_writable_bytes(std::span(&handle, 1));
  if (b.rank() == 0) {
    handle = b.reserve_control(words);
    boot.put(key, bytes);
  }
  boot.fence();
  boot.get(key, bytes);
  auto made = b.attach_control(handle, words, key);
  boot.fence();
  return made;
}

}  // namespace pgas_test
