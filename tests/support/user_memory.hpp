// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <pgas/core.hpp>
#include <stdexcept>

namespace pgas_test {

/// A backend whose segments all lie over memory that their ranks had before, for the suites of the concept.
/// Each job runs twice: peers access the memory itself, and then copies of it.
template <class Backend>
class over_user_memory : public Backend {
  using given_type = typename Backend::user_segment_type;
  /// Aligned as the parts that a backend allocates are.
  struct alignas(pgas::part_alignment) unit {
    std::array<std::byte, pgas::part_alignment> bytes;
  };
  struct owned_memory {  // a base class, so that it exists before the segment
    std::unique_ptr<unit[]> units;
  };

 public:
  struct handle {
    typename Backend::handle first;
    typename Backend::handle copies;
  };
  class segment_type : owned_memory, public given_type {
   public:
    segment_type(std::unique_ptr<unit[]> given, Backend const& b, handle h, std::size_t size)
        : owned_memory{std::move(given)},
          given_type(b.attach_user_segment(
              h.first, {reinterpret_cast<std::byte*>(owned_memory::units.get()), size})) {}
  };
  using default_coherence = typename Backend::user_coherence;
  static constexpr std::string_view name = "user_memory";

  explicit over_user_memory(Backend b) : Backend(std::move(b)) {}

  template <class Main>
  static auto launch(pgas::rank_t ranks, Main const& main) {
    auto const on_ours = [&main](auto&& b, auto& boot) { main(over_user_memory(b), boot); };
    in_copies = false;
    static_cast<void>(Backend::launch(ranks, on_ours));
    in_copies = true;
    return Backend::launch(ranks, on_ours);
  }

  handle reserve_segment(std::span<std::size_t const> sizes) const {
    return {Backend::reserve_user_segment(sizes),
            in_copies ? Backend::reserve_segment(sizes) : typename Backend::handle{}};
  }
  segment_type attach_segment(handle h, std::size_t own_bytes) const {
    segment_type made(std::make_unique<unit[]>(own_bytes / sizeof(unit) + 1), *this, h, own_bytes);
    if (in_copies) made.copy_through(Backend::attach_segment(h.copies, own_bytes));
    return made;
  }
  handle reserve_control(pgas::control_words words) const { return {Backend::reserve_control(words), {}}; }
  auto attach_control(handle h, pgas::control_words words, std::string_view label) const {
    return Backend::attach_control(h.first, words, label);
  }
  over_user_memory sub_team(pgas::group members, pgas::rank_t rank) const {
    return over_user_memory(Backend::sub_team(members, rank));
  }

 private:
  static inline bool in_copies = false;  // of the current job; its ranks inherit it
};

/// From here on this process can no longer reach another's memory, as in a container that forbids it. For
/// ranks that are processes of their own.
inline void forbid_process_memory() {
  std::array<::sock_filter, 5> program{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(::seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  ::sock_fprog const filter{program.size(), program.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    throw std::runtime_error("this system filters no system calls");
  }
}

}  // namespace pgas_test
