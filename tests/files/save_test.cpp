// SPDX-License-Identifier: BSL-1.0
// A saved array is an NPY file, byte for byte, and such a file can be loaded, on any layout. Every rank
// reports a failure, and no partial file stays.
// test: unit algorithm
#include <complex>
#include <csignal>
#include <pgas/distributions/block_cyclic.hpp>
#include <pgas/distributions/irregular.hpp>
#include <pgas/distributions/whole.hpp>
#include <pgas/files/progress_bar.hpp>
#include <pgas/files/save.hpp>
#include <pgas/layouts/cyclic_tiles.hpp>

#include "support/ranks.hpp"
#include "support/saved.hpp"

using namespace pgas_test;
using namespace pgas;

namespace {

/// An NPY file by the format's specification, written without the library: magic, version, length,
/// dictionary, elements.
std::string npy_file(std::string const& type, std::string const& shape, std::string const& elements,
                     std::string const& order = "False") {
  std::string text = "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': (" + shape + "), }";
  while ((10 + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(text.size()) + '\0' + text + elements;
}

template <class T>
std::string bytes_of(std::vector<T> const& values) {
  return {reinterpret_cast<char const*>(values.data()), values.size() * sizeof(T)};
}

template <std::size_t N>
std::string shape_of(cell_index<N> const& extents) {
  return pgas::detail::joined(extents, ", ") + (N == 1 ? "," : "");
}

/// Saves and loads an array, whole and in a box: its files are those that a serial program writes.
template <class T, std::size_t N, class Team, class Rule>
void save_and_load(Team& team, fs::path const& folder, std::string const& type, cell_index<N> const& extents,
                   Rule const& rule, std::uint64_t seed, halos<N> const& around = {}) {
  random_source same(seed);
  auto const a = make_array<T>(team, extents, rule, around);
  std::vector<T> serial(a.size());
  for (std::size_t k = 0; k < serial.size(); ++k) serial[k] = static_cast<T>((k * 7 + seed) % 120);
  fill(a, serial);
  auto const is_here = [&](fs::path const& path, std::string const& expected) {
    if (team.rank() == 0)
      require(content_of(path) == expected, "the file has the bytes of the format's text");
    team.barrier();
  };
  fs::path const path = folder / "a.npy";
  pgas::save(a, path);
  is_here(path, npy_file(type, shape_of<N>(extents), bytes_of(serial)));

  auto const b = some_box(same, extents);
  std::vector<T> of_box(b.size());
  for_each_cell(extents, b, [&](std::size_t in_all, std::size_t k) { of_box[k] = serial[in_all]; });
  pgas::save(a, b, path);
  is_here(path, npy_file(type, shape_of<N>(b.count), bytes_of(of_box)));

  for (auto& v : of_box) v = static_cast<T>(v + T(3));
  if (team.rank() == 0) write_to(path, npy_file(type, shape_of<N>(b.count), bytes_of(of_box)));
  team.barrier();
  for_each_cell(extents, b, [&](std::size_t in_all, std::size_t k) { serial[in_all] = of_box[k]; });
  pgas::load(a, b, path);
  pgas_test::check(a, serial);

  for (auto& v : serial) v = static_cast<T>(v + T(4));
  if (team.rank() == 0) write_to(folder / "b.npy", npy_file(type, shape_of<N>(extents), bytes_of(serial)));
  team.barrier();
  pgas::load(a, folder / "b.npy");
  pgas_test::check(a, serial);
  // Other ranks see the loaded cells after the next fence.
  {
    pgas::fence epoch{a, read_only};
    std::vector<T> all(a.size());
    if (team.rank() == team.size() - 1) {
      epoch.get({{}, extents}, all);
      epoch.flush_local_all();
      require(all == serial, "another rank sees all loaded cells");
    }
    epoch.close();
  }
  team.barrier();
}

template <class T, class Team>
void save_type(Team& team, fs::path const& folder, std::string const& type) {
  auto const a = make_array<T>(team, 11);
  auto const b = make_array<T>(team, 11);
  for (std::size_t i = 0; i < a.local().size(); ++i)
    a.local()[i] = static_cast<T>(static_cast<int>(a.global_index(i)[0] % 2));
  pgas::save(a, folder / "type.npy");
  if (team.rank() == 0) {
    require(content_of(folder / "type.npy").find("'descr': '" + type + "'") != std::string::npos,
            "named " + type);
  }
  pgas::load(b, folder / "type.npy");
  for (std::size_t i = 0; i < b.local().size(); ++i) {
    require(b.local()[i] == static_cast<T>(static_cast<int>(b.global_index(i)[0] % 2)),
            "an element of type " + type + " came back");
  }
}

}  // namespace

TEST_CASE(
    "save: a file has the bytes of the format's specification, and such a file is loaded, on every memory") {
  temporary_folder const folder;
  // Shared memory, memory reached by messages, and copies that do not agree by themselves.
  everywhere<std::tuple<process_model, loopback_model, write_back_model>>([&](auto& team) {
    fs::path const& in = folder.path;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      save_and_load<int, 2>(team, in, "<i4", {9 * seed, 70}, by_rows<2>{}, seed,
                            halo{.width = 1});  // long rows
      save_and_load<int, 2>(team, in, "<i4", {9, 4 * seed}, by_rows<2>{}, seed,
                            halo{.width = 2});  // short rows
      save_and_load<int, 2>(team, in, "<i4", {9, 4 + seed}, cyclic_tiles<2, 3>{}, seed);
    }
  });
}

TEST_CASE(
    "save: a file has the bytes of the format's specification, and such a file is loaded, in any number of "
    "dimensions") {
  temporary_folder const folder;
  everywhere<std::tuple<process_model>>([&](auto& team) {
    fs::path const& in = folder.path;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      save_and_load<int, 1>(team, in, "<i4", {40 * seed - 40}, block{}, seed);
      save_and_load<int, 1>(team, in, "<i4", {70}, block_cyclic<>{seed + 1}, seed);
    }
    save_and_load<int, 2>(team, in, "<i4", {13, 11}, tiled{block{}, block{}}, 4, halo{.width = 1});
    save_and_load<int, 3>(team, in, "<i4", {5, 6, 7}, cyclic_tiles<2, 3, 4>{}, 5);
    save_and_load<double, 4>(team, in, "<f8", {3, 4, 2, 40}, by_rows<4>{}, 6);
  });
}

TEST_CASE("save: integers, floating point, complex numbers and bool have numpy's names") {
  temporary_folder const folder;
  everywhere<std::tuple<process_model>>(
      [&](auto& team) {
        fs::path const& in = folder.path;
        save_type<bool>(team, in, "|b1");
        save_type<std::int8_t>(team, in, "|i1");
        save_type<std::uint16_t>(team, in, "<u2");
        save_type<std::int64_t>(team, in, "<i8");
        save_type<float>(team, in, "<f4");
        save_type<std::complex<double>>(team, in, "<c16");
      },
      {3});
}

TEST_CASE("save: an independent reader of the format reads saved files, and its files are loaded") {
  temporary_folder const folder;
  fs::path const program = folder.path / "npy.py";
  write_to(program, R"(import ast, struct, sys
with open(sys.argv[1], 'rb') as f:
    data = f.read()
assert data[:8] == b'\x93NUMPY\x01\x00'
length, = struct.unpack('<H', data[8:10])
assert (10 + length) % 64 == 0 and data[10 + length - 1:10 + length] == b'\n'
header = ast.literal_eval(data[10:10 + length].decode('latin1'))
assert header == {'descr': '<f8', 'fortran_order': False, 'shape': (6, 5)}, header
values = struct.unpack('<30d', data[10 + length:])
assert list(values) == [i / 4 for i in range(30)], values
text = repr({'shape': (6, 5), 'fortran_order': False, 'descr': '<f8'}).encode()  # version 2, other order
with open(sys.argv[2], 'wb') as f:
    f.write(b'\x93NUMPY\x02\x00' + struct.pack('<I', len(text)) + text + struct.pack('<30d', *(v * 2 for v in values)))
)");
  std::string const saved = folder.path / "saved.npy";
  std::string const answer = folder.path / "answer.npy";
  everywhere<std::tuple<process_model>>(
      [&](auto& team) {
        auto const a = make_array<double>(team, {6, 5}, tiled{block{}, block{}});
        std::vector<double> serial(a.size());
        for (std::size_t k = 0; k < serial.size(); ++k) serial[k] = static_cast<double>(k) / 4;
        fill(a, serial);
        pgas::save(a, saved);
        if (team.rank() == 0) {
          std::string const command = "python3 " + program.string() + " " + saved + " " + answer;
          require_equal(std::system(command.c_str()), 0, "the output of python3");
        }
        team.barrier();
        for (double& v : serial) v *= 2;
        pgas::load(a, answer);
        pgas_test::check(a, serial);
      },
      {4});
}

TEST_CASE("load: every rank refuses a file of another kind, and says what it is and what was expected") {
  temporary_folder const folder;
  fs::path const path = folder.path / "bad.npy";
  std::string const good = npy_file("<f8", "3, 4", std::string(96, '\1'));
  auto const header = [](std::string const& text) {
    return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(text.size()) + '\0' + text;
  };
  std::vector<std::pair<std::string, std::string>> const cases{
      {good.substr(0, good.size() - 1), "cut off: it has 223 bytes, and needs 224"},
      {good.substr(0, 100), "ends after 100 bytes, and its header is to have 118"},
      {good.substr(0, 11), "ends after 11 bytes"},
      {"", "is no NPY file"},
      {"PK\3\4 an archive of several", "is no NPY file"},
      {npy_file("<f4", "3, 4", std::string(96, '\1')), "type '<f4', but the array's are '<f8'"},
      {npy_file("<i8", "3, 4", std::string(96, '\1')), "type '<i8', but the array's are '<f8'"},
      {npy_file(">f8", "3, 4", std::string(96, '\1')), "big-endian elements '>f8', but only '<f8'"},
      {npy_file("<f8", "3, 4", std::string(96, '\1'), "True"), "Fortran order"},
      {npy_file("<f8", "4, 3", std::string(96, '\1')), "an array of 4 x 3, but 3 x 4 cells"},
      {npy_file("<f8", "12,", std::string(96, '\1')), "an array of 12, but 3 x 4 cells"},
      {npy_file("<f8", "", std::string(96, '\1')), "an array of no dimensions"},
      {"\x93NUMPY\3" + good.substr(7), "version 3.0, but only versions 1.0 and 2.0 can be read"},
      {header("{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (3, 4)}"),
       "records of several fields"},
      {header("{'descr': '<f8', 'fortran_order': False}"), "'shape' is missing"},
      {header("{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (3, 4)}"),
       "'descr' is unknown or"},
      {header("{'descr': '<f8', 'fortran_order': Perhaps, 'shape': (3, 4)}"),
       "True or False should be there"},
      {header("{'descr': '<f8', 'fortran_order': False, 'shape': (3, -4)}"),
       "a number of elements should be"},
      {header("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999, 4)}"),
       "a number of elements"},
      {header("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4)} 5"), "something follows"},
      {header("{'descr': '<f8"), "a text does not end"},
      {header("  \n"), "a '{' should be there"},
  };
  everywhere<std::tuple<self_model, process_model>>(
      [&](auto& team) {
        auto const a = make_array<double>(team, {3, 4});
        auto const refused = [&](fs::path const& file, std::string const& piece) {
          require_error(errc::bad_file, {"rank 0: load: '" + file.string() + "' ", piece},
                        [&] { pgas::load(a, file); });
        };
        for (auto const& [content, piece] : cases) {
          if (team.rank() == 0) write_to(path, content);
          team.barrier();
          refused(path, piece);
        }
        refused(folder.path / "none.npy", "cannot be opened to be read: No such file");
        refused(folder.path, "is a folder or device");
        pgas_test::check(a, std::vector<double>(12));
        if (team.rank() == 0) write_to(path, good + "more");  // several arrays may be in one file
        team.barrier();
        pgas::load(a, path);
        team.barrier();
      },
      {1, 3});
}

TEST_CASE("load: a byte that is neither true nor false is no bool") {
  temporary_folder const folder;
  write_to(folder.path / "b.npy", npy_file("|b1", "300,", std::string(299, '\1') + '\2'));
  everywhere<std::tuple<self_model, process_model, write_back_model>>(
      [&](auto& team) {
        auto const a = make_array<bool>(team, 300);
        std::string const last = "rank " + std::to_string(team.size() - 1);
        require_error(errc::bad_file, {last, "holds no bool", "is 2"},
                      [&] { pgas::load(a, folder.path / "b.npy"); });
      },
      {1, 3});
}

TEST_CASE("save: every rank says why a file cannot be written") {
  temporary_folder const folder;
  write_to(folder.path / "file", "not a folder");
  fs::create_directory(folder.path / "locked");
  fs::permissions(folder.path / "locked", fs::perms::owner_read | fs::perms::owner_exec);
  fs::permissions(folder.path, fs::perms::all);
  everywhere<std::tuple<process_model>>(
      [&](auto& team) {
        // Root may write everywhere, so root becomes nobody here. A rank is a process of its own.
        if (::geteuid() == 0) require_equal(::seteuid(65534), 0, "leaving root's rights");
        auto const a = make_array<double>(team, {3, 4});
        auto const refused = [&](fs::path const& file, std::string const& why) {
          require_error(errc::bad_file, {"rank 0: save: '" + file.string() + "' ", why},
                        [&] { pgas::save(a, file); });
        };
        refused(folder.path / "none" / "a.npy", "cannot be opened to be written: No such file");
        refused(folder.path / "file" / "a.npy", "Not a directory");
        refused(folder.path / "locked" / "a.npy", "Permission denied");
        refused(folder.path, "is a folder or device");
        refused("/dev/full", "is a folder or device");
      },
      {1, 3});
  CHECK(folder.names() == std::set<std::string>{"file", "locked"});
  CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("save: the error of a full disk states the bytes that do not fit") {
  pgas::detail::file const full("/dev/full", O_WRONLY, "to be written");
  try {
    full.write("abc", 3, 40);
    FAIL("a full device takes bytes");
  } catch (pgas::detail::file_failure const& e) {
    CHECK(e.code() == errc::no_space);
    CHECK(std::string(e.what()) == "bytes 40 to 43 cannot be written: No space left on device");
  }
}

TEST_CASE(
    "save: when one rank cannot write, every rank throws that rank's error, and the old file stays, without "
    "another") {
  temporary_folder const folder;
  fs::path const path = folder.path / "a.npy";
  write_to(path, "old");
  everywhere<std::tuple<process_model>>(
      [&](auto& team) {
        auto const a = make_array<double>(team, {3, 4});
        if (team.rank() == team.size() - 1) {
          rlimit const small{.rlim_cur = 150, .rlim_max = RLIM_INFINITY};
          require_equal(::setrlimit(RLIMIT_FSIZE, &small), 0, "setrlimit");
        }
        require_error(errc::no_space,
                      {"rank " + std::to_string(team.size() - 1) + ": save: '" + path.string() + "' ",
                       "224 bytes long", "more than 150 are not allowed"},
                      [&] { pgas::save(a, path); });
      },
      {1, 3});
  // In the middle of writing, rank 1 loses its right to write, after its first 8 MiB.
  everywhere<std::tuple<process_model>>(
      [&](auto& team) {
        auto const a =
            make_array<double>(team, std::size_t{3} * ((9U << 20U) / sizeof(double)), block_cyclic<>{1000});
        std::signal(SIGXFSZ, SIG_IGN);
        std::vector<std::uint64_t> seen;
        std::uint64_t total = 0;
        require_error(
            errc::no_space,
            {"rank 1: save: '" + path.string() + "' ", "bytes ", "cannot be written: File too large"}, [&] {
              pgas::save(a, path, [&](std::uint64_t done, std::uint64_t all) {
                seen.push_back(done);
                total = all;
                rlimit const small{.rlim_cur = 1000, .rlim_max = RLIM_INFINITY};
                if (team.rank() == 1) require_equal(::setrlimit(RLIMIT_FSIZE, &small), 0, "setrlimit");
              });
            });
        require_equal(total, std::uint64_t{9U << 20U}, "bytes of a rank's strip");
        require(seen == (team.rank() == 1 ? std::vector<std::uint64_t>{8U << 20U}
                                          : std::vector<std::uint64_t>{8U << 20U, 9U << 20U}),
                "progress is reported after each 8 MiB, and at the end");
      },
      {3});
  CHECK(content_of(path) == "old");
  CHECK(folder.names() == std::set<std::string>{"a.npy"});
}

TEST_CASE("save: a rank that throws in the middle leaves the old file alone") {
  temporary_folder const folder;
  fs::path const path = folder.path / "a.npy";
  write_to(path, "old");
  for (rank_t const thrower : {0, 2}) {
    auto const met = error_of<process_model>(3, [&](auto& team) {
      auto const a = make_array<double>(team, {30, 4}, cyclic_tiles<2, 2>{});
      pgas::save(a, path, [&](std::uint64_t, std::uint64_t) {
        if (team.rank() == thrower) throw std::runtime_error("no more");
      });
    });
    REQUIRE(met);
    CHECK(std::string(met->what()).find("no more") != std::string::npos);
    CHECK(content_of(path) == "old");
    CHECK(folder.names() == std::set<std::string>{"a.npy"});
  }
}

TEST_CASE("save: the file behind a link is replaced, not the link, and two arrays have two files") {
  temporary_folder const folder;
  fs::create_symlink("real.npy", folder.path / "link.npy");
  everywhere<std::tuple<process_model, scc_model>>(
      [&](auto& team) {
        auto const a = make_array<int>(team, 4);
        for (int round = 0; round < 2; ++round) pgas::save(a, folder.path / "link.npy");
        auto const mine = folder.path / (team.rank() == 1 ? "other.npy" : "a.npy");
        require_error(errc::mismatch, {"save: rank 1 names another file"}, [&] { pgas::save(a, mine); });
        require_error(errc::out_of_range, {"save: 3 cells do not fit at (2) in an array of 4"}, [&] {
          pgas::save(a, {{2}, {3}}, "a.npy");
        });
      },
      {3});
  CHECK(folder.names() == std::set<std::string>{"link.npy", "real.npy"});
  CHECK(fs::is_symlink(folder.path / "link.npy"));
  CHECK(content_of(folder.path / "real.npy") == npy_file("<i4", "4,", std::string(16, '\0')));
}

TEST_CASE("save: an unfinished file has no name, so a killed save leaves the old file only") {
  temporary_folder const folder;
  fs::path const path = folder.path / "a.npy";
  write_to(path, "old");
  everywhere<std::tuple<self_model, process_model, loopback_model>>(
      [&](auto& team) {
        auto const a = make_array<double>(team, {30, 4}, cyclic_tiles<2, 2>{});
        pgas::save(a, path, [&](std::uint64_t, std::uint64_t) {
          for (auto const& name : folder.names())
            require_equal(name, std::string("a.npy"), "file during a save");
        });
      },
      {1, 3});
  write_to(path, "old");
  auto const killed = error_of<process_model>(3, [&](auto& team) {
    auto const a = make_array<double>(team, {30, 4}, cyclic_tiles<2, 2>{});
    pgas::save(a, path, [&](std::uint64_t, std::uint64_t) { ::raise(SIGKILL); });
  });
  REQUIRE(killed);
  CHECK(content_of(path) == "old");
  CHECK(folder.names() == std::set<std::string>{"a.npy"});
}

TEST_CASE("save: a new file has the mode of the file that it replaces, and without one the umask decides") {
  temporary_folder const folder;
  fs::path const path = folder.path / "a.npy";
  auto const mode_of = [](fs::path const& file) { return static_cast<int>(fs::status(file).permissions()); };
  ::mode_t const before = ::umask(027);
  for (int const mode : {0640, 0604, 0755}) {
    for (bool const is_new : {true, false}) {
      fs::path const file = is_new ? folder.path / ("new" + std::to_string(mode)) : path;
      if (!is_new) {
        write_to(path, "old");
        REQUIRE(::chmod(path.c_str(), static_cast<::mode_t>(mode)) == 0);
        if (::geteuid() == 0) REQUIRE(::chown(path.c_str(), 65533, 65532) == 0);
      }
      on<process_model>(2, [&](auto& team) {
        auto const a = make_array<double>(team, {3, 4});
        pgas::save(a, file);
      });
      CHECK(mode_of(file) == (is_new ? 0640 : mode));
      struct ::stat now {};
      REQUIRE(::stat(file.c_str(), &now) == 0);
      bool const is_handed_on = ::geteuid() == 0 && !is_new;
      CHECK(now.st_uid == (is_handed_on ? 65533 : ::geteuid()));
      CHECK(now.st_gid == (is_handed_on ? 65532 : ::getegid()));
    }
  }
  ::umask(before);
}

TEST_CASE(
    "replacing_file: with a name and without, it replaces the old file when it is committed, and only then") {
  temporary_folder const folder;
  fs::path const path = folder.path / "a";
  using pgas::detail::replacing_file;
  for (bool const named : {false, true}) {
    for (bool const has_old : {false, true}) {
      for (bool const commits : {false, true}) {
        fs::remove(path);
        if (has_old) write_to(path, "old");
        {
          replacing_file made(path, 7);
          REQUIRE((named ? made.make_named() : made.make_nameless()) == 0);
          REQUIRE(::write(made.descriptor(), "new", 3) == 3);
          CHECK(content_of(made.place()) == "new");
          CHECK(folder.names().count("a.7.part") == (named ? 1 : 0));
          CHECK(fs::exists(path) == has_old);
          if (commits) REQUIRE(made.commit() == 0);
        }
        CHECK(folder.names() == (commits || has_old ? std::set<std::string>{"a"} : std::set<std::string>{}));
        if (commits || has_old) CHECK(content_of(path) == (commits ? "new" : "old"));
      }
    }
  }
  // A link that somebody planted at the name leads nowhere.
  write_to(folder.path / "victim", "dear");
  fs::create_symlink("victim", folder.path / "a.8.part");
  CHECK(replacing_file(path, 8).make_named() == EEXIST);
  CHECK(content_of(folder.path / "victim") == "dear");
}

TEST_CASE("messages: control characters of a name are shown as escapes") {
  using pgas::detail::in_quotes;
  CHECK(in_quotes("a b/\xc3\xa9.npy") == "'a b/\xc3\xa9.npy'");
  CHECK(in_quotes("a\n\t\x1b[2J\x7f\xc2\x9b") == "'a\\n\\t\\x1b[2J\\x7f\\x9b'");
  CHECK(in_quotes(std::string(1000, 'x')).size() == 505);
  require_error(errc::bad_file, {"load: 'no\\x1b[2Jne' cannot be opened"}, [] {
    pgas::run<pgas::backends::self>(1, [](auto& team) {
      auto const a = make_array<double>(team, {3, 4});
      pgas::load(a, "no\x1b[2Jne");
    });
  });
}

TEST_CASE("npy: a header reads back as it was written, for any shape") {
  using pgas::detail::npy_beginning;
  for (npy_header const& h : {npy_header{"<f8", false, {}}, npy_header{"|b1", true, {0}},
                              npy_header{"<c16", false, {1, 18446744073709551615U, 3, 4}}}) {
    std::string const begins = npy_beginning(h);
    CHECK(begins.size() % 64 == 0);
    auto const place = pgas::detail::npy_header_place(begins);
    CHECK(place.first + place.bytes == begins.size());
    CHECK(pgas::detail::npy_parser(std::string_view(begins).substr(place.first)).parse() == h);
  }
  CHECK(pgas::detail::npy_parser("{'shape': (3L, 4L), 'fortran_order':False,\"descr\":\"<i4\",}").parse() ==
        npy_header{"<i4", false, {3, 4}});
}

TEST_CASE("for_each_box: a range of cells splits into few boxes, with each cell once and in order") {
  cell_index<3> const extents{3, 4, 5};
  for (std::size_t first = 0; first <= 60; ++first) {
    for (std::size_t count = 0; first + count <= 60; ++count) {
      std::size_t next = first;
      std::size_t boxes = 0;
      bool in_order = true;
      pgas::detail::for_each_box(extents, index_range{first, count}, [&](box<3> const& b, std::size_t at) {
        in_order = in_order && at == next;
        for_each_cell(extents, b, [&](std::size_t k, std::size_t) { in_order = in_order && k == next++; });
        ++boxes;
      });
      CHECK_MESSAGE((in_order && next == first + count && boxes <= 5), first << ", " << count);
    }
  }
}

TEST_CASE("progress_bar: it draws on a terminal to its end, and on no other output") {
  auto const drawn_on = [](int to, int from) {
    progress_bar bar("save", true, to);
    bar(1U << 20U, 4U << 20U);
    bar(2U << 20U, 4U << 20U);  // too soon to be drawn
    bar(4U << 20U, 4U << 20U);
    bar(0, 0);
    ::close(to);
    std::string text;
    char some[1000];
    for (ssize_t got = 0; (got = ::read(from, some, sizeof some)) > 0;)
      text.append(some, static_cast<std::size_t>(got));
    ::close(from);
    return text;
  };
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  CHECK(drawn_on(pipe_ends[1], pipe_ends[0]).empty());
  int const terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  REQUIRE((::grantpt(terminal) == 0 && ::unlockpt(terminal) == 0));
  std::string const text = drawn_on(::open(::ptsname(terminal), O_RDWR | O_NOCTTY), terminal);
  CHECK(text.find("\rsave  25% [==========>") == 0);
  CHECK(text.find("1.0 of 4.0 MiB") != std::string::npos);
  CHECK(text.find(" 50%") == std::string::npos);
  CHECK(text.find("save 100% [========================================] 4.0 of 4.0 MiB") !=
        std::string::npos);
  CHECK(text.back() == '\n');
}
