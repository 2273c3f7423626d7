// SPDX-License-Identifier: BSL-1.0
// test: only addresses, unit examples
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "../../examples/support/image.hpp"
#include "../../examples/support/progress.hpp"
#include "../../examples/support/rle.hpp"
#include "../../examples/support/word_list.hpp"

namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

// ---- helpers ---------------------------------------------------------------------------------------

class scratch_folder {
 public:
  scratch_folder() {
    std::string name = (fs::temp_directory_path() / "example_support_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder " + name);
    path_ = name;
  }
  scratch_folder(scratch_folder const&) = delete;
  scratch_folder& operator=(scratch_folder const&) = delete;
  ~scratch_folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] fs::path operator/(std::string_view name) const { return path_ / name; }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

void store(fs::path const& path, std::string_view content) {
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

std::string load(fs::path const& path) { return example::read_file(path, 1U << 24); }

// The compiler may have got a relative name of this file, and the test may run in another folder.
fs::path data(std::string_view name) {
  fs::path const beside = fs::path(__FILE__).parent_path() / "../../examples/data" / name;
  if (fs::exists(beside)) return beside;
  for (fs::path at = fs::current_path();; at = at.parent_path()) {
    if (fs::exists(at / "examples/data" / name)) return at / "examples/data" / name;
    if (at == at.parent_path()) throw std::runtime_error("examples/data is not found from here");
  }
}

template <class Function>
std::string message(Function function) {
  try {
    function();
  } catch (std::runtime_error const& error) {
    return error.what();
  }
  return "no error";
}

std::string image_message(std::string_view content) {
  return message([&] { (void)example::decode_image("x", content); });
}

std::string rle_message(std::string_view text) {
  return message([&] { (void)example::parse_rle("x", text); });
}

struct png_kind {
  int depth = 8;
  int colour = PNG_COLOR_TYPE_GRAY;
  bool interlaced = false;
  std::vector<png_color> palette = {};
  std::vector<png_byte> palette_alpha = {};
  int transparent_grey = -1;
};

// `raw` holds the packed rows as libpng wants them. Without setjmp, an error of libpng ends the test run.
std::string encode(std::size_t rows, std::size_t cols, png_kind const& kind, std::vector<png_byte> raw) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  std::string out;
  png_set_write_fn(
      png, &out,
      [](png_structp p, png_bytep from, std::size_t count) {
        static_cast<std::string*>(png_get_io_ptr(p))->append(from, from + count);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, static_cast<png_uint_32>(cols), static_cast<png_uint_32>(rows), kind.depth,
               kind.colour, kind.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!kind.palette.empty())
    png_set_PLTE(png, info, kind.palette.data(), static_cast<int>(kind.palette.size()));
  if (!kind.palette_alpha.empty())
    png_set_tRNS(png, info, kind.palette_alpha.data(), static_cast<int>(kind.palette_alpha.size()), nullptr);
  if (kind.transparent_grey >= 0) {
    png_color_16 key{};
    key.gray = static_cast<png_uint_16>(kind.transparent_grey);
    png_set_tRNS(png, info, nullptr, 0, &key);
  }
  png_write_info(png, info);
  std::vector<png_bytep> pointers(rows);
  std::size_t const width = raw.size() / rows;
  for (std::size_t row = 0; row < rows; ++row) pointers[row] = raw.data() + row * width;
  png_write_image(png, pointers.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return out;
}

// The checksum of PNG chunks. With it, a damaged chunk passes the check and reaches the decoder.
std::uint32_t crc(std::string_view bytes) {
  std::uint32_t sum = 0xffffffffU;
  for (char const c : bytes) {
    sum ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1U) ? 0xedb88320U : 0U);
  }
  return ~sum;
}

void repair_checksums(std::string& png) {
  for (std::size_t at = 8; at + 12 <= png.size();) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length = length * 256 + static_cast<unsigned char>(png[at + i]);
    if (length > png.size() - at - 12) return;
    std::uint32_t const sum = crc(std::string_view(png).substr(at + 4, length + 4));
    for (std::size_t i = 0; i < 4; ++i)
      png[at + 8 + length + i] = static_cast<char>(sum >> (24 - 8 * i) & 0xffU);
    at += length + 12;
  }
}

/// Small files of every kind that the image reader knows.
std::map<std::string, std::string> sample_images() {
  std::mt19937 random(4711);
  auto const noise = [&](std::size_t count) {
    std::vector<png_byte> bytes(count);
    for (auto& byte : bytes) byte = static_cast<png_byte>(random() & 0xffU);
    return bytes;
  };
  std::vector<png_color> const two{{0, 0, 0}, {255, 128, 0}};
  return {
      {"P2", "P2 # a comment\n3 2\n# another\n255\n0 17 255\n4 5 6\n"},
      {"P5", "P5\n3 2\n255\n"s + "abcdef"},
      {"P5, 16 bits", "P5\n3 2\n65535\n"s + "abcdefghijkl"},
      {"grey, 1 bit", encode(5, 7, {.depth = 1}, noise(5))},
      {"grey, 8 bits", encode(5, 7, {}, noise(35))},
      {"grey, 16 bits, interlaced", encode(9, 9, {.depth = 16, .interlaced = true}, noise(162))},
      {"colour", encode(5, 7, {.colour = PNG_COLOR_TYPE_RGB}, noise(105))},
      {"colour and alpha, 16 bits",
       encode(3, 3, {.depth = 16, .colour = PNG_COLOR_TYPE_RGB_ALPHA}, noise(72))},
      {"palette with alpha, 1 bit, interlaced", encode(9, 9,
                                                       {.depth = 1,
                                                        .colour = PNG_COLOR_TYPE_PALETTE,
                                                        .interlaced = true,
                                                        .palette = two,
                                                        .palette_alpha = {128}},
                                                       noise(18))},
  };
}

/// Life on a torus, written as plainly as possible.
class torus {
 public:
  torus(example::pattern const& pattern, std::size_t rows, std::size_t cols)
      : rule_(pattern.rule), rows_(rows), cols_(cols), cells_(rows * cols) {
    std::size_t const top = (rows - pattern.rows) / 2;
    std::size_t const left = (cols - pattern.cols) / 2;
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t col = 0; col < cols; ++col) cells_[row * cols + col] = pattern(row - top, col - left);
  }

  void step() {
    std::vector<std::uint8_t> next(cells_.size());
    for (std::size_t row = 0; row < rows_; ++row)
      for (std::size_t col = 0; col < cols_; ++col) {
        std::size_t neighbours = 0;
        for (std::size_t const r : {row + rows_ - 1, row, row + 1})
          for (std::size_t const c : {col + cols_ - 1, col, col + 1})
            if (r != row || c != col) neighbours += cells_[r % rows_ * cols_ + c % cols_];
        next[row * cols_ + col] = rule_.next(cells_[row * cols_ + col] != 0, neighbours);
      }
    cells_ = std::move(next);
  }

  [[nodiscard]] std::size_t population() const {
    return static_cast<std::size_t>(std::count(cells_.begin(), cells_.end(), 1));
  }
  friend bool operator==(torus const& a, torus const& b) { return a.cells_ == b.cells_; }

 private:
  example::life_rule rule_;
  std::size_t rows_;
  std::size_t cols_;
  std::vector<std::uint8_t> cells_;
};

std::size_t period(std::string_view file, std::size_t size) {
  torus const start(example::read_rle(data(file)), size, size);
  torus now = start;
  for (std::size_t generation = 1; generation <= 1000; ++generation) {
    now.step();
    if (now == start) return generation;
  }
  return 0;
}

std::string drain(int descriptor) {
  std::string all;
  char some[4096];
  for (ssize_t got; (got = ::read(descriptor, some, sizeof some)) > 0;)
    all.append(some, static_cast<std::size_t>(got));
  return all;
}

/// A terminal of a given width whose screen can be read; false if the system provides none.
class pseudo_terminal {
 public:
  explicit pseudo_terminal(std::size_t columns) : master_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    if (master_ >= 0 && ::grantpt(master_) == 0 && ::unlockpt(master_) == 0)
      slave_ = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
    winsize size{};
    size.ws_row = 24;
    size.ws_col = static_cast<unsigned short>(columns);
    if (slave_ < 0 || ::ioctl(slave_, TIOCSWINSZ, &size) != 0) MESSAGE("no pseudo terminal here: not tested");
  }
  pseudo_terminal(pseudo_terminal const&) = delete;
  pseudo_terminal& operator=(pseudo_terminal const&) = delete;
  ~pseudo_terminal() {
    if (slave_ >= 0) ::close(slave_);
    if (master_ >= 0) ::close(master_);
  }
  explicit operator bool() const noexcept { return slave_ >= 0; }
  [[nodiscard]] int descriptor() const noexcept { return slave_; }
  [[nodiscard]] std::string text() const {
    ::fcntl(master_, F_SETFL, O_NONBLOCK);
    return drain(master_);
  }

 private:
  int master_;
  int slave_ = -1;
};

std::size_t count(std::string_view text, char what) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), what));
}

}  // namespace

// ---- images: what is read --------------------------------------------------------------------------

TEST_CASE("a PGM in text with comments is read, and the largest grey value is white") {
  auto const picture = example::decode_image("x", "P2#c\n# c\n3 # cols\n2\n10\n0 5 10 # row\n10\t5\r\n0");
  CHECK(picture.rows == 2);
  CHECK(picture.cols == 3);
  CHECK(picture.pixels == std::vector<float>{0, 0.5F, 1, 1, 0.5F, 0});
  CHECK(picture(1, 0) == 1);
}

TEST_CASE("a binary PGM is read, also when its first sample looks like a blank or a comment") {
  auto const picture = example::decode_image("x", "P5 2 2 255\n"s + " #\xff\n");
  CHECK(picture.pixels == std::vector<float>{32.F / 255, 35.F / 255, 1, 10.F / 255});
}

TEST_CASE("a 16-bit PGM keeps every grey value apart, most significant byte first") {
  std::string file = "P5\n256 256\n65535\n";
  for (unsigned value = 0; value < 65536; ++value) {
    file += static_cast<char>(value >> 8);
    file += static_cast<char>(value & 0xffU);
  }
  auto const picture = example::decode_image("x", file);
  REQUIRE(picture.pixels.size() == 65536);
  bool equal = true;
  for (std::size_t i = 0; i < 65536; ++i)
    equal = equal && picture.pixels[i] == static_cast<float>(i) / 65535.0F;
  CHECK(equal);
}

TEST_CASE("a grey PNG is read exactly at 1, 2, 4, 8 and 16 bits, interlaced or not") {
  for (int const depth : {1, 2, 4, 8, 16})
    for (bool const interlaced : {false, true}) {
      CAPTURE(depth);
      CAPTURE(interlaced);
      std::size_t const rows = 11;
      std::size_t const cols = 13;
      unsigned const white = (1U << depth) - 1;
      std::size_t const width = (cols * static_cast<std::size_t>(depth) + 7) / 8;
      std::vector<png_byte> raw(rows * width);
      std::vector<float> wanted;
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t col = 0; col < cols; ++col) {
          unsigned const value = static_cast<unsigned>(row * 7919 + col * 104729) & white;
          wanted.push_back(static_cast<float>(value) / static_cast<float>(white));
          std::size_t const bit = col * static_cast<std::size_t>(depth);
          png_byte* const at = raw.data() + row * width + bit / 8;
          if (depth == 16) {
            at[0] = static_cast<png_byte>(value >> 8);
            at[1] = static_cast<png_byte>(value & 0xffU);
          } else {
            at[0] = static_cast<png_byte>(at[0] | value << (8 - static_cast<unsigned>(depth) - bit % 8));
          }
        }
      auto const picture =
          example::decode_image("x", encode(rows, cols, {.depth = depth, .interlaced = interlaced}, raw));
      CHECK(picture.rows == rows);
      CHECK(picture.cols == cols);
      CHECK(picture.pixels == wanted);
    }
}

TEST_CASE("colours become grey by their perceived brightness, and equal channels keep their value") {
  auto const picture =
      example::decode_image("x", encode(1, 5, {.colour = PNG_COLOR_TYPE_RGB},
                                        {255, 0, 0, 0, 255, 0, 0, 0, 255, 51, 51, 51, 255, 255, 255}));
  REQUIRE(picture.pixels.size() == 5);
  CHECK(picture.pixels[0] == doctest::Approx(0.2126));
  CHECK(picture.pixels[1] == doctest::Approx(0.7152));
  CHECK(picture.pixels[2] == doctest::Approx(0.0722));
  CHECK(picture.pixels[3] == 51.0F / 255.0F);
  CHECK(picture.pixels[4] == 1.0F);
}

TEST_CASE("transparent pixels are cold, by an alpha channel, a palette or a key colour") {
  CHECK(example::decode_image(
            "x", encode(1, 3, {.colour = PNG_COLOR_TYPE_GRAY_ALPHA}, {255, 255, 255, 0, 255, 51}))
            .pixels == std::vector<float>{1, 0, 51.0F / 255.0F});
  std::vector<png_byte> const white_twice{255, 255, 255, 0, 255, 255, 255, 255};
  CHECK(example::decode_image("x", encode(1, 2, {.colour = PNG_COLOR_TYPE_RGB_ALPHA}, white_twice)).pixels ==
        std::vector<float>{0, 1});
  png_kind const palette{.colour = PNG_COLOR_TYPE_PALETTE,
                         .palette = {{255, 255, 255}, {255, 255, 255}, {0, 0, 0}},
                         .palette_alpha = {0, 255}};
  CHECK(example::decode_image("x", encode(1, 3, palette, {0, 1, 2})).pixels == std::vector<float>{0, 1, 0});
  CHECK(example::decode_image("x", encode(1, 2, {.transparent_grey = 200}, {200, 255})).pixels ==
        std::vector<float>{0, 1});
}

TEST_CASE("the content of an image file decides its format, and not its name") {
  scratch_folder const folder;
  store(folder / "a.pgm", encode(1, 2, {}, {0, 255}));
  store(folder / "b.png", "P2 2 1 255 0 255");
  CHECK(example::read_image(folder / "a.pgm").pixels == std::vector<float>{0, 1});
  CHECK(example::read_image(folder / "b.png").pixels == std::vector<float>{0, 1});
}

TEST_CASE("the heat input of the examples is a picture with cold and hot places") {
  auto const picture = example::read_image(data("pgas.png"));
  CHECK(picture.rows == 256);
  CHECK(picture.cols == 256);
  CHECK(*std::min_element(picture.pixels.begin(), picture.pixels.end()) == 0.0F);
  CHECK(*std::max_element(picture.pixels.begin(), picture.pixels.end()) == 1.0F);
}

// ---- images: what is refused -----------------------------------------------------------------------

TEST_CASE("the error for a file that cannot be opened or read names it and the reason") {
  scratch_folder const folder;
  std::string const missing = (folder / "none.png").string();
  CHECK(message([&] { (void)example::read_image(missing); }) ==
        "cannot read '" + missing + "': No such file or directory");
  std::string const directory = (folder / "").string();
  CHECK(message([&] { (void)example::read_image(directory); }) ==
        "cannot read '" + directory + "': Is a directory");
  if (::geteuid() != 0) {  // root may read everything
    store(folder / "secret.png", "P2 1 1 1 1");
    fs::permissions(folder / "secret.png", fs::perms::none);
    std::string const secret = (folder / "secret.png").string();
    CHECK(message([&] { (void)example::read_image(secret); }) ==
          "cannot read '" + secret + "': Permission denied");
  }
}

TEST_CASE("reading an endless device stops at the limit") {
  CHECK(message([] { (void)example::read_file("/dev/zero", 1000000); }) ==
        "cannot read '/dev/zero': the file is larger than 1000000 bytes");
}

TEST_CASE("a file that is no picture is refused by a sentence that says what it is") {
  CHECK(image_message("") == "cannot read 'x': the file is empty");
  CHECK(image_message("GIF89a") == "cannot read 'x': not a PGM or PNG file");
  CHECK(image_message("P5") == "cannot read 'x': not a PGM or PNG file");
  CHECK(image_message("Peter and the wolf") == "cannot read 'x': not a PGM or PNG file");
  CHECK(image_message("P6\n1 1\n255\nabc") ==
        "cannot read 'x': a Netpbm file of kind P6, but only P2 and P5 (PGM) are read");
}

TEST_CASE("a PGM header is checked word by word") {
  CHECK(image_message("P5\n") == "cannot read 'x': the file ends before the width");
  CHECK(image_message("P5 3 # end") == "cannot read 'x': the file ends before the height");
  CHECK(image_message("P5 3 -2 255 ") == "cannot read 'x': expected the height at byte 5, found no digit");
  CHECK(image_message("P5 0 2 255 ") == "cannot read 'x': the picture is empty: 2 rows of 0 pixels");
  CHECK(image_message("P5 2 0 255 ") == "cannot read 'x': the picture is empty: 0 rows of 2 pixels");
  CHECK(image_message("P5 1 1 0 a") == "cannot read 'x': the largest grey value is 0, not in 1..65535");
  CHECK(image_message("P5 1 1 65536 a") ==
        "cannot read 'x': the largest grey value is 65536, not in 1..65535");
  CHECK(image_message("P5 1 1 255") ==
        "cannot read 'x': the header is not followed by a blank: the file is truncated or no PGM file");
  CHECK(image_message("P2 1 1 10 11") == "cannot read 'x': a grey value of 11 exceeds the largest, 10");
  CHECK(image_message("P2 2 2 10 1 2 3 x") ==
        "cannot read 'x': expected the next grey value at byte 16, found no digit");
}

TEST_CASE("a picture of more than 2^28 pixels is refused before memory is reserved for it") {
  CHECK(image_message("P5 16385 16384 255 ") ==
        "cannot read 'x': the picture is too large: 16384 rows of 16385 pixels, more than 268435456");
  CHECK(image_message("P5 99999999999999999999 99999999999999999999 255 ").find("too large") !=
        std::string::npos);
  std::string png = encode(1, 1, {}, {0});
  for (std::size_t i = 16; i < 24; ++i) png[i] = '\x7f';
  repair_checksums(png);
  CHECK(image_message(png).find("too large") != std::string::npos);
}

TEST_CASE("a short file that claims a large picture is refused as truncated, before memory is reserved") {
  CHECK(image_message("P5 16384 16384 255 abc") ==
        "cannot read 'x': the file is truncated: 268435456 pixels need 268435456 bytes, and 3 follow the "
        "header");
  CHECK(image_message("P2 16384 16384 255 1 2 3").find("truncated") != std::string::npos);
  std::string png = encode(1, 1, {}, {0});
  png.replace(16, 8, "\0\0\x40\0\0\0\x40\0"s);
  repair_checksums(png);
  CHECK(image_message(png) == "cannot read 'x': damaged PNG file: the file is truncated");
}

TEST_CASE("a PNG without rows or columns is refused as empty") {
  std::string png = encode(1, 1, {}, {0});
  png.replace(16, 8, "\0\0\0\0\0\0\0\x02"s);
  repair_checksums(png);
  CHECK(image_message(png) == "cannot read 'x': the picture is empty: 2 rows of 0 pixels");
}

TEST_CASE("a damaged PNG is refused with the message of libpng") {
  std::string png = encode(1, 1, {}, {0});
  png[png.find("IDAT") + 5] ^= 1;
  CHECK(image_message(png).find("cannot read 'x': damaged PNG file: ") == 0);
}

TEST_CASE("a binary image that is cut off at any byte is refused") {
  for (auto const& [kind, whole] : sample_images()) {
    CAPTURE(kind);
    CHECK(image_message(whole) == "no error");
    for (std::size_t length = 0; length < whole.size(); ++length) {
      std::string const why = image_message(std::string_view(whole).substr(0, length));
      if (kind == "P2")
        continue;  // a text may lose its last blank or digit unnoticed; it only must not crash
      CAPTURE(length);
      CHECK(why.starts_with("cannot read 'x': "));
    }
  }
}

TEST_CASE(
    "an image with flipped bytes is read or refused by a sentence, with or without repaired checksums") {
  std::mt19937 random(20240229);
  for (auto const& [kind, whole] : sample_images()) {
    CAPTURE(kind);
    for (int round = 0; round < 3000; ++round) {
      std::string damaged = whole;
      for (auto flips = 1 + random() % 3; flips > 0; --flips)
        damaged[random() % damaged.size()] = static_cast<char>(random() & 0xffU);
      if (round % 2 != 0 && damaged.size() > 8) repair_checksums(damaged);
      try {
        auto const picture = example::decode_image("x", damaged);
        bool sound = picture.pixels.size() == picture.rows * picture.cols && !picture.pixels.empty();
        for (float const pixel : picture.pixels) sound = sound && pixel >= 0 && pixel <= 1;
        REQUIRE(sound);
      } catch (std::runtime_error const& error) {
        REQUIRE(std::string_view(error.what()).starts_with("cannot read 'x': "));
      }
    }
  }
}

// ---- images: what is written -----------------------------------------------------------------------

TEST_CASE("a written PNG is read back with its size, and hotter cells are brighter") {
  scratch_folder const folder;
  std::vector<float> values;
  for (int i = 0; i < 255; ++i) values.push_back(static_cast<float>(i) / 254.0F);
  example::write_png(folder / "ramp.png", 15, 17, values);
  auto const picture = example::read_image(folder / "ramp.png");
  CHECK(picture.rows == 15);
  CHECK(picture.cols == 17);
  CHECK(picture.pixels.front() < 0.01F);
  CHECK(picture.pixels.back() > 0.95F);
  for (std::size_t i = 1; i < picture.pixels.size(); ++i) CHECK(picture.pixels[i] >= picture.pixels[i - 1]);
}

TEST_CASE("a colour photo keeps its colours, and a grey picture its single channel") {
  scratch_folder const folder;
  example::photo colours{3, 2, 3, {}};
  for (int i = 0; i < 18; ++i) colours.pixels.push_back(static_cast<float>(i * 15) / 255.0F);
  example::write_photo(folder / "a.png", colours);
  auto const found = example::read_photo(folder / "a.png");
  CHECK(found.channels == 3);
  CHECK(found.rows == 2);
  CHECK(found.cols == 3);
  REQUIRE(found.pixels.size() == 18);
  for (std::size_t i = 0; i < 18; ++i)
    CHECK(found.pixels[i] == doctest::Approx(colours.pixels[i]).epsilon(1e-6));
  CHECK(found(2, 1, 0) == found.pixels[15]);

  float constexpr nan = std::numeric_limits<float>::quiet_NaN();
  example::write_photo(folder / "b.png", {1, 1, 4, {-1, nan, 2, 1}});
  auto const grey = example::read_photo(folder / "b.png");
  CHECK(grey.channels == 1);
  CHECK(grey.pixels == std::vector<float>{0, 0, 1, 1});
  store(folder / "c.pgm", "P2 2 1 255 0 255");
  CHECK(example::read_photo(folder / "c.pgm").pixels == std::vector<float>{0, 1});
}

TEST_CASE("a photo with another number of channels or pixels is refused") {
  CHECK(message([&] {
          example::write_photo("a.png", {2, 1, 1, {0, 0}});
        }) == "cannot write 'a.png': a photo has 1 or 3 channels, not 2");
  CHECK(message([&] {
          example::write_photo("a.png", {3, 1, 1, {0, 0}});
        }) == "cannot write 'a.png': 1 rows of 1 pixels do not match 2 values");
}

TEST_CASE("float and double values give the same file, and equal values give equal bytes") {
  scratch_folder const folder;
  example::write_png(folder / "a.png", 2, 3, std::vector<float>{0, 0.25F, 0.5F, 0.75F, 1, 0.125F});
  example::write_png(folder / "b.png", 2, 3, std::vector<double>{0, 0.25, 0.5, 0.75, 1, 0.125});
  CHECK(load(folder / "a.png") == load(folder / "b.png"));
}

TEST_CASE("values below 0 and above 1 are clamped, and NaN has a colour of its own") {
  scratch_folder const folder;
  double constexpr infinite = std::numeric_limits<double>::infinity();
  double constexpr nan = std::numeric_limits<double>::quiet_NaN();
  example::write_png(folder / "a.png", 1, 7, std::vector<double>{0, -1, -infinite, 1, 1e300, infinite, nan});
  auto const pixels = example::read_image(folder / "a.png").pixels;
  CHECK(pixels[1] == pixels[0]);
  CHECK(pixels[2] == pixels[0]);
  CHECK(pixels[4] == pixels[3]);
  CHECK(pixels[5] == pixels[3]);
  CHECK(pixels[6] == doctest::Approx(0.7152 + 0.0722));
}

TEST_CASE("a PNG replaces an older one and leaves no other file") {
  scratch_folder const folder;
  store(folder / "a.png", "older");
  example::write_png(folder / "a.png", 1, 1, std::vector<float>{1});
  CHECK(example::read_image(folder / "a.png").pixels.size() == 1);
  CHECK(folder.files() == 1);
}

TEST_CASE("on a full disk the older picture stays, and no partial file is left") {
  scratch_folder const folder;
  store(folder / "a.png", "older");
  std::vector<float> const values(64 * 64, 0.5F);
  auto* const before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  rlimit small = limit;
  small.rlim_cur = 50;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::string const why = message([&] { example::write_png(folder / "a.png", 64, 64, values); });
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  std::signal(SIGXFSZ, before);
  CHECK(why == "cannot write '" + (folder / "a.png").string() + "': File too large");
  CHECK(load(folder / "a.png") == "older");
  CHECK(folder.files() == 1);
}

TEST_CASE("a new file keeps the mode of the old one, and follows no link that another user planted") {
  scratch_folder const folder;
  store(folder / "a.txt", "older");
  store(folder / "victim", "dear");
  fs::permissions(folder / "a.txt", fs::perms(0604));
  for (int serial = 0; serial < 1000; ++serial)
    fs::create_symlink(
        "victim", folder / ("a.txt." + std::to_string(::getpid()) + "-" + std::to_string(serial) + ".part"));
  example::replace_file(folder / "a.txt", "newer");
  CHECK(load(folder / "a.txt") == "newer");
  CHECK(load(folder / "victim") == "dear");
  CHECK(static_cast<int>(fs::status(folder / "a.txt").permissions()) == 0604);
}

TEST_CASE("a list of words is read up to a bound, and what is no list is refused") {
  scratch_folder const folder;
  std::string const path = (folder / "words").string();
  store(path, "one\ntwo\n\none\nthree");
  CHECK(example::read_words(path, 9) == std::vector<std::string>{"one", "two", "three"});
  CHECK(example::read_words(path, 2) == std::vector<std::string>{"one", "two"});
  store(path, "");
  CHECK(message([&] { (void)example::read_words(path, 9); }) ==
        "cannot read '" + path + "': there is no word in it");
  CHECK(message([] { (void)example::read_words("/dev/zero", 9); }) ==
        "cannot read '/dev/zero': a line has more than 1000 bytes; give a file with a word on each line");
  CHECK(message([] { (void)example::read_words("/", 9); }).starts_with("cannot read '/': "));
  CHECK(message([] {
          (void)example::read_words("no\x1b[2J", 9);
        }).starts_with("cannot read 'no\\x1b[2J': there is"));
  // An endless list of few words.
  std::string const pipe = (folder / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer([&] {
    std::ofstream out(pipe);
    std::string const many = std::string(999, 'x') + '\n';
    while (out << many) {}
  });
  auto* const before = std::signal(SIGPIPE, SIG_IGN);
  std::string const why = message([&] { (void)example::read_words(pipe, 9); });
  writer.join();
  std::signal(SIGPIPE, before);
  CHECK(why.find("have only 1 different words; ask for fewer") != std::string::npos);
}

TEST_CASE("the error for a PNG that cannot be written names it and the reason") {
  scratch_folder const folder;
  std::vector<float> const values(6);
  std::string const nowhere = (folder / "none" / "a.png").string();
  CHECK(message([&] { example::write_png(nowhere, 2, 3, values); }) ==
        "cannot write '" + nowhere + "': No such file or directory");
  fs::create_directory(folder / "taken.png");
  CHECK(message([&] {
          example::write_png(folder / "taken.png", 2, 3, values);
        }).ends_with("': Is a directory"));
  CHECK(folder.files() == 1);
  CHECK(message([&] { example::write_png("a.png", 2, 2, values); }) ==
        "cannot write 'a.png': 2 rows of 2 pixels do not match 6 values");
  CHECK(message([&] { example::write_png("a.png", 0, 2, values); }) ==
        "cannot write 'a.png': the picture is empty: 0 rows of 2 pixels");
  CHECK(message([&] { example::write_png("a.png", SIZE_MAX, SIZE_MAX, values); }).find("too large") !=
        std::string::npos);
}

TEST_CASE("frame names sort in the order of their numbers") {
  CHECK(example::frame_name("heat", 7) == "heat-00007.png");
  CHECK(example::frame_name("out/heat", 123456) == "out/heat-123456.png");
}

// ---- patterns --------------------------------------------------------------------------------------

TEST_CASE("a pattern has its name, its rule, its size and its cells") {
  auto const glider = example::read_rle(data("glider.rle"));
  CHECK(glider.name == "Glider");
  CHECK(to_string(glider.rule) == "B3/S23");
  CHECK(glider.rows == 3);
  CHECK(glider.cols == 3);
  CHECK(glider.cells == std::vector<std::uint8_t>{0, 1, 0, 0, 0, 1, 1, 1, 1});
}

TEST_CASE("every cell outside of a pattern is dead, also at indices that wrapped around") {
  auto const blinker = example::read_rle(data("blinker.rle"));
  std::size_t const zero = 0;
  CHECK(blinker(0, 2) == 1);
  CHECK(blinker(0, 3) == 0);
  CHECK(blinker(1, 0) == 0);
  CHECK(blinker(zero - 1, 0) == 0);
  CHECK(blinker(0, zero - 1) == 0);
}

TEST_CASE("short rows, counted row ends, empty rows and missing rows are filled with dead cells") {
  auto const p = example::parse_rle("x", "x = 3, y = 5\no2$bo$!");
  CHECK(p.cells == std::vector<std::uint8_t>{1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0});
  CHECK(example::parse_rle("x", "x=2,y=1\no9$!").cells == std::vector<std::uint8_t>{1, 0});
}

TEST_CASE("dots are dead and capital letters alive, as editors for more than two states write them") {
  CHECK(example::parse_rle("x", "x = 6, y = 1\n.A2.BX!").cells ==
        std::vector<std::uint8_t>{0, 1, 0, 0, 1, 1});
}

TEST_CASE("Windows line ends, blank lines, folded runs, late remarks and text after the end are tolerated") {
  auto const p = example::parse_rle(
      "x", "\r\n#N  Two words \r\n#C no\r\n\r\nx=3,y=2\r\n2\r\no b$\r\n#C late\r\n3o!\r\nbye");
  CHECK(p.name == "Two words");
  CHECK(p.cells == std::vector<std::uint8_t>{1, 1, 0, 1, 1, 1});
}

TEST_CASE("a rule is read in each of the usual forms, and a missing rule is B3/S23") {
  auto const rule = [](std::string const& text) {
    return to_string(example::parse_rle("x", "x = 1, y = 1" + text + "\no!").rule);
  };
  CHECK(rule("") == "B3/S23");
  CHECK(rule(", rule = B36/S23") == "B36/S23");
  CHECK(rule(",rule=b36/s23  ") == "B36/S23");
  CHECK(rule(", rule = S23/B36") == "B36/S23");
  CHECK(rule(", rule = B36S23") == "B36/S23");
  CHECK(rule(", rule = 23/36") == "B36/S23");
  CHECK(rule(", rule = /2") == "B2/S");
  CHECK(rule(", rule = B2/S") == "B2/S");
  CHECK(rule(", rule = B/S012345678") == "B/S012345678");
  CHECK(to_string(example::parse_rle("x", "#r 23/36\nx = 1, y = 1\no!").rule) == "B36/S23");
  CHECK(to_string(example::parse_rle("x", "#r 23/36\nx = 1, y = 1, rule = B3/S23\no!").rule) == "B3/S23");
}

TEST_CASE("a rule tells for each number of neighbours whether a cell lives on") {
  example::life_rule const life;
  for (std::size_t n = 0; n <= 8; ++n) {
    CHECK(life.next(false, n) == (n == 3));
    CHECK(life.next(true, n) == (n == 2 || n == 3));
  }
}

TEST_CASE("a malformed header is refused with the place and the expected text") {
  std::string const form = "expected the header 'x = <columns>, y = <rows>', here 'x', ";
  CHECK(rle_message("") == "cannot read 'x': line 1, column 1: " + form + "found the end of the file");
  CHECK(rle_message("#C a\nbo$!") == "cannot read 'x': line 2, column 1: " + form + "found 'b'");
  CHECK(rle_message("\x89PNG") == "cannot read 'x': line 1, column 1: " + form + "found byte 0x89");
  CHECK(rle_message("x 3") == "cannot read 'x': line 1, column 3: expected '=' after 'x', found '3'");
  CHECK(rle_message("x = -3") == "cannot read 'x': line 1, column 5: expected the number x, found '-'");
  CHECK(rle_message("x = 3\n") ==
        "cannot read 'x': line 1, column 6: expected ',' and 'y = <rows>', found the end of the line");
  CHECK(rle_message("x = 3, z = 2") ==
        "cannot read 'x': line 1, column 8: expected the header "
        "'x = <columns>, y = <rows>', here 'y', found 'z'");
  CHECK(rle_message("x = 3, y = 2 rule") ==
        "cannot read 'x': line 1, column 14: expected the end of the header line, found 'r'");
  CHECK(rle_message("x = 3, y = 2, role = 1") ==
        "cannot read 'x': line 1, column 16: expected 'rule = <rule>', found 'o'");
}

TEST_CASE("an empty or huge pattern is refused before memory is reserved for it") {
  CHECK(rle_message("x = 0, y = 1\n!") ==
        "cannot read 'x': line 1, column 5: expected x of at least 1, found 0");
  CHECK(rle_message("x = 1, y = 0\n!") ==
        "cannot read 'x': line 1, column 12: expected y of at least 1, found 0");
  CHECK(rle_message("x = 1, y = 99999999999999999999999\n!") ==
        "cannot read 'x': line 1, column 12: expected y of at most 268435456, found more");
  CHECK(rle_message("x = 16385, y = 16384\n!") ==
        "cannot read 'x': line 1, column 1: expected at most 268435456 cells, found 16385 x 16384");
}

TEST_CASE("a bad rule is refused with the place and the expected text") {
  std::string const head = "x = 1, y = 1, rule = ";
  std::string const at = "cannot read 'x': line 1, column ";
  CHECK(rle_message(head + "\no!") ==
        at + "22: expected a rule such as B3/S23 or 23/3, found the end of the line");
  CHECK(rle_message(head + "Life") == at + "22: expected a rule such as B3/S23 or 23/3, found 'L'");
  CHECK(rle_message(head + "B9/S23") == at + "23: expected a number of neighbours from 0 to 8, found '9'");
  CHECK(rle_message(head + "B3/23") == at + "25: expected 'S' in a rule such as B3/S23, found '2'");
  CHECK(rle_message(head + "23") ==
        at + "24: expected '/' in a rule such as 23/3, found the end of the file");
  CHECK(rle_message(head + "B3/S23:T100") == at + "28: expected the end of the rule, found ':'");
  CHECK(rle_message("#r 2x") ==
        "cannot read 'x': line 1, column 5: expected '/' in a rule such as 23/3, found 'x'");
}

TEST_CASE("a malformed pattern is refused with the place and the expected text") {
  std::string const head = "x = 3, y = 2\n";
  std::string const at = "cannot read 'x': line 2, column ";
  CHECK(rle_message(head + "bo3!") == at + "3: expected b, o or $ after the run count 3, found '!'");
  CHECK(rle_message(head + "bo3") ==
        at + "3: expected b, o or $ after the run count 3, found the end of the file");
  CHECK(rle_message(head + "1 2o!") == at + "1: expected b, o or $ after the run count 1, found '2'");
  CHECK(rle_message(head + "0o!") == at + "1: expected a run count of at least 1, found 0");
  CHECK(rle_message(head + "bo2b!") == at + "3: expected at most x = 3 cells in a row, found 4");
  CHECK(rle_message(head + "99999999999999999999999o!").find("expected at most x = 3 cells in a row") !=
        std::string::npos);
  CHECK(rle_message(head + "o$o$b!") == at + "5: expected at most y = 2 rows, found cells in row 3");
  CHECK(rle_message(head + "9999999999999999999$o!").find("expected at most y = 2 rows") !=
        std::string::npos);
  CHECK(rle_message(head + "3o$3o") ==
        at + "6: expected '!' at the end of the pattern, found the end of the file");
  CHECK(rle_message(head + "o\nq!") ==
        "cannot read 'x': line 3, column 1: expected b (dead), o (alive), "
        "$ (end of row), ! (end) or a run count, found 'q'");
  CHECK(rle_message(head + "o\0!"s).find("found byte 0x00") != std::string::npos);
}

TEST_CASE("the error for a missing pattern file names it and the reason") {
  CHECK(message([] { (void)example::read_rle("none.rle"); }) ==
        "cannot read 'none.rle': No such file or directory");
}

TEST_CASE("a pattern that is cut off at any byte is refused, and flipped bytes never crash") {
  std::mt19937 random(31415);
  std::string const whole = load(data("gosper_glider_gun.rle"));
  for (std::size_t length = 0; length <= whole.rfind('!'); ++length) {
    CAPTURE(length);
    CHECK(rle_message(std::string_view(whole).substr(0, length)).starts_with("cannot read 'x': line "));
  }
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = whole;
    for (auto flips = 1 + random() % 3; flips > 0; --flips)
      damaged[random() % damaged.size()] = static_cast<char>(random() & 0xffU);
    std::string const why = rle_message(damaged);
    REQUIRE((why == "no error" || why.starts_with("cannot read 'x': line ")));
  }
}

TEST_CASE("the oscillators of the examples have the period that they state") {
  CHECK(period("blinker.rle", 8) == 2);
  CHECK(period("pulsar.rle", 20) == 3);
  CHECK(period("pentadecathlon.rle", 24) == 15);
}

TEST_CASE("the glider returns after four generations for each cell of the torus") {
  CHECK(period("glider.rle", 8) == 32);
  CHECK(period("glider.rle", 13) == 52);
}

TEST_CASE("the gun adds a glider of five cells every 30 generations") {
  auto const gun = example::read_rle(data("gosper_glider_gun.rle"));
  CHECK(gun.rows == 9);
  CHECK(gun.cols == 36);
  torus board(gun, 160, 160);
  std::size_t const cells = board.population();
  CHECK(cells == 36);
  for (std::size_t gliders = 1; gliders <= 6; ++gliders) {
    for (int generation = 0; generation < 30; ++generation) board.step();
    CHECK(board.population() == cells + 5 * gliders);
  }
}

// ---- progress --------------------------------------------------------------------------------------

TEST_CASE("on an output that is no terminal, progress is one line at the end") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  {
    example::progress bar("heat", 1000, true, ends[1]);
    for (std::size_t i = 1; i <= 1000; ++i) bar.update(i, "residual", 1.0 / static_cast<double>(i));
    bar.finish();
  }
  ::close(ends[1]);
  std::string const text = drain(ends[0]);
  ::close(ends[0]);
  CHECK(text.starts_with("heat: 1000 of 1000 iterations in 0:00, "));
  CHECK(text.ends_with(" it/s, residual 1.00e-03\n"));
  CHECK(count(text, '\n') == 1);
  CHECK(count(text, '\r') == 0);
}

TEST_CASE(
    "progress without a known total counts, and a whole number such as a population is printed as one") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  {
    example::progress bar("life", 0, true, ends[1]);
    bar.update(12, "population", 1234567);
  }
  ::close(ends[1]);
  std::string const text = drain(ends[0]);
  ::close(ends[0]);
  CHECK(text.starts_with("life: 12 iterations in "));
  CHECK(text.ends_with(", population 1234567\n"));
}

TEST_CASE("only the rank that reports progress prints it") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  {
    example::progress bar("heat", 10, false, ends[1]);
    bar.update(10);
  }
  ::close(ends[1]);
  CHECK(drain(ends[0]).empty());
  ::close(ends[0]);
}

TEST_CASE("on a terminal, progress redraws one line at most ten times a second, and ends it") {
  pseudo_terminal screen(100);
  if (!screen) return;
  auto const start = std::chrono::steady_clock::now();
  auto const passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::size_t const total = 1000000000;
  {
    example::progress bar("heat", total, true, screen.descriptor());
    for (int redraw = 0; redraw < 4; ++redraw) {
      for (int often = 0; often < 1000; ++often) bar.update(total / 2, "residual", 0.125);
      std::this_thread::sleep_for(std::chrono::milliseconds(110));
    }
    bar.update(total, "end");
  }
  double const seconds = passed();
  std::string const text = screen.text();
  INFO(text);
  CHECK(text.find("heat  50% [") != std::string::npos);
  CHECK(text.find("it/s  0:00 left  residual 1.25e-01") != std::string::npos);
  CHECK(text.find("heat 100% [========") != std::string::npos);
  CHECK(text.find("in all  end") != std::string::npos);
  CHECK(text.ends_with("\r\n"));
  CHECK(count(text, '\n') == 1);
  std::size_t const draws = count(text, '\r') - 1;  // the terminal adds one to the end of the line
  CHECK(draws >= 5);
  CHECK(static_cast<double>(draws) <= seconds * 10 + 2);
}

TEST_CASE("progress never fills the last column of a terminal, and overwrites the earlier line") {
  for (std::size_t const columns : {20U, 40U, 60U, 80U, 200U}) {
    CAPTURE(columns);
    pseudo_terminal screen(columns);
    if (!screen) return;
    {
      example::progress bar("heat", 10, true, screen.descriptor());
      std::this_thread::sleep_for(std::chrono::milliseconds(110));
      bar.update(5, "a text that is longer than the line of a terminal that is not wide");
      bar.update(10);
    }
    std::string const text = screen.text();
    CAPTURE(text);
    std::vector<std::size_t> widths;
    for (char const c : text) {
      if (c == '\r')
        widths.push_back(0);
      else if (c != '\n')
        ++widths.back();
    }
    REQUIRE(widths.size() == 3);  // two drawings and the end of the line
    CHECK(widths[0] < columns);
    CHECK(widths[1] < columns);
    CHECK(widths[1] >= widths[0]);
  }
}

TEST_CASE("an exception that unwinds a progress bar leaves a finished line") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  CHECK_THROWS_AS(
      [&] {
        example::progress bar("heat", 10, true, ends[1]);
        bar.update(3);
        throw std::runtime_error("enough");
      }(),
      std::runtime_error);
  ::close(ends[1]);
  CHECK(drain(ends[0]).starts_with("heat: 3 of 10 iterations"));
  ::close(ends[0]);
}
