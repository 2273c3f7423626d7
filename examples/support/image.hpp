// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <png.h>

#include "file.hpp"

namespace example {

/// A grey picture: 0 is black (cold), 1 is white (hot); row 0 is at the top.
struct image {
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::vector<float> pixels;  ///< row major, rows * cols

  [[nodiscard]] float operator()(std::size_t row, std::size_t col) const { return pixels[row * cols + col]; }
};

/// A picture in grey or in colours: its channels one after the other, each like the pixels of an image.
struct photo {
  std::size_t channels = 0;  ///< 1, or red, green and blue
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::vector<float> pixels;  ///< channels * rows * cols

  [[nodiscard]] float operator()(std::size_t channel, std::size_t row, std::size_t col) const {
    return pixels[(channel * rows + row) * cols + col];
  }
};

/// A larger picture is taken for a damaged header.
inline constexpr std::size_t max_pixels = std::size_t{1} << 28;

namespace detail {

using byte_view = std::span<unsigned char const>;

inline byte_view bytes_of(std::string_view content) {
  return {reinterpret_cast<unsigned char const*>(content.data()), content.size()};
}

inline void check_size(std::string_view name, std::size_t rows, std::size_t cols) {
  std::string const size = std::to_string(rows) + " rows of " + std::to_string(cols) + " pixels";
  if (rows == 0 || cols == 0) cannot_read(name, "the picture is empty: " + size);
  if (rows > max_pixels / cols)
    cannot_read(name, "the picture is too large: " + size + ", more than " + std::to_string(max_pixels));
}

// ---- PGM -------------------------------------------------------------------------------------------

inline bool is_space(unsigned char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }
inline bool is_digit(unsigned char c) noexcept { return c >= '0' && c <= '9'; }

/// Walks the numbers of a PGM file; blanks and comments stand between them.
class pgm_scanner {
 public:
  pgm_scanner(std::string_view name, byte_view bytes) : name_(name), bytes_(bytes) {}

  [[nodiscard]] std::size_t number(std::string_view what) {
    skip();
    if (at_ == bytes_.size()) cannot_read(name_, "the file ends before the " + std::string(what));
    if (!is_digit(bytes_[at_]))
      cannot_read(name_, "expected the " + std::string(what) + " at byte " + std::to_string(at_) +
                             ", found no digit");
    std::size_t value = 0;
    for (; at_ < bytes_.size() && is_digit(bytes_[at_]); ++at_)
      // Saturates: such a large number is refused anyway, and must not wrap around to a small one.
      value = std::min(value * 10 + (bytes_[at_] - std::size_t{'0'}), std::size_t{1} << 40);
    return value;
  }

  /// One blank stands between the header and binary samples; a second blank would be a sample.
  [[nodiscard]] byte_view raster() {
    if (at_ == bytes_.size() || !is_space(bytes_[at_]))
      cannot_read(name_, "the header is not followed by a blank: the file is truncated or no PGM file");
    return bytes_.subspan(at_ + 1);
  }

  [[nodiscard]] std::size_t left() const noexcept { return bytes_.size() - at_; }

 private:
  void skip() noexcept {
    while (at_ < bytes_.size() && (is_space(bytes_[at_]) || bytes_[at_] == '#')) {
      if (bytes_[at_] == '#')
        while (at_ < bytes_.size() && bytes_[at_] != '\n' && bytes_[at_] != '\r') ++at_;
      else
        ++at_;
    }
  }

  std::string_view name_;
  byte_view bytes_;
  std::size_t at_ = 2;  // behind the magic number
};

inline image decode_pgm(std::string_view name, byte_view bytes) {
  pgm_scanner scan(name, bytes);
  image picture;
  picture.cols = scan.number("width");
  picture.rows = scan.number("height");
  std::size_t const white = scan.number("largest grey value");
  check_size(name, picture.rows, picture.cols);
  if (white == 0 || white > 65535)
    cannot_read(name, "the largest grey value is " + std::to_string(white) + ", not in 1..65535");

  std::size_t const count = picture.rows * picture.cols;
  auto const scaled = [&](std::size_t sample) {
    if (sample > white)
      cannot_read(name, "a grey value of " + std::to_string(sample) + " exceeds the largest, " +
                            std::to_string(white));
    return static_cast<float>(sample) / static_cast<float>(white);
  };
  auto const require = [&](std::size_t needed, std::size_t available) {
    if (available < needed)
      cannot_read(name, "the file is truncated: " + std::to_string(count) + " pixels need " +
                            std::to_string(needed) + " bytes, and " + std::to_string(available) +
                            " follow the header");
  };

  // Both forms count the bytes before they reserve room for the pixels, so a header alone costs no memory.
  if (bytes[1] == '2') {
    require(2 * count, scan.left() + 1);  // a blank and a digit each; the last newline may be missing
    picture.pixels.reserve(count);
    for (std::size_t i = 0; i < count; ++i) picture.pixels.push_back(scaled(scan.number("next grey value")));
    return picture;
  }
  std::size_t const width = white > 255 ? 2 : 1;
  byte_view const raster = scan.raster();
  require(width * count, raster.size());
  picture.pixels.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    picture.pixels.push_back(
        scaled(width == 1 ? raster[i] : std::size_t{raster[2 * i]} * 256 + raster[2 * i + 1]));
  return picture;
}

// ---- PNG -------------------------------------------------------------------------------------------
//
// libpng reports an error by longjmp, which must not cross an object with a destructor. So each function
// that calls setjmp below owns trivial locals only; vectors and strings live in its callers.

/// Receives the messages of libpng; it must not move while a png_struct points to it.
struct png_errors {
  char text[160] = "";

  [[noreturn]] static void fail(png_structp png, png_const_charp why) {
    auto* const self = static_cast<png_errors*>(png_get_error_ptr(png));
    std::snprintf(self->text, sizeof self->text, "%s", why);
    png_longjmp(png, 1);
  }
  static void ignore(png_structp, png_const_charp) {}
};

class png_reader {
 public:
  explicit png_reader(byte_view bytes)
      : bytes_(bytes),
        png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, &errors_, &png_errors::fail, &png_errors::ignore)),
        info_(png_ ? png_create_info_struct(png_) : nullptr) {}
  png_reader(png_reader const&) = delete;
  png_reader& operator=(png_reader const&) = delete;
  ~png_reader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  [[nodiscard]] bool started() const noexcept { return info_ != nullptr; }
  [[nodiscard]] char const* why() const noexcept { return errors_.text; }

  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t stored_row_bytes = 0;  ///< as in the file
  std::size_t row_bytes = 0;         // as returned: 16 bits a channel, big endian
  std::size_t channels = 0;

  [[nodiscard]] bool header() noexcept {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // the message of check_size() is better
    png_set_read_fn(png_, this, &png_reader::read);
    png_read_info(png_, info_);
    rows = png_get_image_height(png_, info_);
    cols = png_get_image_width(png_, info_);
    stored_row_bytes = png_get_rowbytes(png_, info_);
    png_set_expand_16(png_);  // palette to colour, transparency to alpha, everything to 16 bits
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    row_bytes = png_get_rowbytes(png_, info_);
    channels = png_get_channels(png_, info_);
    return true;
  }

  /// Reads to the end of the file, so that a truncated file is detected.
  [[nodiscard]] bool pixels(png_bytep* row_pointers) noexcept {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_read_image(png_, row_pointers);
    png_read_end(png_, nullptr);
    return true;
  }

 private:
  static void read(png_structp png, png_bytep to, std::size_t count) {
    auto* const self = static_cast<png_reader*>(png_get_io_ptr(png));
    if (count > self->bytes_.size() - self->at_) png_error(png, "the file is truncated");
    std::copy_n(self->bytes_.data() + self->at_, count, to);
    self->at_ += count;
  }

  byte_view bytes_;
  std::size_t at_ = 0;
  png_errors errors_;
  png_structp png_;
  png_infop info_;
};

inline constexpr std::array<unsigned char, 8> png_signature{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

inline std::size_t big_endian_32(byte_view bytes, std::size_t at) {
  return std::size_t{bytes[at]} << 24 | std::size_t{bytes[at + 1]} << 16 | std::size_t{bytes[at + 2]} << 8 |
         std::size_t{bytes[at + 3]};
}

/// A decoded PNG: samples of 16 bits, the channels of a pixel together.
struct png_samples {
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t channels = 0;  ///< grey, grey and alpha, colours, colours and alpha
  std::vector<png_byte> bytes;

  [[nodiscard]] float operator()(std::size_t pixel, std::size_t channel) const {
    png_byte const* const sample = bytes.data() + (pixel * channels + channel) * 2;
    return static_cast<float>(sample[0] * 256 + sample[1]);
  }
  /// The opacity of a pixel. A transparent pixel shows a black ground, and so is cold.
  [[nodiscard]] float opacity(std::size_t pixel) const {
    return channels == 2 || channels == 4 ? (*this)(pixel, channels - 1) / 65535.0F : 1.0F;
  }
};

inline bool is_png(byte_view bytes) {
  return bytes.size() >= png_signature.size() &&
         std::equal(png_signature.begin(), png_signature.end(), bytes.begin());
}

inline png_samples decode_png(std::string_view name, byte_view bytes) {
  // The size stands at a fixed place; of a bad one libpng would only say "invalid IHDR data".
  std::string_view const kind = "IHDR";
  if (bytes.size() >= 24 && std::equal(kind.begin(), kind.end(), bytes.begin() + 12))
    check_size(name, big_endian_32(bytes, 20), big_endian_32(bytes, 16));
  png_reader reader(bytes);
  if (!reader.started()) cannot_read(name, "libpng does not start");
  if (!reader.header()) cannot_read(name, "damaged PNG file: " + std::string(reader.why()));
  check_size(name, reader.rows, reader.cols);
  // Deflate shrinks by 1032 at most: a short file cannot hold the large picture that its header claims.
  if (reader.rows > (bytes.size() * 1032) / reader.stored_row_bytes)
    cannot_read(name, "damaged PNG file: the file is truncated");

  png_samples samples{reader.rows, reader.cols, reader.channels,
                      std::vector<png_byte>(reader.rows * reader.row_bytes)};
  std::vector<png_bytep> rows(reader.rows);
  for (std::size_t row = 0; row < reader.rows; ++row)
    rows[row] = samples.bytes.data() + row * reader.row_bytes;
  if (!reader.pixels(rows.data())) cannot_read(name, "damaged PNG file: " + std::string(reader.why()));
  return samples;
}

inline image grey_of(png_samples const& samples) {
  image picture{samples.rows, samples.cols, {}};
  picture.pixels.reserve(picture.rows * picture.cols);
  for (std::size_t i = 0; i < picture.rows * picture.cols; ++i) {
    // The weights are those of Rec. 709. Equal channels are kept exactly, so a grey picture does not change.
    float grey = samples(i, 0);
    if (samples.channels >= 3 && !(samples(i, 1) == grey && samples(i, 2) == grey))
      grey = 0.2126F * samples(i, 0) + 0.7152F * samples(i, 1) + 0.0722F * samples(i, 2);
    picture.pixels.push_back(std::min(grey * samples.opacity(i) / 65535.0F, 1.0F));
  }
  return picture;
}

inline photo colours_of(png_samples const& samples) {
  photo picture{samples.channels >= 3 ? std::size_t{3} : std::size_t{1}, samples.rows, samples.cols, {}};
  picture.pixels.reserve(picture.channels * picture.rows * picture.cols);
  for (std::size_t c = 0; c < picture.channels; ++c)
    for (std::size_t i = 0; i < picture.rows * picture.cols; ++i)
      picture.pixels.push_back(samples(i, c) * samples.opacity(i) / 65535.0F);
  return picture;
}

class png_writer {
 public:
  png_writer()
      : png_(
            png_create_write_struct(PNG_LIBPNG_VER_STRING, &errors_, &png_errors::fail, &png_errors::ignore)),
        info_(png_ ? png_create_info_struct(png_) : nullptr) {}
  png_writer(png_writer const&) = delete;
  png_writer& operator=(png_writer const&) = delete;
  ~png_writer() { png_destroy_write_struct(&png_, &info_); }

  [[nodiscard]] bool started() const noexcept { return info_ != nullptr; }
  [[nodiscard]] char const* why() const noexcept { return errors_.text; }
  [[nodiscard]] std::string const& content() const noexcept { return content_; }

  /// Rows of samples of 8 bits: of grey, of red, green and blue, or, with a palette, of indices into it.
  [[nodiscard]] bool encode(std::size_t rows, std::size_t cols, std::size_t channels, png_byte const* samples,
                            std::span<png_color const> palette = {}) noexcept {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_write_fn(png_, this, &png_writer::write, &png_writer::flush);
    int const kind = !palette.empty() ? PNG_COLOR_TYPE_PALETTE
                     : channels == 3  ? PNG_COLOR_TYPE_RGB
                                      : PNG_COLOR_TYPE_GRAY;
    png_set_IHDR(png_, info_, static_cast<png_uint_32>(cols), static_cast<png_uint_32>(rows), 8, kind,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (!palette.empty()) png_set_PLTE(png_, info_, palette.data(), static_cast<int>(palette.size()));
    png_write_info(png_, info_);
    for (std::size_t row = 0; row < rows; ++row) png_write_row(png_, samples + row * cols * channels);
    png_write_end(png_, nullptr);
    return true;
  }

 private:
  static void write(png_structp png, png_bytep from, std::size_t count) {
    auto* const self = static_cast<png_writer*>(png_get_io_ptr(png));
    bool stored = true;
    try {
      self->content_.append(from, from + count);
    } catch (...) {
      stored = false;
    }
    if (!stored) png_error(png, "not enough memory");  // outside of the handler, which longjmp must not leave
  }
  static void flush(png_structp) {}

  png_errors errors_;
  png_structp png_;
  png_infop info_;
  std::string content_;
};

/// 255 steps from cold to hot after matplotlib's "inferno", whose lightness rises evenly, so that it also
/// prints in grey. The last entry is for NaN.
inline std::array<png_color, 256> heat_palette() {
  constexpr int points[9][3] = {{0, 0, 4},     {31, 12, 72},   {85, 15, 109},  {136, 34, 106}, {186, 54, 85},
                                {227, 89, 51}, {249, 140, 10}, {249, 201, 50}, {252, 255, 164}};
  std::array<png_color, 256> palette{};
  for (int i = 0; i < 255; ++i) {
    int const position = i * 8;  // in 1/254 of a segment
    int const segment = std::min(position / 254, 7);
    int const offset = position - segment * 254;
    auto const mix = [&](int c) {
      int const from = points[segment][c];
      int const to = points[segment + 1][c];
      return static_cast<png_byte>((from * (254 - offset) + to * offset + 127) / 254);
    };
    palette[static_cast<std::size_t>(i)] = {mix(0), mix(1), mix(2)};
  }
  palette[255] = {0, 255, 255};
  return palette;
}

inline void check_written(std::filesystem::path const& path, std::size_t rows, std::size_t cols,
                          std::size_t values, std::size_t expected) {
  std::string const size = std::to_string(rows) + " rows of " + std::to_string(cols) + " pixels";
  if (rows == 0 || cols == 0) cannot_write(path.string(), "the picture is empty: " + size);
  if (rows > max_pixels / cols) cannot_write(path.string(), "the picture is too large: " + size);
  if (values != expected)
    cannot_write(path.string(), size + " do not match " + std::to_string(values) + " values");
}

inline void write_samples(std::filesystem::path const& path, std::size_t rows, std::size_t cols,
                          std::size_t channels, std::span<png_byte const> samples,
                          std::span<png_color const> palette = {}) {
  png_writer writer;
  if (!writer.started()) cannot_write(path.string(), "libpng does not start");
  if (!writer.encode(rows, cols, channels, samples.data(), palette))
    cannot_write(path.string(), writer.why());
  replace_file(path, writer.content());
}

template <class Real>
void write_heat_png(std::filesystem::path const& path, std::size_t rows, std::size_t cols,
                    std::span<Real const> values) {
  check_written(path, rows, cols, values.size(), rows * cols);
  std::vector<png_byte> indices(values.size());
  std::transform(values.begin(), values.end(), indices.begin(), [](Real value) -> png_byte {
    if (std::isnan(value)) return 255;
    return static_cast<png_byte>(std::clamp(value, Real{0}, Real{1}) * Real{254} + Real{0.5});
  });
  auto const palette = heat_palette();
  write_samples(path, rows, cols, 1, indices, palette);
}

}  // namespace detail

/// Decodes a PGM (P2 or P5, 8 or 16 bits) or a PNG of any kind. The content decides; the name only appears in
/// messages. Samples are used without gamma correction. Throws std::runtime_error.
inline image decode_image(std::string_view name, std::string_view content) {
  detail::byte_view const bytes = detail::bytes_of(content);
  try {
    if (content.empty()) cannot_read(name, "the file is empty");
    if (detail::is_png(bytes)) return detail::grey_of(detail::decode_png(name, bytes));
    if (bytes.size() >= 3 && bytes[0] == 'P' && (detail::is_space(bytes[2]) || bytes[2] == '#')) {
      if (bytes[1] == '2' || bytes[1] == '5') return detail::decode_pgm(name, bytes);
      if (bytes[1] >= '1' && bytes[1] <= '7')
        cannot_read(name, std::string("a Netpbm file of kind P") + content[1] +
                              ", but only P2 and P5 (PGM) are read");
    }
    cannot_read(name, "not a PGM or PNG file");
  } catch (std::bad_alloc const&) {
    cannot_read(name, "not enough memory for the picture");
  }
}

/// Reads an image file, see decode_image(). Throws std::runtime_error: "cannot read 'x.png': why".
inline image read_image(std::filesystem::path const& path) {
  return decode_image(path.string(), read_file(path, std::size_t{1} << 31));
}

/// The same in colours, if the file has any; a PGM has one channel. Throws std::runtime_error.
inline photo read_photo(std::filesystem::path const& path) {
  std::string const content = read_file(path, std::size_t{1} << 31);
  try {
    if (detail::is_png(detail::bytes_of(content)))
      return detail::colours_of(detail::decode_png(path.string(), detail::bytes_of(content)));
    image grey = decode_image(path.string(), content);
    return {1, grey.rows, grey.cols, std::move(grey.pixels)};
  } catch (std::bad_alloc const&) {
    cannot_read(path.string(), "not enough memory for the picture");
  }
}

/// Writes a photo as a PNG of 8 bits a channel. Values below 0 or above 1 are clamped, NaN is black. The file
/// appears whole or not at all. Throws std::runtime_error: "cannot write 'x.png': why".
inline void write_photo(std::filesystem::path const& path, photo const& picture) {
  std::size_t const pixels = picture.rows * picture.cols;
  if (picture.channels != 1 && picture.channels != 3)
    cannot_write(path.string(), "a photo has 1 or 3 channels, not " + std::to_string(picture.channels));
  detail::check_written(path, picture.rows, picture.cols, picture.pixels.size(), picture.channels * pixels);
  std::vector<png_byte> samples(picture.pixels.size());
  for (std::size_t i = 0; i < pixels; ++i) {
    for (std::size_t c = 0; c < picture.channels; ++c) {
      float const value = picture.pixels[c * pixels + i];
      samples[i * picture.channels + c] =
          static_cast<png_byte>(value > 0 ? std::min(value, 1.0F) * 255.0F + 0.5F : 0.0F);
    }
  }
  detail::write_samples(path, picture.rows, picture.cols, picture.channels, samples);
}

/// Writes values from 0 (black) over red and yellow to 1 (near white) as a PNG. Values outside are clamped.
/// NaN is cyan, unlike any temperature. The file appears whole or not at all. Throws std::runtime_error:
/// "cannot write 'x.png': why".
inline void write_png(std::filesystem::path const& path, std::size_t rows, std::size_t cols,
                      std::span<float const> values) {
  detail::write_heat_png(path, rows, cols, values);
}
inline void write_png(std::filesystem::path const& path, std::size_t rows, std::size_t cols,
                      std::span<double const> values) {
  detail::write_heat_png(path, rows, cols, values);
}

/// "heat-00042.png" for ("heat", 42): numbered so that names sort as frames do.
inline std::string frame_name(std::string_view stem, std::size_t number) {
  std::string digits = std::to_string(number);
  if (digits.size() < 5) digits.insert(0, 5 - digits.size(), '0');
  return std::string(stem) + "-" + digits + ".png";
}

}  // namespace example
