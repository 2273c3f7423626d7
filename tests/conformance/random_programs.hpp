// SPDX-License-Identifier: BSL-1.0
#pragma once

// Random programs of puts, gets, accumulates and fetching operations, with requests and without, in epochs of
// all kinds, over several windows and an array (random_arrays.hpp). Every value read and all memory at the
// end equal those of a serial run byte by byte, on every model. PGAS_TEST_SECONDS is the time for a case (2);
// PGAS_SEED replays one program. A header holds them because two tests share the models: each takes a minute
// to compile with sanitizers.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../support/ranks.hpp"
#include "random_arrays.hpp"

namespace pgas_test::random_programs {

using pgas::make_window;
namespace op = pgas::op;

inline std::size_t index(rank_t rank) { return static_cast<std::size_t>(rank); }

// ---- programs ---------------------------------------------------------------------------------------------

enum class kind {
  put_value,
  put_bulk,
  put_rows,
  put_own,
  rput,
  get_value,
  get_bulk,
  get_rows,
  rget,
  accumulate_value,
  accumulate_bulk,
  get_accumulate,
  fetch_add,
  exchange,
  compare_exchange,
  atomic_load,
  atomic_store,
  rput_value,
  rput_rows,
  rput_own,
  rget_value,
  rget_rows,
  accumulate_rows,
  accumulate_user,
  raccumulate_value,
  raccumulate_bulk,
  raccumulate_rows,
  get_accumulate_rows,
  rget_accumulate_value,
  rget_accumulate_bulk,
  rget_accumulate_rows
};
inline constexpr char const* kind_names[] = {"put_value",
                                             "put_bulk",
                                             "put_rows",
                                             "put_own",
                                             "rput",
                                             "get_value",
                                             "get_bulk",
                                             "get_rows",
                                             "rget",
                                             "accumulate_value",
                                             "accumulate_bulk",
                                             "get_accumulate",
                                             "fetch_add",
                                             "exchange",
                                             "compare_exchange",
                                             "atomic_load",
                                             "atomic_store",
                                             "rput_value",
                                             "rput_rows",
                                             "rput_own",
                                             "rget_value",
                                             "rget_rows",
                                             "accumulate_rows",
                                             "accumulate_user",
                                             "raccumulate_value",
                                             "raccumulate_bulk",
                                             "raccumulate_rows",
                                             "get_accumulate_rows",
                                             "rget_accumulate_value",
                                             "rget_accumulate_bulk",
                                             "rget_accumulate_rows"};

inline bool is_of_one(kind what) {
  switch (what) {
    case kind::put_value:
    case kind::rput_value:
    case kind::get_value:
    case kind::rget_value:
    case kind::accumulate_value:
    case kind::accumulate_user:
    case kind::raccumulate_value:
    case kind::rget_accumulate_value:
      return true;
    default:
      return false;
  }
}
inline bool is_of_rows(kind what) {
  switch (what) {
    case kind::put_rows:
    case kind::rput_rows:
    case kind::get_rows:
    case kind::rget_rows:
    case kind::accumulate_rows:
    case kind::raccumulate_rows:
    case kind::get_accumulate_rows:
    case kind::rget_accumulate_rows:
      return true;
    default:
      return false;
  }
}

/// One call, and the value that it must return.
template <class T>
struct action {
  kind what;
  rank_t target;
  std::size_t first;
  pgas::rows_of rows{};       ///< for rows
  std::size_t own_first = 0;  ///< for put_own
  pgas::op_kind combine = pgas::op_kind::sum;
  std::vector<T> values{};    // values that it takes along
  std::vector<T> expected{};  // values that it must return
};

template <class T>
struct store {
  std::size_t i;
  T value;
};

/// The actions of all ranks on one window in one epoch.
template <class T>
struct plan {
  std::size_t window;
  std::vector<std::vector<store<T>>> stores;    // of each rank to its own part, before the epoch
  std::vector<std::vector<action<T>>> actions;  // of each rank, in the epoch
};

enum class epoch_kind { fence, fence_next, post, lock };

struct epoch_plan {
  epoch_kind how = epoch_kind::fence;
  std::vector<std::vector<bool>> may{};  // [origin][target]: whether the origin may access the target
  std::optional<plan<double>> doubles{};
  std::optional<plan<std::int64_t>> integers{};

  template <class T>
  auto& of() {
    if constexpr (std::is_same_v<T, double>) {
      return doubles;
    } else {
      return integers;
    }
  }
};

/// [window][rank][element]
template <class T>
using memory = std::vector<std::vector<std::vector<T>>>;

struct program {
  rank_t ranks = 1;
  std::vector<epoch_plan> epochs{};
  memory<double> doubles{};  // at the end; sizes hold from the beginning
  memory<std::int64_t> integers{};

  template <class T>
  auto& of() {
    if constexpr (std::is_same_v<T, double>) {
      return doubles;
    } else {
      return integers;
    }
  }
};

/// Exactly representable, like the sums of a few thousand such values.
template <class T>
T value_of(random_source& rng) {
  auto const n = static_cast<int>(rng.below(4001)) - 2000;
  return static_cast<T>(n) / static_cast<T>(std::is_same_v<T, double> ? 4 : 1);
}

template <class T>
T combined(pgas::op_kind how, T old, T value) {
  switch (how) {
    case pgas::op_kind::sum:
      return op::sum{}(old, value);
    case pgas::op_kind::min:
      return op::min{}(old, value);
    case pgas::op_kind::max:
      return op::max{}(old, value);
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    switch (how) {
      case pgas::op_kind::bit_and:
        return op::bit_and{}(old, value);
      case pgas::op_kind::bit_or:
        return op::bit_or{}(old, value);
      case pgas::op_kind::bit_xor:
        return op::bit_xor{}(old, value);
      default:
        break;
    }
  }
  return op::replace{}(old, value);
}

/// An operation of the program's own that does what a named one does.
template <class T>
struct user_operation {
  pgas::op_kind how;
  T operator()(T old, T value) const { return combined(how, old, value); }
};

/// The use of a run of elements in one epoch, chosen so that the result does not depend on the order of
/// ranks.
template <class T>
struct run_of_elements {
  enum class use { read, written, combined, owned } how;
  std::size_t first;
  std::size_t count;
  rank_t origin;           // written, owned: the only rank that may write
  pgas::op_kind combine;   // combined: every rank may combine with this operation
  std::vector<bool> done;  // written: whether the element was already put
};

/// Makes programs, and runs them serially at the same time.
class maker {
 public:
  explicit maker(std::uint64_t seed, rank_t ranks) : rng_(seed) {
    made_.ranks = ranks;
    set_sizes<double>();
    set_sizes<std::int64_t>();
    std::size_t const epochs = 2 + rng_.below(5);
    for (std::size_t i = 0; i < epochs; ++i) add_epoch();
  }
  program take() { return std::move(made_); }

 private:
  template <class T>
  void set_sizes() {
    auto& all = made_.template of<T>();
    all.resize(1 + rng_.below(2));
    for (auto& window : all) {
      window.resize(index(made_.ranks));
      for (auto& part : window) part.resize(rng_.one_in(6) ? 0 : 1 + rng_.below(40));
    }
  }

  void add_epoch() {
    epoch_plan e;
    e.how = static_cast<epoch_kind>(rng_.below(4));
    std::size_t const sparse = e.how == epoch_kind::post ? 1 + rng_.below(3) : 1;
    e.may.assign(index(made_.ranks), std::vector<bool>(index(made_.ranks)));
    for (auto& row : e.may) {
      for (std::size_t t = 0; t < row.size(); ++t) row[t] = rng_.one_in(sparse);
    }
    bool const both = rng_.one_in(2);
    bool const first = rng_.one_in(2);
    if (both || first) e.doubles = make_plan<double>(e);
    if (both || !first) e.integers = make_plan<std::int64_t>(e);
    made_.epochs.push_back(std::move(e));
  }

  template <class T>
  plan<T> make_plan(epoch_plan const& e) {
    auto& windows = made_.template of<T>();
    plan<T> p{.window = rng_.below(windows.size()), .stores = {}, .actions = {}};
    auto& parts = windows[p.window];
    p.stores.resize(parts.size());
    p.actions.resize(parts.size());
    for (std::size_t r = 0; r < parts.size(); ++r) {
      for (std::size_t i = 0; i < parts[r].size(); ++i) {
        if (!rng_.one_in(4)) continue;
        p.stores[r].push_back({i, value_of<T>(rng_)});
        parts[r][i] = p.stores[r].back().value;
      }
    }
    std::vector<std::vector<run_of_elements<T>>> runs(parts.size());
    for (std::size_t t = 0; t < parts.size(); ++t) runs[t] = divide<T>(e, t, parts[t].size());
    for (std::size_t o = 0; o < parts.size(); ++o) {
      for (std::size_t n = rng_.below(12); n > 0; --n) {
        std::size_t const t = rng_.below(parts.size());
        if (!e.may[o][t] || runs[t].empty()) continue;
        add_action<T>(p.actions[o], o, t, runs, runs[t][rng_.below(runs[t].size())], parts);
      }
    }
    return p;
  }

  template <class T>
  std::vector<run_of_elements<T>> divide(epoch_plan const& e, std::size_t target, std::size_t size) {
    using run = run_of_elements<T>;
    std::vector<rank_t> origins;
    for (std::size_t o = 0; o < e.may.size(); ++o) {
      if (e.may[o][target]) origins.push_back(static_cast<rank_t>(o));
    }
    std::vector<run> runs;
    for (std::size_t first = 0; first < size && !origins.empty();) {
      std::size_t const count = std::min(size - first, 1 + rng_.below(12));
      constexpr pgas::op_kind combines[] = {pgas::op_kind::sum,    pgas::op_kind::min,
                                            pgas::op_kind::max,    pgas::op_kind::bit_and,
                                            pgas::op_kind::bit_or, pgas::op_kind::bit_xor};
      runs.push_back({.how = static_cast<typename run::use>(rng_.below(4)),
                      .first = first,
                      .count = count,
                      .origin = origins[rng_.below(origins.size())],
                      .combine = combines[rng_.below(std::is_integral_v<T> ? 6 : 3)],
                      .done = std::vector<bool>(count)});
      first += count;
    }
    return runs;
  }

  template <class T>
  void add_action(std::vector<action<T>>& to, std::size_t origin, std::size_t target,
                  std::vector<std::vector<run_of_elements<T>>> const& runs, run_of_elements<T> const& shared,
                  std::vector<std::vector<T>>& parts) {
    using use = typename run_of_elements<T>::use;
    auto& run = const_cast<run_of_elements<T>&>(shared);  // only its `done` marks change
    auto& part = parts[target];
    std::size_t const at = rng_.below(run.count);
    std::size_t const count = 1 + rng_.below(run.count - at);
    action<T> a{.what = kind::get_value, .target = static_cast<rank_t>(target), .first = run.first + at};
    auto const bring = [&](std::size_t n) {
      for (std::size_t i = 0; i < n; ++i) a.values.push_back(value_of<T>(rng_));
    };
    auto const expect = [&](std::size_t n) {
      a.expected.assign(part.begin() + static_cast<std::ptrdiff_t>(a.first),
                        part.begin() + static_cast<std::ptrdiff_t>(a.first + n));
    };
    auto const rows_within = [&] {
      std::size_t const cols = 1 + rng_.below(std::min<std::size_t>(count, 3));
      std::size_t const pitch = cols + rng_.below(3);
      std::size_t const most = (count - cols) / pitch + 1;
      return pgas::rows_of{.first = a.first, .rows = 1 + rng_.below(most), .cols = cols, .pitch = pitch};
    };
    // Chooses the elements of an action of this kind.
    auto const elements_of = [&](kind what) {
      std::vector<std::size_t> elements;
      if (is_of_rows(what)) {
        a.rows = rows_within();
        for (std::size_t row = 0; row < a.rows.rows; ++row) {
          for (std::size_t col = 0; col < a.rows.cols; ++col)
            elements.push_back(a.rows.first + row * a.rows.pitch + col);
        }
      } else {
        for (std::size_t i = 0; i < (is_of_one(what) ? 1 : count); ++i) elements.push_back(a.first + i);
      }
      return elements;
    };
    auto const combine_all = [&](std::vector<std::size_t> const& elements) {
      a.combine = run.combine;
      bring(elements.size());
      for (std::size_t i = 0; i < elements.size(); ++i)
        part[elements[i]] = combined(a.combine, part[elements[i]], a.values[i]);
    };
    switch (run.how) {
      case use::read: {
        constexpr kind reads[] = {kind::get_value, kind::get_bulk,   kind::get_rows,
                                  kind::rget,      kind::rget_value, kind::rget_rows};
        a.what = reads[rng_.below(6)];
        for (std::size_t i : elements_of(a.what)) a.expected.push_back(part[i]);
        break;
      }
      case use::written: {
        if (index(run.origin) != origin) return;
        constexpr kind writes[] = {kind::put_value, kind::put_bulk,   kind::put_rows,  kind::put_own,
                                   kind::rput,      kind::rput_value, kind::rput_rows, kind::rput_own};
        a.what = writes[rng_.below(8)];
        auto const elements = elements_of(a.what);
        for (std::size_t i : elements) {
          if (run.done[i - run.first]) return;  // two puts to one element in one epoch are a race
        }
        bring(elements.size());
        if (a.what == kind::put_own || a.what == kind::rput_own) {
          // From elements of the own part that no rank changes in this epoch.
          auto const& own = runs[origin];
          auto const found = std::find_if(
              own.begin(), own.end(), [&](auto const& r) { return r.how == use::read && r.count >= count; });
          if (found == own.end()) return;
          a.own_first = found->first + rng_.below(found->count - count + 1);
          for (std::size_t i = 0; i < count; ++i) a.values[i] = parts[origin][a.own_first + i];
        }
        for (std::size_t i = 0; i < elements.size(); ++i) {
          run.done[elements[i] - run.first] = true;
          part[elements[i]] = a.values[i];
        }
        break;
      }
      case use::combined: {
        constexpr kind combines[] = {kind::accumulate_value, kind::accumulate_bulk,   kind::accumulate_rows,
                                     kind::accumulate_user,  kind::raccumulate_value, kind::raccumulate_bulk,
                                     kind::raccumulate_rows};
        a.what = combines[rng_.below(7)];
        combine_all(elements_of(a.what));
        break;
      }
      case use::owned: {
        if (index(run.origin) != origin) return;
        constexpr kind atomics[] = {kind::get_accumulate,
                                    kind::fetch_add,
                                    kind::exchange,
                                    kind::compare_exchange,
                                    kind::atomic_load,
                                    kind::atomic_store,
                                    kind::get_accumulate_rows,
                                    kind::rget_accumulate_value,
                                    kind::rget_accumulate_bulk,
                                    kind::rget_accumulate_rows};
        a.what = atomics[rng_.below(10)];
        T& element = part[a.first];
        switch (a.what) {
          case kind::get_accumulate:
          case kind::get_accumulate_rows:
          case kind::rget_accumulate_value:
          case kind::rget_accumulate_bulk:
          case kind::rget_accumulate_rows: {
            auto const elements = elements_of(a.what);
            for (std::size_t i : elements) a.expected.push_back(part[i]);
            combine_all(elements);
            break;
          }
          case kind::fetch_add:
            bring(1);
            expect(1);
            element = element + a.values[0];
            break;
          case kind::exchange:
            bring(1);
            expect(1);
            element = a.values[0];
            break;
          case kind::compare_exchange: {
            bring(2);  // expected, desired; the expected value is right half of the time
            bool const right = rng_.one_in(2);
            if (right) a.values[0] = element;
            expect(1);
            if (std::memcmp(&a.values[0], &element, sizeof(T)) == 0) element = a.values[1];
            break;
          }
          case kind::atomic_load:
            expect(1);
            break;
          default:
            bring(1);
            element = a.values[0];
        }
        break;
      }
    }
    to.push_back(std::move(a));
  }

  random_source rng_;
  program made_;
};

// ---- running them -----------------------------------------------------------------------------------------

template <class T>
bool same_bytes(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
std::string text(std::vector<T> const& values) {
  std::string s = "{";
  for (T const& v : values) s += " " + std::to_string(v);
  return s + " }";
}

template <class T>
void check_equal(std::vector<T> const& actual, std::vector<T> const& expected, std::string const& where) {
  if (!same_bytes(actual, expected))
    throw std::runtime_error(where + ": is " + text(actual) + ", should be " + text(expected));
}

template <class T, class Use>
void with_op(pgas::op_kind how, Use&& use) {
  switch (how) {
    case pgas::op_kind::min:
      return use(op::min{});
    case pgas::op_kind::max:
      return use(op::max{});
    case pgas::op_kind::replace:
      return use(op::replace{});
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    switch (how) {
      case pgas::op_kind::bit_and:
        return use(op::bit_and{});
      case pgas::op_kind::bit_or:
        return use(op::bit_or{});
      case pgas::op_kind::bit_xor:
        return use(op::bit_xor{});
      default:
        break;
    }
  }
  return use(op::sum{});
}

/// Calls use with the sum by its name, or with another operation as one of the program's own.
template <class T, class Use>
void with_sum_or_own(pgas::op_kind how, Use&& use) {
  if (how == pgas::op_kind::sum) return use(op::sum{});
  use(user_operation<T>{how});
}

/// Performs one rank's actions on one window, and checks the values that they return.
template <class T, pgas::open_epoch Epoch>
void act(Epoch& epoch, std::vector<action<T>> const& actions, std::string const& where, random_source& rng) {
  struct late {
    std::vector<T> into;
    action<T> const* of;
  };
  std::vector<late> gets;
  gets.reserve(actions.size());  // destinations must not move
  std::vector<late> requested;
  requested.reserve(actions.size());
  std::vector<decltype(epoch.rget(0, pgas::rows_of{}, std::span<T>()))> get_requests;  // of `requested`
  std::vector<decltype(epoch.rput(0, pgas::rows_of{}, std::span<T const>()))> put_requests;
  auto const name = [&](action<T> const& a) {
    return where + ": " + kind_names[static_cast<int>(a.what)] + " of element " + std::to_string(a.first) +
           " on rank " + std::to_string(a.target);
  };
  for (auto const& a : actions) {
    auto const one = [&](T value) { check_equal(std::vector<T>{value}, a.expected, name(a)); };
    std::span<T const> const values(a.values);
    switch (a.what) {
      case kind::put_value:
        epoch.put(a.target, a.first, a.values[0]);
        break;
      case kind::put_bulk:
        epoch.put(a.target, a.first, values);
        break;
      case kind::put_rows:
        epoch.put(a.target, a.rows, values);
        break;
      case kind::put_own:
        epoch.put(a.target, a.first, pgas::own_part{a.own_first, a.values.size()});
        break;
      case kind::rput:
        epoch.rput(a.target, a.first, values).wait();
        break;
      case kind::get_value:
        one(epoch.get(a.target, a.first));
        break;
      case kind::get_bulk:
      case kind::get_rows: {
        gets.push_back({std::vector<T>(a.expected.size()), &a});
        if (a.what == kind::get_bulk) {
          epoch.get(a.target, a.first, gets.back().into);
        } else {
          epoch.get(a.target, a.rows, gets.back().into);
        }
        break;
      }
      case kind::rget: {
        std::vector<T> into(a.expected.size());
        epoch.rget(a.target, a.first, into).wait();
        check_equal(into, a.expected, name(a));
        break;
      }
      case kind::rput_value:
        epoch.rput(a.target, a.first, a.values[0]).wait();
        break;
      case kind::rput_rows:
        put_requests.push_back(epoch.rput(a.target, a.rows, values));
        break;
      case kind::rput_own:
        epoch.rput(a.target, a.first, pgas::own_part{a.own_first, a.values.size()}).wait();
        break;
      case kind::rget_value: {
        T into{};
        epoch.rget(a.target, a.first, into).wait();
        one(into);
        break;
      }
      case kind::rget_rows:
        requested.push_back({std::vector<T>(a.expected.size()), &a});
        get_requests.push_back(epoch.rget(a.target, a.rows, std::span(requested.back().into)));
        break;
      case kind::accumulate_rows:
        with_sum_or_own<T>(a.combine, [&](auto how) { epoch.accumulate(a.target, a.rows, values, how); });
        break;
      case kind::accumulate_user:
        epoch.accumulate(a.target, a.first, a.values[0], user_operation<T>{a.combine});
        break;
      case kind::raccumulate_value:
        with_sum_or_own<T>(a.combine,
                           [&](auto how) { epoch.raccumulate(a.target, a.first, a.values[0], how).wait(); });
        break;
      case kind::raccumulate_bulk:
        with_sum_or_own<T>(a.combine,
                           [&](auto how) { epoch.raccumulate(a.target, a.first, values, how).wait(); });
        break;
      case kind::raccumulate_rows:
        with_sum_or_own<T>(a.combine,
                           [&](auto how) { epoch.raccumulate(a.target, a.rows, values, how).wait(); });
        break;
      case kind::get_accumulate_rows:
      case kind::rget_accumulate_value:
      case kind::rget_accumulate_bulk:
      case kind::rget_accumulate_rows: {
        std::vector<T> before(values.size());
        with_sum_or_own<T>(a.combine, [&](auto how) {
          if (a.what == kind::get_accumulate_rows) {
            epoch.get_accumulate(a.target, a.rows, values, before, how);
          } else if (a.what == kind::rget_accumulate_rows) {
            epoch.rget_accumulate(a.target, a.rows, values, before, how).wait();
          } else if (a.what == kind::rget_accumulate_bulk) {
            epoch.rget_accumulate(a.target, a.first, values, before, how).wait();
          } else {
            epoch.rget_accumulate(a.target, a.first, a.values[0], before[0], how).wait();
          }
        });
        check_equal(before, a.expected, name(a));
        break;
      }
      case kind::accumulate_value:
        with_op<T>(a.combine, [&](auto how) { epoch.accumulate(a.target, a.first, a.values[0], how); });
        break;
      case kind::accumulate_bulk:
        with_op<T>(a.combine, [&](auto how) { epoch.accumulate(a.target, a.first, values, how); });
        break;
      case kind::get_accumulate: {
        std::vector<T> before(values.size());
        with_op<T>(a.combine,
                   [&](auto how) { epoch.get_accumulate(a.target, a.first, values, before, how); });
        check_equal(before, a.expected, name(a));
        break;
      }
      case kind::fetch_add:
        one(epoch.fetch_add(a.target, a.first, a.values[0]));
        break;
      case kind::exchange:
        one(epoch.exchange(a.target, a.first, a.values[0]));
        break;
      case kind::compare_exchange: {
        T expected = a.values[0];
        bool const done = epoch.compare_exchange(a.target, a.first, expected, a.values[1]);
        one(expected);
        bool const should = std::memcmp(&a.values[0], a.expected.data(), sizeof(T)) == 0;
        require(done == should, name(a));
        break;
      }
      case kind::atomic_load:
        one(epoch.atomic_load(a.target, a.first));
        break;
      case kind::atomic_store:
        epoch.atomic_store(a.target, a.first, a.values[0]);
        break;
    }
    dawdle(rng);
  }
  for (auto& one : put_requests) one.wait();
  for (std::size_t k = requested.size(); k-- > 0;) {  // the last request first
    get_requests[k].wait();
    check_equal(requested[k].into, requested[k].of->expected, name(*requested[k].of));
  }
  for (auto const& get : gets) {
    epoch.flush_local(get.of->target);
    check_equal(get.into, get.of->expected, name(*get.of));
  }
}

/// One rank's run of a program.
template <class Team>
void play(Team& team, std::uint64_t seed) {
  program p = maker(seed, team.size()).take();
  rank_t const self = team.rank();
  random_source rng(seed * 31 + index(self));

  auto const make = [&]<class T>(memory<T> const& shape) {
    std::vector<decltype(make_window<T>(team, 0))> windows;
    for (auto const& parts : shape) windows.push_back(make_window<T>(team, parts[index(self)].size()));
    return windows;
  };
  auto const doubles = make(p.doubles);
  auto const integers = make(p.integers);
  auto const windows_of = [&]<class T>(T) -> auto const& {
    if constexpr (std::is_same_v<T, double>) {
      return doubles;
    } else {
      return integers;
    }
  };

  for (std::size_t number = 0; number < p.epochs.size(); ++number) {
    epoch_plan& e = p.epochs[number];
    std::string const where = "seed " + std::to_string(seed) + ", epoch " + std::to_string(number);
    std::vector<rank_t> origins;
    std::vector<rank_t> targets;
    for (rank_t r = 0; r < team.size(); ++r) {
      if (e.may[index(r)][index(self)]) origins.push_back(r);
      if (e.may[index(self)][index(r)]) targets.push_back(r);
    }
    auto const store_own = [&]<class T>(T) {
      if (auto const& plan = e.template of<T>()) {
        auto const local = windows_of(T{})[plan->window].local();
        for (auto const& s : plan->stores[index(self)]) local[s.i] = s.value;
      }
    };
    store_own(double{});
    store_own(std::int64_t{});
    dawdle(rng);
    // Opens an epoch on each window of the plan, one nested in the other, acts in each, and closes them.
    auto const in_epochs = [&](auto const& open) {
      auto const on_integers = [&] {
        if (e.integers) {
          open(integers[e.integers->window],
               [&](auto& epoch) { act(epoch, e.integers->actions[index(self)], where, rng); });
        }
      };
      if (e.doubles) {
        open(doubles[e.doubles->window], [&](auto& epoch) {
          if (number % 2 == 0) on_integers();
          act(epoch, e.doubles->actions[index(self)], where, rng);
          if (number % 2 != 0) on_integers();
        });
      } else {
        on_integers();
      }
    };
    switch (e.how) {
      case epoch_kind::fence:
      case epoch_kind::fence_next:
        in_epochs([&](auto const& w, auto const& use) {
          pgas::fence epoch{w};
          if (e.how == epoch_kind::fence_next) epoch.next();
          use(epoch);
          if (e.how == epoch_kind::fence_next) epoch.next();
        });
        break;
      case epoch_kind::post:
        in_epochs([&](auto const& w, auto const& use) {
          pgas::exposure exposed{w, origins};
          pgas::access epoch{w, targets};
          use(epoch);
          epoch.complete();
          exposed.wait();
        });
        break;
      case epoch_kind::lock:
        in_epochs([&](auto const& w, auto const& use) {
          pgas::lock_all epoch{w};
          epoch.sync();
          team.barrier();
          use(epoch);
          epoch.flush_all();
          team.barrier();
          epoch.sync();
        });
        break;
    }
  }

  auto const check_end = [&]<class T>(T) {
    auto const& windows = windows_of(T{});
    auto const& expected = p.template of<T>();
    for (std::size_t k = 0; k < windows.size(); ++k) {
      std::string const where = "seed " + std::to_string(seed) + ", at the end";
      pgas::fence epoch{windows[k]};
      for (rank_t r = 0; r < team.size(); ++r) {
        std::vector<T> all(expected[k][index(r)].size());
        epoch.get(r, 0, all);
        epoch.flush_local(r);
        check_equal(all, expected[k][index(r)], where + ": part of rank " + std::to_string(r));
      }
      epoch.close();
      std::vector<T> own;
      for (T const element : windows[k].local()) own.push_back(element);
      check_equal(own, expected[k][index(self)], where + ": own part");
    }
  };
  check_end(double{});
  check_end(std::int64_t{});
}

/// The number of ranks of a seed's program: 1 to 5, or with each fourteenth seed many. Above 16 ranks the
/// default fence is another protocol.
inline rank_t ranks_of(std::uint64_t seed) {
  constexpr std::array<rank_t, 3> many{48, 6, 24};
  return seed % 14 == 0 ? many[seed / 14 % many.size()] : static_cast<rank_t>(seed % 5 + 1);
}
/// Whether a model plays a program of so many ranks. On loopback each rank has a second thread, and 96
/// threads take seconds for one program.
template <class Model>
constexpr bool plays(rank_t ranks) {
  return can_have<typename Model::backend>(ranks) && (ranks <= 24 || !std::is_same_v<Model, loopback_model>);
}

/// Plays as many programs as the time allows on each model, and at least a few.
template <class Models>
void play_on() {
  char const* const budget = std::getenv("PGAS_TEST_SECONDS");
  char const* const fixed = std::getenv("PGAS_SEED");
  double const seconds = budget != nullptr ? std::atof(budget) : 2.0;
  constexpr std::uint64_t least = 43;  // regardless of the time
  std::uint64_t const first = fixed != nullptr ? std::strtoull(fixed, nullptr, 10) : 1;
  auto const started = std::chrono::steady_clock::now();
  auto const in_time = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count() < seconds;
  };
  std::uint64_t seed = first;
  std::size_t models = 0;
  std::set<rank_t> numbers;  // of ranks that played
  int failures = 0;
  for (; failures < 5 && (seed == first || (fixed == nullptr && (seed < first + least || agreed(in_time()))));
       ++seed) {
    rank_t const ranks = ranks_of(seed);
    models = 0;
    for_each_model<Models>([&]<class Model>(Model) {
      ++models;
      if (!plays<Model>(ranks)) return;
      numbers.insert(ranks);
      incoherent::against const misbehaviour({.seed = seed});
      auto emulated = pgas::scc::with_options::chosen();
      pgas::scc::with_options const hostile(emulated.disturb(seed));
      auto const run = [ranks, seed] {
        pgas::run<typename Model::backend>(ranks, [seed](auto& world) {
          auto team = world.template with<typename Model::coherence, typename Model::protocols>();
          play(team, seed);
          play_array(team, seed);
        });
      };
      try {
        run();
      } catch (std::exception const& e) {
        ++failures;
        FAIL_CHECK(Model::name() << ", " << ranks << " ranks, PGAS_SEED=" << seed << ": "
                                 << std::string(e.what())
                                 << in_fewest_switches<typename Model::backend>(run));
      }
    });
  }
  std::cout << "covered: " << seed - first << " programs (seeds " << first << ".." << seed - 1 << ") on "
            << models << " models, on";
  for (rank_t ranks : numbers) std::cout << " " << ranks;
  std::cout << " ranks\n";
}

}  // namespace pgas_test::random_programs
