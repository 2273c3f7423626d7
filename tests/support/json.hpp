// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cctype>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace pgas_test {

/// A value of a JSON text, for tests of JSON writers: invalid text throws.
class json {
 public:
  static json parse(std::string_view text) {
    json const all = value(text);
    skip(text);
    if (!text.empty()) fail("something follows the value", text);
    return all;
  }

  [[nodiscard]] std::vector<json> const& items() const { return items_; }
  [[nodiscard]] bool has(std::string const& key) const { return members_.count(key) != 0; }
  [[nodiscard]] json const& operator[](std::string const& key) const { return members_.at(key); }
  [[nodiscard]] std::string const& text() const { return text_; }
  [[nodiscard]] double number() const { return std::stod(text_); }

 private:
  [[noreturn]] static void fail(std::string const& why, std::string_view at) {
    throw std::runtime_error("no JSON: " + why + ", before: " + std::string(at.substr(0, 40)));
  }
  static void skip(std::string_view& from) {
    while (!from.empty() && std::isspace(static_cast<unsigned char>(from.front())) != 0)
      from.remove_prefix(1);
  }
  /// Consumes the character if it comes next; returns whether it did.
  static bool take(std::string_view& from, char wanted) {
    skip(from);
    if (!from.starts_with(wanted)) return false;
    from.remove_prefix(1);
    return true;
  }
  static void want(std::string_view& from, char wanted) {
    if (!take(from, wanted)) fail(std::string("missing ") + wanted, from);
  }
  static std::string string(std::string_view& from) {
    want(from, '"');
    std::string all;
    while (!from.starts_with('"')) {
      if (from.starts_with('\\')) from.remove_prefix(1);
      if (from.empty() || static_cast<unsigned char>(from.front()) < ' ')
        fail("a string without an end", from);
      all += from.front();
      from.remove_prefix(1);
    }
    from.remove_prefix(1);
    return all;
  }
  static json value(std::string_view& from) {
    json v;
    if (take(from, '[')) {
      if (take(from, ']')) return v;
      do v.items_.push_back(value(from));
      while (take(from, ','));
      want(from, ']');
    } else if (take(from, '{')) {
      if (take(from, '}')) return v;
      do {
        std::string const key = string(from);
        want(from, ':');
        if (!v.members_.emplace(key, value(from)).second) fail("two members " + key, from);
      } while (take(from, ','));
      want(from, '}');
    } else if (from.starts_with('"')) {
      v.text_ = string(from);
    } else {
      std::size_t const end = std::min(from.find_first_not_of("+-.0123456789eE"), from.size());
      v.text_ = from.substr(0, end);
      if (v.text_.empty()) fail("no value", from);
      static_cast<void>(v.number());
      from.remove_prefix(end);
    }
    return v;
  }

  std::vector<json> items_;
  std::map<std::string, json> members_;
  std::string text_;
};

}  // namespace pgas_test
