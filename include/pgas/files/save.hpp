// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <filesystem>
#include <pgas/files/npy.hpp>
#include <pgas/files/strip.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

namespace detail {

/// One rank's view of a collective transfer between an array and a file: what went wrong on one is thrown by all.
template <any_global_array Array>
class file_transfer {
 public:
  using box_type = typename Array::box_type;

  /// `within` names a part of the file, where it has several.
  file_transfer(Array const& a, box_type const& cells, std::filesystem::path const& path, std::string_view within,
                std::string_view operation)
      : array_(&a), path_(path), operation_(operation) {
    std::size_t const mine = std::hash<std::string>{}(path.string() + ":" + std::string(within) + ":" +
                                                      joined(cells.first, " ") + ": " + joined(cells.count, " "));
    std::vector<std::uint64_t> all;
    collectives().all_gather(std::uint64_t{mine}, operation_, [&](rank_t, std::uint64_t h) { all.push_back(h); });
    auto const other = std::find_if(all.begin(), all.end(), [&](std::uint64_t h) { return h != all[0]; });
    if (other != all.end()) {
      throw error(errc::mismatch, a.state().job_rank(), operation_,
                  "rank " + std::to_string(other - all.begin()) +
                      " names another file or box than rank 0; all must name the same");
    }
    PGAS_EXPECTS(light, cells.is_within(a.extents()),
                 throw error(errc::out_of_range, a.state().job_rank(), operation_,
                             joined(cells.count, " x ") + " cells do not fit at (" + joined(cells.first, ", ") +
                                 ") in an array of " + joined(a.extents(), " x ")));
  }

  /// Calls act() unless something has gone wrong here before, and keeps what goes wrong.
  template <class Act>
  void attempt(Act const& act) {
    if (failed_) return;
    try {
      act();
    } catch (file_failure const& failure) {
      failed_ = failure;
    } catch (std::filesystem::filesystem_error const& failure) {
      failed_ = file_failure("cannot be looked at", failure.code().value());
    }
  }
  /// Keeps what went wrong elsewhere.
  void note(std::optional<file_failure> const& failure) {
    if (!failed_) failed_ = failure;
  }
  /// Throws on every rank, if something has gone wrong on one, what did on the first of them.
  void agree() {
    rank_t first = -1;
    errc code{};
    collectives().all_gather(std::uint64_t{failed_ ? static_cast<std::uint64_t>(failed_->code()) : 0}, operation_,
                             [&](rank_t rank, std::uint64_t theirs) {
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

/// A file that is written under another name beside its own: whoever reads sees the old one or the new one, whole.
/// Every rank holds one, and each removes it when it leaves early, since others may not be able to.
class unfinished_file {
 public:
  unfinished_file(std::filesystem::path const& path, std::uint64_t number)
      : temporary_(path.string() + "." + std::to_string(number) + ".part"), path_(path) {}
  unfinished_file(unfinished_file const&) = delete;
  unfinished_file& operator=(unfinished_file const&) = delete;
  ~unfinished_file() {
    if (!finished_) ::unlink(temporary_.c_str());  // if it is not there, another rank was first
  }

  /// Another number for each file of each process.
  static std::uint64_t next_number() noexcept {
    static std::atomic<std::uint32_t> serial{0};
    // relaxed: the number tells files apart, and orders nothing
    return static_cast<std::uint64_t>(::getpid()) << 32U | serial.fetch_add(1, std::memory_order_relaxed);
  }

  [[nodiscard]] std::filesystem::path const& temporary() const noexcept { return temporary_; }
  /// Gives it its own name. Returns when that is on the disk. On one rank.
  void rename() {
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw file_failure("cannot be replaced", errno);
    finished_ = true;
    auto const folder = path_.parent_path();
    file(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY, "to look at its folder").sync();
  }
  void finish() noexcept { finished_ = true; }

 private:
  std::filesystem::path temporary_;
  std::filesystem::path path_;
  bool finished_ = false;
};

/// Nobody wants to know how far it is.
struct no_progress {
  void operator()(std::uint64_t, std::uint64_t) const noexcept {}
};

/// A link stands for the file it names, which need not be there; else a file takes its place, and must be a file's.
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

/// Writes the cells of a box to a file of `bytes` bytes or a few more, whatever comes before the elements in it:
/// begin(path) makes a file there, on rank 0, and returns it with the byte at which they begin.
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
  all.agree();  // it is there
  all.collectives().broadcast(first, 0, all.operation());
  all.attempt([&] {
    if (!to) to.emplace(unfinished.temporary(), O_WRONLY, "to be written");
  });
  all.note(strip<Array>(a, cells).write(to ? &*to : nullptr, first, progress));
  all.attempt([&] { to->sync(); });
  all.agree();  // all of it is there
  if (a.rank() == 0) all.attempt([&] { unfinished.rename(); });
  all.agree();
  unfinished.finish();
}

/// Reads them from one: find(file), on rank 0, returns the byte at which they begin.
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

/// Saves a box of cells in an NPY file, which numpy.load and load() read: `save(a, {{0, 0}, {10, 10}}, "corner.npy")`.
///
/// Collective over the team that the array was made on; all name the same box and file. Ranks write their strips of one
/// file at once: of an array in blocks of rows each writes its own, without a copy, else cells are got together first.
/// The file is written under another name in the same folder, and has its own only when all of it is on the disk; until
/// then an old one stays. `progress(done, total)` is called on each rank after each 8 MiB, with bytes of its own strip.
/// Every rank must see the same folder, which ranks on one host do, whatever their backend.
/// Requires no open epoch on the array. Throws, the same on every rank, errc::bad_file when the file cannot be written,
/// errc::no_space when the disk is full or a limit is reached, errc::mismatch, errc::out_of_range; the old file stays,
/// and no other. Only if all ranks are killed at once, the unfinished one stays, NAME.NUMBER.part.
/// Costs two fences unless own rows are written, a few barriers, 8 MiB a rank, and what the disk takes.
/// MPI: MPI_File_write_all; numpy: save.
template <any_global_array Array, std::invocable<std::uint64_t, std::uint64_t> Progress = detail::no_progress>
void save(Array const& a, std::type_identity_t<typename Array::box_type> const& cells,
          std::filesystem::path const& path, Progress&& progress = {}) {
  using value_type = typename Array::value_type;
  static_assert(npy_element<value_type>,
                "save: an NPY file holds integers, floating point numbers, complex numbers or bool; copy the members "
                "of a struct to arrays of their own, and save each");
  if constexpr (npy_element<value_type>) {
    std::string const begins =
        detail::npy_beginning({detail::npy_type<value_type>(), false, {cells.count.begin(), cells.count.end()}});
    std::uint64_t const bytes = begins.size() + cells.size() * sizeof(value_type);
    detail::save_elements(a, cells, path, "", bytes, progress, [&](std::filesystem::path const& unfinished) {
      detail::file to(unfinished, O_WRONLY | O_CREAT | O_EXCL, "to be written");
      to.reserve(bytes);
      to.write(begins.data(), begins.size(), 0);
      return std::pair(std::move(to), std::uint64_t{begins.size()});
    });
  }
}

/// Saves all cells. Else like save of a box.
template <any_global_array Array, std::invocable<std::uint64_t, std::uint64_t> Progress = detail::no_progress>
void save(Array const& a, std::filesystem::path const& path, Progress&& progress = {}) {
  save(a, typename Array::box_type{{}, a.extents()}, path, std::forward<Progress>(progress));
}

/// Loads a box of cells from an NPY file of just those extents and this type, as numpy.save and save() write it.
///
/// Collective like save. When it returns this rank's own cells are there, and an epoch that is opened next shows them
/// to others; ghost cells stay as they are. What follows the elements in the file is not looked at.
/// Throws, the same on every rank, errc::bad_file when the file is not there, cut off, of another type, shape or order
/// of bytes, in Fortran's order, or no NPY file; no cell has then been changed, unless reading failed in the middle.
/// Costs what save does. MPI: MPI_File_read_all; numpy: load.
template <any_global_array Array, std::invocable<std::uint64_t, std::uint64_t> Progress = detail::no_progress>
void load(Array const& a, std::type_identity_t<typename Array::box_type> const& cells,
          std::filesystem::path const& path, Progress&& progress = {}) {
  using value_type = typename Array::value_type;
  static_assert(npy_element<value_type>,
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

/// Loads all cells. Else like load of a box.
template <any_global_array Array, std::invocable<std::uint64_t, std::uint64_t> Progress = detail::no_progress>
void load(Array const& a, std::filesystem::path const& path, Progress&& progress = {}) {
  load(a, typename Array::box_type{{}, a.extents()}, path, std::forward<Progress>(progress));
}

}  // namespace pgas::inline PGAS_ASSERTIONS
