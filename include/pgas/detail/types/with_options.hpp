// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/process/one_per_process.hpp>
#include <string_view>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// Runs this thread's launches with these options while it lives.
template <class Options>
class with_options {
 public:
  /// Chooses `o` for the launches of this thread.
  explicit with_options(Options o) noexcept : before_(std::exchange(chosen(), o)) {}
  with_options(with_options const&) = delete;
  with_options& operator=(with_options const&) = delete;
  ~with_options() { chosen() = before_; }

  /// The options of this thread's next launch; those of the environment at first.
  static Options& chosen() { return one_per_thread<of_thread>().chosen; }

 private:
  struct of_thread {
    static constexpr std::string_view shared_name = Options::shared_name;
    Options chosen = Options::from_environment();
  };

  Options before_;
};

}  // namespace PGAS_NAMESPACE::detail
