// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstddef>
#include <pgas/vocabulary/expects.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// One of several owners of an object whose type only the first owner knew. The last one destroys the object.
///
/// States   The record counts the owners. The first owner makes it with a count of one, a copy adds one, and
///          an owner that goes takes one away. The owner that took the last one destroys object and record.
/// Source   std::shared_ptr<void const>, for owners in several threads.
/// Differs  from it in what it cannot do: it has no weak owners, so it needs one count. The header <memory>
///          would add a fifteenth to the instructions that compile a short program.
class keeper {
 public:
  using destroyer = void(void const*) noexcept;

  keeper() noexcept = default;
  /// Owns an object, which is destroyed by this function, also if there is no memory for the record.
  keeper(void const* object, destroyer& destroy) try : object_(object), record_(new record{&destroy}) {
  } catch (...) {
    destroy(object);
    throw;
  }
  keeper(keeper const& other) noexcept : object_(other.object_), record_(other.record_) {
    // relaxed: `other` owns the object meanwhile, so this count orders nothing.
    if (record_ != nullptr) record_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  keeper(keeper&& other) noexcept { swap(other); }
  keeper& operator=(keeper other) noexcept {
    swap(other);
    return *this;
  }
  ~keeper() {
    // acq_rel: pairs with itself in other owners; all of them have used the object before it is destroyed.
    if (record_ != nullptr && record_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }

  [[nodiscard]] void const* object() const noexcept { return object_; }
  /// The number of owners now, while no other thread changes it.
  [[nodiscard]] std::size_t use_count() const noexcept {
    // relaxed: pairs with nothing, since no other thread changes the number.
    return record_ == nullptr ? 0 : record_->owners.load(std::memory_order_relaxed);
  }

 private:
  struct record {
    destroyer* destroy;
    std::atomic<std::size_t> owners = 1;
  };
  void swap(keeper& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(record_, other.record_);
  }
  [[gnu::noinline]] void destroy() noexcept {
    record_->destroy(object_);
    delete record_;
  }

  void const* object_ = nullptr;
  record* record_ = nullptr;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
