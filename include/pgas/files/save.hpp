// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <filesystem>
#include <pgas/detail/files/file.hpp>
#include <pgas/detail/files/strip.hpp>
#include <pgas/detail/process/replacing_file.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/files/npy_header.hpp>

namespace PGAS_NAMESPACE {

namespace detail {

/// One rank's side of a collective transfer between an array and a file. A failure on one rank is thrown on
/// all ranks.
template <any_global_array Array>
class file_transfer {
 public:
  using box_type = typename Array::box_type;

  /// `within` names a part of the file if it has several.
  file_transfer(Array const& a, box_type const& cells, std::filesystem::path const& path,
                std::string_view within, std::string_view operation)
      : array_(&a), path_(path), operation_(operation) {
    std::size_t const mine =
        std::hash<std::string>{}(path.string() + ":" + std::string(within) + ":" + joined(cells.first, " ") +
                                 ": " + joined(cells.count, " "));
    std::vector<std::uint64_t> all;
    collectives().all_gather(std::uint64_t{mine}, operation_,
                             [&](rank_t, std::uint64_t h) { all.push_back(h); });
    auto const other = std::find_if(all.begin(), all.end(), [&](std::uint64_t h) { return h != all[0]; });
    if (other != all.end()) {
      throw error(errc::mismatch, a.state().job_rank(), operation_,
                  "rank " + std::to_string(other - all.begin()) +
                      " names another file or box than rank 0; all ranks must name the same");
    }
    PGAS_EXPECTS(
        light, cells.is_within(a.extents()),
        throw error(errc::out_of_range, a.state().job_rank(), operation_,
                    joined(cells.count, " x ") + " cells do not fit at (" + joined(cells.first, ", ") +
                        ") in an array of " + joined(a.extents(), " x ")));
  }

  /// Calls act() unless this rank has failed before, and stores its failure.
  template <class Act>
  void attempt(Act const& act) {
    if (failed_) return;
    try {
      act();
    } catch (file_failure const& failure) {
      failed_ = failure;
    } catch (std::filesystem::filesystem_error const& failure) {
      failed_ = file_failure("cannot be inspected", failure.code().value());
    }
  }
  /// Stores a failure, unless this rank has one already.
  void note(std::optional<file_failure> const& failure) {
    if (!failed_) failed_ = failure;
  }
  /// Throws on every rank if at least one rank has failed: the failure of the lowest such rank.
  void agree() {
    rank_t first = -1;
    errc code{};
    collectives().all_gather(std::uint64_t{failed_ ? static_cast<std::uint64_t>(failed_->code()) : 0},
                             operation_, [&](rank_t rank, std::uint64_t theirs) {
                               if (theirs == 0 || first >= 0) return;
                               first = rank;
                               code = static_cast<errc>(theirs);
                             });
    if (first < 0) return;
    std::array<char, 248> text{};
    if (failed_) copy_text(text, failed_->what());
    collectives().broadcast(text, first, operation_);
    throw error(code, array_->state().team->backend.world_rank(first), operation_,
                in_quotes(path_.string()) + " " + text.data());
  }
  [[nodiscard]] auto& collectives() const noexcept { return array_->state().team->collectives; }
  [[nodiscard]] std::string_view operation() const noexcept { return operation_; }

 private:
  Array const* array_;
  std::filesystem::path path_;
  std::string_view operation_;
  std::optional<file_failure> failed_;
};

/// The default progress: not reported.
struct no_progress {
  void operator()(std::uint64_t, std::uint64_t) const noexcept {}
};

/// Makes the new file on rank 0 and opens it on every rank. The file has no name, unless the file system has
/// no such files, or the backend wants a name, or a rank cannot open the file of another process: on another
/// node that process is another one.
template <class Array>
void open_on_all_ranks(file_transfer<Array>& all, rank_t rank, bool wants_name, replacing_file& made,
                       std::optional<file>& to) {
  struct {
    std::uint64_t process = 0;
    std::int64_t descriptor = -1;
    file::identity which = {};
  } maker;
  if (rank == 0 && !wants_name && made.make_nameless() == 0)
    maker = {static_cast<std::uint64_t>(::getpid()), made.descriptor(), file::which(made.descriptor())};
  all.collectives().broadcast(maker, 0, all.operation());
  bool everywhere = maker.descriptor >= 0;
  if (everywhere) {
    try {
      to.emplace(replacing_file::place_of(maker.process, static_cast<int>(maker.descriptor)), O_WRONLY,
                 "to be written");
    } catch (file_failure const&) {
      to.reset();
    }
    if (to && to->which() != maker.which) to.reset();
    all.collectives().all_gather(
        std::uint64_t{to ? 1U : 0U}, all.operation(),
        [&](rank_t, std::uint64_t opened) { everywhere = everywhere && opened != 0; });
  }
  if (everywhere) return;
  to.reset();
  if (rank == 0) {
    all.attempt([&] {
      if (int const why = made.make_named(); why != 0)
        throw file_failure("cannot be opened to be written", why);
    });
  }
  all.agree();  // the file exists
  made.remember_name();
  all.attempt([&] { to.emplace(made.part(), O_WRONLY, "to be written"); });
  all.agree();
}

/// Writes the cells of a box to a file of about `bytes` bytes. On rank 0, begin(file, replacing_file) writes
/// what comes before the elements, and returns the byte at which the elements begin.
template <class Array, class Progress, class Begin>
void save_elements(Array const& a, typename Array::box_type const& cells, std::filesystem::path const& path,
                   std::string_view within, std::uint64_t bytes, Progress& progress, Begin const& begin) {
  file_transfer<Array> all(a, cells, path, within, "save");
  std::filesystem::path real = path;
  std::uint64_t number = a.rank() == 0 ? replacing_file::next_number() : 0;
  all.collectives().broadcast(number, 0, all.operation());
  all.attempt([&] {
    if (auto const why = replacing_file::follow(real); !why.empty()) throw file_failure(errc::bad_file, why);
    file::check_limit(bytes);
  });
  all.agree();

  replacing_file made(real, number);
  std::optional<file> to;
  carried_file<Array> carried(a);
  open_on_all_ranks(all, a.rank(), carried.is_wanted(), made, to);
  std::uint64_t first = 0;
  if (a.rank() == 0) {
    all.attempt([&] {
      first = begin(*to, made);
      if (carried.is_wanted()) to->sync();  // before other nodes write beside it
    });
  }
  all.agree();
  all.collectives().broadcast(first, 0, all.operation());
  if (carried.is_wanted()) {
    all.attempt([&] { carried.open(made.part(), true); });
    all.agree();
  }
  with_file(carried, *to, [&](auto const& shared) {
    all.note(strip<Array>(a, cells).write(&shared, first, progress));
    all.attempt([&] { shared.sync(); });
  });
  all.agree();  // all cells are on the disk
  if (a.rank() == 0) {
    all.attempt([&] {
      if (int const why = made.commit(); why != 0) throw file_failure("cannot be replaced", why);
    });
  }
  all.agree();
  made.forget();
}

/// Reads the cells of a box from a file. On rank 0, find(file) returns the byte at which the elements begin.
template <class Array, class Progress, class Find>
void load_elements(Array const& a, typename Array::box_type const& cells, std::filesystem::path const& path,
                   std::string_view within, Progress& progress, Find const& find) {
  file_transfer<Array> all(a, cells, path, within, "load");
  std::optional<file> from;
  carried_file<Array> carried(a);
  std::uint64_t first = 0;
  all.attempt([&] {
    from.emplace(path, O_RDONLY, "to be read");
    if (a.rank() == 0) first = find(*from);
    if (carried.is_wanted()) carried.open(path, false);
  });
  all.agree();
  all.collectives().broadcast(first, 0, all.operation());
  with_file(carried, *from,
            [&](auto const& shared) { all.note(strip<Array>(a, cells).read(&shared, first, progress)); });
  all.agree();
}

}  // namespace detail

/// Saves a box of cells in an NPY file, which numpy.load and load() read:
/// `save(a, {{0, 0}, {10, 10}}, "corner.npy")`.
///
/// Collective over the team that the array was made on; all ranks name the same box and file. Ranks write
/// their strips of the file at once. A rank that owns whole rows writes them without a copy; otherwise ranks
/// gather cells first.
/// The file gets its name when it is on the disk. Until then an old file stays. The new file has the old
/// one's mode, and its owner if the system permits that. `progress(done, total)` is called on each rank after
/// each 8 MiB, with bytes of that rank's strip. Requires that no epoch is open on the array, and that all
/// ranks see the same folder, which ranks on one host do on every backend. Throws the same error on every
/// rank: errc::bad_file if the file cannot be written, errc::no_space if the disk is full or a limit is
/// reached, errc::mismatch or errc::out_of_range. The old file then stays, and no other. A save that is
/// interrupted, by Ctrl-C or by SIGKILL, leaves the old file only. On several nodes, or on a file system
/// without nameless files (O_TMPFILE), a killed save leaves NAME.NUMBER.part. Costs two fences unless ranks
/// write own rows, a few barriers, 8 MiB per rank, and the time of the disk. MPI: MPI_File_write_all; NumPy:
/// save.
template <any_global_array Array, std::invocable<std::uint64_t, std::uint64_t> Progress = detail::no_progress>
void save(Array const& a, std::type_identity_t<typename Array::box_type> const& cells,
          std::filesystem::path const& path, Progress&& progress = {}) {
  using value_type = typename Array::value_type;
  static_assert(
      npy_element<value_type>,
      "save: an NPY file holds integers, floating point numbers, complex numbers or bool; copy the members "
      "of a struct to arrays of their own, and save each");
  if constexpr (npy_element<value_type>) {
    std::string const begins = detail::npy_beginning(
        {detail::npy_type<value_type>(), false, {cells.count.begin(), cells.count.end()}});
    std::uint64_t const bytes = begins.size() + cells.size() * sizeof(value_type);
    detail::save_elements(a, cells, path, "", bytes, progress, [&](detail::file const& to, auto const&) {
      to.reserve(bytes);
      to.write(begins.data(), begins.size(), 0);
      return std::uint64_t{begins.size()};
    });
  }
}

/// Saves all cells. Otherwise like save of a box.
template <any_global_array Array, std::invocable<std::uint64_t, std::uint64_t> Progress = detail::no_progress>
void save(Array const& a, std::filesystem::path const& path, Progress&& progress = {}) {
  save(a, typename Array::box_type{{}, a.extents()}, path, std::forward<Progress>(progress));
}

/// Loads a box of cells from an NPY file of exactly these extents and this type, as numpy.save and save()
/// write it.
///
/// Collective like save. Own cells are in place when the call returns, and the next epoch shows them to other
/// ranks. Ghost cells keep their values. Bytes behind the elements are ignored.
/// Throws the same error on every rank. It is errc::bad_file if the file is missing, cut off, in Fortran
/// order or no NPY file. It is errc::bad_file also for another type, shape or byte order. No cell has changed
/// then, unless reading failed midway.
/// Costs as much as save. MPI: MPI_File_read_all; NumPy: load.
template <any_global_array Array, std::invocable<std::uint64_t, std::uint64_t> Progress = detail::no_progress>
void load(Array const& a, std::type_identity_t<typename Array::box_type> const& cells,
          std::filesystem::path const& path, Progress&& progress = {}) {
  using value_type = typename Array::value_type;
  static_assert(
      npy_element<value_type>,
      "load: an NPY file holds integers, floating point numbers, complex numbers or bool; load each member "
      "of a struct to an array of its own");
  if constexpr (npy_element<value_type>) {
    detail::load_elements(a, cells, path, "", progress, [&](detail::file const& from) {
      auto const found = detail::read_npy_header(from);
      detail::check_npy<value_type>(found, cells.count, from.size());
      return found.first;
    });
  }
}

/// Loads all cells. Otherwise like load of a box.
template <any_global_array Array, std::invocable<std::uint64_t, std::uint64_t> Progress = detail::no_progress>
void load(Array const& a, std::filesystem::path const& path, Progress&& progress = {}) {
  load(a, typename Array::box_type{{}, a.extents()}, path, std::forward<Progress>(progress));
}

}  // namespace PGAS_NAMESPACE
