// SPDX-License-Identifier: BSL-1.0
// The rows of sync.cpp by MPI's one-sided operations.
#include "mpi_support.hpp"

namespace {

std::vector<int> neighbours_of(int rank, int ranks) {
  if (ranks == 2) return {1 - rank};
  return {(rank + ranks - 1) % ranks, (rank + 1) % ranks};
}

class meetings {
 public:
  explicit meetings(bench::meter& m)
      : m_(m),
        window_(bench::mib),
        win_(window_.get()),
        neighbours_(neighbours_of(m.rank(), m.ranks())),
        group_(neighbours_) {
    window_.clear(bench::mib);
  }

  void all() {
    if (m_.large()) return make_window(bench::gib);
    everybody(row("barrier"), [] { MPI_Barrier(MPI_COMM_WORLD); });
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win_);
    everybody(row("fence"), [this] { MPI_Win_fence(0, win_); });
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win_);
    everybody(row("pscw"), [this] {
      MPI_Win_post(group_.get(), 0, win_);
      MPI_Win_start(group_.get(), 0, win_);
      for (int const to : neighbours_) put(to, 0, 8);
      MPI_Win_complete(win_);
      MPI_Win_wait(win_);
    });
    if (m_.ranks() <= 4) contended();
    if (m_.ranks() != 2) return;
    hand_over();
    free_lock("lock_exclusive", MPI_LOCK_EXCLUSIVE);
    free_lock("lock_shared", MPI_LOCK_SHARED);
    m_.measure(row("barrier_late"), {bench::late(m_, "", [] { MPI_Barrier(MPI_COMM_WORLD); })});
    MPI_Win_lock_all(0, win_);
    message(bench::there_and_back("flag", 0));
    for (std::size_t const bytes : bench::message_sizes) message(bench::there_and_back("pingpong", bytes));
    MPI_Win_unlock_all(win_);
    make_window(20 * bench::mib);
  }

 private:
  [[nodiscard]] static bench::row_key row(char const* name) { return {.row = name, .mode = ""}; }

  template <class Step>
  void everybody(bench::row_key const& key, Step step) {
    m_.measure(key, {bench::everybody("", step)});
  }

  void free_lock(char const* name, int kind) {
    m_.measure(bench::lock_key(name), {bench::origin_only(m_, "", [=, this] {
                 MPI_Win_lock(kind, 1, 0, win_);
                 MPI_Win_unlock(1, win_);
               })});
  }

  /// All ranks add one to a word of rank 0 under its lock.
  void contended() {
    m_.measure(bench::contended_key(m_.ranks()), {bench::all_of(m_, "", [this] {
                 std::uint64_t value = 0;
                 MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win_);
                 MPI_Get(&value, 8, MPI_BYTE, 0, 0, 8, MPI_BYTE, win_);
                 MPI_Win_flush(0, win_);
                 ++value;
                 MPI_Put(&value, 8, MPI_BYTE, 0, 0, 8, MPI_BYTE, win_);
                 MPI_Win_unlock(0, win_);
               })});
  }

  void hand_over() {
    m_.measure(bench::hand_over_key(), {bench::hand_over(m_, "", [this](auto const& inside) {
                 MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win_);
                 inside();
                 MPI_Win_unlock(0, win_);
               })});
  }

  void put(int to, std::size_t at, std::size_t bytes) const {
    MPI_Put(private_.data(), static_cast<int>(bytes), MPI_BYTE, to, static_cast<MPI_Aint>(at),
            static_cast<int>(bytes), MPI_BYTE, win_);
  }

  /// Bytes, if any, and then a word that signals their arrival.
  void message(bench::row_key const& key) {
    bool const first = m_.rank() == 0;
    int const other = 1 - m_.rank();
    std::size_t const flag_at = 4096 + key.bytes;  // one for each size
    std::size_t const data_at = 512 * bench::kib;
    auto const send = [=, this, bytes = key.bytes](std::uint64_t n) {
      if (bytes != 0) {
        put(other, data_at, bytes);
        MPI_Win_flush(other, win_);
      }
      MPI_Put(&n, 8, MPI_BYTE, other, static_cast<MPI_Aint>(flag_at), 8, MPI_BYTE, win_);
      MPI_Win_flush(other, win_);
    };
    bench::raw::word_ref const flag(*reinterpret_cast<std::uint64_t*>(window_.data() + flag_at));
    auto const wait = [=, this](std::uint64_t n) {
      // A load sees the put if MPI shares memory. If a put is a message, MPI must be called to receive it.
      for (unsigned looks = 1; flag.load(std::memory_order_acquire) < n; ++looks) {
        if (looks % 64 != 0) continue;
        int there = 0;
        MPI_Iprobe(other, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        MPI_Win_sync(win_);
      }
    };
    everybody(key, [=, n = std::uint64_t{0}]() mutable {
      ++n;
      if (first) send(n);
      wait(n);
      if (!first) send(n);
    });
  }

  void make_window(std::size_t bytes) {
    auto const key = bench::window_key(bytes);
    if (!m_.has_memory(key, bytes * static_cast<std::size_t>(m_.ranks()))) return;
    everybody(key, [=] {
      bench::mpi::allocated_window const window(bytes);
      for (std::size_t i = 0; i < bytes; i += 4096) window.data()[i] = std::byte{1};
      bench::forget();
    });
  }

  bench::meter& m_;
  bench::mpi::allocated_window window_;
  MPI_Win win_;
  bench::buffer private_;
  std::vector<int> neighbours_;
  bench::mpi::rank_group group_;
};

}  // namespace

int main(int argc, char** argv) { return bench::mpi::run<meetings>(argc, argv); }
