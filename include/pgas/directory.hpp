// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <pgas/detail/job/job_wide_number.hpp>
#include <pgas/detail/window/state.hpp>
#include <pgas/team.hpp>
#include <pgas/vocabulary/box.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE {

/// Names an array or window that the ranks of a team have entered into a directory. A plain value that may be
/// stored in arrays and sent, and means the same on every rank of the team. If all bytes are zero it names
/// none.
struct array_handle {
  std::uint64_t directory = 0;  ///< the directory's number in the job
  std::uint64_t number = 0;     ///< counts the entered arrays from 1; never used again
  std::uint64_t check = 0;      ///< a hash of the array's description

  /// True if the handle names an array.
  explicit constexpr operator bool() const noexcept { return number != 0; }
  friend constexpr bool operator==(array_handle const&, array_handle const&) noexcept = default;
};
static_assert(transportable<array_handle>);

/// A type that a directory can hold: each rank's handle on an array or window that all ranks have made
/// together.
template <class A>
concept entered_array = std::movable<A> && requires(A const& a) {
  typename A::value_type;
  { a.state().label } -> std::convertible_to<std::string_view>;
};

namespace detail {

/// The address of a type's variable serves as its name, without run-time type information.
template <class T>
inline constexpr char tag_of = 0;

/// An array or window in words, the same on all ranks.
template <entered_array A>
std::string words_of(A const& a) {
  std::string const elements = std::to_string(sizeof(typename A::value_type)) + "-byte elements";
  if constexpr (requires { a.extents(); }) {
    return "an array of " + joined(a.extents(), " x ") + " " + elements + " (" + a.state().label + ")";
  } else {
    return "a window of " + elements + " (" + a.state().label + ")";
  }
}

/// One rank's replica of a directory.
class directory_state {
 public:
  directory_state(std::uint64_t id, rank_t job_rank) noexcept : id_(id), job_rank_(job_rank) {}

  template <entered_array A>
  array_handle enter(std::shared_ptr<A> const& array) {
    std::string words = words_of(*array);
    array_handle const named{id_, next_, std::hash<std::string>{}(words)};
    here_.emplace(next_, entry{array, &tag_of<A>, named.check, std::move(words)});
    ++next_;
    return named;
  }
  void leave(std::uint64_t number) noexcept { here_.erase(number); }

  template <entered_array A>
  [[nodiscard]] std::shared_ptr<A> open(array_handle h, std::string_view operation) const {
    check_named(h, operation);
    std::string const name = "array " + std::to_string(h.number);
    if (is_early(h)) {
      refuse(errc::wrong_order, operation,
             name + " has not been entered on this rank, which has entered " + std::to_string(next_ - 1) +
                 "; enter it first, or let when_entered wait for it");
    }
    auto const found = here_.find(h.number);
    if (found == here_.end()) {
      refuse(errc::gone, operation,
             name + " has left the directory on this rank; of " + std::to_string(next_ - 1) +
                 " that were entered " + std::to_string(here_.size()) + " are here");
    }
    entry const& named = found->second;
    if (named.check != h.check) {
      refuse(errc::mismatch, operation,
             name + " is " + named.words +
                 " on this rank, but another array where the handle was made; all ranks must enter arrays in "
                 "one order");
    }
    if (named.type != &tag_of<A>) {
      refuse(errc::mismatch, operation,
             name + " is " + named.words + ", but it is opened as another type, of " +
                 std::to_string(sizeof(typename A::value_type)) +
                 "-byte elements; open it as the type that was entered");
    }
    return std::static_pointer_cast<A>(named.array);
  }

  [[nodiscard]] bool is_early(array_handle h) const noexcept { return h.number >= next_; }
  void check_named(array_handle h, std::string_view operation) const {
    if (!h) refuse(errc::invalid_argument, operation, "the handle names no array: it was never set");
    if (h.directory == id_) return;
    refuse(errc::invalid_argument, operation,
           "array " + std::to_string(h.number) + " was entered into " +
               job_wide_text("directory", h.directory) + ", but this is " + job_wide_text("directory", id_) +
               "; open it with that directory, on a rank of its team");
  }

  void park(std::uint64_t number, std::function<void()> use) { parked_.emplace(number, std::move(use)); }
  /// Runs the calls that were parked for an array that is now here, in the order of their parking.
  void wake(std::uint64_t number) {
    auto const [first, last] = parked_.equal_range(number);
    std::vector<std::function<void()>> ready;
    for (auto it = first; it != last; ++it) ready.push_back(std::move(it->second));
    parked_.erase(first, last);
    for (auto const& use : ready) use();
  }

  [[nodiscard]] std::size_t size() const noexcept { return here_.size(); }
  [[nodiscard]] std::size_t parked() const noexcept { return parked_.size(); }

 private:
  struct entry {
    std::shared_ptr<void> array;
    char const* type;
    std::uint64_t check;
    std::string words;
  };

  [[noreturn]] void refuse(errc code, std::string_view operation, std::string const& sentence) const {
    throw error(code, job_rank_, operation, sentence);
  }
  std::uint64_t id_;
  rank_t job_rank_;
  std::uint64_t next_ = 1;  ///< the number of the next array
  std::unordered_map<std::uint64_t, entry> here_;
  std::multimap<std::uint64_t, std::function<void()>> parked_;
};

}  // namespace detail

/// An array that is in a directory while this object lives: the result of directory::enter. Movable. Its
/// destructor is local: the array leaves this rank's replica, and is destroyed when this rank no longer has
/// it open.
template <entered_array A>
class listed {
 public:
  /// For directory::enter.
  listed(std::shared_ptr<detail::directory_state> in, std::shared_ptr<A> array)
      : in_(std::move(in)), array_(std::move(array)), handle_(in_->enter(array_)) {}
  listed(listed&&) noexcept = default;
  /// Exchanges the two arrays.
  listed& operator=(listed&& other) noexcept {
    std::swap(in_, other.in_);
    std::swap(array_, other.array_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~listed() {
    if (in_) in_->leave(handle_.number);
  }

  /// The handle to send to other ranks.
  [[nodiscard]] array_handle handle() const noexcept { return handle_; }
  /// The array.
  [[nodiscard]] A& operator*() const noexcept { return *array_; }
  /// A member of the array.
  [[nodiscard]] A* operator->() const noexcept { return array_.get(); }

 private:
  std::shared_ptr<detail::directory_state> in_;
  std::shared_ptr<A> array_;
  array_handle handle_;
};

/// The live arrays of a team, by handles that can be stored in arrays and sent. The object is one rank's
/// replica.
///
/// All ranks enter their arrays in one order. Then a rank that receives a handle from any other rank can open
/// it, and gets its own view of the array. Only make_directory communicates or waits: a rank finds its view
/// in its own replica. A handle may arrive before this rank has entered its array: `when_entered` then keeps
/// the call for later.
/// Source: the shared variable directory of Ferreras 2008, section 5.2.2, its partition ALL. Ours differs in
/// four ways. A number is never used again, so that it is its own generation and an old handle cannot find a
/// new array. Replicas may forget in different orders. The handle tells if ranks entered different arrays.
/// Handles that come early are parked; the thesis leaves this case open. A heap, see heap.hpp, is for data
/// that one rank makes alone. Memory: O(arrays) on each rank, independent of the number of ranks. MPI and
/// OpenSHMEM have no equal: their handles mean nothing on another rank.
class directory {
 public:
  /// For make_directory.
  explicit directory(std::shared_ptr<detail::directory_state> state) noexcept : state_(std::move(state)) {}

  /// Enters an array or window, which from then on belongs to the returned object. Every rank of the team
  /// enters its handle on the same array, in the same order; no rank waits for another. Runs the calls that
  /// were parked for the array, and passes on their exceptions.
  template <class A>
    requires(entered_array<A> && !std::is_lvalue_reference_v<A>)
  [[nodiscard]] listed<A> enter(A&& array) {
    listed<A> made(state_, std::make_shared<A>(std::forward<A>(array)));
    state_->wake(made.handle().number);
    return made;
  }

  /// The number of arrays that are in this replica.
  [[nodiscard]] std::size_t size() const noexcept { return state_->size(); }
  /// The number of calls that are parked for arrays that this rank has not entered.
  [[nodiscard]] std::size_t parked() const noexcept { return state_->parked(); }

  /// For open_array and when_entered.
  [[nodiscard]] detail::directory_state& state() const noexcept { return *state_; }

 private:
  std::shared_ptr<detail::directory_state> state_;
};

/// This rank's view of the array: an `A`, as it was entered. The array lives at least as long as the result
/// is held.
template <entered_array A>
[[nodiscard]] std::shared_ptr<A> open_array(directory const& in, array_handle h) {
  return in.state().template open<A>(h, "open_array");
}

/// Calls use(array) at once and returns true if this rank has entered the array. Else it returns false, and
/// `enter` makes the call. Local. Throws the errors of open_array; a call that `enter` makes throws them
/// there.
template <entered_array A, std::invocable<A&> Use>
bool when_entered(directory const& in, array_handle h, Use use) {
  constexpr std::string_view operation = "when_entered";
  auto& state = in.state();
  state.check_named(h, operation);
  if (!state.is_early(h)) return use(*state.template open<A>(h, operation)), true;
  state.park(h.number, [&state, h, use = std::move(use)]() mutable {  // the state outlives its parked calls
    use(*state.template open<A>(h, "when_entered"));
  });
  return false;
}

/// Makes an empty directory for the arrays of a team. Collective; costs a broadcast.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
[[nodiscard]] directory make_directory(team<Backend, Coherence, Protocols> const& team) {
  auto& members = *team.state();
  members.deferred->rethrow();
  std::uint64_t id = detail::job_wide_number(members.backend.world_rank(0));
  members.collectives.broadcast(id, 0, "make_directory");
  return directory(std::make_shared<detail::directory_state>(id, members.backend.world_rank(team.rank())));
}

}  // namespace PGAS_NAMESPACE
