// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "in_quotes.hpp"

namespace example {

/// The common form of all errors about input, so that a handler only prints what().
[[noreturn]] inline void cannot_read(std::string_view name, std::string_view why) {
  throw std::runtime_error("cannot read " + in_quotes(name) + ": " + std::string(why));
}

[[noreturn]] inline void cannot_write(std::string_view name, std::string_view why) {
  throw std::runtime_error("cannot write " + in_quotes(name) + ": " + std::string(why));
}

namespace detail {

struct closer {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

inline std::string system_message(int error) { return std::generic_category().message(error); }

}  // namespace detail

/// The whole content of a file. Throws std::runtime_error if it cannot be opened or read, or holds more than
/// `limit` bytes. The limit keeps an endless device from filling the memory.
inline std::string read_file(std::filesystem::path const& path, std::size_t limit) {
  std::unique_ptr<std::FILE, detail::closer> const file(std::fopen(path.c_str(), "rb"));
  if (!file) cannot_read(path.string(), detail::system_message(errno));
  std::string content;
  std::size_t constexpr step = std::size_t{1} << 16;
  for (;;) {
    std::size_t const before = content.size();
    content.resize(before + step);
    std::size_t const got = std::fread(content.data() + before, 1, step, file.get());
    int const error = errno;  // resize() below may change it
    content.resize(before + got);
    if (std::ferror(file.get())) cannot_read(path.string(), detail::system_message(error));
    if (content.size() > limit)
      cannot_read(path.string(), "the file is larger than " + std::to_string(limit) + " bytes");
    if (got < step) return content;
  }
}

/// Writes a file under a temporary name beside `path` and renames it. A reader sees the old content or the
/// new one, and never a part of it. The new file keeps the old one's mode.
inline void replace_file(std::filesystem::path const& path, std::string_view content) {
  // The name must be new, even as a link: another user may have planted one in a folder such as /tmp.
  std::random_device random;
  std::string temporary;
  int descriptor = -1;
  for (int trials = 0; descriptor < 0 && trials < 100; ++trials) {
    temporary = path.string() + "." + std::to_string(random()) + ".part";
    descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno != EEXIST) break;
  }
  if (descriptor < 0) cannot_write(path.string(), detail::system_message(errno));
  int error = 0;
  while (!content.empty() && error == 0) {
    auto const written = ::write(descriptor, content.data(), content.size());
    if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
    if (written < 0 && errno != EINTR) error = errno;
  }
  struct ::stat old {};
  if (::stat(path.c_str(), &old) == 0 && ::fchmod(descriptor, old.st_mode & 0777) != 0 && error == 0)
    error = errno;
  // A full disk may show only when the file is closed.
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  std::remove(temporary.c_str());
  cannot_write(path.string(), detail::system_message(error));
}

}  // namespace example
