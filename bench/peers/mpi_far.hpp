// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mpi_support.hpp"

/// Accesses as messages: an origin sends packets, and a server carries them out and answers.
namespace bench::mpi {

inline constexpr int to_server = 1;  // tags
inline constexpr int to_origin = 2;
inline constexpr int long_data = 3;

/// Memory that the two ranks and the agent map: a part for each rank, and words for orders to the agent.
class shared_parts {
 public:
  static constexpr std::size_t part_bytes = region;

  /// Collective over all processes.
  explicit shared_parts(int process) {
    int id = static_cast<int>(::getpid());
    MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
    std::string const name = "/bench-far-" + std::to_string(id);
    int const file = ::shm_open(name.c_str(), O_RDWR | O_CREAT, 0600);
    bool const fits = file >= 0 && ::ftruncate(file, bytes) == 0;
    base_ = fits ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    MPI_Barrier(MPI_COMM_WORLD);
    if (process == 0) ::shm_unlink(name.c_str());
    if (file >= 0) ::close(file);
    if (base_ == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  shared_parts(shared_parts const&) = delete;
  shared_parts& operator=(shared_parts const&) = delete;
  ~shared_parts() { ::munmap(base_, bytes); }

  [[nodiscard]] std::byte* part(int rank) const noexcept {
    return static_cast<std::byte*>(base_) + static_cast<std::size_t>(rank) * part_bytes;
  }
  [[nodiscard]] raw::word_ref word(int rank, std::size_t at) const noexcept {
    return raw::word_ref(*reinterpret_cast<std::uint64_t*>(part(rank) + at));
  }
  /// What the agent should do, and what it does.
  [[nodiscard]] raw::word_ref order() const noexcept { return word(2, 0); }
  [[nodiscard]] raw::word_ref state() const noexcept { return word(2, 1024); }

 private:
  static constexpr std::size_t bytes = 2 * part_bytes + 4 * kib;
  void* base_ = nullptr;
};

enum class request : std::uint32_t { put, long_put, get, add, list };

struct header {
  request kind = request::put;
  std::int32_t part = 0;      // the rank whose memory is accessed
  std::uint64_t at = 0;       // bytes into the part
  std::uint64_t bytes = 0;    // of the access
  std::uint64_t word_at = 0;  // a word that changes after the payload is there, if `word` is not 0
  std::uint64_t word = 0;
  std::uint64_t answers = 1;  // whether the origin waits for an answer
};

/// One put of a list.
struct place_and_value {
  std::uint64_t at, value;
};

struct packet {
  static constexpr std::size_t most = 16 * kib - sizeof(header);
  header head;
  std::array<std::byte, most> payload;

  [[nodiscard]] int bytes(std::size_t payload_bytes) const noexcept {
    return static_cast<int>(sizeof(header) + payload_bytes);
  }
};

/// Carries out the packets that reach this process. It acts in `serve` only.
class server {
 public:
  explicit server(shared_parts const& parts) : parts_(&parts), packets_(posted) {
    for (std::size_t i = 0; i < posted; ++i) post(i);
  }
  server(server const&) = delete;
  server& operator=(server const&) = delete;
  ~server() {
    for (auto& each : requests_) {
      MPI_Cancel(&each);
      MPI_Wait(&each, MPI_STATUS_IGNORE);
    }
  }

  /// Lets MPI work, and carries out a packet if one is there.
  bool serve() {
    int there = 0;
    MPI_Status status;
    MPI_Test(&requests_[next_], &there, &status);
    if (there == 0) return false;
    carry_out(packets_[next_], status.MPI_SOURCE);
    post(next_);
    next_ = (next_ + 1) % posted;
    return true;
  }

 private:
  static constexpr std::size_t posted = 4;  // receives

  void post(std::size_t i) {
    MPI_Irecv(&packets_[i], sizeof(packet), MPI_BYTE, MPI_ANY_SOURCE, to_server, MPI_COMM_WORLD,
              &requests_[i]);
  }

  void carry_out(packet const& p, int origin) {
    header const& h = p.head;
    std::byte* const at = parts_->part(h.part) + h.at;
    switch (h.kind) {
      case request::put:
        std::memcpy(at, p.payload.data(), h.bytes);
        break;
      case request::long_put:
        MPI_Recv(at, static_cast<int>(h.bytes), MPI_BYTE, origin, long_data, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        break;
      case request::get:
        answer(origin, at, h.bytes);
        return;
      case request::add: {
        std::uint64_t add = 0;
        std::memcpy(&add, p.payload.data(), sizeof add);
        // relaxed: the answer orders it for the origin
        std::uint64_t const before = parts_->word(h.part, h.at).fetch_add(add, std::memory_order_relaxed);
        answer(origin, &before, sizeof before);
        return;
      }
      case request::list:
        for (std::size_t i = 0; i < h.bytes; i += sizeof(place_and_value)) {
          place_and_value one{};
          std::memcpy(&one, p.payload.data() + i, sizeof one);
          std::memcpy(parts_->part(h.part) + one.at, &one.value, sizeof one.value);
        }
    }
    // release: pairs with the acquire of the rank that waits for the word
    if (h.word != 0) parts_->word(h.part, h.word_at).store(h.word, std::memory_order_release);
    if (h.answers != 0) answer(origin, nullptr, 0);
  }

  static void answer(int origin, void const* data, std::size_t bytes) {
    MPI_Send(data, static_cast<int>(bytes), MPI_BYTE, origin, to_origin, MPI_COMM_WORLD);
  }

  shared_parts const* parts_;
  std::vector<packet> packets_;
  std::array<MPI_Request, posted> requests_{};
  std::size_t next_ = 0;
};

/// Looks again and again, serves meanwhile, and lets others have the core now and then.
template <class Done>
void serve_until(server& own, Done done) {
  for (unsigned looks = 1; !done(); ++looks) {
    own.serve();
    if (looks % 8 == 0) ::sched_yield();
  }
}

/// Accesses to one part by packets to the process that serves it: the target, or an agent.
class message_origin {
 public:
  message_origin(server& own, int process, int part)
      : own_(&own), process_(process), part_(part), packets_(in_flight_packets) {
    requests_.fill(MPI_REQUEST_NULL);
  }

  void put(void const* from, std::size_t bytes) { put_and_signal(from, bytes, 0, 0, 0); }
  /// Puts bytes, and then changes a word of the target.
  void put_and_signal(void const* from, std::size_t bytes, std::size_t at, std::size_t word_at,
                      std::uint64_t word) {
    packet& p = packets_[0];
    p.head = {.kind = request::put,
              .part = part_,
              .at = at,
              .bytes = bytes,
              .word_at = word_at,
              .word = word,
              .answers = word == 0 ? 1U : 0U};
    std::memcpy(p.payload.data(), from, bytes);
    send(p, bytes);
    if (word == 0) {
      receive(nullptr, 0);
    } else {
      wait_for(requests_[0]);
    }
  }
  void long_put(void const* from, std::size_t bytes) {
    packet& p = packets_[0];
    p.head = {.kind = request::long_put, .part = part_, .bytes = bytes};
    send(p, 0);
    MPI_Isend(from, static_cast<int>(bytes), MPI_BYTE, process_, long_data, MPI_COMM_WORLD, &requests_[1]);
    receive(nullptr, 0);
    wait_for(requests_[1]);
  }
  void get(void* into, std::size_t bytes) {
    packet& p = packets_[0];
    p.head = {.kind = request::get, .part = part_, .bytes = bytes};
    send(p, 0);
    receive(into, bytes);
  }
  std::uint64_t add(std::uint64_t value) {
    packet& p = packets_[0];
    p.head = {.kind = request::add, .part = part_};
    std::memcpy(p.payload.data(), &value, sizeof value);
    send(p, sizeof value);
    receive(&value, sizeof value);
    return value;
  }

  /// Puts many words, so many a packet, and returns when all have arrived.
  void put_all(std::span<place_and_value const> puts, std::size_t a_packet) {
    for (std::size_t first = 0, slot = 0; first < puts.size();
         first += a_packet, slot = (slot + 1) % in_flight_packets) {
      std::size_t const bytes = std::min(a_packet, puts.size() - first) * sizeof(place_and_value);
      wait_for(requests_[slot]);
      packet& p = packets_[slot];
      p.head = {.kind = request::list,
                .part = part_,
                .bytes = bytes,
                .answers = first + a_packet >= puts.size() ? 1U : 0U};
      std::memcpy(p.payload.data(), puts.data() + first, bytes);
      MPI_Isend(&p, p.bytes(bytes), MPI_BYTE, process_, to_server, MPI_COMM_WORLD, &requests_[slot]);
    }
    receive(nullptr, 0);
    for (auto& each : requests_) wait_for(each);
  }

 private:
  static constexpr std::size_t in_flight_packets = 8;

  void send(packet const& p, std::size_t payload) {
    MPI_Isend(&p, p.bytes(payload), MPI_BYTE, process_, to_server, MPI_COMM_WORLD, &requests_[0]);
  }
  void receive(void* into, std::size_t bytes) {
    MPI_Request answer = MPI_REQUEST_NULL;
    MPI_Irecv(into, static_cast<int>(bytes), MPI_BYTE, process_, to_origin, MPI_COMM_WORLD, &answer);
    wait_for(answer);
    wait_for(requests_[0]);
  }
  void wait_for(MPI_Request& one) {
    serve_until(*own_, [&] {
      int done = 0;
      MPI_Test(&one, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
  }

  server* own_;
  int process_;
  int part_;
  std::vector<packet> packets_;
  std::array<MPI_Request, in_flight_packets> requests_{};
};

}  // namespace bench::mpi
