// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <pgas/array/any_global_array.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/vocabulary/error.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// A failure of a file, in words that follow the file's name. It belongs to one rank; collective functions
/// pass it to all ranks.
class file_failure : public std::runtime_error {
 public:
  file_failure(errc code, std::string const& text) : std::runtime_error(text), code_(code) {}
  /// The failure of a system call, with its errno.
  file_failure(std::string const& text, int error)
      : file_failure(error == ENOSPC || error == EFBIG || error == EDQUOT ? errc::no_space : errc::bad_file,
                     text + ": " + std::generic_category().message(error)) {}

  [[nodiscard]] errc code() const noexcept { return code_; }

 private:
  errc code_;
};

/// An open file, of which several ranks read or write different bytes at once. Its functions throw
/// file_failure.
class file {
 public:
  /// Like ::open, but it never waits for the other end of a pipe, and child programs do not inherit the file.
  file(std::filesystem::path const& path, int flags, char const* what_for)
      : descriptor_(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0666)) {
    if (descriptor_ < 0) throw file_failure("cannot be opened " + std::string(what_for), errno);
  }
  file(file&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  file& operator=(file&&) = delete;
  ~file() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  /// The file system and the number of the file there, by which two processes of a node know that they have
  /// opened one file.
  struct identity {
    std::uint64_t device = 0;
    std::uint64_t number = 0;
    friend bool operator==(identity const&, identity const&) = default;
  };
  [[nodiscard]] identity which() const noexcept { return which(descriptor_); }
  static identity which(int descriptor) noexcept {
    struct stat facts {};
    if (::fstat(descriptor, &facts) != 0) return {};
    return {facts.st_dev, facts.st_ino};
  }

  /// The size in bytes. Requires a regular file.
  [[nodiscard]] std::uint64_t size() const {
    struct stat facts {};
    if (::fstat(descriptor_, &facts) != 0) throw file_failure("has no size that can be read", errno);
    if (!S_ISREG(facts.st_mode)) throw file_failure(errc::bad_file, "is a folder or device, not a file");
    return static_cast<std::uint64_t>(facts.st_size);
  }
  /// The first and the end of the next run of bytes from `at` on that the file stores; behind it is a hole,
  /// which reads as zeros. The run is empty if nothing but a hole follows.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> next_stored(std::uint64_t at) const {
    std::uint64_t const all = size();
    auto const first = ::lseek(descriptor_, static_cast<off_t>(at), SEEK_DATA);
    if (first < 0) return {errno == ENXIO ? all : at, all};
    auto const end = ::lseek(descriptor_, first, SEEK_HOLE);
    return {static_cast<std::uint64_t>(first), end < 0 ? all : static_cast<std::uint64_t>(end)};
  }
  /// Sets the size to `bytes` and allocates the disk space now if the file system can, so that a full disk
  /// shows before anything is written.
  void reserve(std::uint64_t bytes) const {
    check_limit(bytes);
    if (bytes != 0 && ::fallocate(descriptor_, 0, 0, static_cast<off_t>(bytes)) == 0) return;
    if (bytes == 0 || errno == EOPNOTSUPP || errno == ENOSYS) {
      if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) == 0) return;
    }
    throw file_failure("cannot be made " + std::to_string(bytes) + " bytes long", errno);
  }
  /// Throws unless this process may write `bytes` bytes to a file; exceeding the limit would end the process
  /// by a signal.
  static void check_limit(std::uint64_t bytes) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes) {
      throw file_failure(errc::no_space,
                         "would be " + std::to_string(bytes) + " bytes long, and files of more than " +
                             std::to_string(limit.rlim_cur) + " are not allowed (ulimit -f, RLIMIT_FSIZE)");
    }
  }

  /// Writes pieces of memory one after the other, from byte `first` of the file on. Changes `pieces`.
  void write(std::span<iovec> pieces, std::uint64_t first) const {
    move_all(pieces, first, "written", [this](iovec const* some, int count, off_t at) {
      return ::pwritev(descriptor_, some, count, at);
    });
  }
  /// Fills pieces of memory one after the other, from byte `first` of the file on. Changes `pieces`.
  void read(std::span<iovec> pieces, std::uint64_t first) const {
    move_all(pieces, first, "read", [this](iovec const* some, int count, off_t at) {
      return ::preadv(descriptor_, some, count, at);
    });
  }
  void read(void* to, std::size_t bytes, std::uint64_t first) const {
    iovec piece{to, bytes};
    read({&piece, 1}, first);
  }
  void write(void const* from, std::size_t bytes, std::uint64_t first) const {
    iovec piece{const_cast<void*>(from), bytes};  // only read: iovec has one kind of pointer
    write({&piece, 1}, first);
  }
  /// Returns when all written bytes are on the disk.
  void sync() const {
    if (::fsync(descriptor_) != 0 && errno != EINVAL)
      throw file_failure("cannot be synced to the disk", errno);
  }

 private:
  static constexpr std::size_t most_pieces = 1024;  // IOV_MAX

  template <class Move>
  static void move_all(std::span<iovec> pieces, std::uint64_t at, char const* what, Move const& move) {
    std::uint64_t end = at;
    for (iovec const& p : pieces) end += p.iov_len;
    while (!pieces.empty()) {
      if (pieces[0].iov_len == 0) {
        pieces = pieces.subspan(1);
        continue;
      }
      auto const moved =
          move(pieces.data(), static_cast<int>(std::min(pieces.size(), most_pieces)), static_cast<off_t>(at));
      if (moved < 0 && errno == EINTR) continue;
      if (moved <= 0) {
        std::string const text =
            "bytes " + std::to_string(at) + " to " + std::to_string(end) + " cannot be " + what;
        if (moved == 0) throw file_failure(errc::bad_file, text + ": the file ends before");
        throw file_failure(text, errno);
      }
      auto rest = static_cast<std::size_t>(moved);
      at += rest;
      while (rest != 0) {  // a signal or a full disk may have cut the transfer short
        iovec& p = pieces[0];
        std::size_t const part = std::min(rest, p.iov_len);
        p.iov_base = static_cast<char*>(p.iov_base) + part;
        p.iov_len -= part;
        rest -= part;
        if (p.iov_len == 0) pieces = pieces.subspan(1);
      }
    }
  }

  int descriptor_;
};

/// A file that the backend of an array carries, where the ranks are on several nodes and see the file through
/// a network. Its functions are those of `file`. Other backends carry no files.
template <any_global_array Array>
class carried_file {
  using backend_type = typename Array::state_type::backend_type;

 public:
  static constexpr bool is_possible = file_backend<backend_type>;

  explicit carried_file(Array const& a) {
    if constexpr (is_possible) is_wanted_ = a.state().team->backend.spans_nodes();
  }

  /// Returns whether the backend carries files. All ranks get the same answer.
  [[nodiscard]] bool is_wanted() const noexcept { return is_wanted_; }

  /// Opens a file that exists, to be written or to be read.
  void open(std::filesystem::path const& path, bool writes) {
    if constexpr (is_possible)
      named([&] { file_ = std::make_unique<typename backend_type::file_type>(path.string(), writes); });
  }
  void write(std::span<iovec> pieces, std::uint64_t first) const {
    if constexpr (is_possible) named([&] { file_->write(pieces, first); });
  }
  void read(std::span<iovec> pieces, std::uint64_t first) const {
    if constexpr (is_possible) named([&] { file_->read(pieces, first); });
  }
  void write(void const* from, std::size_t bytes, std::uint64_t first) const {
    iovec piece{const_cast<void*>(from), bytes};  // only read: iovec has one kind of pointer
    write({&piece, 1}, first);
  }
  void read(void* to, std::size_t bytes, std::uint64_t first) const {
    iovec piece{to, bytes};
    read({&piece, 1}, first);
  }
  void sync() const {
    if constexpr (is_possible) named([&] { file_->sync(); });
  }

 private:
  struct nothing {};
  template <class B>
  struct file_of {
    using type = nothing;
  };
  template <file_backend B>
  struct file_of<B> {
    using type = typename B::file_type;
  };

  /// Turns an error of the backend into a failure of the file, to which the caller adds the name.
  template <class Act>
  static void named(Act const& act) {
    try {
      act();
    } catch (error const& failure) {
      throw file_failure(static_cast<errc>(failure.code().value()),
                         "cannot be used by ranks of several nodes: " + failure.description());
    }
  }

  bool is_wanted_ = false;
  std::unique_ptr<typename file_of<backend_type>::type> file_;
};

/// Calls use(file) with the file that the backend carries, if it wants to, else with `plain`.
template <class Array, class Use>
void with_file(carried_file<Array> const& carried, file const& plain, Use const& use) {
  if constexpr (carried_file<Array>::is_possible) {
    if (carried.is_wanted()) return use(carried);
  }
  use(plain);
}

}  // namespace PGAS_NAMESPACE::detail
