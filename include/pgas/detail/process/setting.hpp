// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <locale.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// A variable of the environment or an option of the command line: its name and the text that the user gave.
///
/// All variables PGAS_..., all options --pgas-... and the launcher's options are read by this class. A value
/// that is not allowed ends the program with errc::invalid_argument and one form of message: "PGAS_TIMEOUT
/// takes a number of seconds from 0 to 32000000, not '5s'". An empty variable counts as unset, except for
/// those that a launcher passes on: see launched_rank.
class setting {
 public:
  /// A variable of the environment.
  static setting variable(char const* name) {
    char const* const text = std::getenv(name);
    setting found(name, text != nullptr ? text : "");
    found.is_empty_ = text != nullptr && found.text_.empty();
    return found;
  }
  setting(std::string_view name, std::string_view text) : name_(name), text_(text) {}

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  /// Returns whether the variable is there without a text.
  [[nodiscard]] bool is_empty() const noexcept { return is_empty_; }
  [[nodiscard]] bool given() const noexcept { return !text_.empty(); }
  [[nodiscard]] std::string const& text() const noexcept { return text_; }

  /// A whole number, decimal or with 0x. `what` names its kind, such as "a number of ranks".
  [[nodiscard]] std::uint64_t whole(std::string_view what, std::uint64_t least, std::uint64_t most) const {
    std::string_view digits = text_;
    int const base = digits.starts_with("0x") ? 16 : 10;
    if (base == 16) digits.remove_prefix(2);
    std::uint64_t value = 0;
    auto const [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (wrong != std::errc{} || end != digits.data() + digits.size() || value < least || value > most) {
      bool const has_most = most != std::numeric_limits<std::uint64_t>::max();
      refuse(has_most ? text_of({what, " from ", least, " to ", most})
                      : text_of({what, " from ", least, " on"}));
    }
    return value;
  }

  /// A time in seconds. The limit of one year is as good as never, and fits into every clock.
  [[nodiscard]] double seconds() const {
    constexpr std::uint64_t most = 32'000'000;
    // Not by from_chars: that of libc++ 19 reads whole numbers only.
    static ::locale_t const plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
    bool const is_decimal =
        text_.find_first_not_of("0123456789.eE+-") == std::string::npos && text_[0] != '+';
    char* end = nullptr;
    errno = 0;
    double const value = ::strtod_l(text_.c_str(), &end, plain);
    if (!is_decimal || errno != 0 || end != text_.c_str() + text_.size() || !(value >= 0) ||
        value > static_cast<double>(most)) {
      refuse(text_of({"a number of seconds from 0 to ", most}));
    }
    return value;
  }

  /// 1 for yes, 0 for no.
  [[nodiscard]] bool yes_or_no() const {
    if (text_ != "0" && text_ != "1") refuse("0 or 1");
    return text_ == "1";
  }

  /// The index of the text in a list of names.
  template <class Names>
  [[nodiscard]] std::size_t one_of(Names const& names) const {
    std::size_t index = 0;
    for (std::string_view const known : names) {
      if (known == text_) return index;
      ++index;
    }
    std::string allowed("one of");
    char const* separator = " ";
    for (std::string_view const known : names) allowed.append(std::exchange(separator, ", ")).append(known);
    refuse(allowed);
  }

  /// Throws the message.
  [[noreturn]] void refuse(std::string_view allowed) const {
    throw_error(errc::invalid_argument, -1, {name_, " takes ", allowed, ", not ", in_quotes(text_)});
  }

 private:
  std::string name_;
  std::string text_;
  bool is_empty_ = false;
};

}  // namespace PGAS_NAMESPACE::detail
