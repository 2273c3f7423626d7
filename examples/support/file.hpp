// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <unistd.h>

namespace example {

/// The common form of all errors about input, so that a handler only prints what().
[[noreturn]] inline void cannot_read(std::string_view name, std::string_view why) {
  throw std::runtime_error("cannot read '" + std::string(name) + "': " + std::string(why));
}

[[noreturn]] inline void cannot_write(std::string_view name, std::string_view why) {
  throw std::runtime_error("cannot write '" + std::string(name) + "': " + std::string(why));
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
/// new one, and never a part of it.
inline void replace_file(std::filesystem::path const& path, std::string_view content) {
  // Ranks may be processes or threads, so the name differs for both.
  static std::atomic<unsigned> serial{0};
  std::string const temporary =
      path.string() + "." + std::to_string(::getpid()) + "-" + std::to_string(serial++) + ".part";
  std::FILE* const file = std::fopen(temporary.c_str(), "wb");
  if (!file) cannot_write(path.string(), detail::system_message(errno));
  int error = 0;
  errno = 0;
  if (std::fwrite(content.data(), 1, content.size(), file) != content.size()) error = errno ? errno : EIO;
  // A full disk may show only when the buffer is written.
  if (std::fclose(file) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  std::remove(temporary.c_str());
  cannot_write(path.string(), detail::system_message(error));
}

}  // namespace example
