// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <pgas/detail/process/uncaught_since.hpp>
#include <pgas/files/save.hpp>
#include <pgas/team.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE {

namespace detail {

/// A copy of the bytes that a rank writes to a file, with their places there. A `strip` writes to it as to a
/// file.
class file_image {
 public:
  void write(std::span<iovec> pieces, std::uint64_t first) const {
    for (iovec const& piece : pieces) {
      write(piece.iov_base, piece.iov_len, first);
      first += piece.iov_len;
    }
  }
  void write(void const* from, std::size_t bytes, std::uint64_t first) const {
    try {
      if (runs_.empty() || runs_.back().first + runs_.back().bytes.size() != first)
        runs_.push_back({first, {}});
      auto const* const begin = static_cast<std::byte const*>(from);
      runs_.back().bytes.insert(runs_.back().bytes.end(), begin, begin + bytes);
    } catch (std::bad_alloc const&) {
      throw file_failure(errc::no_space, "needs memory for a copy of its cells, but none is left");
    }
  }
  void write_to(file const& to) const {
    for (run const& one : runs_) to.write(one.bytes.data(), one.bytes.size(), one.first);
  }

 private:
  struct run {
    std::uint64_t first;
    std::vector<std::byte> bytes;
  };
  mutable std::vector<run> runs_;  ///< a strip does not change its file
};

/// Work of the disk, in a thread of its own. The thread calls nothing of the library, and receives no
/// signals.
class disk_work {
 public:
  disk_work() = default;
  disk_work(disk_work const&) = delete;
  disk_work& operator=(disk_work const&) = delete;
  ~disk_work() { join(); }
  template <class Act>
  void begin(Act act) {
    join();
    has_ended_.store(false, std::memory_order_relaxed);  // relaxed: the thread does not exist yet
    thread_ = std::thread([this, act = std::move(act)] {
      uninterrupted const without_signals;
      try {
        act();
      } catch (file_failure const& failure) {
        failed_ = failure;
      }
      // release: pairs with the acquire in has_ended; carries the failure.
      has_ended_.store(true, std::memory_order_release);
    });
  }
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_.load(std::memory_order_acquire); }
  /// The failure, once it has ended.
  [[nodiscard]] std::optional<file_failure> const& failed() const noexcept { return failed_; }

 private:
  void join() {
    if (thread_.joinable()) thread_.join();
  }

  std::atomic<bool> has_ended_ = true;
  std::optional<file_failure> failed_;
  std::thread thread_;
};

/// One rank's side of a save that runs beside other work.
///
/// States: `writes`, the disk writes this rank's bytes; `agrees`, ranks exchange whether they have failed;
/// `names`, rank 0 gives the file its name; `agrees_again`; `tells`, the text of a failure is sent to all
/// ranks; `over`. Collectives are those of a team of its own, so that their order among others does not
/// matter.
template <class Team>
class saving {
 public:
  saving(Team own, std::filesystem::path const& real, std::uint64_t number, std::string shown)
      : team_(std::move(own)), shown_(std::move(shown)), made(real, number) {}
  saving(saving const&) = delete;
  saving& operator=(saving const&) = delete;
  /// Ends the save. During stack unwinding, the new file is removed and the old one stays.
  ~saving() {
    if (uncaught_.any()) return;
    try {
      wait();
    } catch (...) {
      team_.state()->deferred->record(std::current_exception());
    }
  }

  void begin() {
    disk_.begin([this] {
      image.write_to(*to);
      to->sync();
    });
    at_ = stage::writes;
  }
  [[nodiscard]] bool test() {
    while (at_ != stage::over && may_go_on()) go_on();
    return at_ == stage::over;
  }
  void wait() {
    while (!test()) {
      if (at_ != stage::writes && at_ != stage::names) {
        meeting_->wait();
      } else {
        team_.state()->control.pause(0, {.operation = "save"});  // serves other ranks
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }

 private:
  enum class stage : unsigned char { writes, agrees, names, agrees_again, tells, over };
  using meeting_type = decltype(std::declval<Team const&>().start().broadcast(std::span<char>(), 0));

  [[nodiscard]] bool may_go_on() {
    return at_ == stage::writes || at_ == stage::names ? disk_.has_ended() : meeting_->test();
  }
  void go_on() {
    switch (std::exchange(at_, stage::over)) {
      case stage::writes:
        return agree(stage::agrees);
      case stage::agrees:
        if (worst_ != 0) return tell();
        if (team_.rank() == 0) {
          disk_.begin([this] {
            if (int const why = made.commit(); why != 0) throw file_failure("cannot be replaced", why);
          });
        }
        at_ = stage::names;
        return;
      case stage::names:
        return agree(stage::agrees_again);
      case stage::agrees_again:
        if (worst_ != 0) return tell();
        return made.forget();
      case stage::tells:
        throw error(code_of(worst_), team_.world_rank(rank_of(worst_)), "save",
                    in_quotes(shown_) + " " + text_.data());
      case stage::over:
        return;
    }
  }
  /// Finds the failure of the lowest rank that has one: the largest number.
  void agree(stage next) {
    auto const& failed = disk_.failed();
    auto const code = failed ? static_cast<std::uint64_t>(failed->code()) : 0;
    mine_ = failed ? (static_cast<std::uint64_t>(team_.size() - team_.rank()) << 32U) + code : 0;
    meeting_.emplace(team_.start().all_reduce(std::span(&mine_, 1), std::span(&worst_, 1), op::max{}));
    at_ = next;
  }
  void tell() {
    if (disk_.failed()) copy_text(text_, disk_.failed()->what());
    meeting_.emplace(team_.start().broadcast(std::span(text_), rank_of(worst_)));
    at_ = stage::tells;
  }
  [[nodiscard]] rank_t rank_of(std::uint64_t failure) const noexcept {
    return team_.size() - static_cast<rank_t>(failure >> 32U);
  }
  static errc code_of(std::uint64_t failure) noexcept { return static_cast<errc>(failure & 0xffff'ffffU); }

  Team team_;
  std::string shown_;
  stage at_ = stage::over;
  std::uint64_t mine_ = 0;
  std::uint64_t worst_ = 0;
  std::array<char, 248> text_{};
  std::optional<meeting_type> meeting_;
  uncaught_since uncaught_;

 public:
  replacing_file made;
  std::optional<file> to;
  file_image image;

 private:
  disk_work disk_;  ///< destroyed first: its thread uses the file
};

}  // namespace detail

/// A save that runs beside other work, as a request: the result of start_save. Its destructor waits for the
/// end.
template <any_global_array Array>
class save_request {
  using state_type = typename Array::state_type;
  using team_type = team<typename state_type::backend_type>;

 public:
  /// start_save calls it.
  save_request(Array const& a, typename Array::box_type const& cells, std::filesystem::path const& path) {
    using value_type = typename Array::value_type;
    std::string const begins = detail::npy_beginning(
        {detail::npy_type<value_type>(), false, {cells.count.begin(), cells.count.end()}});
    std::uint64_t const bytes = begins.size() + cells.size() * sizeof(value_type);
    detail::file_transfer<Array> all(a, cells, path, "", "save");
    std::filesystem::path real = path;
    std::uint64_t number = a.rank() == 0 ? detail::replacing_file::next_number() : 0;
    all.collectives().broadcast(number, 0, all.operation());
    all.attempt([&] {
      if (detail::carried_file<Array>(a).is_wanted())
        throw detail::file_failure(errc::unsupported, "is on a file system of several nodes; call save");
      if (auto const why = detail::replacing_file::follow(real); !why.empty())
        throw detail::file_failure(errc::bad_file, why);
      detail::file::check_limit(bytes);
    });
    all.agree();

    of_ = std::make_unique<detail::saving<team_type>>(team_type(a.state().team).split(0), real, number,
                                                      path.string());
    detail::open_on_all_ranks(all, a.rank(), false, of_->made, of_->to);
    if (a.rank() == 0) {
      all.attempt([&] {
        of_->to->reserve(bytes);
        of_->to->write(begins.data(), begins.size(), 0);
      });
    }
    detail::no_progress progress;
    all.note(detail::strip<Array>(a, cells).write(&of_->image, begins.size(), progress));
    all.agree();
    of_->begin();
  }

  /// Returns whether the file has its name. Never waits for another rank, nor for the disk.
  [[nodiscard]] bool test() { return of_->test(); }
  /// Returns when the file has its name.
  void wait() { of_->wait(); }
  /// No signal of a rank announces the end, so waits must poll often.
  [[nodiscard]] static time_point due() noexcept { return time_point::min(); }

 private:
  std::unique_ptr<detail::saving<team_type>> of_;
};

/// Saves a box of cells in an NPY file beside other work: `co_await start_save(a, cells, "corner.npy");`.
///
/// Collective like `save`. The call copies the cells, so the array may change when it returns; it waits for
/// all ranks, and not for their disks. Done when all cells are on the disk and the file has its name. Until
/// then an old file stays, as with `save`.
/// Requires and throws what `save` does, the request if the disk fails. Throws errc::unsupported where ranks
/// on several nodes see the file through a network. Costs a copy of this rank's strip, a thread for each
/// rank, a split of the team, and a few barriers. MPI: MPI_File_iwrite_all.
template <any_global_array Array>
  requires npy_element<typename Array::value_type>
[[nodiscard]] save_request<Array> start_save(Array const& a,
                                             std::type_identity_t<typename Array::box_type> const& cells,
                                             std::filesystem::path const& path) {
  return save_request<Array>(a, cells, path);
}

/// Saves all cells. Otherwise like start_save of a box.
template <any_global_array Array>
  requires npy_element<typename Array::value_type>
[[nodiscard]] save_request<Array> start_save(Array const& a, std::filesystem::path const& path) {
  return save_request<Array>(a, {{}, a.extents()}, path);
}

}  // namespace PGAS_NAMESPACE
