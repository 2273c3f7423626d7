// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <functional>
#include <pgas/detail/job/bell.hpp>
#include <pgas/detail/process/one_per_process.hpp>
#include <string_view>
#include <utility>

namespace PGAS_NAMESPACE::detail {

struct job_block;

/// A function that the waits of one rank call while it exists, so that the rank answers messages while it
/// waits.
///
/// It belongs to the thread that made it, and to a job; see adopted_services. A thread that waits in another
/// job does not call it, as a rank does that runs a job of its own.
class service {
 public:
  /// `bell` is rung when there is something to do; null: waits must poll often.
  service(job_block const& of, std::uint32_t* bell, std::function<void()> run)
      : of_(&of), bell_(bell), run_(std::move(run)), next_(here().first), at_(&here().first) {
    if (next_ != nullptr) next_->at_ = &next_;
    *at_ = this;
  }
  service(service const&) = delete;
  service& operator=(service const&) = delete;
  ~service() {
    *at_ = next_;
    if (next_ != nullptr) next_->at_ = at_;
  }

  /// Calls the services of this thread in a job.
  static void run_all(job_block const& of) {
    for (service* s = here().first; s != nullptr; s = s->next_) [[unlikely]] {
      if (s->of_ == &of) s->run_();
    }
  }
  /// The services of this thread, for adopted_services.
  [[nodiscard]] static service*& of_this_thread() noexcept { return here().first; }
  /// Gives one thread's services to another thread, which has none.
  static void hand_over(service*& from, service*& to) noexcept {
    to = from;
    from = nullptr;
    if (to != nullptr) to->at_ = &to;
  }
  /// For a service that has received something: the next message often follows soon.
  static void note_work() noexcept { ++here().works; }
  /// The number of times that services of this thread have received something.
  [[nodiscard]] static std::uint64_t work_count() noexcept { return here().works; }
  /// Returns whether this thread has services.
  [[nodiscard]] static bool any() noexcept { return here().first != nullptr; }
  /// Returns whether a service of this thread in a job has no bell. A sleep must then be short.
  [[nodiscard]] static bool must_look(job_block const& of) noexcept {
    for (service const* s = here().first; s != nullptr; s = s->next_) {
      if (s->of_ == &of && s->bell_ == nullptr) return true;
    }
    return false;
  }
  /// Adds the bells of this thread's services in a job to those that end a sleep.
  static void add_bells(job_block const& of, bell::list& to) {
    for (service const* s = here().first; s != nullptr; s = s->next_) {
      if (s->of_ == &of && s->bell_ != nullptr) to.add(s->bell_);
    }
  }

 private:
  struct of_thread {
    static constexpr std::string_view shared_name = "services";
    service* first;
    std::uint64_t works;
  };
  /// The services of this thread, including those of other shared objects, which have variables of their own.
  /// Each poll of a wait may ask, so each shared object keeps their place for a thread.
  static of_thread& here() noexcept {
    static constinit thread_local of_thread* found = nullptr;
    if (found == nullptr) [[unlikely]]
      found = &one_per_thread<of_thread>();
    return *found;
  }

  job_block const* of_;
  std::uint32_t* bell_;
  std::function<void()> run_;
  service* next_;
  service** at_;  ///< the pointer to this one
};

/// While an object lives, the waits of this thread call the services of another thread, which does not call
/// the library meanwhile. The program orders the two threads, for example by a mutex.
class adopted_services {
 public:
  explicit adopted_services(service*& theirs) noexcept : theirs_(&theirs) {
    service::hand_over(theirs, service::of_this_thread());
  }
  adopted_services(adopted_services const&) = delete;
  adopted_services& operator=(adopted_services const&) = delete;
  ~adopted_services() { service::hand_over(service::of_this_thread(), *theirs_); }

 private:
  service** theirs_;
};

}  // namespace PGAS_NAMESPACE::detail
