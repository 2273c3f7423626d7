// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <pgas/backends/pool_map.hpp>
#include <stdexcept>
#include <string>

namespace pgas_test {

/// An unnamed plain file for pool_map, removed with the job.
template <std::uint64_t Bytes>
struct temporary_pool {
  /// Not at the beginning of the file, so that a forgotten offset is noticed.
  static constexpr std::uint64_t offset = 8192;

  static pgas::pool_memory open() {
    std::string name = (std::filesystem::temp_directory_path() / "pgas-test-pool-XXXXXX").string();
    int const fd = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd < 0) throw std::runtime_error(name + ": " + std::strerror(errno));
    ::unlink(name.c_str());
    if (::ftruncate(fd, static_cast<::off_t>(offset + Bytes)) != 0) {
      int const why = errno;
      ::close(fd);
      throw std::runtime_error(name + ": " + std::strerror(why));
    }
    return {.fd = fd, .offset = offset, .bytes = 0};
  }
};

using pool_backend = pgas::basic_pool_map<temporary_pool<std::uint64_t{256} << 20U>>;
static_assert(pgas::backend<pool_backend>);

}  // namespace pgas_test
