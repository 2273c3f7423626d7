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

/// The control on which a protocol runs: words, and a post office if the protocol is mailed.
template <class Protocol, class Backend>
using control_for = typename pgas::detail::carrying_control<Backend, pgas::is_mailed<Protocol>>::type;

/// Makes the control of a protocol, by all ranks together, as windows do.
template <class Protocol, class Backend, class Boot>
control_for<Protocol, Backend> make_control_for(Backend& b, Boot& boot, std::string_view key,
                                                pgas::control_words words) {
  auto made = make_control(b, boot, key, words);
  if constexpr (pgas::is_mailed<Protocol>) {
    typename Backend::handle handle{};
    auto const bytes = std::as_writable_bytes(std::span(&handle, 1));
    std::string const mail_key = "m " + std::string(key);
    if (b.rank() == 0) {
      handle = b.reserve_mailbox();
      boot.put(mail_key, bytes);
    }
    boot.fence();
    boot.get(mail_key, bytes);
    auto mail = b.attach_mailbox(handle);
    boot.fence();
    return {std::move(made), std::move(mail)};
  } else {
    return made;
  }
}

}  // namespace pgas_test
