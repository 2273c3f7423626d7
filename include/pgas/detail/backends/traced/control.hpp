// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>
#include <pgas/concepts/recorder.hpp>
#include <pgas/detail/backends/traced/recorder.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Control words of another backend. Their waits are spans of a trace, and so are the library's spans on
/// them.
template <control Inner>
class traced_control : public Inner {
 public:
  traced_control(Inner inner, span_source source) : Inner(std::move(inner)), source_(std::move(source)) {}

  [[nodiscard]] recorded_span begin_span(span_kind what, std::string_view operation, group ranks,
                                         std::size_t bytes) const {
    return source_.begin(what, operation, ranks, bytes);
  }

  template <class Word, std::predicate<word> Predicate>
  word wait_until(Word w, Predicate&& predicate, waiting_for const& why) const {
    auto const span = waits(why);
    return Inner::wait_until(w, std::forward<Predicate>(predicate), why);
  }
  template <class Word, std::predicate<word> Predicate>
  std::size_t wait_any(std::span<Word> words, Predicate&& predicate, waiting_for const& why) const {
    auto const span = waits(why);
    return Inner::wait_any(words, std::forward<Predicate>(predicate), why);
  }
  void pause(unsigned attempt, waiting_for const& why) const {
    auto const span = waits(why);
    Inner::pause(attempt, why);
  }

 private:
  [[nodiscard]] recorded_span waits(waiting_for const& why) const {
    return source_.begin(span_kind::wait, why.operation, why.awaited, 0);
  }

  span_source source_;
};
static_assert(recording_control<traced_control<control_archetype>>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
