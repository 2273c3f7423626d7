// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <exception>
#include <pgas/vocabulary/error.hpp>
#include <string>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The exception of a called function, as it travels to the caller: a code and a text.
struct call_failure {
  errc code;
  std::string text;

  /// The failure in an exception: an error of the library keeps its code.
  [[nodiscard]] static call_failure of(std::exception_ptr const& why) {
    try {
      std::rethrow_exception(why);
    } catch (error const& e) {
      return {static_cast<errc>(e.code().value()), std::string(e.sentence())};
    } catch (std::exception const& e) {
      return {errc::call_failed, e.what()};
    } catch (...) {
      return {errc::call_failed, "an exception that has no text"};
    }
  }
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
