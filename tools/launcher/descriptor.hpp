// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace pgas::launcher {

[[noreturn]] inline void throw_errno(std::string const& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// Owns a file descriptor.
class descriptor {
 public:
  descriptor() noexcept = default;
  explicit descriptor(int fd) noexcept : fd_(fd) {}
  descriptor(descriptor&& other) noexcept : fd_(other.release()) {}
  descriptor& operator=(descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = other.release();
    }
    return *this;
  }
  ~descriptor() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  void reset() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

struct pipe_ends {
  descriptor read;
  descriptor write;
};

inline pipe_ends make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_errno("cannot make a pipe for a rank's output");
  return {descriptor(ends[0]), descriptor(ends[1])};
}

/// A second descriptor of the same open file, which no rank inherits.
inline descriptor duplicate(int fd) {
  int const copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) throw_errno("cannot duplicate descriptor " + std::to_string(fd));
  return descriptor(copy);
}

/// Calls each(number) for every entry of `folder` that is a number.
template <class Each>
void for_each_number_in(char const* folder, Each const& each) {
  ::DIR* const open = ::opendir(folder);
  if (open == nullptr) return;
  while (::dirent const* const entry = ::readdir(open)) {
    std::string_view const name = entry->d_name;
    int number = 0;
    auto const [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (wrong == std::errc{} && end == name.data() + name.size()) each(number);
  }
  ::closedir(open);
}

/// Opens 0, 1 and 2 if they are closed, so that no pipe gets such a number. Closes the other descriptors at
/// exec, so that a rank inherits only what it needs.
inline void tidy_descriptors() {
  for (int fd = 0; fd < 3; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != fd) throw_errno("cannot open /dev/null");
  }
  std::vector<int> inherited;
  for_each_number_in("/proc/self/fd", [&](int fd) {
    if (fd > 2) inherited.push_back(fd);
  });
  for (int const fd : inherited) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/// Raises the limit of this process' descriptors as far as it may: it needs three for each rank. Returns the
/// limit that ranks get.
inline ::rlimit raise_descriptor_limit() {
  ::rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  ::rlimit raised = before;
  raised.rlim_cur = before.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &raised);
  return before;
}

}  // namespace pgas::launcher
