// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "models.hpp"

/// launches.cpp compiles the launch of these backends once. In each unit it was a third of the compiler's
/// time. Other backends' launches are compiled in the units that use them.
namespace pgas_test {

/// Refers to a callable object, which outlives it, and drops its result. A compiler makes two functions for
/// each object, where a std::function takes twenty.
template <class... Arguments>
class call_ref {
 public:
  template <class Callable>
  call_ref(Callable const& callable) noexcept
      : object_(std::addressof(callable)), call_(&call_on<Callable>) {}

  void operator()(Arguments... arguments) const { call_(object_, static_cast<Arguments>(arguments)...); }

 private:
  template <class Callable>
  static void call_on(void const* object, Arguments... arguments) {
    static_cast<void>((*static_cast<Callable const*>(object))(static_cast<Arguments>(arguments)...));
  }

  void const* object_;
  void (*call_)(void const*, Arguments...);
};

template <class Backend>
using body_on = std::function<void(typename model<Backend>::team&, std::span<std::byte>)>;

/// The bootstrap that a backend's launch gives to its main function.
template <class Backend>
struct bootstrap_of {
  using type = pgas::detail::job;
};
template <>
struct bootstrap_of<pgas::backends::self> {
  using type = pgas::backends::self::bootstrap_type;
};
template <>
struct bootstrap_of<pgas::backends::loopback> {
  using type = pgas::detail::loopback::rank_bootstrap;
};
template <>
struct bootstrap_of<pgas::backends::scc> {
  using type = pgas::detail::scc::rank_bootstrap;
};

template <class Backend>
using main_on = call_ref<Backend&, typename bootstrap_of<Backend>::type&>;

/// Calls main(backend, bootstrap) on each rank of a new world.
template <class Backend>
void launch_main(pgas::rank_t ranks, main_on<Backend> main) {
  static_cast<void>(Backend::launch(ranks, [&main](auto&& backend, auto& boot) {
    Backend mine = std::forward<decltype(backend)>(backend);
    main(mine, boot);
  }));
}
template <class Backend, class Main>
void launch(pgas::rank_t ranks, Main const& main) {
  launch_main<Backend>(ranks, main);
}

}  // namespace pgas_test

extern template void pgas::detail::launch_ranks(pgas::rank_t, std::span<std::byte>,
                                                pgas_test::body_on<pgas::backends::self> const&);
extern template void pgas::detail::launch_ranks(pgas::rank_t, std::span<std::byte>,
                                                pgas_test::body_on<pgas::backends::thread_map> const&);
extern template void pgas::detail::launch_ranks(pgas::rank_t, std::span<std::byte>,
                                                pgas_test::body_on<pgas::backends::process_map> const&);
extern template void pgas::detail::launch_ranks(pgas::rank_t, std::span<std::byte>,
                                                pgas_test::body_on<pgas::backends::loopback> const&);
extern template void pgas::detail::launch_ranks(pgas::rank_t, std::span<std::byte>,
                                                pgas_test::body_on<pgas::backends::scc> const&);
extern template void pgas::detail::launch_ranks(pgas::rank_t, std::span<std::byte>,
                                                pgas_test::body_on<pgas_test::incoherent::backend> const&);
extern template void pgas::detail::launch_ranks(pgas::rank_t, std::span<std::byte>,
                                                pgas_test::body_on<pgas_test::pool_backend> const&);
extern template void pgas_test::launch_main<pgas::backends::self>(pgas::rank_t,
                                                                  pgas_test::main_on<pgas::backends::self>);
extern template void pgas_test::launch_main<pgas::backends::thread_map>(
    pgas::rank_t, pgas_test::main_on<pgas::backends::thread_map>);
extern template void pgas_test::launch_main<pgas::backends::process_map>(
    pgas::rank_t, pgas_test::main_on<pgas::backends::process_map>);
extern template void pgas_test::launch_main<pgas::backends::loopback>(
    pgas::rank_t, pgas_test::main_on<pgas::backends::loopback>);
extern template void pgas_test::launch_main<pgas::backends::scc>(pgas::rank_t,
                                                                 pgas_test::main_on<pgas::backends::scc>);
extern template void pgas_test::launch_main<pgas_test::incoherent::backend>(
    pgas::rank_t, pgas_test::main_on<pgas_test::incoherent::backend>);
extern template void pgas_test::launch_main<pgas_test::pool_backend>(
    pgas::rank_t, pgas_test::main_on<pgas_test::pool_backend>);
