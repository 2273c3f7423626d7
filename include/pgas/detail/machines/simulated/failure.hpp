// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/text/text_of.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::detail::simulated {

/// The first failure of a run: its rank, its kind and its sentence.
class failure {
 public:
  [[nodiscard]] bool is_there() const noexcept { return rank_ >= 0; }

  /// A rank cannot go on. Only the first note counts.
  void note(rank_t rank, std::string_view what, errc code = errc::rank_failed) {
    if (is_there()) return;
    rank_ = rank;
    code_ = code;
    text_ = what;
  }
  /// A rank's main ended early. Its reason is better than the note that a guard of this rank has made during
  /// unwinding. An error that repeats the note is no reason.
  void cause(rank_t rank, std::string_view what, errc code) {
    note(rank, what, code);
    if (rank != rank_ || has_cause_ || what.ends_with(as_cause(text_))) return;
    has_cause_ = true;
    code_ = code;
    text_ = what;
  }

  /// Throws the failure as an error of `rank` in an operation, if there is a failure.
  void check(rank_t rank, std::string_view operation) const {
    if (is_there()) [[unlikely]]
      throw error(code_, rank, operation, as_cause(text_));
  }
  /// Throws the failure, if there is one, as it is seen from outside.
  void rethrow() const {
    if (is_there()) throw error(code_, rank_, text_);
  }

  /// Runs a rank's main; its end by an exception is the run's failure.
  template <class Main>
  void watch(rank_t self, Main const& main) noexcept {
    try {
      main();
    } catch (error const& e) {
      cause(self, e.description(), static_cast<errc>(e.code().value()));
    } catch (std::exception const& e) {
      cause(self, text_of({"rank ", self, " threw: ", e.what()}), errc::rank_failed);
    } catch (...) {
      cause(self, text_of({"rank ", self, " threw something that is no std::exception"}), errc::rank_failed);
    }
  }

 private:
  rank_t rank_ = -1;
  bool has_cause_ = false;
  errc code_ = errc::rank_failed;
  std::string text_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::simulated
