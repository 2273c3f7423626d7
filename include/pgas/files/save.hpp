// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <filesystem>
#include <pgas/files/npy_header.hpp>
#include <pgas/files/strip.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

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
                "'" + path_.string() + "' " + text.data());
  }
  [[nodiscard]] auto& collectives() const noexcept { return array_->state().team->collectives; }
  [[nodiscard]] std::string_view operation() const noexcept { return operation_; }

 private:
  Array const* array_;
  std::filesystem::path path_;
  std::string_view operation_;
  std::optional<file_failure> failed_;
};

/// A file that is written under another name in the same folder. Readers see the old file or the complete new
/// one. Every rank holds one, and removes the file if it leaves early, because other ranks may be unable to.
class unfinished_file {
 public:
  unfinished_file(std::filesystem::path const& path, std::uint64_t number)
      : temporary_(path.string() + "." + std::to_string(number) + ".part"), path_(path) {}
  unfinished_file(unfinished_file const&) = delete;
  unfinished_file& operator=(unfinished_file const&) = delete;
  ~unfinished_file() {
    if (!finished_) ::unlink(temporary_.c_str());  // fails if another rank removed it first
  }

  /// A number that differs between all files of all processes.
  static std::uint64_t next_number() noexcept {
    static std::atomic<std::uint32_t> serial{0};
    // relaxed: the number tells files apart, and orders nothing
    return static_cast<std::uint64_t>(::getpid()) << 32U | serial.fetch_add(1, std::memory_order_relaxed);
  }

  [[nodiscard]] std::filesystem::path const& temporary() const noexcept { return temporary_; }
  /// Gives the file its final name. Returns when the name is on the disk. Called on one rank.
  void rename() {
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw file_failure("cannot be replaced", errno);
    finished_ = true;
    auto const folder = path_.parent_path();
    file(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY, "to sync its folder").sync();
  }
  void finish() noexcept { finished_ = true; }

 private:
  std::filesystem::path temporary_;
  std::filesystem::path path_;
  bool finished_ = false;
};

/// The default progress: not reported.
struct no_progress {
  void operator()(std::uint64_t, std::uint64_t) const noexcept {}
};

/// The file that a save replaces: the target of a symbolic link, which may be missing, or the path itself.
/// Throws file_failure unless it is missing or a regular file.
inline std::filesystem::path file_to_replace(std::filesystem::path const& path) {
  namespace fs = std::filesystem;
  fs::path real = path;
  for (int links = 0; fs::is_symlink(real); ++links) {
    if (links == 40) throw file_failure("cannot be found", ELOOP);
    real = real.parent_path() / fs::read_symlink(real);
  }
  auto const kind = fs::status(real).type();
  if (kind != fs::file_type::regular && kind != fs::file_type::not_found) {
    throw file_failure(errc::bad_file, "is a folder or device, not a file that can be replaced");
  }
  return real;
}

/// Writes the cells of a box to a file of about `bytes` bytes. On rank 0, begin(path) creates the file and
/// returns it with the byte at which the elements begin.
template <class Array, class Progress, class Begin>
void save_elements(Array const& a, typename Array::box_type const& cells, std::filesystem::path const& path,
                   std::string_view within, std::uint64_t bytes, Progress& progress, Begin const& begin) {
  file_transfer<Array> all(a, cells, path, within, "save");
  std::filesystem::path real;
  std::uint64_t number = a.rank() == 0 ? unfinished_file::next_number() : 0;
  all.collectives().broadcast(number, 0, all.operation());
  all.attempt([&] {
    real = file_to_replace(path);
    file::check_limit(bytes);
  });
  all.agree();

  unfinished_file unfinished(real, number);
  std::optional<file> to;
  std::uint64_t first = 0;
  if (a.rank() == 0) {
    all.attempt([&] {
      auto begun = begin(unfinished.temporary());
      to.emplace(std::move(begun.first));
      first = begun.second;
    });
  }
  all.agree();  // the file exists
  all.collectives().broadcast(first, 0, all.operation());
  all.attempt([&] {
    if (!to) to.emplace(unfinished.temporary(), O_WRONLY, "to be written");
  });
  all.note(strip<Array>(a, cells).write(to ? &*to : nullptr, first, progress));
  all.attempt([&] { to->sync(); });
  all.agree();  // all cells are on the disk
  if (a.rank() == 0) all.attempt([&] { unfinished.rename(); });
  all.agree();
  unfinished.finish();
}

/// Reads the cells of a box from a file. On rank 0, find(file) returns the byte at which the elements begin.
template <class Array, class Progress, class Find>
void load_elements(Array const& a, typename Array::box_type const& cells, std::filesystem::path const& path,
                   std::string_view within, Progress& progress, Find const& find) {
  file_transfer<Array> all(a, cells, path, within, "load");
  std::optional<file> from;
  std::uint64_t first = 0;
  all.attempt([&] {
    from.emplace(path, O_RDONLY, "to be read");
    if (a.rank() == 0) first = find(*from);
  });
  all.agree();
  all.collectives().broadcast(first, 0, all.operation());
  all.note(strip<Array>(a, cells).read(&*from, first, progress));
  all.agree();
}

}  // namespace detail

/// Saves a box of cells in an NPY file, which numpy.load and load() read:
/// `save(a, {{0, 0}, {10, 10}}, "corner.npy")`.
///
/// Collective over the team that the array was made on; all ranks name the same box and file. Ranks write
/// their strips of the file at once. A rank that owns whole rows writes them without a copy; otherwise ranks
/// gather cells first.
/// The file is written under another name in the same folder, and renamed when it is on the disk. Until then
/// an old file stays. `progress(done, total)` is called on each rank after each 8 MiB, with bytes of that
/// rank's strip.
/// Requires that no epoch is open on the array, and that all ranks see the same folder, which ranks on one
/// host do on every backend.
/// Throws the same error on every rank: errc::bad_file if the file cannot be written, errc::no_space if the
/// disk is full or a limit is reached, errc::mismatch or errc::out_of_range. The old file then stays, and no
/// other. Only if all ranks are killed at once, the unfinished file NAME.NUMBER.part stays.
/// Costs two fences unless ranks write own rows, a few barriers, 8 MiB per rank, and the time of the disk.
/// MPI: MPI_File_write_all; NumPy: save.
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
    detail::save_elements(a, cells, path, "", bytes, progress, [&](std::filesystem::path const& unfinished) {
      detail::file to(unfinished, O_WRONLY | O_CREAT | O_EXCL, "to be written");
      to.reserve(bytes);
      to.write(begins.data(), begins.size(), 0);
      return std::pair(std::move(to), std::uint64_t{begins.size()});
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

}  // namespace pgas::inline PGAS_ASSERTIONS
