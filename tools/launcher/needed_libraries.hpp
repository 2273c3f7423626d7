// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace pgas::launcher {

namespace detail {

/// A file in parts: a program may be large, and its list of libraries is small.
class parts_of_file {
 public:
  explicit parts_of_file(std::string const& path) : file_(path, std::ios::binary) {}

  /// `count` objects from this place of the file; none if the file does not have them all.
  template <class T>
  std::vector<T> read(std::uint64_t place, std::uint64_t count) {
    constexpr std::uint64_t most = 1U << 24;  // bytes: more than any list of libraries has
    std::vector<T> result;
    if (count == 0 || count > most / sizeof(T) || place > INT64_MAX) return result;
    result.resize(count);
    auto const size = static_cast<std::streamsize>(count * sizeof(T));
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(place));
    file_.read(reinterpret_cast<char*>(result.data()), size);
    if (file_.gcount() != size) result.clear();
    return result;
  }

 private:
  std::ifstream file_;
};

}  // namespace detail

/// The names of the shared libraries to which a program is linked, without those that its libraries add. None
/// if the file is no program in ELF of this machine's kind.
inline std::vector<std::string> needed_libraries(std::string const& program) {
  std::vector<std::string> names;
  detail::parts_of_file file(program);
  auto const header = file.read<::Elf64_Ehdr>(0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      header[0].e_ident[EI_CLASS] != ELFCLASS64 || header[0].e_ident[EI_DATA] != ELFDATA2LSB ||
      header[0].e_phentsize != sizeof(::Elf64_Phdr)) {
    return names;
  }
  auto const segments = file.read<::Elf64_Phdr>(header[0].e_phoff, header[0].e_phnum);

  std::vector<::Elf64_Dyn> entries;
  for (auto const& each : segments) {
    if (each.p_type == PT_DYNAMIC)
      entries = file.read<::Elf64_Dyn>(each.p_offset, each.p_filesz / sizeof(::Elf64_Dyn));
  }
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  for (auto const& each : entries) {
    if (each.d_tag == DT_STRTAB) address = each.d_un.d_ptr;
    if (each.d_tag == DT_STRSZ) size = each.d_un.d_val;
  }
  std::vector<char> text;
  for (auto const& each : segments) {
    if (each.p_type == PT_LOAD && address >= each.p_vaddr && address - each.p_vaddr < each.p_filesz)
      text = file.read<char>(address - each.p_vaddr + each.p_offset, size);
  }
  if (text.empty() || text.back() != '\0') return names;
  for (auto const& each : entries) {
    if (each.d_tag == DT_NULL) break;
    if (each.d_tag == DT_NEEDED && each.d_un.d_val < text.size())
      names.emplace_back(text.data() + each.d_un.d_val);
  }
  return names;
}

}  // namespace pgas::launcher
