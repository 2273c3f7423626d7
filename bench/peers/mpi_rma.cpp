// SPDX-License-Identifier: BSL-1.0
// The rows of micro.cpp by MPI's one-sided operations, as the standard's text describes them. Built with each
// MPI. MPI allocates the windows, so it can use shared memory; info keys ask for its quickest atomics.
#include "mpi_support.hpp"

namespace {

using bench::mib;

class micro {
 public:
  explicit micro(bench::meter& m)
      : m_(m), window_(bench::region), win_(window_.get()), other_(1 - m.rank()), neighbour_({other_}) {
    window_.clear(bench::region);
    there_ = window_.mapped(bench::region, m.rank());
  }

  void all() {
    with_flush();
    with_lock();
    with_fence();
    with_post();
  }

 private:
  void put(std::size_t at, std::size_t bytes) const {
    MPI_Put(private_.data() + at, static_cast<int>(bytes), MPI_BYTE, other_, static_cast<MPI_Aint>(at),
            static_cast<int>(bytes), MPI_BYTE, win_);
  }
  void get(std::size_t at, std::size_t bytes) const {
    MPI_Get(private_.data() + at, static_cast<int>(bytes), MPI_BYTE, other_, static_cast<MPI_Aint>(at),
            static_cast<int>(bytes), MPI_BYTE, win_);
  }
  void add(std::size_t bytes) const {
    int const count = static_cast<int>(bytes / 8);
    MPI_Accumulate(private_.data(), count, MPI_UINT64_T, other_, 0, count, MPI_UINT64_T, MPI_SUM, win_);
  }
  // The old value arrives when the epoch or a flush completes the operation.
  void fetch_and_add() { MPI_Fetch_and_op(&one_, &found_, MPI_UINT64_T, other_, 0, MPI_SUM, win_); }
  void compare_and_swap() { MPI_Compare_and_swap(&one_, &one_, &found_, MPI_UINT64_T, other_, 0, win_); }
  void flush() const { MPI_Win_flush(other_, win_); }

  template <class Step>
  void on_origin(bench::row_key const& key, Step step) {
    m_.measure(key, {bench::origin_only(m_, "", step)});
  }

  void with_flush() {
    MPI_Win_lock_all(0, win_);
    for (std::size_t const bytes : bench::latency_sizes(m_.quick())) {
      auto const puts = [=, this] {
        put(0, bytes);
        flush();
      };
      auto const gets = [=, this] {
        get(0, bytes);
        flush();
      };
      bench::beside_copy(m_, bench::latency_key("put_latency", "flush", bytes), puts, there_,
                         private_.data());
      bench::beside_copy(m_, bench::latency_key("get_latency", "flush", bytes), gets, private_.data(),
                         there_);
    }
    for (std::size_t const bytes : bench::bandwidth_sizes(m_.quick())) {
      auto const walk = bench::window_of(
          bytes, bench::in_flight, [this](std::size_t at, std::size_t size) { put(at, size); },
          [this] { flush(); });
      auto const gets = bench::window_of(
          bytes, bench::in_flight, [this](std::size_t at, std::size_t size) { get(at, size); },
          [this] { flush(); });
      bench::beside_walk(m_, bench::bandwidth_key("put_bw", bytes), walk, there_, private_.data(), false);
      bench::beside_walk(m_, bench::bandwidth_key("put_bibw", bytes), walk, there_, private_.data(), true);
      bench::beside_walk(m_, bench::bandwidth_key("get_bw", bytes), gets, private_.data(), there_, false);
    }
    on_origin(bench::rate_key("put_mr"), [this] {
      for (std::size_t i = 0; i < bench::small_in_flight; ++i) put(i * 8, 8);
      flush();
    });
    for (std::size_t const bytes : {std::size_t{8}, 4 * bench::kib, mib}) {
      std::vector<bench::way> ways{bench::origin_only(m_, "", [=, this] {
        add(bytes);
        flush();
      })};
      if (bytes >= bench::has_copy_beside)
        ways.push_back(bench::plain_loop(m_, reinterpret_cast<std::uint64_t*>(there_),
                                         reinterpret_cast<std::uint64_t const*>(private_.data()), bytes / 8));
      m_.measure(bench::latency_key("acc_latency", "flush", bytes), ways);
    }
    on_origin(bench::latency_key("fop_latency", "flush", 8), [this] {
      fetch_and_add();
      flush();
    });
    on_origin(bench::latency_key("cas_latency", "flush", 8), [this] {
      compare_and_swap();
      flush();
    });
    chained();
    strided();
    on_origin(bench::latency_key("put_overlap", "flush", mib), [this] {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Rput(private_.data(), mib, MPI_BYTE, other_, 0, mib, MPI_BYTE, win_, &request);
      bench::compute();
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      flush();
    });
    m_.measure(bench::latency_key("put_target_busy", "flush", 8), {bench::put_to_busy_target(m_, [this] {
                 put(0, 8);
                 flush();
               })});
    MPI_Win_unlock_all(win_);
  }

  void strided() {
    MPI_Datatype block = MPI_DATATYPE_NULL;
    MPI_Type_vector(bench::block_edge, bench::block_edge, bench::block_pitch, MPI_DOUBLE, &block);
    MPI_Type_commit(&block);
    on_origin(bench::latency_key("put_block", "flush", bench::block_edge * bench::block_edge * 8), [=, this] {
      MPI_Put(private_.data(), 1, block, other_, 0, 1, block, win_);
      flush();
    });
    MPI_Type_free(&block);
  }

  /// Each operation needs the value that the one before fetched.
  void chained() {
    std::vector<std::uint64_t> const chain = bench::chain();
    int const bytes = static_cast<int>(chain.size() * 8);
    if (m_.rank() == 0) {
      MPI_Put(chain.data(), bytes, MPI_BYTE, other_, 0, bytes, MPI_BYTE, win_);
      flush();
    }
    on_origin(bench::latency_key("get_chain", "flush", 8), [this, at = std::uint64_t{0}]() mutable {
      MPI_Get(&found_, 8, MPI_BYTE, other_, static_cast<MPI_Aint>(at * 8), 8, MPI_BYTE, win_);
      flush();
      at = found_;
    });
    on_origin(bench::latency_key("put_get_chain", "flush", 8), [this, value = std::uint64_t{0}]() mutable {
      ++value;
      MPI_Put(&value, 8, MPI_BYTE, other_, 0, 8, MPI_BYTE, win_);
      flush();
      MPI_Get(&value, 8, MPI_BYTE, other_, 0, 8, MPI_BYTE, win_);
      flush();
    });
  }

  /// The operations measured in each kind of epoch: `use(row, bytes, step)`.
  template <class Use>
  void each_operation(Use const& use) {
    use("put_latency", std::size_t{8}, [this] { put(0, 8); });
    use("put_latency", 4 * bench::kib, [this] { put(0, 4 * bench::kib); });
    use("get_latency", std::size_t{8}, [this] { get(0, 8); });
    use("acc_latency", std::size_t{8}, [this] { add(8); });
    use("fop_latency", std::size_t{8}, [this] { fetch_and_add(); });
    use("cas_latency", std::size_t{8}, [this] { compare_and_swap(); });
  }

  void with_lock() {
    auto const locked = [this](int kind, auto step) {
      return [=, this] {
        MPI_Win_lock(kind, other_, 0, win_);
        step();
        MPI_Win_unlock(other_, win_);
      };
    };
    each_operation([&](char const* row, std::size_t bytes, auto step) {
      on_origin(bench::latency_key(row, "lock", bytes), locked(MPI_LOCK_EXCLUSIVE, step));
      on_origin(bench::latency_key(row, "lock_shared", bytes), locked(MPI_LOCK_SHARED, step));
    });
  }

  void with_fence() {
    bool const works = m_.rank() == 0;
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win_);
    each_operation([&](char const* row, std::size_t bytes, auto step) {
      m_.measure(bench::latency_key(row, "fence", bytes), {bench::everybody("", [=, this] {
                   if (works) step();
                   MPI_Win_fence(0, win_);
                 })});
    });
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win_);
  }

  void with_post() {
    bool const first = m_.rank() == 0;
    auto const target = [this] {
      MPI_Win_post(neighbour_.get(), 0, win_);
      MPI_Win_wait(win_);
    };
    each_operation([&](char const* row, std::size_t bytes, auto step) {
      auto const origin = [this, step] {
        MPI_Win_start(neighbour_.get(), 0, win_);
        step();
        MPI_Win_complete(win_);
      };
      m_.measure(bench::post_key(row, bytes), {bench::everybody("", [=] {
                   if (first) origin();
                   target();
                   if (!first) origin();
                 })});
    });
  }

  bench::meter& m_;
  bench::mpi::allocated_window window_;
  MPI_Win win_;
  bench::buffer private_;
  int other_;
  bench::mpi::rank_group neighbour_;
  std::byte* there_ = nullptr;  ///< where the other rank's part is in this one, or else the own part
  std::uint64_t one_ = 1;
  std::uint64_t found_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return bench::mpi::run<micro>(argc, argv); }
