// SPDX-License-Identifier: BSL-1.0
// The memory that the ranks of a job share beside payload.
// test: only addresses, unit job
#include <doctest/doctest.h>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <pgas/detail/job/block.hpp>
#include <pgas/detail/job/job.hpp>
#include <pgas/detail/job/limits.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <string>
#include <utility>

using pgas::detail::cores_in_quota;
using pgas::detail::groups_with;
using pgas::detail::job_block;
using pgas::detail::memory_left;

namespace {

/// A folder in place of the system's root, with files of these contents.
class system_tree {
 public:
  explicit system_tree(std::map<std::string, std::string> const& files)
      : root_(std::filesystem::temp_directory_path() / ("pgas-test-tree-" + std::to_string(::getpid()))) {
    for (auto const& [name, contents] : files) {
      auto const path = root_ / name;
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path) << contents;
    }
  }
  system_tree(system_tree const&) = delete;
  system_tree& operator=(system_tree const&) = delete;
  ~system_tree() { std::filesystem::remove_all(root_); }

  /// The bytes that all groups leave to one that wants so many.
  [[nodiscard]] std::uint64_t left(std::uint64_t wanted) const {
    return std::min(memory_left(groups_with("memory", 1, root_.string()), wanted),
                    memory_left(groups_with("memory", 2, root_.string()), wanted));
  }
  /// The whole cores that the quotas of all groups are worth.
  [[nodiscard]] std::uint64_t cores() const {
    return std::min(cores_in_quota(groups_with("cpu", 1, root_.string())),
                    cores_in_quota(groups_with("cpu", 2, root_.string())));
  }

 private:
  std::filesystem::path root_;
};

constexpr char const* mount_of_version_2 =
    "22 1 0:5 / /proc rw - proc proc rw\n"
    "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr char const* mounts_of_version_1 =
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

}  // namespace

TEST_CASE("the tightest limit of memory counts on every level of control groups of version 2") {
  for (std::string const tight : {"", "/a", "/a/b", "/a/b/c"}) {
    std::map<std::string, std::string> files{{"proc/self/cgroup", "0::/a/b/c\n"},
                                             {"proc/self/mountinfo", mount_of_version_2}};
    for (std::string const level : {"", "/a", "/a/b", "/a/b/c"}) {
      files["sys/fs/cgroup" + level + "/memory.max"] = level == tight ? "1000000\n" : "max\n";
      files["sys/fs/cgroup" + level + "/memory.current"] = "400000\n";
    }
    CHECK_MESSAGE(system_tree(files).left(1000) == 600'000, "the limit is on level ", tight);
  }
}

TEST_CASE("the tightest limit of memory counts on every level of control groups of version 1") {
  for (std::string const tight : {"", "/a", "/a/b"}) {
    std::map<std::string, std::string> files{{"proc/self/cgroup", "4:cpu,memory:/a/b\n0::/\n"},
                                             {"proc/self/mountinfo", mounts_of_version_1}};
    for (std::string const level : {"", "/a", "/a/b"}) {
      files["sys/fs/cgroup/memory" + level + "/memory.limit_in_bytes"] =
          level == tight ? "1000000\n" : "9223372036854771712\n";
      files["sys/fs/cgroup/memory" + level + "/memory.usage_in_bytes"] = "400000\n";
    }
    CHECK_MESSAGE(system_tree(files).left(1000) == 600'000, "the limit is on level ", tight);
  }
}

TEST_CASE("a container that sees its own control group as the root finds its limits") {
  system_tree const tree(
      {{"proc/self/cgroup", "4:memory:/docker/x/job\n"},
       {"proc/self/mountinfo", "35 31 0:32 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"},
       {"sys/fs/cgroup/memory/memory.limit_in_bytes", "5000\n"},
       {"sys/fs/cgroup/memory/memory.usage_in_bytes", "0\n"},
       {"sys/fs/cgroup/memory/job/memory.limit_in_bytes", "3000\n"},
       {"sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1000\n"}});
  CHECK(tree.left(1000) == 2000);
}

TEST_CASE("pages of files do not count as used memory of a control group when they are needed") {
  system_tree const tree({{"proc/self/cgroup", "0::/a\n"},
                          {"proc/self/mountinfo", mount_of_version_2},
                          {"sys/fs/cgroup/a/memory.max", "1000000\n"},
                          {"sys/fs/cgroup/a/memory.current", "900000\n"},
                          {"sys/fs/cgroup/a/memory.stat",
                           "anon 100000\nfile 700000\ninactive_file 500000\nactive_file 200000\n"}});
  CHECK(tree.left(1000) == 100'000);
  CHECK(tree.left(200'000) == 800'000);
}

TEST_CASE("a system without control groups limits no memory by them") {
  std::map<std::string, std::string> const files{{"proc/self/status", "Name: x\n"}};
  CHECK(system_tree(files).left(1) == pgas::detail::no_limit);
}

TEST_CASE("the tightest quota of processor time counts on every level of control groups of version 2") {
  for (std::string const tight : {"", "/a", "/a/b", "/a/b/c"}) {
    std::map<std::string, std::string> files{{"proc/self/cgroup", "0::/a/b/c\n"},
                                             {"proc/self/mountinfo", mount_of_version_2}};
    for (std::string const level : {"", "/a", "/a/b", "/a/b/c"})
      files["sys/fs/cgroup" + level + "/cpu.max"] = level == tight ? "350000 100000\n" : "max 100000\n";
    CHECK_MESSAGE(system_tree(files).cores() == 3, "the quota is on level ", tight);
  }
}

TEST_CASE("the tightest quota of processor time counts on every level of control groups of version 1") {
  for (std::string const tight : {"", "/a", "/a/b"}) {
    std::map<std::string, std::string> files{
        {"proc/self/cgroup", "4:cpu,cpuacct:/a/b\n5:memory:/c\n0::/\n"},
        {"proc/self/mountinfo", std::string(mounts_of_version_1) +
                                    "36 31 0:33 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"}};
    for (std::string const level : {"", "/a", "/a/b"}) {
      files["sys/fs/cgroup/cpu" + level + "/cpu.cfs_quota_us"] = level == tight ? "50000\n" : "-1\n";
      files["sys/fs/cgroup/cpu" + level + "/cpu.cfs_period_us"] = "100000\n";
    }
    CHECK_MESSAGE(system_tree(files).cores() == 1, "half a core is the quota of level ", tight);
  }
}

TEST_CASE("a system without quotas of processor time limits no cores by them") {
  std::map<std::string, std::string> files{{"proc/self/status", "Name: x\n"}};
  CHECK(system_tree(files).cores() == pgas::detail::no_limit);
  files = {{"proc/self/cgroup", "0::/a\n"},
           {"proc/self/mountinfo", mount_of_version_2},
           {"sys/fs/cgroup/a/cpu.max", "max 100000\n"}};
  CHECK(system_tree(files).cores() == pgas::detail::no_limit);
}

TEST_CASE("a process that may run on one core counts one core, and two ranks on it share it") {
  int const there = pgas::detail::allowed_cores().count();
  CHECK(there >= 1);
  CHECK(pgas::detail::available_cores() <= there);
  ::pid_t const child = ::fork();
  if (child == 0) {
    auto one = pgas::detail::allowed_cores();
    bool found = false;
    for (auto& each : one.bits) {
      each = found ? 0 : each & (~each + 1);  // the lowest bit of the first word that has one
      found = found || each != 0;
    }
    ::sched_setaffinity(0, sizeof one.bits, reinterpret_cast<::cpu_set_t const*>(one.bits.data()));
    bool const right = pgas::detail::available_cores() == 1 && pgas::detail::job::create(2).shares_cores() &&
                       !pgas::detail::job::create(1).shares_cores();
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("a block made in zeros equals a block whose constructor wrote every member") {
  // Both are zero before, so the gaps between members are equal.
  struct alignas(job_block) memory {
    std::array<std::byte, sizeof(job_block)> bytes{};
  };
  auto const first = std::make_unique<memory>();
  auto const second = std::make_unique<memory>();
  auto* const written = ::new (first.get()) job_block;
  auto* const made = job_block::make_in(second.get());
  CHECK(std::memcmp(written, made, sizeof(job_block)) == 0);
  CHECK(made->version.load() == job_block::layout);
}

TEST_CASE("a plain list keeps its elements as it grows, and takes out the last of equal ones") {
  pgas::detail::plain_list<int> list(2);
  CHECK(list[0] == 0);
  CHECK(list[1] == 0);
  for (int i = 1; i <= 100; ++i) list.push_back(i % 10);
  CHECK(list.size() == 102);
  CHECK(list[51] == 0);
  CHECK(list[52] == 1);
  list.remove(9);
  CHECK(list.size() == 101);
  CHECK(list[99] == 8);
  CHECK(list[100] == 0);
  list.push_back(list[99]);
  CHECK(list[101] == 8);
  auto moved = std::move(list);
  list = std::move(moved);
  CHECK(list.size() == 102);
  list.resize(0);
  CHECK(list.empty());
}
