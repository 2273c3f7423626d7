// SPDX-License-Identifier: BSL-1.0
#pragma once

namespace pgas_test {

/// Says at its destruction that the frame around it is gone.
struct watch {
  explicit watch(int& frames) : alive(&frames) { ++*alive; }
  watch(watch const&) = delete;
  watch& operator=(watch const&) = delete;
  ~watch() { --*alive; }
  int* alive;
};

}  // namespace pgas_test
