// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstring>
#include <exception>
#include <functional>
#include <optional>
#include <pgas/async/call_arguments.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/types/local_shared_ptr.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/request.hpp>
#include <string>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE {

template <class T>
class call_request;

namespace detail {

class call_state;

/// The calls of a team, as their requests see them.
class call_home {
 public:
  /// Receives what has arrived.
  virtual void advance() = 0;
  /// Returns when the call has ended. Throws errc::wrong_order in a function.
  virtual void wait_for(call_state const& one) = 0;

 protected:
  call_home() = default;
  call_home(call_home const&) = default;
  call_home& operator=(call_home const&) = default;
  ~call_home() = default;
};

/// The end of a call at its caller: value, or failure, or neither yet. The value arrives in parts.
class call_state {
 public:
  explicit call_state(call_home* home) noexcept : home_(home) {}
  call_state(call_state const&) = delete;
  call_state& operator=(call_state const&) = delete;

  [[nodiscard]] bool is_done() const noexcept { return is_done_; }
  [[nodiscard]] std::exception_ptr const& failure() const noexcept { return failure_; }
  [[nodiscard]] call_home* home() const noexcept { return home_; }

  /// Stores a part of the value, `place` words from its begin. Returns whether it was the last.
  bool add_part(std::size_t place, std::span<word const> part) {
    std::size_t const begin = place * sizeof(word);
    if (begin < value_.size())
      std::memcpy(value_.data() + begin, part.data(), std::min(part.size_bytes(), value_.size() - begin));
    return begin + part.size_bytes() >= value_.size();
  }
  /// Appends a part of a failure's text. Returns the text when it is whole.
  [[nodiscard]] std::optional<std::string> add_text(std::size_t length, std::span<word const> part) {
    std::size_t const count = std::min(part.size_bytes(), length - text_.size());
    text_.append(reinterpret_cast<char const*>(part.data()), count);
    if (text_.size() < length) return std::nullopt;
    return std::move(text_);
  }
  /// Continues as a call of another team, or of the same.
  void go_on_in(call_home* home) noexcept { home_ = home; }
  /// Ends the call, then calls the function that waits for its end.
  void end(std::exception_ptr failure = nullptr) {
    failure_ = std::move(failure);
    is_done_ = true;
    home_ = nullptr;
    if (auto const next = std::exchange(after_, nullptr)) next();
  }
  /// Calls a function when the call has ended, at once if it has.
  void after(std::function<void()> next) {
    if (is_done_) return next();
    if (after_ == nullptr) {
      after_ = std::move(next);
    } else {
      after_ = [first = std::move(after_), second = std::move(next)] {
        first();
        second();
      };
    }
  }

 protected:
  ~call_state() = default;
  bytes_out value_;  ///< the derived state's

 private:
  call_home* home_;
  bool is_done_ = false;
  std::exception_ptr failure_;
  std::string text_;
  std::function<void()> after_;
};

/// The type of the value that a caller gets of a function's result: for a request, that of the request's
/// value.
template <class R>
struct value_of {
  using type = R;
  static constexpr bool is_request = false;
};
template <class T>
struct value_of<call_request<T>> {
  using type = T;
  static constexpr bool is_request = true;
};

/// The end of a call with a value of this type. It ends the lifetime of an object only by its own type.
template <class T>
class valued_call final : public call_state {
 public:
  explicit valued_call(call_home* home) noexcept : call_state(home) {
    value_ = std::as_writable_bytes(std::span(&value, 1));
  }
  T value{};
};
template <>
class valued_call<void> final : public call_state {
 public:
  using call_state::call_state;
};

}  // namespace detail

/// A call that was started and may not have ended. A copy names the same call.
///
/// It progresses in each wait of this rank in the library. Destroying a request does not end the call. UPC++:
/// a future; HPX: hpx::future; MPI: a request.
template <class T>
class call_request {
 public:
  using value_type = T;

  /// Made by `call` and `then`.
  explicit call_request(detail::local_shared_ptr<detail::valued_call<T>> state) noexcept
      : state_(std::move(state)) {}

  /// Returns whether the call has ended, with a value or a failure. Never waits, and lets calls progress.
  [[nodiscard]] bool test() {
    if (!state_->is_done() && state_->home() != nullptr) state_->home()->advance();
    return state_->is_done();
  }
  /// Returns when the call has ended. Throws the failure of the function; errc::wrong_order in a function.
  void wait() {
    if (!state_->is_done()) state_->home()->wait_for(*state_);
    if (state_->failure()) std::rethrow_exception(state_->failure());
  }
  /// The value that the function has returned. Waits as `wait` does, and throws what it throws.
  T value() {
    wait();
    if constexpr (!std::is_void_v<T>) return state_->value;
  }

  /// Calls `next` with the value when the call has ended, and returns a request of its result. A failure goes
  /// to that request instead. `next` runs in a wait of this rank, or at once if the call has ended; it may
  /// call, and must not wait. If it returns a request, the result is that request's. UPC++: future::then.
  template <class Next>
  auto then(Next next) {
    using result = std::remove_cvref_t<decltype(apply(next, *state_))>;
    using value = typename detail::value_of<result>::type;
    detail::local_shared_ptr<detail::valued_call<value>> made(std::in_place, state_->home());
    state_->after([made, mine = state_, next = std::move(next)]() mutable {
      if (mine->failure()) return made->end(mine->failure());
      std::exception_ptr failure;
      try {
        if constexpr (detail::value_of<result>::is_request) {
          return hand_over(apply(next, *mine), made);
        } else if constexpr (std::is_void_v<result>) {
          apply(next, *mine);
        } else {
          made->value = apply(next, *mine);
        }
      } catch (...) {
        failure = std::current_exception();
      }
      made->end(failure);
    });
    return call_request<value>(made);
  }

  /// For the library.
  [[nodiscard]] detail::local_shared_ptr<detail::valued_call<T>> const& state() const noexcept {
    return state_;
  }

 private:
  template <class Next>
  static decltype(auto) apply(Next& next, detail::valued_call<T>& from) {
    if constexpr (std::is_void_v<T>) {
      return next();
    } else {
      return next(from.value);
    }
  }

  /// Ends `to` as the other request ends.
  template <class U>
  static void hand_over(call_request<U> from, detail::local_shared_ptr<detail::valued_call<U>> const& to) {
    to->go_on_in(from.state()->home());
    from.state()->after([from, to] {
      if constexpr (!std::is_void_v<U>) to->value = from.state()->value;
      to->end(from.state()->failure());
    });
  }

  detail::local_shared_ptr<detail::valued_call<T>> state_;
};
static_assert(request<call_request<int>> && request<call_request<void>>);

}  // namespace PGAS_NAMESPACE
