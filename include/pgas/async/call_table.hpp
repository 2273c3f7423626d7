// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pgas/concepts/control.hpp>
#include <pgas/support/type_name.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <span>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The functions of a program that ranks call, each with the types of its arguments. Its number names it.
///
/// Ranks run one executable, but it may lie at another address in each of them: a launcher starts processes
/// anew, and the system places them at random. So an address is no name. The text of a type is none either:
/// g++ writes two lambdas of one function alike. A number is right on every backend. Each function adds
/// itself before main begins, in the order of the executable's list of constructors, which is the same in
/// all processes of it. A receiver can check a number, but not an offset from a symbol. make_calls compares
/// `digest` on all ranks, so another executable is found before the first call.
class call_table {
 public:
  struct entry {
    /// Runs the function at its target on the arguments in a record; writes its answer.
    void (*run)(void* calls, rank_t from, std::span<word const> record);
    std::size_t answer_words;  ///< of its value
    std::uint64_t name;        ///< a hash of the types, for the digest
  };

  /// Adds a function, and returns its number.
  static std::uint32_t add(entry one) {
    functions.push_back(one);
    return static_cast<std::uint32_t>(functions.size() - 1);
  }
  /// The function with this number, or null.
  [[nodiscard]] static entry const* find(std::uint32_t number) noexcept {
    return number < functions.size() ? &functions[number] : nullptr;
  }
  [[nodiscard]] static std::uint64_t digest() noexcept {
    std::uint64_t hash = functions.size();
    for (entry const& one : functions) hash = (hash ^ one.name) * 0x100000001b3U;
    return hash;
  }

 private:
  /// Has no constructor that runs, so each function finds it, whatever the order in which they add
  /// themselves.
  static constinit inline std::vector<entry> functions;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
