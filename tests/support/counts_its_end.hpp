// SPDX-License-Identifier: BSL-1.0
#pragma once

namespace pgas_test {

/// An object whose destructor adds one to a number.
struct counts_its_end {
  explicit counts_its_end(int& destroyed) noexcept : destroyed_(&destroyed) {}
  counts_its_end(counts_its_end const&) = delete;
  counts_its_end& operator=(counts_its_end const&) = delete;
  ~counts_its_end() { ++*destroyed_; }

 private:
  int* destroyed_;
};

}  // namespace pgas_test
