// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/control.hpp>
#include <pgas/detail/control/collective_call.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/detail/types/scoped_value.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string_view>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// How the steps of a team's collectives wait for control words: in place, or by suspension.
///
/// Each wait is for a word to reach at least some number. The steps of one team run one after the other, so
/// at most one chain of them is suspended.
template <control Control>
class patience {
 public:
  using slot_type = decltype(std::declval<Control&>().slot(rank_t{}, std::size_t{}, rank_t{}));
  using cell_type = decltype(std::declval<Control&>().cell(rank_t{}, std::size_t{}));

  explicit patience(Control& control) noexcept : control_(&control) {}

  /// While the result lives, waits are in place.
  [[nodiscard]] scoped_value<bool> in_place() noexcept { return {is_in_place_, true}; }

  /// Begins a collective: messages name it, and ranks compare it and all earlier ones. The name must outlive
  /// the waits.
  void begin(std::string_view operation, collective_call call) noexcept {
    operation_ = operation;
    if constexpr (compares_calls) {
      call_ = call.after(call_.history());
    } else {
      call_ = call;
    }
  }
  [[nodiscard]] collective_call const& call() const noexcept { return call_; }
  [[nodiscard]] std::string_view operation() const noexcept { return operation_; }

  /// Throws because a rank is in another collective, or in one of other sizes; `what` says in which.
  [[noreturn, gnu::cold, gnu::noinline]] void refuse(rank_t other, std::string const& what) const {
    refuse_for(
        text_of({"this rank calls ", call_.text(true), " while rank ", other, " of the team calls ", what}));
  }
  /// Throws if another rank expects a block of another size to or from this rank than this rank does.
  void compare_blocks(rank_t other, std::size_t theirs, std::size_t mine) const {
    if constexpr (compares_calls) {
      if (theirs != mine) [[unlikely]]
        refuse_for(text_of({"rank ", other, " of the team counts ", theirs,
                            " bytes in the block between this rank and it, and this rank counts ", mine}));
    }
  }
  /// Throws because ranks differ as this sentence says.
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_for(std::string const& sentence) const {
    static constexpr std::string_view advice =
        "; all ranks of a team must call the same collectives in the same order, with the same sizes and "
        "root";
    throw_error(errc::mismatch, control_->rank(), operation_, {sentence, advice});
  }

  /// The result of `until`.
  template <class Word>
  class word_awaiter {
   public:
    word_awaiter(patience& of, Word w, word least, rank_t writer) noexcept
        : of_(&of), word_(w), least_(least), writer_(writer) {}
    bool await_ready() {
      // acquire: pairs with the writer's release; the callers say what it carries.
      if (word_.load(std::memory_order_acquire) >= least_) return true;
      if (!of_->is_in_place_) return false;
      of_->wait(word_, least_, writer_);
      return true;
    }
    void await_suspend(steps::handle innermost) noexcept {
      of_->suspended_ = {this, &has_come, &wait_in_place, innermost};
    }
    static void await_resume() noexcept {}

   private:
    static bool has_come(void const* self) {
      auto const& it = *static_cast<word_awaiter const*>(self);
      // acquire: as in await_ready.
      return it.word_.load(std::memory_order_acquire) >= it.least_;
    }
    static void wait_in_place(void const* self) {
      auto const& it = *static_cast<word_awaiter const*>(self);
      it.of_->wait(it.word_, it.least_, it.writer_);
    }

    patience* of_;
    Word word_;
    word least_;
    rank_t writer_;
  };
  using awaiter = word_awaiter<slot_type>;
  /// To be awaited: goes on when a word, which `writer` stores, is at least this number.
  template <class Word>
  [[nodiscard]] word_awaiter<Word> until(Word w, word least, rank_t writer) noexcept {
    return {*this, w, least, writer};
  }

  /// The same, in place.
  template <class Word>
  void wait_here(Word w, word least, rank_t writer) {
    // acquire: as in await_ready.
    if (w.load(std::memory_order_acquire) < least) wait(w, least, writer);
  }

  /// Resumes the suspended steps if their word has arrived. Returns whether the whole chain has ended.
  bool advance_if_ready() {
    if (!suspended_.has_come(suspended_.awaiter)) return false;
    return steps::advance(suspended_.innermost);
  }
  /// Waits in place for the word of the suspended steps, and resumes them until they have ended.
  void finish() {
    auto const waits = in_place();
    suspended_.wait_in_place(suspended_.awaiter);
    steps::advance(suspended_.innermost);
  }

 private:
  /// The wait of suspended steps. Its awaiter lies in their frame.
  struct waiting {
    void const* awaiter = nullptr;
    bool (*has_come)(void const*) = nullptr;
    void (*wait_in_place)(void const*) = nullptr;
    steps::handle innermost;
  };

  template <class Word>
  void wait(Word w, word least, rank_t writer) {
    control_->wait_until(w, [least](word seen) { return seen >= least; },
                         {.operation = operation_, .awaited = group(&writer, 1)});
  }

  Control* control_;
  std::string_view operation_;
  collective_call call_;
  bool is_in_place_ = false;
  waiting suspended_;
};

}  // namespace PGAS_NAMESPACE::detail
