// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <pgas/detail/process/one_per_process.hpp>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace PGAS_NAMESPACE::detail {

/// Holds back the signals of this thread that can be held back, as long as it lives.
class uninterrupted {
 public:
  uninterrupted() noexcept {
    ::sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  uninterrupted(uninterrupted const&) = delete;
  uninterrupted& operator=(uninterrupted const&) = delete;
  ~uninterrupted() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  ::sigset_t before_{};
};

/// A new file that replaces another one when it is complete. Readers see the old file or the complete new
/// one.
///
/// While it is written, the file has no name (O_TMPFILE), so nothing of it stays, whatever ends the process.
/// `commit` gives it its name. If the path has a file already, `commit` needs a second name for an instant,
/// since no system call replaces a name by a nameless file. No signal but SIGKILL interrupts the two steps. A
/// file system without nameless files, or a system without /proc, gets a file NAME.NUMBER.part, which the
/// destructor removes. No function follows a link at such a name.
///
/// The new file has the mode of the old one, and its owner and group if the system permits that. Without an
/// old file, the umask decides. Functions return an errno, or 0.
class replacing_file {
 public:
  /// A number that differs between all files of all processes.
  static std::uint64_t next_number() noexcept {
    auto& made = one_per_process<made_so_far>().count;
    // relaxed: the number tells files apart, and orders nothing
    return static_cast<std::uint64_t>(::getpid()) << 32U | made.fetch_add(1, std::memory_order_relaxed);
  }

  /// Follows the symbolic links at `path` to the file to be replaced, which may be missing. Returns the
  /// reason if that is no regular file, else an empty text. Throws std::filesystem::filesystem_error.
  static std::string follow(std::filesystem::path& path) {
    namespace fs = std::filesystem;
    for (int links = 0; fs::is_symlink(path); ++links) {
      if (links == 40) return "cannot be found: " + std::generic_category().message(ELOOP);
      path = path.parent_path() / fs::read_symlink(path);
    }
    auto const kind = fs::status(path).type();
    if (kind == fs::file_type::regular || kind == fs::file_type::not_found) return {};
    return "is a folder or device, not a file that can be replaced";
  }

  /// `path` is the file to be replaced, and no symbolic link. Several processes may hold an object of one
  /// file, if all give the same number. One of them makes the file.
  replacing_file(std::filesystem::path path, std::uint64_t number)
      : path_(std::move(path)), part_(path_.string() + "." + std::to_string(number) + ".part") {}
  replacing_file(replacing_file const&) = delete;
  replacing_file& operator=(replacing_file const&) = delete;
  ~replacing_file() {
    if (is_named_) ::unlink(part_.c_str());  // fails if another process removed it first
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  /// Makes the file without a name.
  [[nodiscard]] int make_nameless() noexcept {
    descriptor_ = ::open(folder().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (descriptor_ < 0) return errno;
    if (::access(place().c_str(), F_OK) == 0) return 0;
    int const why = errno;
    ::close(std::exchange(descriptor_, -1));
    return why;
  }
  /// Makes the file under the name `part()`.
  [[nodiscard]] int make_named() noexcept {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = ::open(part_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor_ < 0) return errno;
    is_named_ = true;
    return 0;
  }
  /// Makes the file without a name if that is possible.
  [[nodiscard]] int make() noexcept { return make_nameless() == 0 ? 0 : make_named(); }

  /// The object removes the name `part()` if this process ends without `commit` or `forget`.
  void remember_name() noexcept { is_named_ = true; }
  void forget() noexcept { is_named_ = false; }

  [[nodiscard]] bool is_named() const noexcept { return is_named_; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] std::string const& part() const noexcept { return part_; }
  /// The path at which any process of this user opens the file: a name, or the maker's descriptor.
  [[nodiscard]] std::string place() const {
    return is_named_ ? part_ : place_of(static_cast<std::uint64_t>(::getpid()), descriptor_);
  }
  static std::string place_of(std::uint64_t process, int descriptor) {
    return "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
  }

  /// Gives the complete file its name. Returns when the name is on the disk. Called by the maker.
  [[nodiscard]] int commit() noexcept {
    keep_mode();
    if (::fsync(descriptor_) != 0 && errno != EINVAL) return errno;
    {
      uninterrupted const both_steps;
      if (!is_named_) {
        if (give_name(path_.string()) == 0) return sync_folder();
        if (errno != EEXIST || give_name(part_) != 0) return errno;
        is_named_ = true;
      }
      if (::rename(part_.c_str(), path_.c_str()) != 0) return errno;
      is_named_ = false;
    }
    return sync_folder();
  }

 private:
  /// The numbers that this process has given.
  struct made_so_far {
    static constexpr std::string_view shared_name = "replacing_file";
    std::atomic<std::uint32_t> count{0};
  };

  [[nodiscard]] std::filesystem::path folder() const {
    auto const in = path_.parent_path();
    return in.empty() ? "." : in;
  }
  [[nodiscard]] int give_name(std::string const& name) const noexcept {
    return ::linkat(AT_FDCWD, place().c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
  }
  void keep_mode() const noexcept {
    struct ::stat old {};
    struct ::stat made {};
    if (::lstat(path_.c_str(), &old) != 0 || ::fstat(descriptor_, &made) != 0) return;
    bool is_owned = old.st_uid == made.st_uid && old.st_gid == made.st_gid;
    if (!is_owned) is_owned = ::fchown(descriptor_, old.st_uid, old.st_gid) == 0;
    // A set-id bit would lend the rights of an owner that the old file did not have.
    ::mode_t const bits = is_owned ? 07777 : 0777;
    static_cast<void>(::fchmod(descriptor_, old.st_mode & bits));  // the file is complete with any mode
  }
  [[nodiscard]] int sync_folder() const noexcept {
    int const in = ::open(folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (in < 0) return errno;
    int const why = ::fsync(in) == 0 || errno == EINVAL ? 0 : errno;
    ::close(in);
    return why;
  }

  std::filesystem::path path_;
  std::string part_;
  int descriptor_ = -1;
  bool is_named_ = false;
};

}  // namespace PGAS_NAMESPACE::detail
