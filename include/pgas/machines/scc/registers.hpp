// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/machines/scc/chip.hpp>

namespace PGAS_NAMESPACE::scc {

/// A core's test-and-set register. Each access reaches the register itself, and is a scheduling point.
class test_and_set_register {
 public:
  /// For scc::test_and_set.
  test_and_set_register(detail::scc::chip& c, rank_t self, rank_t owner) noexcept
      : chip_(&c), self_(self), owner_(owner) {}

  /// Returns true if the register was free; the caller has then taken it.
  [[nodiscard]] bool read() const {
    chip_->reach(self_, place(), detail::scc::asks::read_word);
    auto& r = chip_->register_of(owner_);
    bool const was_free = !std::exchange(r.taken, true);
    if (!was_free) ++chip_->at(self_).count().register_spins;
    return was_free;
  }
  /// Frees the register, whichever core has taken it.
  void write() const {
    chip_->reach(self_, place(), detail::scc::asks::write_word);
    auto& r = chip_->register_of(owner_);
    r.taken = false;
    chip_->turns().wake(std::exchange(r.waiting, 0));
  }

 private:
  [[nodiscard]] detail::scc::station place() const noexcept {
    return detail::scc::station::registers_of(owner_);
  }

  detail::scc::chip* chip_;
  rank_t self_;
  rank_t owner_;
};

/// An atomic increment register of the chip's system interface, which has two for each core.
class increment_register {
 public:
  /// For scc::increment_register.
  increment_register(detail::scc::chip& c, rank_t self, std::size_t i) noexcept
      : chip_(&c), self_(self), index_(i) {}

  /// Returns the value and adds one.
  [[nodiscard]] std::int64_t read() const {
    reach(detail::scc::asks::read_word);
    return chip_->increments()[index_]++;
  }
  /// Subtracts one, whatever value is written.
  void write() const {
    reach(detail::scc::asks::write_word);
    --chip_->increments()[index_];
  }
  /// Sets the value, through the initialization register.
  void preset(std::int64_t value) const {
    reach(detail::scc::asks::write_word);
    chip_->increments()[index_] = value;
  }

 private:
  void reach(detail::scc::asks what) const {
    chip_->reach(self_, detail::scc::station::at(detail::scc::station::interface, 0), what);
  }

  detail::scc::chip* chip_;
  rank_t self_;
  std::size_t index_;
};

}  // namespace PGAS_NAMESPACE::scc
