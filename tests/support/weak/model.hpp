// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <boost/context/fiber.hpp>
#include <cstdlib>
#include <map>
#include <memory>
#include <pgas/concepts/control.hpp>
#include <pgas/machines/schedule.hpp>
#include <stdexcept>
#include <string>
#include <vector>

/// A control whose words have C++'s release and acquire, and a search through the values that a few ranks can
/// see.
namespace pgas_test::weak {

using pgas::rank_t;
using pgas::word;

/// The fault of a run.
struct violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The bounds of a search: the number of interruptions of a rank, and of loads that may return an older
/// value than the last.
struct bounds {
  std::size_t switches = 2;
  std::size_t stale = 1;
};

/// An operation of a protocol: its kind, the word of a rank that it accesses, and its order.
struct site {
  char const* what;
  bool is_cell;
  std::size_t index;
  std::memory_order order;

  friend auto operator<=>(site const& a, site const& b) noexcept {
    return std::tuple(std::string_view(a.what), a.is_cell, a.index, a.order) <=>
           std::tuple(std::string_view(b.what), b.is_cell, b.index, b.order);
  }
  // The text comes last, since each operation of a run compares sites.
  friend bool operator==(site const& a, site const& b) noexcept {
    return a.index == b.index && a.order == b.order && a.is_cell == b.is_cell &&
           (a.what == b.what || std::string_view(a.what) == b.what);
  }
};

inline std::string to_string(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    default:
      return "seq_cst";
  }
}
inline std::string to_string(site const& s) {
  return std::string(s.what) + " of " + (s.is_cell ? "cell " : "slot ") + std::to_string(s.index) + ", " +
         to_string(s.order);
}

/// A site with another order than the protocol asks for.
struct weakened {
  site at;
  std::memory_order to;
};

/// Runs a program of a few ranks, each a fiber, again and again. Each run makes other choices of the next
/// rank and of the values that loads return.
///
/// A word has the history of its values. A rank has a view: for each word, the oldest value that it may still
/// see. A load returns any value that is not older. With acquire order, the rank's view then includes the
/// view of the storing rank, if that store had release order. A read-modify-write reads the last value and
/// passes on the view that came with it, so release sequences are those of C++. A seq_cst load returns
/// nothing older than the last seq_cst store to that word. Values follow each other in the order of their
/// stores, which C++ does not always ask for. No load returns a value that is stored later.
class model {
 public:
  static constexpr std::size_t most_words = 128;
  using view = std::array<std::uint16_t, most_words>;

  model(rank_t ranks, pgas::control_words words)
      : ranks_(ranks),
        words_(words),
        per_rank_(words.slots + words.cells),
        threads_(static_cast<std::size_t>(ranks)) {
    std::size_t const used =
        static_cast<std::size_t>(ranks) * (per_rank_ + 1 + static_cast<std::size_t>(ranks));
    if (used > most_words) throw std::logic_error("more words than a view has");
    histories_.resize(used);
  }

  /// Runs body(rank) on each rank with every choice within the bounds, until it throws a violation; at most
  /// `most` runs.
  template <class Body>
  std::string search(bounds within, long most, Body const& body) {
    pgas::emulation::decisions d;
    decisions_ = &d;
    complete_ = false;
    for (long run = 0; run < most; ++run) {
      ++runs_;
      within_ = within;
      play(body);
      if (!wrong_.empty()) return wrong_;
      if (!d.next()) {
        complete_ = true;
        break;
      }
    }
    return {};
  }
  [[nodiscard]] long runs() const noexcept { return runs_; }
  /// Returns whether the last search has covered all choices within its bounds.
  [[nodiscard]] bool complete() const noexcept { return complete_; }
  /// The operations of all runs whose orders were not weakened, and how many there were of each.
  [[nodiscard]] std::map<site, long> sites() const { return {sites_.begin(), sites_.end()}; }
  void weaken(weakened const* which) noexcept { weakened_ = which; }
  /// Makes words that are alike, for example one for each rank, the same in a site.
  void call_alike(std::size_t (*how)(rank_t ranks, bool is_cell, std::size_t i)) noexcept { role_ = how; }
  [[nodiscard]] std::size_t role(bool is_cell, std::size_t i) const noexcept {
    return role_ == nullptr ? i : role_(ranks_, is_cell, i);
  }

  [[nodiscard]] rank_t size() const noexcept { return ranks_; }
  [[nodiscard]] pgas::control_words words() const noexcept { return words_; }

  // The number of the word `i` of a rank.
  [[nodiscard]] std::size_t number(rank_t owner, std::size_t i) const {
    if (owner < 0 || owner >= ranks_) throw violation("a word of a rank that does not exist");
    return static_cast<std::size_t>(owner) * per_rank_ + i;
  }

  word load(rank_t self, std::size_t at, site const& s) {
    point();
    std::memory_order const order = order_of(s);
    return see(self, at, choose_value(self, at, order, [](word) { return true; }), order);
  }
  void store(rank_t self, std::size_t at, word value, site const& s) {
    point();
    std::memory_order const order = order_of(s);
    require_seen(self, at, "a store that may come before another one to the same word");
    last_store_[at] = histories_[at].size();
    append(self, at, value, order, false);
  }
  template <class Change>
  word modify(rank_t self, std::size_t at, site const& s, Change const& change) {
    point();
    std::memory_order const order = order_of(s);
    if (threads_[index(self)].now[at] < last_store_[at])
      throw violation("a read-modify-write that may come before a store to the same word, and be lost");
    word const before = see(self, at, histories_[at].size() - 1, order);
    append(self, at, change(before), order, true);
    return before;
  }
  bool compare_exchange(rank_t self, std::size_t at, word& expected, word desired, site const& s) {
    point();
    std::memory_order const order = order_of(s);
    auto const& history = histories_[at];
    // A failed compare_exchange may have read an older value, but not one with which it would have succeeded.
    std::size_t const last = history.size() - 1;
    std::size_t const read = choose_value(self, at, order, [&](word v) { return v != expected; });
    word const found = see(self, at, read, order);
    bool const succeeds = read == last && found == expected;
    if (succeeds) append(self, at, desired, order, true);
    expected = succeeds ? expected : found;
    return succeeds;
  }
  /// Waits until one of several words satisfies the predicate; returns its index and the value.
  template <class Predicate>
  std::pair<std::size_t, word> wait(rank_t self, std::size_t const* at, site const* s, std::size_t count,
                                    Predicate const& predicate) {
    point();
    for (std::size_t i = 0;;) {
      std::size_t const first = i;
      do {
        std::memory_order const order = order_of(s[i]);
        auto const& history = histories_[at[i]];
        for (std::size_t v = oldest(self, at[i], order); v < history.size(); ++v) {
          if (!predicate(history[v].value)) continue;
          std::size_t const read = choose_value(self, at[i], order, predicate);
          return {i, see(self, at[i], predicate(history[read].value) ? read : v, order)};
        }
        i = (i + 1) % count;
      } while (i != first);
      auto const is_ready = [&] {
        for (std::size_t w = 0; w < count; ++w) {
          auto const& history = histories_[at[w]];
          for (std::size_t v = oldest(self, at[w], std::memory_order_acquire); v < history.size(); ++v) {
            if (predicate(history[v].value)) return true;
          }
        }
        return false;
      };
      block(self, is_ready);
    }
  }
  /// Lets the other ranks run.
  void pause(rank_t self) {
    threads_[index(self)].pauses = true;
    switch_out();
  }

  // Payload: a rank writes and reads it under the protocol. Each access must come after all earlier ones that
  // it must not meet.
  void write(rank_t self, rank_t part) {
    point();
    require_seen(self, payload(part), "a write that does not come after an earlier one");
    for (rank_t r = 0; r < ranks_; ++r)
      require_seen(self, mark(part, r), "a write that does not come after a read");
    append(self, payload(part), histories_[payload(part)].size(), std::memory_order_relaxed, false);
  }
  void read(rank_t self, rank_t part) {
    point();
    require_seen(self, payload(part), "a read that does not come after an earlier write");
    append(self, mark(part, self), histories_[mark(part, self)].size(), std::memory_order_relaxed, false);
  }
  /// Lets other ranks run first, to reveal actions that must not coincide.
  void point() {
    if (threads_.size() > 1) maybe_switch();
  }
  [[nodiscard]] rank_t running() const noexcept { return current_; }

 private:
  struct entry {
    word value = 0;
    view seen{};  // the view that an acquire of this value hands over
  };
  struct thread {
    boost::context::fiber context;
    view now{};
    bool done = false;
    bool pauses = false;
    void const* waits = nullptr;
    bool (*is_ready)(void const*) = nullptr;
  };

  /// Stacks are reused, since a run is shorter than the time to make a stack.
  struct pooled_stack {
    static constexpr std::size_t bytes = 64 * 1024;
    static std::vector<std::unique_ptr<std::byte[]>>& pool() {
      static std::vector<std::unique_ptr<std::byte[]>> instance;
      return instance;
    }
    static boost::context::stack_context allocate() {
      std::byte* memory = nullptr;
      if (pool().empty()) {
        memory = std::make_unique<std::byte[]>(bytes).release();
      } else {
        memory = pool().back().release();
        pool().pop_back();
      }
      boost::context::stack_context stack;
      stack.size = bytes;
      stack.sp = memory + bytes;
      return stack;
    }
    static void deallocate(boost::context::stack_context& stack) {
      pool().emplace_back(static_cast<std::byte*>(stack.sp) - bytes);
    }
  };

  static std::size_t index(rank_t rank) noexcept { return static_cast<std::size_t>(rank); }
  [[nodiscard]] std::size_t payload(rank_t part) const noexcept {
    return index(ranks_) * per_rank_ + index(part) * (index(ranks_) + 1);
  }
  [[nodiscard]] std::size_t mark(rank_t part, rank_t reader) const noexcept {
    return payload(part) + 1 + index(reader);
  }

  static bool acquires(std::memory_order order) noexcept {
    return order != std::memory_order_relaxed && order != std::memory_order_release;
  }
  static bool releases(std::memory_order order) noexcept {
    return order != std::memory_order_relaxed && order != std::memory_order_acquire;
  }
  std::memory_order order_of(site const& s) {
    if (weakened_ != nullptr) return weakened_->at == s ? weakened_->to : s.order;
    for (auto *one = sites_.data(), *end = one + sites_.size(); one != end; ++one) {
      if (one->first == s) return ++one->second, s.order;
    }
    sites_.emplace_back(s, 1);
    return s.order;
  }

  std::uint32_t choose(std::size_t of) {
    if (of == 1) return 0;
    auto& d = *decisions_;
    std::size_t const at = d.taken.size();
    std::uint32_t const take = at < d.given.size() ? d.given[at] : 0;
    d.taken.push_back({take, static_cast<std::uint32_t>(of)});
    return take;
  }

  [[nodiscard]] std::size_t oldest(rank_t self, std::size_t at, std::memory_order order) const noexcept {
    std::size_t const seen = threads_[index(self)].now[at];
    return order == std::memory_order_seq_cst ? std::max(seen, last_seq_cst_[at]) : seen;
  }
  /// A choice: the last value, or an older one that satisfies the predicate.
  template <class Predicate>
  std::size_t choose_value(rank_t self, std::size_t at, std::memory_order order, Predicate const& predicate) {
    auto const& history = histories_[at];
    std::size_t const last = history.size() - 1;
    std::size_t const first = oldest(self, at, order);
    if (first == last || within_.stale == 0) return last;
    std::size_t candidates = 1;
    for (std::size_t v = first; v < last; ++v) candidates += predicate(history[v].value) ? 1 : 0;
    std::uint32_t take = choose(candidates);
    if (take == 0) return last;
    --within_.stale;
    for (std::size_t v = last; v-- > first;) {
      if (predicate(history[v].value) && --take == 0) return v;
    }
    return last;
  }
  word see(rank_t self, std::size_t at, std::size_t which, std::memory_order order) {
    view& now = threads_[index(self)].now;
    now[at] = std::max(now[at], static_cast<std::uint16_t>(which));
    entry const& v = histories_[at][which];
    if (acquires(order)) join(now, v.seen);
    return v.value;
  }
  void append(rank_t self, std::size_t at, word what, std::memory_order order, bool is_modification) {
    auto& history = histories_[at];
    view& now = threads_[index(self)].now;
    entry v{what, {}};
    if (is_modification) v.seen = history.back().seen;
    now[at] = static_cast<std::uint16_t>(history.size());
    if (releases(order)) join(v.seen, now);
    if (order == std::memory_order_seq_cst) last_seq_cst_[at] = history.size();
    v.seen[at] = std::max(v.seen[at], now[at]);
    history.push_back(v);
  }
  void join(view& into, view const& from) const noexcept {
    for (std::size_t i = 0; i < histories_.size(); ++i) into[i] = std::max(into[i], from[i]);
  }
  void require_seen(rank_t self, std::size_t at, char const* sentence) {
    if (threads_[index(self)].now[at] + std::size_t{1} != histories_[at].size()) throw violation(sentence);
  }

  [[nodiscard]] bool can_go_on(thread const& t) const {
    return !t.done && (t.waits == nullptr || t.is_ready(t.waits));
  }

  void maybe_switch() {
    if (within_.switches == 0) return;
    std::size_t others = 0;
    for (auto const& t : threads_) others += &t != &threads_[index(current_)] && can_go_on(t) ? 1 : 0;
    std::uint32_t take = others == 0 ? 0 : choose(others + 1);
    if (take == 0) return;
    --within_.switches;
    for (rank_t r = 0; r < ranks_; ++r) {
      if (r == current_ || !can_go_on(threads_[index(r)]) || --take != 0) continue;
      next_ = r;
      switch_out();
      return;
    }
  }
  template <class Ready>
  void block(rank_t self, Ready const& ready) {
    auto& t = threads_[index(self)];
    t.waits = &ready;
    t.is_ready = [](void const* r) { return (*static_cast<Ready const*>(r))(); };
    switch_out();
    t.waits = nullptr;
  }
  void switch_out() { scheduler_ = std::move(scheduler_).resume(); }

  void reset() {
    for (auto& history : histories_) history.assign(1, entry{});
    last_seq_cst_.fill(0);
    last_store_.fill(0);
    wrong_.clear();
    current_ = next_ = -1;
  }

  template <class Body>
  void play(Body const& body) {
    reset();
    for (rank_t r = 0; r < ranks_; ++r) {
      auto& t = threads_[index(r)];
      t.now.fill(0);
      t.done = t.pauses = false;
      t.waits = nullptr;
      t.context = boost::context::fiber(std::allocator_arg, pooled_stack{},
                                        [this, r, &body](boost::context::fiber&& f) {
                                          scheduler_ = std::move(f);
                                          try {
                                            body(r);
                                          } catch (std::exception const& e) {
                                            wrong_ = "rank " + std::to_string(r) + ": " + e.what();
                                          }
                                          threads_[index(r)].done = true;
                                          return std::move(scheduler_);
                                        });
    }
    while (wrong_.empty() && next()) {
      auto& t = threads_[index(current_)];
      t.context = std::move(t.context).resume();
      if (++steps_ > most_steps) wrong_ = "it goes on for ever";
    }
    steps_ = 0;
    for (auto& t : threads_) t.context = {};  // unwinds the ranks that have not returned
  }
  /// Chooses the rank that runs next; false if all ranks have returned or wait.
  bool next() {
    if (next_ >= 0) {
      current_ = std::exchange(next_, -1);
      return true;
    }
    std::array<rank_t, 8> ready{};
    std::size_t count = 0;
    bool anybody = false;
    for (bool const with_pauses : {false, true}) {
      if (count > 0) break;
      // A pausing rank lets all others run first, also those for which another pausing rank waits.
      for (auto& t : threads_) t.pauses = t.pauses && !with_pauses;
      for (rank_t r = 0; r < ranks_; ++r) {
        auto const& t = threads_[index(r)];
        anybody = anybody || !t.done;
        if (can_go_on(t) && !t.pauses) ready[count++] = r;
      }
    }
    if (count == 0) {
      if (anybody) wrong_ = "all wait for each other";
      return false;
    }
    current_ = ready[choose(count)];
    return true;
  }

  static constexpr long most_steps = 100'000;

  rank_t ranks_;
  pgas::control_words words_;
  std::size_t per_rank_;
  std::vector<thread> threads_;
  std::vector<std::vector<entry>> histories_;
  std::array<std::size_t, most_words> last_seq_cst_{};
  std::array<std::size_t, most_words> last_store_{};
  pgas::emulation::decisions* decisions_ = nullptr;
  bounds within_;
  weakened const* weakened_ = nullptr;
  std::size_t (*role_)(rank_t, bool, std::size_t) = nullptr;
  std::vector<std::pair<site, long>> sites_;
  boost::context::fiber scheduler_;
  rank_t current_ = -1;
  rank_t next_ = -1;
  std::string wrong_;
  long runs_ = 0;
  long steps_ = 0;
  bool complete_ = false;
};

/// One rank's words of a model.
class control {
 public:
  static constexpr pgas::rmw read_modify_write = pgas::rmw::native;
  static constexpr bool can_park = false;

  class word_at {
   public:
    word_at(model& m, rank_t self, std::size_t at, bool is_cell, std::size_t index)
        : model_(&m), self_(self), at_(at), is_cell_(is_cell), index_(index) {}
    [[nodiscard]] word load(std::memory_order order) const {
      return model_->load(self_, at_, named("load", order));
    }
    [[nodiscard]] std::size_t number() const noexcept { return at_; }
    [[nodiscard]] site named(char const* what, std::memory_order order) const {
      return {what, is_cell_, index_, order};
    }

   protected:
    model* model_;
    rank_t self_;
    std::size_t at_;
    bool is_cell_;
    std::size_t index_;
  };
  struct slot_type : word_at {
    using word_at::word_at;
    void store(word value, std::memory_order order) const {
      model_->store(self_, at_, value, named("store", order));
    }
  };
  struct cell_type : word_at, pgas::detail::refuses_store {
    using pgas::detail::refuses_store::store;
    using word_at::word_at;
    word fetch_add(word value, std::memory_order order) const {
      return model_->modify(self_, at_, named("fetch_add", order), [&](word old) { return old + value; });
    }
    word fetch_xor(word value, std::memory_order order) const {
      return model_->modify(self_, at_, named("fetch_xor", order), [&](word old) { return old ^ value; });
    }
    word exchange(word value, std::memory_order order) const {
      return model_->modify(self_, at_, named("exchange", order), [&](word) { return value; });
    }
    bool compare_exchange(word& expected, word desired, std::memory_order order) const {
      return model_->compare_exchange(self_, at_, expected, desired, named("compare_exchange", order));
    }
    void reset_unshared(word value, std::memory_order order) const {
      model_->store(self_, at_, value, named("reset_unshared", order));
    }
  };

  control(model& m, rank_t self) : model_(&m), self_(self) {}

  [[nodiscard]] rank_t rank() const noexcept { return self_; }
  [[nodiscard]] rank_t size() const noexcept { return model_->size(); }
  slot_type slot(rank_t owner, std::size_t i, rank_t) {
    return {*model_, self_, model_->number(owner, i), false, model_->role(false, i)};
  }
  cell_type cell(rank_t owner, std::size_t i) {
    return {*model_, self_, model_->number(owner, model_->words().slots + i), true, model_->role(true, i)};
  }

  template <class Word, std::predicate<word> Predicate>
  word wait_until(Word w, Predicate&& predicate, pgas::waiting_for const&) {
    std::size_t const at = w.number();
    site const s = w.named("wait", std::memory_order_acquire);
    return model_->wait(self_, &at, &s, 1, predicate).second;
  }
  template <class Word, std::predicate<word> Predicate>
  std::size_t wait_any(std::span<Word> words, Predicate&& predicate, pgas::waiting_for const&) {
    std::vector<std::size_t> at;
    std::vector<site> sites;
    for (auto const& w : words) {
      at.push_back(w.number());
      sites.push_back(w.named("wait", std::memory_order_acquire));
    }
    return model_->wait(self_, at.data(), sites.data(), at.size(), predicate).first;
  }
  void pause(unsigned, pgas::waiting_for const&) { model_->pause(self_); }

 private:
  model* model_;
  rank_t self_;
};
static_assert(pgas::control<control>);

}  // namespace pgas_test::weak
