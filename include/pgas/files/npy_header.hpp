// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <bit>
#include <charconv>
#include <complex>
#include <concepts>
#include <cstdint>
#include <optional>
#include <pgas/detail/files/file.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/box.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace PGAS_NAMESPACE {

namespace detail {

template <class T>
inline constexpr bool is_complex = false;
template <std::floating_point T>
inline constexpr bool is_complex<std::complex<T>> = true;

}  // namespace detail

/// An element type that NPY files can name: integers, floating point and complex numbers, bool.
template <class T>
concept npy_element = std::is_arithmetic_v<T> || detail::is_complex<T>;

/// The content of an NPY file, as its header states it.
///
/// Format version 1.0: six bytes of magic, two of version, two for the length of the header, low byte first,
/// then the header and the elements. The header is a Python dictionary of `descr`, `fortran_order` and
/// `shape`, padded with blanks to a line end so that the elements begin at a multiple of 64 bytes. Version
/// 2.0 has a length of four bytes. See numpy.lib.format.
struct npy_header {
  std::string type;                ///< byte order, kind and size: "<f8"
  bool is_fortran = false;         ///< true if the first dimension is contiguous
  std::vector<std::size_t> shape;  ///< the extents

  friend bool operator==(npy_header const&, npy_header const&) = default;
};

namespace detail {

inline constexpr std::string_view npy_magic{"\x93NUMPY", 6};
/// The bytes before the header, in the longer of both versions.
inline constexpr std::size_t npy_preamble = 12;

/// The name of a type in NPY files.
template <npy_element T>
std::string npy_type() {
  static_assert(std::endian::native == std::endian::little,
                "npy: elements are written as they are in memory, "
                "and the header says that they are little-endian");
  char kind = 'i';
  if constexpr (std::is_same_v<T, bool>) {
    kind = 'b';
  } else if constexpr (is_complex<T>) {
    kind = 'c';
  } else if constexpr (std::is_floating_point_v<T>) {
    kind = 'f';
  } else if constexpr (std::is_unsigned_v<T>) {
    kind = 'u';
  }
  return (sizeof(T) == 1 ? "|" : "<") + std::string(1, kind) + std::to_string(sizeof(T));
}

/// All bytes of an NPY file before its elements.
inline std::string npy_beginning(npy_header const& h) {
  std::string shape;
  for (std::size_t const extent : h.shape) append_text(shape, {shape.empty() ? "" : ", ", extent});
  if (h.shape.size() == 1) shape += ",";  // a tuple, not a number in parentheses
  std::string text = "{'descr': '" + h.type + "', 'fortran_order': " + (h.is_fortran ? "True" : "False") +
                     ", 'shape': (" + shape + "), }";
  std::size_t const before = npy_magic.size() + 4;
  std::size_t const all = (before + text.size() + 1 + 63) / 64 * 64;
  text.append(all - before - text.size() - 1, ' ');
  text += '\n';
  std::string begins(npy_magic);
  begins += {1, 0, static_cast<char>(text.size() & 0xffU), static_cast<char>(text.size() >> 8U)};
  return begins + text;
}

/// The position of the header of an NPY file, from the first npy_preamble bytes. Throws file_failure.
struct npy_place {
  std::size_t first;
  std::size_t bytes;
};
inline npy_place npy_header_place(std::string_view begins) {
  if (begins.starts_with(npy_magic) && begins.size() < npy_preamble) {
    throw file_failure(errc::bad_file,
                       "ends after " + std::to_string(begins.size()) + " bytes, before its header");
  }
  if (!begins.starts_with(npy_magic)) {
    throw file_failure(errc::bad_file, "is no NPY file: it does not begin with \\x93NUMPY");
  }
  auto const byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(begins[i]));
  };
  std::size_t const major = byte(6);
  if (major != 1 && major != 2) {
    throw file_failure(errc::bad_file,
                       "is an NPY file of version " + std::to_string(major) + "." + std::to_string(byte(7)) +
                           ", but only versions 1.0 and 2.0 can be read; save it again with numpy.save");
  }
  std::size_t const short_length = byte(8) | byte(9) << 8U;
  if (major == 1) return {10, short_length};
  return {12, short_length | byte(10) << 16U | byte(11) << 24U};
}

/// Parses the dictionary of an NPY file: three keys in any order, each once, and no others.
class npy_parser {
 public:
  explicit npy_parser(std::string_view text) noexcept : rest_(text), all_(text.size()) {}

  npy_header parse() {
    std::optional<std::string> type;
    std::optional<bool> is_fortran;
    std::optional<std::vector<std::size_t>> shape;
    expect('{');
    while (!accept('}')) {
      std::string const key = quoted();
      expect(':');
      if (key == "descr" && !type) {
        skip_blanks();
        if (rest_.starts_with('[') || rest_.starts_with('{')) {
          throw file_failure(errc::bad_file,
                             "holds records of several fields, but only one field can be read; save each "
                             "field in its own file");
        }
        type = quoted();
      } else if (key == "fortran_order" && !is_fortran) {
        is_fortran = truth();
      } else if (key == "shape" && !shape) {
        shape = tuple();
      } else {
        wrong("the key " + in_quotes(key) + " is unknown or there twice");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (!rest_.empty()) wrong("something follows the dictionary");
    if (!type || !is_fortran || !shape) wrong("one of 'descr', 'fortran_order', 'shape' is missing");
    return {*type, *is_fortran, *shape};
  }

 private:
  [[noreturn]] void wrong(std::string const& what) const {
    throw file_failure(errc::bad_file, "has a header that is not understood at byte " +
                                           std::to_string(all_ - rest_.size()) + ": " + what);
  }
  void skip_blanks() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t'))
      rest_.remove_prefix(1);
  }
  bool accept(char c) {
    skip_blanks();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) wrong(std::string("a '") + c + "' should be there");
  }
  bool accept(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::string quoted() {
    char const quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    std::size_t const end = rest_.find(quote);
    if (end == std::string_view::npos) wrong("a text does not end");
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }
  bool truth() {
    if (accept(std::string_view("True"))) return true;
    if (!accept(std::string_view("False"))) wrong("True or False should be there");
    return false;
  }
  std::vector<std::size_t> tuple() {
    std::vector<std::size_t> numbers;
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      std::size_t value = 0;
      auto const [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
      if (error != std::errc{}) wrong("a number of elements should be there");
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      numbers.push_back(value);
      accept('L');  // Python 2 wrote long numbers so
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return numbers;
  }

  std::string_view rest_;
  std::size_t all_;
};

/// The header of an open NPY file, and the byte at which its elements begin. Throws file_failure.
struct opened_npy {
  npy_header header;
  std::uint64_t first;
};
inline opened_npy read_npy_header(file const& from) {
  std::uint64_t const size = from.size();
  std::string begins(static_cast<std::size_t>(std::min<std::uint64_t>(size, npy_preamble)), '\0');
  from.read(begins.data(), begins.size(), 0);
  auto const place = npy_header_place(begins);
  if (place.bytes > size - place.first) {
    throw file_failure(errc::bad_file, "ends after " + std::to_string(size) +
                                           " bytes, and its header is to have " +
                                           std::to_string(place.bytes));
  }
  std::string text(place.bytes, '\0');
  from.read(text.data(), text.size(), place.first);
  return {npy_parser(text).parse(), place.first + place.bytes};
}

/// Throws file_failure unless the elements of a file are those of an array of type T with these extents.
template <npy_element T, class Extents>
void check_npy(opened_npy const& found, Extents const& extents, std::uint64_t bytes_of_file) {
  auto const& [type, is_fortran, shape] = found.header;
  std::string const wanted = npy_type<T>();
  if (type != wanted) {
    bool const same_but_order = type.size() == wanted.size() && type.substr(1) == wanted.substr(1);
    if (same_but_order && type[0] == '>' && sizeof(T) > 1) {
      throw file_failure(errc::bad_file, "holds big-endian elements " + in_quotes(type) + ", but only '" +
                                             wanted + "' can be read; convert it with astype");
    }
    if (!same_but_order || (sizeof(T) > 1 && type[0] != '=')) {
      throw file_failure(errc::bad_file, "holds elements of type " + in_quotes(type) +
                                             ", but the array's are '" + wanted +
                                             "'; convert it with astype");
    }
  }
  if (is_fortran) {
    throw file_failure(errc::bad_file,
                       "stores its elements in Fortran order, but only C order can be read; convert it with "
                       "numpy.ascontiguousarray");
  }
  if (!std::equal(shape.begin(), shape.end(), extents.begin(), extents.end())) {
    throw file_failure(errc::bad_file, "holds an array of " +
                                           (shape.empty() ? "no dimensions" : joined(shape, " x ")) +
                                           ", but " + joined(extents, " x ") +
                                           " cells are to be loaded; load a box of the file's shape");
  }
  std::uint64_t cells = 1;
  for (std::size_t e : extents) cells *= e;
  if (bytes_of_file < found.first || (bytes_of_file - found.first) / sizeof(T) < cells) {
    throw file_failure(errc::bad_file, "is cut off: it has " + std::to_string(bytes_of_file) +
                                           " bytes, and needs " +
                                           std::to_string(found.first + cells * sizeof(T)));
  }
}

}  // namespace detail

}  // namespace PGAS_NAMESPACE
