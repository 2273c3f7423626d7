// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <pgas/concepts/order_scope.hpp>
#include <pgas/concepts/recorder.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/detail/types/anything.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <pgas/run.hpp>
#include <pgas/vocabulary/wait_policy.hpp>
#include <span>
#include <string>
#include <string_view>

namespace PGAS_NAMESPACE {

/// A backend that offers an option of its own, `--pgas-NAME VALUE`, by a nested type `own_option`.
///
/// `name` is NAME. `value` describes VALUE in a word or two, for `--pgas-help`. If the user gives the option,
/// before_launch(VALUE) is called before the ranks start, and after_launch(VALUE) after they have ended.
template <class B>
concept backend_with_option = backend<B> && requires(std::string const& value) {
  { B::own_option::name } -> std::convertible_to<std::string_view>;
  { B::own_option::value } -> std::convertible_to<std::string_view>;
  B::own_option::before_launch(value);
  B::own_option::after_launch(value);
};

/// A backend that counts the work of its ranks: `report(file)` prints the counts of the last launch.
template <class B>
concept reporting_backend = backend<B> && requires(std::FILE* to) { B::report(to); };

/// A backend that varies the order of its ranks' steps, and can run a program by several orders in one
/// launch: `run_by_schedules(n)` makes the next launches do so. `--pgas-schedules n`.
template <class B>
concept scheduling_backend = backend<B> && requires(unsigned n) { B::run_by_schedules(n); };

/// The backends on which a program can run; the first is the default.
template <backend... Backends>
struct backend_list {};

/// Stands for each backend's own default policy in `coherence_list`.
struct default_coherence {
  /// Its name after --pgas-coherence.
  static constexpr std::string_view name = "default";
};

/// The coherence policies with which a program can run; the first is the default.
template <class... Policies>
struct coherence_list {};

/// The protocols with which a program can run; the first ones are the default.
template <protocol_bundle... Protocols>
struct protocols_list {};

/// Stands for each backend's own default protocols in `protocols_list`.
struct backend_default_protocols : default_protocols {
  /// Its name after --pgas-sync.
  static constexpr std::string_view name = "default";
};

/// The name of a window's protocols on the command line: their common name if they have one, else the names
/// of the three, joined.
template <protocol_bundle P>
std::string protocols_name() {
  if constexpr (requires { P::name; }) return std::string(P::name);
  return detail::text_of({P::fence::name, "+", P::post::name, "+", P::lock::name});
}

namespace detail {

/// An option that only a backend knows.
struct own_option {
  std::string_view name;
  char const* value;
};

/// The values of the --pgas-... options, and the other arguments, which are the program's. All of them are
/// parts of main's own. Null, 0 or any_ranks: not given.
struct command_line {
  char const* backend = nullptr;
  char const* coherence = nullptr;
  char const* sync = nullptr;
  char const* wait = nullptr;
  char const* trace = nullptr;
  rank_t ranks = any_ranks;
  unsigned schedules = 0;
  bool help = false;
  bool check = false;
  plain_list<own_option> others;
  plain_list<std::string_view> rest;

  /// A template, so that only programs that parse options compile it.
  template <class Parsed = command_line>
  static Parsed parse(int argc, char const* const* argv) {
    Parsed parsed;
    for (int i = 1; i < argc; ++i) {
      std::string_view const argument = argv[i];
      auto const refuse = [&](std::string const& why) {
        throw_error(errc::invalid_argument, -1, {escaped(argument), ": ", why});
      };
      if (!argument.starts_with("--pgas-")) {
        parsed.rest.push_back(argument);
        continue;
      }
      std::string_view name = argument.substr(7);
      if (name == "help") {
        parsed.help = true;
        continue;
      }
      if (name == "check") {
        parsed.check = true;
        continue;
      }
      char const* value = nullptr;
      if (auto const equals = name.find('='); equals != std::string_view::npos) {
        value = name.data() + equals + 1;
        name = name.substr(0, equals);
      } else if (i + 1 < argc) {
        value = argv[++i];
      } else {
        refuse("a value is missing");
      }
      std::string const argument_name = text_of({"--pgas-", name});
      if (name == "backend") {
        parsed.backend = value;
      } else if (name == "coherence") {
        parsed.coherence = value;
      } else if (name == "sync") {
        parsed.sync = value;
      } else if (name == "wait") {
        static_cast<void>(setting(argument_name, value).one_of(wait_policy_names));
        parsed.wait = value;
      } else if (name == "trace") {
        if (*value == '\0') refuse("a file's name is missing");
        parsed.trace = value;
      } else if (name == "schedules") {
        parsed.schedules =
            static_cast<unsigned>(setting(argument_name, value).whole("a number of schedules", 1, 1'000'000));
      } else if (name == "ranks") {
        parsed.ranks = ranks_in(setting(argument_name, value));
      } else {
        parsed.others.push_back({name, value});
      }
    }
    return parsed;
  }
};

template <class Backend, class Policy>
struct policy_on {
  using type = Policy;
};
template <class Backend>
struct policy_on<Backend, default_coherence> {
  using type = typename Backend::default_coherence;
};

template <class Backend, class Protocols>
struct protocols_on {
  using type = Protocols;
};
template <class Backend>
struct protocols_on<Backend, backend_default_protocols> {
  using type = default_protocols_on<Backend>;
};

/// Calls the body on the combination that the command line names. If there is none, the error lists the
/// names.
template <class Backends, class Coherences, class Protocols>
struct dispatcher {
  static_assert(always_false<Backends>,
                "run: with argc and argv write "
                "`pgas::run<pgas::backend_list<pgas::backends::process_map>>(argc, argv, body)`, "
                "a list of backends");
};

template <class... Backends, class... Policies, class... AllProtocols>
struct dispatcher<backend_list<Backends...>, coherence_list<Policies...>, protocols_list<AllProtocols...>> {
  template <class Body>
  static int run(command_line const& line, Body const& body) {
    for (auto const& [name, _] : line.others) {
      if ((!offers<Backends>(name) && ...))
        throw_error(errc::invalid_argument, -1,
                    {"--pgas-", escaped(name), ": no such option; --pgas-help lists them"});
    }
    require_known(line.backend, "--pgas-backend", std::array{std::string_view(Backends::name)...});
    require_known(line.coherence, "--pgas-coherence", std::array{std::string_view(Policies::name)...});
    require_known(line.sync, "--pgas-sync", std::array{protocols_name<AllProtocols>()...});
    int status = 0;
    bool fits = true;
    bool const found = (on_backend<Backends>(line, body, status, fits) || ...);
    if (!found)
      throw_error(errc::invalid_argument, -1,
                  {"no such combination of backend, coherence and sync", listing()});
    if (!fits)
      throw_error(
          errc::unsupported, -1,
          {"this coherence policy does not fit this backend's memory, or a protocol its control words",
           listing()});
    return status;
  }

  static std::string listing() {
    std::string text = "; --pgas-backend:";
    (append_text(text, {" ", Backends::name}), ...);
    text += "; --pgas-coherence:";
    (append_text(text, {" ", Policies::name}), ...);
    text += "; --pgas-sync:";
    (append_text(text, {" ", protocols_name<AllProtocols>()}), ...);
    text += "; --pgas-wait:";
    for (auto const name : wait_policy_names) append_text(text, {" ", name});
    return text;
  }
  /// The text about the options whose values are not listed.
  static std::string other_options() {
    std::string text =
        "; --pgas-ranks: a number; --pgas-trace: a file; --pgas-check; --pgas-schedules: a number, on scc "
        "and checked backends";
    (add_option<Backends>(text), ...);
    return text;
  }

 private:
  template <class Names>
  static void require_known(char const* asked, std::string_view option, Names const& names) {
    if (asked != nullptr) static_cast<void>(setting(option, asked).one_of(names));
  }
  static bool chosen(char const* asked, std::string_view name) { return asked == nullptr || asked == name; }

  template <class Backend>
  static void add_option(std::string& text) {
    if constexpr (backend_with_option<Backend>) {
      append_text(text, {"; --pgas-", Backend::own_option::name, ": ", Backend::own_option::value, ", on ",
                         Backend::name});
    }
  }
  template <class Backend>
  static bool offers(std::string_view option) {
    if constexpr (backend_with_option<Backend>) return option == Backend::own_option::name;
    return false;
  }
  /// Throws an error that lists the backends that have option `name`.
  template <class Backend>
  [[noreturn]] static void refuse_option(std::string_view name) {
    std::string sentence = text_of({"--pgas-", name, ": backend ", Backend::name,
                                    " has no such option; choose one that has it, by --pgas-backend:"});
    (append_text(sentence, {offers<Backends>(name) ? " " : "", offers<Backends>(name) ? Backends::name : ""}),
     ...);
    throw_error(errc::unsupported, -1, {sentence});
  }

  /// The value of the backend's own option, if the user gives it. Throws if the given option is another
  /// backend's.
  template <class Backend>
  static char const* own_option_of(command_line const& line) {
    char const* given = nullptr;
    for (auto const& [name, value] : line.others) {
      if (!offers<Backend>(name)) refuse_option<Backend>(name);
      if (*value == '\0') throw_error(errc::invalid_argument, -1, {"--pgas-", name, ": a value is missing"});
      if (given == nullptr) given = value;
    }
    return given;
  }

  template <class Backend, class Body>
  static bool on_backend(command_line const& line, Body const& body, int& status, bool& fits) {
    return chosen(line.backend, Backend::name) &&
           (on_policy<Backend, Policies>(line, body, status, fits) || ...);
  }
  template <class Backend, class Policy, class Body>
  static bool on_policy(command_line const& line, Body const& body, int& status, bool& fits) {
    return chosen(line.coherence, Policy::name) &&
           (on_chosen<Backend, Policy, AllProtocols>(line, body, status, fits) || ...);
  }
  template <class Backend, class Policy, class Protocols, class Body>
  static bool on_chosen(command_line const& line, Body const& body, int& status, bool& fits) {
    using coherence = typename policy_on<Backend, Policy>::type;
    using protocols = typename protocols_on<Backend, Protocols>::type;
    if (!chosen(line.sync, protocols_name<Protocols>())) return false;
    if constexpr (!coherence::template fits<typename Backend::segment_type> ||
                  !bundle_fits<protocols, typename Backend::control_type> ||
                  (has_mailed<protocols> && !mailbox_backend<Backend>)) {
      fits = false;
    } else {
      auto const with_arguments =
          [&body, rest = std::span<std::string_view const>(line.rest.begin(), line.rest.size())](auto& team) {
            if constexpr (requires { body(team, rest); }) {
              return body(team, rest);
            } else {
              return body(team);
            }
          };
      if (line.trace != nullptr && !recording_control<typename Backend::control_type>) {
        throw_error(
            errc::unsupported, -1,
            {"--pgas-trace: this program's backends write no trace: run an example by tools/run, or give the "
             "program backends::traced<",
             Backend::name, ">"});
      }
      if (line.schedules != 0) {
        if constexpr (scheduling_backend<Backend>) {
          Backend::run_by_schedules(line.schedules);
        } else {
          throw_error(errc::unsupported, -1,
                      {"--pgas-schedules: backend ", Backend::name,
                       " has one schedule, the machine's own; choose --pgas-backend scc, or "
                       "give the program backends::checked<",
                       Backend::name, ">"});
        }
      }
      if (line.check) {
        if constexpr (!scoped_control<typename Backend::control_type>) {
          throw_error(
              errc::unsupported, -1,
              {"--pgas-check: this program's backends check no races: run an example by tools/run, or "
               "give the program backends::checked<",
               Backend::name, ">"});
        }
      }
      [[maybe_unused]] char const* const own = own_option_of<Backend>(line);
      if constexpr (backend_with_option<Backend>) {
        if (own != nullptr) Backend::own_option::before_launch(own);
      }
      using team_type = team<Backend, coherence, protocols>;
      if constexpr (std::is_void_v<decltype(with_arguments(std::declval<team_type&>()))>) {
        run_on<Backend, coherence, protocols>(line.ranks, with_arguments);
      } else {
        status = static_cast<int>(run_on<Backend, coherence, protocols>(line.ranks, with_arguments));
      }
      if constexpr (reporting_backend<Backend>) Backend::report(stderr);
      if constexpr (backend_with_option<Backend>) {
        if (own != nullptr) Backend::own_option::after_launch(own);
      }
    }
    return true;
  }
};

}  // namespace detail

/// Runs a generic body on the backend, coherence policy and protocols that the command line names: a whole
/// `main`.
///
///     return pgas::run<pgas::backend_list<process_map, loopback>>(argc, argv, [](auto& team) { ... });
///
/// `--pgas-backend`, `--pgas-coherence`, `--pgas-sync` and `--pgas-ranks` choose. `--pgas-wait` sets how
/// ranks wait (wait_policy). `--pgas-trace FILE` makes backends::traced write a trace. `--pgas-check` insists
/// on a backend that checks races, such as backends::checked. A backend may offer an option of its own;
/// `--pgas-help` lists all. The other arguments reach the body as its second parameter,
/// `std::span<std::string_view const>`, if it has one. Returns rank 0's result, or 0. On an error it prints
/// the error's sentence to stderr and returns 1.
template <class Backends, class Coherences = coherence_list<default_coherence>,
          class Protocols = protocols_list<backend_default_protocols>, class Body>
int run(int argc, char const* const* argv, Body const& body) {
  using dispatcher = detail::dispatcher<Backends, Coherences, Protocols>;
  try {
    auto const line = detail::command_line::parse(argc, argv);
    if (line.help) {
      std::printf("options of pgas%s%s\n", dispatcher::listing().c_str(),
                  dispatcher::other_options().c_str());
      return 0;
    }
    if (line.wait != nullptr) ::setenv("PGAS_WAIT", line.wait, 1);  // for ranks, which inherit it
    if (line.trace != nullptr) ::setenv("PGAS_TRACE", line.trace, 1);
    return dispatcher::run(line, body);
  } catch (error const& e) {
    std::fprintf(stderr, "pgas: %s\n", e.description().c_str());
  } catch (std::exception const& e) {
    std::fprintf(stderr, "pgas: %s\n", e.what());
  }
  return 1;
}

}  // namespace PGAS_NAMESPACE
