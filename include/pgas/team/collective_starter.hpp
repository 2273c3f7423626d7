// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/detail/team/refused_temporaries.hpp>
#include <pgas/team/collective_operations.hpp>
#include <utility>

namespace PGAS_NAMESPACE {

/// Starts the collectives of a team: `team.start().broadcast(values)` returns a request.
template <class Backend>
class collective_starter : public collective_operations<collective_starter<Backend>, Backend, true> {
  using base = collective_operations<collective_starter, Backend, true>;

 public:
  /// Made by `team.start()`.
  explicit collective_starter(std::shared_ptr<detail::team_state<Backend>> state) noexcept
      : state_(std::move(state)) {}
  /// The team's state, for the library.
  [[nodiscard]] std::shared_ptr<detail::team_state<Backend>> const& state() const noexcept { return state_; }

  using typename base::result_type;

  using base::all_gather;
  using base::all_reduce;
  using base::all_to_all;
  using base::exclusive_scan;
  using base::gather;
  using base::inclusive_scan;
  using base::reduce;
  using base::reduce_scatter;
  using base::scatter;

  /// Do not compile: they say why the elements that a started collective reads may be no temporary object.
  template <detail::owning_temporary R, class... Rest>
  result_type reduce(R&&, Rest&&...) const {
    return refuse<R>();
  }
  template <detail::owning_temporary R, class... Rest>
  result_type all_reduce(R&&, Rest&&...) const {
    return refuse<R>();
  }
  template <detail::owning_temporary R, class... Rest>
  result_type inclusive_scan(R&&, Rest&&...) const {
    return refuse<R>();
  }
  template <detail::owning_temporary R, class... Rest>
  result_type exclusive_scan(R&&, Rest&&...) const {
    return refuse<R>();
  }
  template <detail::owning_temporary R, class... Rest>
  result_type gather(R&&, Rest&&...) const {
    return refuse<R>();
  }
  template <detail::owning_temporary R, class... Rest>
  result_type all_gather(R&&, Rest&&...) const {
    return refuse<R>();
  }
  template <detail::owning_temporary R, class... Rest>
  result_type scatter(R&&, Rest&&...) const {
    return refuse<R>();
  }
  template <detail::owning_temporary R, class... Rest>
  result_type all_to_all(R&&, Rest&&...) const {
    return refuse<R>();
  }
  template <detail::owning_temporary R, class... Rest>
  result_type reduce_scatter(R&&, Rest&&...) const {
    return refuse<R>();
  }

 private:
  template <class R>
  static result_type refuse() {
    static_assert(detail::always_false<R>,
                  "start: the elements are a temporary object, which goes at the end of this statement; the "
                  "collective reads it until its request is done, so give it a name");
    __builtin_unreachable();
  }

  std::shared_ptr<detail::team_state<Backend>> state_;
};

}  // namespace PGAS_NAMESPACE
