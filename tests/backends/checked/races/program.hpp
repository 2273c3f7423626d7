// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "world.hpp"

namespace races {

/// The memory that a program's two accesses meet in.
enum class side {
  target,  ///< a part of a window
  origin   ///< private memory, or a piece of the own part, that an operation reads or fills
};

/// The parts of a program's world beside its window. To open all of them takes longer than most programs.
enum class beside { nothing, signals_and_containers, array };

/// A program whose accesses race, or do not race, by the library's contracts.
struct program {
  std::string group;  ///< the class
  std::string name;
  bool races = false;
  side where = side::target;
  /// The program races only if a request may be open at its return. On memory with private copies none is.
  bool needs_open_request = false;
  rank_t ranks = 3;
  beside has = beside::nothing;
  std::function<void(world&)> body;

  [[nodiscard]] std::string full_name() const { return group + ": " + name; }
};

/// A set of programs. Most come in pairs that differ by one call: the body of a pair makes that call if its
/// second argument is true.
class program_list {
 public:
  using body = std::function<void(world&)>;
  using body_of_pair = std::function<void(world&, bool)>;

  /// The pairs and programs that follow belong to this class.
  void begin(std::string group, side where, beside has = beside::nothing, rank_t ranks = 3) {
    group_ = std::move(group);
    where_ = where;
    has_ = has;
    ranks_ = ranks;
    of_requests_ = false;
  }
  /// The wrong programs that follow race only if a request may be open at its return.
  void needs_open_requests() { of_requests_ = true; }
  void pair(std::string const& name, std::string const& call, body_of_pair const& both) {
    right(name + ", with " + call, [both](world& w) { both(w, true); });
    wrong(name + ", without " + call, [both](world& w) { both(w, false); });
  }
  void right(std::string name, body one) {
    all_.push_back({group_, std::move(name), false, where_, false, ranks_, has_, std::move(one)});
  }
  void wrong(std::string name, body one) {
    all_.push_back({group_, std::move(name), true, where_, of_requests_, ranks_, has_, std::move(one)});
  }

  [[nodiscard]] std::vector<program> const& all() const noexcept { return all_; }

 private:
  std::string group_;
  side where_ = side::target;
  rank_t ranks_ = 3;
  beside has_ = beside::nothing;
  bool of_requests_ = false;
  std::vector<program> all_;
};

}  // namespace races
