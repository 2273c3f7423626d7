// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mpi.h>
#include <sys/uio.h>
#include <array>
#include <cstdint>
#include <optional>
#include <pgas/detail/job/team_backend.hpp>
#include <pgas/detail/mpi/call.hpp>
#include <pgas/detail/mpi/session.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/error.hpp>
#include <span>
#include <string>
#include <vector>

namespace PGAS_NAMESPACE::detail::mpi {

/// A file of a file system that several nodes share, by MPI-IO. MPI knows such systems: on NFS it locks what
/// it writes, so that nodes which write into one page lose nothing.
///
/// Each rank opens the file for itself, so no call waits for another rank: a rank in a collective call of MPI
/// would serve no other rank. The ranks write long strips, which a collective write could hardly combine
/// further. Throws `error` with MPI's message.
class shared_file {
 public:
  shared_file(std::string const& path, bool writes) {
    require(MPI_File_open(MPI_COMM_SELF, path.c_str(), writes ? MPI_MODE_WRONLY : MPI_MODE_RDONLY,
                          MPI_INFO_NULL, &file_),
            "MPI_File_open");
  }
  shared_file(shared_file const&) = delete;
  shared_file& operator=(shared_file const&) = delete;
  ~shared_file() { MPI_File_close(&file_); }

  /// Writes pieces of memory one after the other, from byte `first` of the file on.
  void write(std::span<iovec const> pieces, std::uint64_t first) const {
    move(pieces, "MPI_File_write_at", [&](MPI_Datatype type, MPI_Status* status) {
      return MPI_File_write_at(file_, static_cast<MPI_Offset>(first), MPI_BOTTOM, 1, type, status);
    });
  }
  /// Fills pieces of memory one after the other, from byte `first` of the file on.
  void read(std::span<iovec const> pieces, std::uint64_t first) const {
    move(pieces, "MPI_File_read_at", [&](MPI_Datatype type, MPI_Status* status) {
      return MPI_File_read_at(file_, static_cast<MPI_Offset>(first), MPI_BOTTOM, 1, type, status);
    });
  }
  /// Returns when all written bytes are on the disk.
  void sync() const { require(MPI_File_sync(file_), "MPI_File_sync"); }

 private:
  static void require(int code, std::string_view call) {
    if (code == MPI_SUCCESS) return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    int kind = MPI_ERR_OTHER;
    MPI_Error_class(code, &kind);
    throw error(kind == MPI_ERR_NO_SPACE || kind == MPI_ERR_QUOTA ? errc::no_space : errc::bad_file, -1,
                text_of({call, " says: ", std::string_view(text.data(), static_cast<std::size_t>(length))}));
  }
  /// Callers move some megabytes at a time, so lengths fit MPI's ints.
  template <class Call>
  static void move(std::span<iovec const> pieces, std::string_view call, Call const& call_of_mpi) {
    std::vector<int> lengths;
    std::vector<MPI_Aint> places;
    MPI_Count all = 0;
    for (iovec const& each : pieces) {
      lengths.push_back(static_cast<int>(each.iov_len));
      places.push_back(reinterpret_cast<MPI_Aint>(each.iov_base));
      all += static_cast<MPI_Count>(each.iov_len);
    }
    MPI_Datatype type = MPI_DATATYPE_NULL;
    check_call(MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(),
                                        MPI_BYTE, &type),
               "MPI_Type_create_hindexed");
    MPI_Type_commit(&type);
    MPI_Status status;
    int const code = call_of_mpi(type, &status);
    MPI_Count moved = 0;
    if (code == MPI_SUCCESS) MPI_Get_elements_x(&status, type, &moved);
    MPI_Type_free(&type);
    require(code, call);
    if (moved != all) {
      throw error(
          errc::bad_file, -1,
          text_of({call, " has moved only ", static_cast<std::uint64_t>(moved), " of ",
                   static_cast<std::uint64_t>(all), " bytes: the file ends before, or the disk is full"}));
    }
  }

  MPI_File file_ = MPI_FILE_NULL;
};

/// What the backends of MPI programs have in common. Backend has launch_on(communicator, main).
template <class Backend>
class mpi_backend : public job_backend<Backend> {
 public:
  using file_type = shared_file;
  static constexpr progress progress_by = progress::polled;

  /// The number of ranks, if a launcher of MPI has started this process, or the program has initialized MPI.
  [[nodiscard]] static std::optional<rank_t> launched_ranks() { return session::launched_ranks(); }

  /// Runs main(backend, bootstrap) on the processes of MPI_COMM_WORLD. If no launcher has started this
  /// process, a launcher takes its place, unless one rank is enough. Returns the bootstrap.
  template <class Main>
  static job launch(rank_t ranks, Main const& main) {
    if (ranks > 1 && !session::is_there()) start_by_launcher(ranks);
    session::begin();
    return Backend::launch_on(MPI_COMM_WORLD, main);
  }

 protected:
  using job_backend<Backend>::job_backend;
};

}  // namespace PGAS_NAMESPACE::detail::mpi
