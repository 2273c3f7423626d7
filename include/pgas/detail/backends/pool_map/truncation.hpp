// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <pgas/detail/job/job.hpp>
#include <string>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// While it lives, an access to a part of a mapped file that is not there any more ends the job with an error
/// that names the file and the rank. Without it, the rank would die by a SIGBUS without a name.
///
/// The handler of SIGBUS records the failure. It then returns with the standard action in force, so the
/// access ends the rank. For other addresses it puts the program's own action in force. A process has at most
/// one such object.
class truncation_watch {
 public:
  truncation_watch(job const& mine, std::byte const* base, std::uint64_t bytes, std::string const& file)
      : state_(std::make_unique<state>(mine, base, bytes,
                                       "rank " + std::to_string(mine.rank()) + ": pool_map: the file " +
                                           file +
                                           " has lost bytes that the job uses: it was truncated, or its "
                                           "device is full; leave the file alone until the job has ended")) {
    current().store(state_.get(), std::memory_order_release);
    struct ::sigaction action {};
    action.sa_sigaction = &handle;
    action.sa_flags = SA_SIGINFO;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &state_->before);
  }
  truncation_watch(truncation_watch const&) = delete;
  truncation_watch& operator=(truncation_watch const&) = delete;
  ~truncation_watch() {
    ::sigaction(SIGBUS, &state_->before, nullptr);
    current().store(nullptr, std::memory_order_release);
  }

 private:
  struct state {
    state(job const& j, std::byte const* b, std::uint64_t n, std::string t)
        : mine(j), base(b), bytes(n), text(std::move(t)) {}
    job mine;
    std::byte const* base;
    std::uint64_t bytes;
    std::string text;
    struct ::sigaction before {};
  };

  static std::atomic<state*>& current() noexcept {
    static std::atomic<state*> one{nullptr};
    return one;
  }

  static void handle(int, ::siginfo_t* info, void*) noexcept {
    struct ::sigaction standard {};
    standard.sa_handler = SIG_DFL;
    state const* const s = current().load(std::memory_order_acquire);
    auto const* const at = static_cast<std::byte const*>(info->si_addr);
    bool const ours = s != nullptr && at >= s->base && at < s->base + s->bytes;
    if (ours) s->mine.mark_failed(s->mine.rank(), s->text, errc::bad_file);
    ::sigaction(SIGBUS, ours || s == nullptr ? &standard : &s->before, nullptr);
  }

  std::unique_ptr<state> state_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
