// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <pgas/async/call_arguments.hpp>
#include <pgas/async/call_request.hpp>
#include <pgas/detail/async/call_message.hpp>
#include <pgas/detail/async/call_post.hpp>
#include <pgas/detail/async/call_table.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/team.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// One rank's calls: those that await their answers, the functions that run here, and their counts.
///
/// Functions   run in `work`, one after the other, so they never nest. A function that must wait returns a
///             request instead, and its answer is sent when that has ended.
/// The end     is found by counts: Mattern 1987, "Algorithms for distributed termination detection", the
///             method of four counters. A call has started before its record leaves, and has ended after its
///             function, and after the starts of all calls within. Two waves add up both counts of all ranks.
///             If all that were started in the second wave had ended in the first, nothing was under way
///             when the first wave ended. Differs: an end of a call with an answer is counted at its caller.
template <mailbox_backend Backend>
class calls_state final : public call_home {
 public:
  using control_type = typename Backend::control_type;
  using mailbox_type = typename Backend::mailbox_type;

  /// The same on all ranks that run one executable.
  [[nodiscard]] static std::uint64_t key_of_functions() noexcept { return functions_of_object.key(); }
  static constexpr control_words words() noexcept { return {.slots = 1, .cells = 0}; }

  calls_state(std::shared_ptr<team_state<Backend>> t, control_type c, mailbox_type m, call_options const& o)
      : team_(std::move(t)),
        control_(std::move(c)),
        post_(std::move(m), team_->backend, o, *this),
        is_alive_(std::in_place, true) {
    for (rank_t r = 0; r < size(); ++r) {
      if (r != rank() || size() == 1) others_.push_back(r);
    }
  }
  calls_state(calls_state const&) = delete;
  calls_state& operator=(calls_state const&) = delete;
  ~calls_state() {
    *is_alive_ = false;
    for (pending& one : calls_) {
      if (!one.is_used) continue;
      one.state->end(std::make_exception_ptr(
          error(errc::gone, world_rank(), "call",
                "the calls of the team were destroyed before this one had ended; call finish() first")));
    }
  }

  [[nodiscard]] rank_t rank() const noexcept { return team_->backend.rank(); }
  [[nodiscard]] rank_t size() const noexcept { return team_->backend.size(); }
  [[nodiscard]] rank_t world_rank() const { return team_->backend.world_rank(rank()); }
  [[nodiscard]] std::shared_ptr<team_state<Backend>> const& team() const noexcept { return team_; }
  [[nodiscard]] auto const& post() const noexcept { return post_; }
  [[nodiscard]] bool is_in_function() const noexcept { return is_in_function_; }

  // Starting

  /// Starts a call whose arguments write(span of words) writes; they have `count` words. If `state` is given,
  /// it gets the answer, of up to `value_words`.
  template <class Write>
  void start(rank_t to, called_entry function, std::size_t count, local_shared_ptr<call_state> const* state,
             std::size_t value_words, called operation, Write&& write) {
    if (to < 0 || to >= size()) throw_bad_rank(world_rank(), operation, to, size());
    if (function.number == 0) [[unlikely]]
      refuse_early(operation);
    bool const is_awaited = state != nullptr;
    bool const is_elsewhere = function.table != home_;
    std::size_t const length = count + (is_awaited ? 2 : 1) + (is_elsewhere ? 2 : 0);
    std::size_t const awaited = is_awaited ? words_of_call + value_words : 0;
    make_room(to, length, awaited, value_words, operation);
    std::uint32_t const depth = is_in_function_ ? std::min(depth_ + 1, call_head::deepest) : 0;
    bool const is_urgent = is_awaited && unanswered_[static_cast<std::size_t>(to)] == 0;
    std::size_t const number = is_awaited ? free_number() : 0;
    auto const write_record = [&](std::span<word> record) {
      auto const kind = is_awaited ? call_kind::call : call_kind::send;
      auto const named = is_elsewhere ? static_cast<std::uint32_t>(value_words) : function.number;
      call_head const head{kind, static_cast<std::uint32_t>(length), named, depth, is_elsewhere};
      record[0] = head.packed();
      if (is_awaited) record[1] = number;
      if (is_elsewhere) [[unlikely]] {
        record[head.begin()] = function.table->key();
        record[head.begin() + 1] = function.number;
      }
      write(record.subspan(head.arguments()));
    };
    bool const is_gone = is_urgent && depth == 0 && post_.try_send_alone(to, length, true, write_record);
    if (!is_gone) write_record(post_.extend(to, depth, length));
    ++started_;
    if (is_awaited) {
      post_.await(awaited);
      ++unanswered_[static_cast<std::size_t>(to)];
      calls_[number] = {*state, awaited, to, depth, true};
    }
    if (!is_gone) post_.posted(to, depth, is_urgent);
  }

  // Waiting

  void work() { post_.work(); }
  void advance() override { work(); }
  void wait_for(call_state const& one) override {
    refuse_in_function("wait");
    wait([&one] { return one.is_done(); }, "wait");
  }
  /// Makes progress on this rank, and throws if the job has failed.
  std::size_t progress() {
    if (is_in_function_) return 0;
    std::size_t const count = post_.work();
    if (count == 0) team_->backend.check("progress");
    return count;
  }
  void refuse_in_function(std::string_view operation) const {
    if (!is_in_function_) return;
    throw error(errc::wrong_order, world_rank(), operation,
                "a called function must not wait, since it would hold up all others; call then() of the "
                "request, or return the request");
  }

  /// Returns when no call is under way on any rank. Throws the failure of a function that was sent.
  template <class Team>
  void finish(Team const& all) {
    refuse_in_function("finish");
    using counts = std::array<std::uint64_t, 2>;
    auto const sum = [](counts const& a, counts const& b) { return counts{a[0] + b[0], a[1] + b[1]}; };
    for (std::uint64_t ended_before = ~std::uint64_t{0};;) {
      post_.work();
      counts const now = all.all_reduce(counts{started_, ended_}, sum);
      if (now[0] == ended_before) break;
      ended_before = now[1];
    }
    handshake<Backend> shake(*team_, "finish");
    if (auto const failed = std::exchange(failed_, std::nullopt)) shake.refuse(failed->code, failed->text);
    shake.conclude();
  }

  // Objects that functions use

  std::size_t add_object(void* object) {
    objects_.push_back(object);
    return objects_.size() - 1;
  }
  [[nodiscard]] void* object(std::size_t number) const {
    if (number < objects_.size()) return objects_[number];
    throw error(errc::wrong_order, world_rank(), "call",
                "this rank has not shared the object; all ranks share the same ones in the same order");
  }

  // For the post

  [[nodiscard]] std::size_t answer_words(call_head head) const noexcept {
    if (head.is_elsewhere) return head.number + words_of_call;
    auto const* const entry = home_->find(head.number);
    return (entry == nullptr ? 0 : entry->answer_words) + words_of_call;
  }
  void run(rank_t from, call_head head, std::span<word const> record) {
    function_scope const inside(*this, head.depth);
    if (auto const* const entry = find(head, record)) return entry->run(this, from, record);
    try {
      throw error(errc::mismatch, world_rank(), "call",
                  "the function lies in a shared object that this rank has not loaded, or has loaded in "
                  "another version or twice; load one file of each library on all ranks before the first "
                  "call");
    } catch (...) {
      fail(from, record, std::current_exception());
    }
  }
  void end_call(rank_t from, call_head head, std::span<word const> record) {
    auto const number = static_cast<std::size_t>(record[1]);
    pending& one = calls_[number];
    std::exception_ptr failure;
    if (head.kind == call_kind::failure) {
      auto const text = one.state->add_text(record[2], record.subspan(3));
      if (!text) return;
      failure = std::make_exception_ptr(
          error(static_cast<errc>(head.number), team_->backend.world_rank(from), "call", *text));
    } else if (!one.state->add_part(head.number, record.subspan(2))) {
      return;
    }
    auto const state = std::move(one.state);
    // The calls of a continuation are as deep as the call.
    function_scope const inside(*this, std::max(one.depth, 1U) - 1);
    --unanswered_[static_cast<std::size_t>(one.to)];
    post_.end_await(one.words);
    one = {};
    free_.push_back(number);
    state->end(std::move(failure));
    ++ended_;
  }

  // For the functions of the table

  /// Calls act(), which runs a function, and sends its result to the caller.
  template <class Result, class Act>
  void carry_out(rank_t from, std::span<word const> record, Act&& act) {
    bool const is_awaited = call_head::of(record[0]).kind == call_kind::call;
    try {
      if constexpr (value_of<Result>::is_request) {
        return end_later(from, record, is_awaited, act());
      } else if constexpr (std::is_void_v<Result>) {
        act();
        if (is_awaited) answer(from, record[1], {});
      } else {
        Result const value = act();
        if (is_awaited) answer(from, record[1], std::as_bytes(std::span(&value, 1)));
      }
    } catch (...) {
      fail(from, record, std::current_exception());
    }
    if (!is_awaited) ++ended_;
  }

 private:
  /// The words that a call costs its caller until its answer arrives, in addition to its value.
  static constexpr std::size_t words_of_call = 12;

  /// The function of a record of a call in this process, or null.
  [[nodiscard]] call_table::entry const* find(call_head head, std::span<word const> record) const {
    if (!head.is_elsewhere) [[likely]]
      return home_->find(head.number);
    auto const* const table = call_table::with(record[head.begin()]);
    return table == nullptr ? nullptr : table->find(record[head.begin() + 1]);
  }

  struct pending {
    local_shared_ptr<call_state> state;
    std::size_t words = 0;
    rank_t to = 0;
    std::uint32_t depth = 0;
    bool is_used = false;
  };
  /// Exists while a function that was called at some depth runs, or a continuation.
  class function_scope {
   public:
    function_scope(calls_state& s, std::uint32_t depth) noexcept
        : state_(&s),
          is_in_before_(std::exchange(s.is_in_function_, true)),
          depth_before_(std::exchange(s.depth_, depth)) {}
    function_scope(function_scope const&) = delete;
    function_scope& operator=(function_scope const&) = delete;
    ~function_scope() {
      state_->is_in_function_ = is_in_before_;
      state_->depth_ = depth_before_;
    }

   private:
    calls_state* state_;
    bool is_in_before_;
    std::uint32_t depth_before_;
  };

  [[nodiscard]] std::size_t free_number() {
    if (free_.empty()) {
      calls_.emplace_back();
      return calls_.size() - 1;
    }
    std::size_t const number = free_.back();
    free_.pop_back();
    return number;
  }

  /// Waits until a call of this length fits into the memory of this rank's program. In a function it throws
  /// instead if the functions' memory is used.
  void make_room(rank_t to, std::size_t length, std::size_t awaited, std::size_t value_words,
                 std::string_view operation) {
    auto const& shares = post_.shares();
    std::size_t const need = post_.cost(length) + awaited;
    if (need > shares.longest || value_words > shares.longest_answer()) [[unlikely]]
      refuse_length(need, value_words, operation);
    if (is_in_function_) {
      if (post_.started() + need > shares.of_functions()) [[unlikely]]
        refuse_more(to, operation);
    } else if (post_.started() + need > shares.of_program()) [[unlikely]] {
      wait([&] { return post_.started() + need <= shares.of_program(); }, operation);
    }
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_length(std::size_t need, std::size_t value_words,
                                                            std::string_view operation) const {
    auto const& shares = post_.shares();
    bool const is_answer = need <= shares.longest;
    throw error(
        errc::invalid_argument, world_rank(), operation,
        text_of({is_answer ? "an answer of " : "a call of ", (is_answer ? value_words : need) * sizeof(word),
                 " bytes exceeds ", (is_answer ? shares.longest_answer() : shares.longest) * sizeof(word),
                 ", the share of one in this rank's memory; raise PGAS_MESSAGE_BYTES, or send a ",
                 "global_ptr to the data"}));
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_early(std::string_view operation) const {
    throw error(
        errc::wrong_order, world_rank(), operation,
        "the function has no number yet, since static objects are still being made; call it in main, or "
        "later");
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_more(rank_t to, std::string_view operation) const {
    throw error(errc::no_space, world_rank(), operation,
                text_of({"functions on this rank have started calls of ", post_.started() * sizeof(word),
                         " bytes that have not ended, and a call of rank ", to,
                         " does not fit beside them; raise PGAS_MESSAGE_BYTES, or let functions start fewer ",
                         "calls"}));
  }

  /// Waits until a condition holds that messages, or room for one, make true. Each message restarts the wait,
  /// so that a search for deadlocks finds no rank that still makes progress.
  template <std::predicate Condition>
  void wait(Condition&& condition, std::string_view operation) {
    for (int looks = 0; looks < first_looks_here; ++looks) {
      post_.work();
      if (condition()) return;
    }
    while (!condition()) {
      std::uint64_t const before = post_.news();
      control_.wait_until(control_.slot(rank(), 0, rank()),
                          [&](word) { return condition() || post_.news() != before; },
                          {.operation = operation, .awaited = others_});
    }
  }

  void answer(rank_t to, word number, bytes_in value) {
    constexpr std::size_t most = decltype(post_)::most_in_message - 2;
    std::size_t const length = words_of_bytes(value.size()) + 2;
    bool const has_left = post_.is_single() && post_.try_send_alone(to, length, false, [&](auto record) {
      record[0] = call_head{call_kind::answer, static_cast<std::uint32_t>(length), 0}.packed();
      record[1] = number;
      if (!value.empty()) std::memcpy(&record[2], value.data(), value.size());
    });
    if (has_left) return;
    std::size_t place = 0;
    do {
      auto const bytes = value.subspan(place * sizeof(word));
      std::size_t const part = std::min(most, words_of_bytes(bytes.size()));
      auto const record = post_.extend_answers(to, part + 2);
      record[0] = call_head{call_kind::answer, static_cast<std::uint32_t>(part + 2),
                            static_cast<std::uint32_t>(place)}
                      .packed();
      record[1] = number;
      if (part != 0) std::memcpy(&record[2], bytes.data(), std::min(part * sizeof(word), bytes.size()));
      place += part;
    } while (place * sizeof(word) < value.size());
  }

  /// Ends a call when the one that its function has returned ends.
  template <class T>
  void end_later(rank_t from, std::span<word const> record, bool is_awaited, call_request<T> later) {
    word const head = record[0];
    word const number = is_awaited ? record[1] : 0;
    auto const& state = later.state();
    state->after([this, alive = is_alive_, from, head, number, is_awaited, state] {
      if (!*alive) return;
      if (state->failure()) {
        fail(from, std::array{head, number}, state->failure());
      } else if (!is_awaited) {
      } else if constexpr (std::is_void_v<T>) {
        answer(from, number, {});
      } else {
        answer(from, number, std::as_bytes(std::span(&state->value, 1)));
      }
      if (!is_awaited) ++ended_;
    });
  }

  /// Reports the exception of a function to its caller, or keeps it for finish() if the caller awaits no
  /// answer.
  [[gnu::noinline]] void fail(rank_t from, std::span<word const> record, std::exception_ptr const& why) {
    constexpr std::size_t longest = 160;
    auto [code, text] = call_failure::of(why);
    if (call_head::of(record[0]).kind != call_kind::call) {
      if (!failed_)
        failed_ = {code, text_of({"a function that rank ", team_->backend.world_rank(from), " sent to rank ",
                                  world_rank(), " threw: ", text})};
      return;
    }
    if (text.size() > longest) text.resize(longest);
    constexpr std::size_t most = (decltype(post_)::most_in_message - 3) * sizeof(word);
    std::size_t place = 0;
    do {
      std::size_t const part = std::min(most, text.size() - place);
      auto const out = post_.extend_answers(from, words_of_bytes(part) + 3);
      out[0] = call_head{call_kind::failure, static_cast<std::uint32_t>(out.size()),
                         static_cast<std::uint32_t>(code)}
                   .packed();
      out[1] = record[1];
      out[2] = text.size();
      if (part != 0) std::memcpy(&out[3], text.data() + place, part);
      place += part;
    } while (place < text.size());
  }

  static constexpr int first_looks_here = 100;

  call_table const* home_ = &functions_of_object;  ///< of the shared object that makes these calls
  std::shared_ptr<team_state<Backend>> team_;
  control_type control_;
  call_post<Backend, calls_state> post_;
  local_shared_ptr<bool> is_alive_;  ///< false once these calls are destroyed while others are under way
  std::vector<rank_t> others_;       ///< the ranks that may answer; a rank alone answers itself
  std::vector<std::size_t> unanswered_ = std::vector<std::size_t>(static_cast<std::size_t>(size()));
  std::vector<pending> calls_;  ///< by the numbers in their records
  std::vector<std::size_t> free_;
  std::vector<void*> objects_;
  std::optional<call_failure> failed_;
  std::uint64_t started_ = 0;
  std::uint64_t ended_ = 0;
  bool is_in_function_ = false;
  std::uint32_t depth_ = 0;  ///< of the function that runs
};

}  // namespace PGAS_NAMESPACE::detail
