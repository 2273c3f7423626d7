// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <new>
#include <pgas/detail/process/one_per_process.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/called.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace PGAS_NAMESPACE {

/// The kinds of failure, as codes of the category `pgas`.
enum class errc {
  out_of_range = 1,  ///< an index or a rank is past its bound
  outside_group,     ///< the target is not in the group the epoch was opened for
  wrong_order,       ///< calls came in an order the contract forbids
  mismatch,          ///< ranks called one collective with different arguments
  deadlock,          ///< ranks wait for each other and none can go on
  rank_failed,       ///< another rank died, or left by an exception
  no_space,          ///< the requested memory is not available
  timed_out,         ///< a wait went past its deadline
  invalid_argument,  ///< an argument has no meaning here
  unsupported,       ///< this backend or machine cannot do it
  stale_copy,        ///< a copy older than the last write before it was read
  race,              ///< two accesses to one place, at least one of them a write, are not ordered
  bad_file,          ///< a file cannot be read or written, or has unexpected contents
  gone,              ///< the object that a handle names does not exist any more
  call_failed,       ///< a function that a rank has called at another one threw
};

namespace detail {

class error_category final : public std::error_category {
 public:
  [[nodiscard]] char const* name() const noexcept override { return "pgas"; }
  [[nodiscard]] std::string message(int code) const override {
    switch (static_cast<errc>(code)) {
      case errc::out_of_range:
        return "out of range";
      case errc::outside_group:
        return "target outside the epoch's group";
      case errc::wrong_order:
        return "calls in the wrong order";
      case errc::mismatch:
        return "ranks disagree";
      case errc::deadlock:
        return "deadlock";
      case errc::rank_failed:
        return "a rank failed";
      case errc::no_space:
        return "no space";
      case errc::timed_out:
        return "timed out";
      case errc::invalid_argument:
        return "invalid argument";
      case errc::unsupported:
        return "unsupported";
      case errc::stale_copy:
        return "stale copy";
      case errc::race:
        return "race";
      case errc::bad_file:
        return "bad file";
      case errc::gone:
        return "gone";
      case errc::call_failed:
        return "a called function failed";
    }
    return "unknown";
  }
  /// A shared object that hides its symbols has a category of its own, which is the same one by its name.
  [[nodiscard]] bool equivalent(std::error_code const& code, int condition) const noexcept override {
    return code.value() == condition && is(code.category());
  }
  [[nodiscard]] bool equivalent(int code, std::error_condition const& condition) const noexcept override {
    return code == condition.value() && is(condition.category());
  }

  /// Returns whether a category is this one, in whichever shared object it lies.
  [[nodiscard]] static bool is(std::error_category const& other) noexcept {
    return std::string_view(other.name()) == "pgas";
  }
};

}  // namespace detail

class error;

namespace detail {

/// An object that is notified of each error where it is made. A backend that checks its ranks records the
/// calls.
class error_listener {
 public:
  virtual void hear(error const& made) noexcept = 0;

 protected:
  ~error_listener() = default;
};
/// The listener to the errors of this thread; null on backends that do not check.
struct listener_of_thread {
  static constexpr std::string_view shared_name = "listener to errors";
  error_listener* now;
};
inline error_listener*& listens_to_errors() { return one_per_thread<listener_of_thread>().now; }

}  // namespace detail

/// The category of every pgas::errc.
///
/// It is never destroyed, so that destructors of static objects may throw errors and print them.
inline std::error_category const& category() noexcept {
  alignas(detail::error_category) static std::byte place[sizeof(detail::error_category)];
  static std::error_category const& instance = *::new (place) detail::error_category;
  return instance;
}

/// The standard's error code for an errc: `e.code() == errc::no_space` needs it.
inline std::error_code make_error_code(errc code) noexcept { return {static_cast<int>(code), category()}; }

/// Returns whether an error code is this one, whichever shared object has made it: a library that hides its
/// symbols, or that the program has loaded by dlopen, has a category at an address of its own.
inline bool operator==(std::error_code const& a, errc b) noexcept {
  return a.value() == static_cast<int>(b) && detail::error_category::is(a.category());
}

/// A failure that knows which rank met it and in which operation.
///
/// A broken precondition or a failed environment throws this. An expected "no" (`test`, `try_...`) is a
/// return value instead. `what()` reads "rank 1: put: <sentence>: <code>".
class error : public std::system_error {
 public:
  /// A failure of `rank` in `operation`; `sentence` says what is wrong and what to do.
  error(errc code, rank_t rank, std::string_view operation, std::string const& sentence)
      : error(code, rank, operation, sentence.size(),
              detail::text_of({"rank ", rank, ": ", operation, ": ", sentence})) {
    if (detail::error_listener* const listener = detail::listens_to_errors()) listener->hear(*this);
  }

  /// A failure of the job as a whole, seen from outside its ranks: `what()` starts at the sentence.
  error(errc code, rank_t rank, std::string const& sentence)
      : std::system_error(make_error_code(code), sentence),
        rank_(rank),
        operation_("run"),
        description_(sentence) {}

  /// The kind of failure. The code has the category of the caller's shared object.
  [[nodiscard]] std::error_code code() const noexcept {
    return {std::system_error::code().value(), category()};
  }

  /// The rank that met the failure, as its number in the job, not in a sub-team.
  [[nodiscard]] rank_t rank() const noexcept { return rank_; }

  /// The operation that failed, in the library's words: "put", "fence", "make_window", ...
  [[nodiscard]] std::string const& operation() const noexcept { return operation_; }

  /// `what()` without the words of the code at its end.
  [[nodiscard]] std::string const& description() const noexcept { return description_; }

  /// The fault and its remedy: the description without its rank and operation.
  [[nodiscard]] std::string_view sentence() const noexcept {
    return std::string_view(description_).substr(prefix_);
  }

 private:
  error(errc code, rank_t rank, std::string_view operation, std::size_t sentence, std::string description)
      : std::system_error(make_error_code(code), description),
        rank_(rank),
        operation_(operation),
        description_(std::move(description)),
        prefix_(description_.size() - sentence) {}

  rank_t rank_;
  std::string operation_;
  std::string description_;
  std::size_t prefix_ = 0;
};

namespace detail {

/// The description of another rank's failure as a cause: "rank 1: put: ..." reads "rank 1 failed: put: ...",
/// so that a message begins with one rank and one operation.
inline std::string as_cause(std::string_view description) {
  constexpr std::string_view rank = "rank ";
  std::string cause(description);
  if (!description.starts_with(rank)) return cause;
  std::size_t const after = description.find_first_not_of("0123456789", rank.size());
  if (after != std::string_view::npos && description.substr(after).starts_with(": ")) {
    cause.insert(after, " failed");
  }
  return cause;
}

/// An index as a text.
inline std::string index_text(std::size_t index) { return text_of({as_given(index)}); }

template <std::size_t N>
std::string index_text(std::array<std::size_t, N> const& index) {
  std::string text;
  for (std::size_t i : index) text += (text.empty() ? "" : ", ") + index_text(i);
  return text;
}

[[noreturn, gnu::cold, gnu::noinline]] inline void throw_error(errc code, rank_t self,
                                                               std::string_view operation,
                                                               char const* sentence) {
  throw error(code, self, operation, sentence);
}

/// Throws an error whose sentence joins `pieces`, as text_of does. Each place that throws compiles to one
/// call.
[[noreturn, gnu::cold, gnu::noinline]] inline void throw_error(errc code, rank_t self,
                                                               std::string_view operation,
                                                               std::initializer_list<text_piece> pieces) {
  throw error(code, self, operation, text_of(pieces));
}

/// The same for a failure of the job as a whole.
[[noreturn, gnu::cold, gnu::noinline]] inline void throw_error(errc code, rank_t rank,
                                                               std::initializer_list<text_piece> pieces) {
  throw error(code, rank, text_of(pieces));
}

/// The same, with the place of the call at the end if it is known: "...; give ranks (heat.cpp:12)".
[[noreturn, gnu::cold, gnu::noinline]] inline void throw_error_at(errc code, rank_t self, called operation,
                                                                  std::initializer_list<text_piece> pieces) {
  std::string sentence = text_of(pieces);
  if (caller const by = operation.by(); by != caller::unknown) {
    std::source_location const at = place_of(by);
    std::string_view const path = at.file_name();
    append_text(sentence, {" (", path.substr(path.find_last_of('/') + 1), ":", at.line(), ")"});
  }
  throw error(code, self, operation, sentence);
}

/// Refuses elements [first, first + count) of a part that has `size`. Out of line and cold, so that a check
/// costs a compare and a branch.
[[noreturn, gnu::cold, gnu::noinline]] inline void throw_out_of_range(rank_t self, called operation,
                                                                      rank_t target, std::size_t first,
                                                                      std::size_t count, std::size_t size) {
  std::string const index = index_text(first);
  std::string const elements = count == 1 ? text_of({"element ", index, " does not exist"})
                                          : text_of({index_text(count), " elements do not fit at ", index});
  throw_error_at(errc::out_of_range, self, operation,
                 {elements, " on rank ", target, ", whose part has ", size});
}

/// Refuses a transfer between elements of a part and memory that is some of them.
[[noreturn, gnu::cold, gnu::noinline]] inline void throw_overlap(rank_t self, called operation, rank_t target,
                                                                 std::size_t first, std::size_t count) {
  throw_error_at(errc::invalid_argument, self, operation,
                 {"source and destination overlap on rank ", target, ", in the ", count, " elements at ",
                  first, "; copy the source to other memory first"});
}
/// Refuses one memory for the values of an operation and for the elements' values before.
[[noreturn, gnu::cold, gnu::noinline]] inline void throw_same_memory(rank_t self, called operation) {
  throw_error_at(errc::invalid_argument, self, operation,
                 {"the values and the room for the values before overlap; give each its own memory"});
}

[[noreturn, gnu::cold, gnu::noinline]] inline void throw_bad_rank(rank_t self, called operation,
                                                                  rank_t target, rank_t size) {
  throw_error_at(errc::out_of_range, self, operation,
                 {"rank ", target, " does not exist in a team of ", size});
}

/// Returns whether [first, first + count) lies within [0, size), without overflow.
constexpr bool fits(std::size_t first, std::size_t count, std::size_t size) noexcept {
  return count <= size && first <= size - count;
}

}  // namespace detail

}  // namespace PGAS_NAMESPACE

template <>
struct std::is_error_code_enum<pgas::errc> : std::true_type {};
