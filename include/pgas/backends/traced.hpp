// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <pgas/concepts/backend.hpp>
#include <pgas/detail/backends/traced/recorder.hpp>
#include <pgas/detail/backends/traced/segment.hpp>
#include <pgas/detail/job/team_backend.hpp>
#include <pgas/detail/process/launched_rank.hpp>
#include <pgas/detail/process/replacing_file.hpp>
#include <pgas/detail/process/setting.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/error.hpp>

namespace PGAS_NAMESPACE {

namespace detail {

/// The file of a trace. While ranks run, their records go to a nameless file beside it. A rank that dies
/// leaves nothing behind, and the old trace stays until the new one is complete.
class trace_file {
 public:
  explicit trace_file(std::filesystem::path path) : path_(std::move(path)) {
    std::string why;
    try {
      why = replacing_file::follow(path_);
    } catch (std::filesystem::filesystem_error const& e) {
      why = e.code().message();
    }
    if (!why.empty()) fail(why);
    std::string nameless = path_.string() + ".XXXXXX";
    records_ = ::mkostemp(nameless.data(), O_APPEND | O_CLOEXEC);
    if (records_ < 0) fail(std::generic_category().message(errno));
    std::filesystem::remove(nameless);
  }
  trace_file(trace_file const&) = delete;
  trace_file& operator=(trace_file const&) = delete;
  ~trace_file() { ::close(records_); }

  /// The path that PGAS_TRACE names, if it is set.
  static std::optional<std::filesystem::path> from_environment() {
    auto const name = setting::variable("PGAS_TRACE");
    if (!name.given()) return std::nullopt;
    return name.text();
  }

  /// The descriptor to which ranks append their records.
  [[nodiscard]] int records() const noexcept { return records_; }

  [[nodiscard]] bool is_finished() const noexcept { return finished_; }
  /// Writes the trace of a failed job. The job's failure matters more, so a trace that cannot be written is
  /// only reported.
  void finish_in_failure(std::string_view program) noexcept {
    try {
      finish(program);
    } catch (std::exception const& e) {
      std::fprintf(stderr, "pgas: %s\n", e.what());
    }
  }
  void finish(std::string_view program) {
    finished_ = true;
    std::string all(static_cast<std::size_t>(std::max<off_t>(0, ::lseek(records_, 0, SEEK_END))), '\0');
    std::size_t have = 0;
    while (have < all.size()) {
      auto const got = ::pread(records_, all.data() + have, all.size() - have, static_cast<off_t>(have));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) fail(std::generic_category().message(errno));
      have += static_cast<std::size_t>(got);
    }
    std::string const text = chrome_trace(traced_chunk::read(all), program);
    replacing_file made(path_, replacing_file::next_number());
    int wrong = made.make();
    for (std::string_view left = text; !left.empty() && wrong == 0;) {
      auto const written = ::write(made.descriptor(), left.data(), left.size());
      if (written > 0) left.remove_prefix(static_cast<std::size_t>(written));
      if (written <= 0 && errno != EINTR) wrong = errno;
    }
    if (wrong == 0) wrong = made.commit();
    if (wrong != 0) fail(std::generic_category().message(wrong));
  }

 private:
  [[noreturn]] void fail(std::string const& why) const {
    throw error(errc::bad_file, -1,
                "trace: " + in_quotes(path_.string()) + " cannot be written: " + why +
                    "; name a file in a folder where you may write");
  }

  std::filesystem::path path_;
  int records_ = -1;
  bool finished_ = false;
};

}  // namespace detail

namespace backends {

/// Another backend that also traces its ranks: epochs, waits, collectives, transfers and cache operations.
/// They become spans of a Chrome trace in the file that PGAS_TRACE or `--pgas-trace` names, for
/// chrome://tracing and ui.perfetto.dev. Without a name it records nothing.
///
/// This is a type, since an option would cost every backend a test in the path of each put. A program on
/// another backend contains none of it. The cost is here: on shared memory a put is a call and no store, and
/// elements are modified by calls. On `scc` the time is the chip's; if no parameters are chosen, those of
/// formulas_533. The trace of a failed job ends where each rank ended. It lacks the records that a killed
/// rank had not yet written.
template <backend Inner>
class traced : public Inner {
 public:
  using segment_type = detail::traced_segment<typename Inner::segment_type>;
  using control_type = detail::traced_control<typename Inner::control_type>;
  using handle = typename Inner::handle;

  /// Launches as Inner does. Throws errc::bad_file if the trace cannot be written.
  template <class Main>
  static auto launch(rank_t ranks, Main const& main) {
    auto const path = detail::trace_file::from_environment();
    if (!path) {
      return Inner::launch(
          ranks, [&](auto&& b, auto& boot) { main(traced(std::forward<decltype(b)>(b), nullptr), boot); });
    }
    detail::refuse_launcher("trace: ranks that a launcher starts have no file in common");
    if constexpr (requires { Inner::use_clock(); }) Inner::use_clock();
    detail::trace_file file(*path);
    std::string const program = std::string(Inner::name) + ", " + std::to_string(ranks) + " ranks";
    auto const launched = [&] {
      return Inner::launch(ranks, [&](auto&& b, auto& boot) {
        auto const to = std::make_shared<detail::recorder>(file.records(), b.rank(), [b] { return b.now(); });
        main(traced(std::forward<decltype(b)>(b), to), boot);
      });
    };
    try {
      auto job = launched();
      file.finish(program);
      return job;
    } catch (...) {
      if (!file.is_finished()) file.finish_in_failure(program);
      throw;
    }
  }

  segment_type attach_segment(handle which, std::size_t own_bytes) {
    return {Inner::attach_segment(which, own_bytes), source({})};
  }
  control_type attach_control(handle which, control_words words, std::string_view label) {
    return {Inner::attach_control(which, words, label), source(label)};
  }
  traced sub_team(group members, rank_t rank) { return {Inner::sub_team(members, rank), recorder_}; }

  void charge(std::uint64_t cycles) {
    auto const span = calls_.begin(span_kind::compute, "compute", {}, 0);
    Inner::charge(cycles);
  }

 private:
  traced(Inner inner, std::shared_ptr<detail::recorder> to)
      : Inner(std::move(inner)), recorder_(std::move(to)), calls_(source({})) {}

  [[nodiscard]] detail::span_source source(std::string_view place) const {
    return {recorder_, detail::world_ranks_of(*this), place};
  }

  std::shared_ptr<detail::recorder> recorder_;
  detail::span_source calls_;
};

}  // namespace backends

}  // namespace PGAS_NAMESPACE
