// SPDX-License-Identifier: BSL-1.0
// Christgau 2017, Figs. 4.14 and 4.15: OSU's put latency and bandwidth with post, start, complete and wait
// between cores 0 and 1, beside the same calls over messages, and beside send and receive.
#pragma once

#include <pgas/exposure.hpp>
#include <stdexcept>

#include "messages.hpp"

namespace papers::put {

inline constexpr std::size_t most_bytes = std::size_t{1} << 20U;
/// The number of puts in an epoch for bandwidth, each at the end of the one before: OSU has 64 of any size.
/// Large puts are fewer, if 64 are more than the caches hold.
constexpr int puts_of(std::size_t bytes) {
  return static_cast<int>(std::clamp<std::size_t>((2U << 20U) / bytes, 2, 64));
}
/// The place of the data of put number i; whole words travel.
constexpr std::size_t place_of(int i, std::size_t bytes) {
  return static_cast<std::size_t>(i) * ((bytes + 3) / 4 * 4);
}

struct figures {
  double latency = 0;    // us, one way
  double bandwidth = 0;  // MB/s of 2^20 bytes
};

inline constexpr std::uint32_t source = machine::scratch(0), received = machine::scratch(4 * most_bytes);

constexpr std::uint32_t pattern(std::uint32_t at) noexcept { return (at + 1) * 2654435761U; }
inline void fill(machine const& m, std::size_t bytes) {
  for (std::uint32_t at = 0; at < bytes; at += 4) m.store(page_type::dcm, source + at, pattern(at));
}
/// Checks that the sent words have arrived; whole words travel.
inline void check(machine const& m, std::size_t bytes) {
  for (std::uint32_t at = 0; at < bytes; at += 4) {
    if (m.load(page_type::dcm, received + at) != pattern(at))
      throw std::runtime_error("byte " + std::to_string(at) + " of a message differs from the sent byte");
  }
}

inline double rate(std::size_t bytes, double times, double us) {
  return static_cast<double>(bytes) * times / us * 1e6 / (1 << 20);
}

/// Repetitions before those that are timed. The benchmark checks the data of one of them: that leaves as much
/// of them in the caches as fits.
constexpr int warm_up = 3;

/// Ping-pong: `send()` puts to the other core and signals it, `take()` waits for that. `look()` reads what
/// has come.
template <class Send, class Take, class Look>
double one_way(machine& m, int repetitions, Send const& send, Take const& take, Look const& look) {
  double before = 0;
  for (int i = -warm_up; i < repetitions; ++i) {
    if (i == 0) {
      look();
      m.team().barrier();
      before = m.now();
    }
    if (m.rank() == 0) {
      send();
      take();
    } else {
      take();
      send();
    }
  }
  return (m.now() - before) / (2.0 * repetitions);
}

/// One epoch after the other, from core 0 to core 1.
template <class Send, class Take, class Look>
double each_epoch(machine& m, int repetitions, Send const& send, Take const& take, Look const& look) {
  double before = 0;
  for (int i = -1; i < repetitions; ++i) {
    if (i == 0) {
      look();
      m.team().barrier();
      before = m.now();
    }
    m.rank() == 0 ? send() : take();
  }
  return (m.now() - before) / repetitions;
}

inline figures one_sided(std::size_t bytes, int repetitions, int puts, library const& how) {
  figures got;
  on_chip(2, default_timing(), [&](machine& m) {
    auto const w = pgas::make_window<std::byte>(m.team(), place_of(puts, bytes));
    rank_t const other = 1 - m.rank();
    std::vector<std::byte> const bytes_to_put(bytes);
    auto const send = [&](int times) {
      m.work(how.call);  // start
      pgas::access epoch{w, {other}};
      for (int i = 0; i < times; ++i) {
        m.work(how.call);  // put
        // The source is read through the caches.
        std::size_t const at = place_of(i, bytes);
        m.read(source + static_cast<std::uint32_t>(at), bytes);
        epoch.put(other, at, std::span(bytes_to_put));
      }
      m.work(how.call);  // complete
    };
    auto const take = [&] {
      m.work(how.call);  // post
      pgas::exposure exposed{w, {other}};
      m.work(how.call);  // wait
    };
    // The target reads its window past the caches: a look leaves nothing there.
    auto const look = [] {};
    double const latency = one_way(
        m, repetitions, [&] { send(1); }, take, look);
    double const epoch = each_epoch(
        m, 2, [&] { send(puts); }, take, look);
    if (m.rank() == 0) got = {latency, rate(bytes, puts, epoch)};
    m.team().barrier();
  });
  return got;
}

inline figures by_messages(std::size_t bytes, int repetitions, int puts, library const& how) {
  figures got;
  on_chip(2, default_timing(), [&](machine& m) {
    messages channel(m);
    message_windows window(m, channel, how);
    rank_t const other = 1 - m.rank();
    channel.expect(other, received);
    std::size_t const all = place_of(puts, bytes);
    fill(m, all);
    auto const send = [&](int times) {
      window.start();
      for (int i = 0; i < times; ++i) {
        std::size_t const at = place_of(i, bytes);
        window.put(other, source + static_cast<std::uint32_t>(at), bytes, at);
      }
      window.complete(pgas::group(&other, 1));
    };
    auto const take = [&] {
      window.post(pgas::group(&other, 1));
      window.wait(pgas::group(&other, 1));
    };
    double const latency = one_way(
        m, repetitions, [&] { send(1); }, take, [&] { check(m, bytes); });
    double const epoch = each_epoch(
        m, 2, [&] { send(puts); }, take, [&] { check(m, m.rank() == 0 ? bytes : all); });
    check(m, m.rank() == 0 ? bytes : all);  // rank 0 only had answers
    if (m.rank() == 0) got = {latency, rate(bytes, puts, epoch)};
    m.team().barrier();
  });
  return got;
}

inline figures two_sided(std::size_t bytes, int repetitions, int sends) {
  figures got;
  on_chip(2, default_timing(), [&](machine& m) {
    messages channel(m);
    rank_t const other = 1 - m.rank();
    fill(m, bytes);
    auto const send = [&] { channel.send(other, messages::kind::data, source, bytes); };
    auto const take = [&] { channel.receive(other, messages::kind::data, received); };
    auto const look = [&] { check(m, bytes); };
    double const latency = one_way(m, repetitions, send, take, look);
    // OSU: that many sends, and then an answer.
    double const window = each_epoch(
        m, 2,
        [&] {
          for (int i = 0; i < sends; ++i) send();
          take();
        },
        [&] {
          for (int i = 0; i < sends; ++i) take();
          channel.send(other, messages::kind::data, source, 4);
        },
        look);
    check(m, bytes);
    if (m.rank() == 0) got = {latency, rate(bytes, sends, window)};
    m.team().barrier();
  });
  return got;
}

inline void run(effort how) {
  teller const latency("put_latency", default_timing());
  teller const bandwidth("put_bandwidth", default_timing());
  library const mpi = library::active();
  for (std::size_t bytes = 1; bytes <= most_bytes; bytes *= bytes == 1 ? 8 : bytes >= 4096 ? 4 : 2) {
    if (how == effort::small ? bytes != 1 && bytes != 512
                             : how == effort::quick && bytes > 4096 && bytes != 65536 && bytes != most_bytes)
      continue;
    int const repetitions = bytes > 65536 ? 1 : bytes > 4096 ? 2 : 10;
    int const in_epoch = puts_of(bytes);
    figures const ours = one_sided(bytes, repetitions, in_epoch, mpi);
    figures const theirs = by_messages(bytes, repetitions, in_epoch, mpi);
    figures const two = two_sided(bytes, repetitions, in_epoch);
    latency("one_sided", bytes, "latency", ours.latency);
    latency("messages", bytes, "latency", theirs.latency);
    latency("two_sided", bytes, "latency", two.latency);
    latency("messages over one_sided", bytes, "ratio", theirs.latency / ours.latency, "times");
    bandwidth("one_sided", bytes, "bandwidth", ours.bandwidth, "MB/s");
    bandwidth("messages", bytes, "bandwidth", theirs.bandwidth, "MB/s");
    bandwidth("two_sided", bytes, "bandwidth", two.bandwidth, "MB/s");
    bandwidth("one_sided over messages", bytes, "ratio", ours.bandwidth / theirs.bandwidth, "times");
    bandwidth("one_sided minus two_sided", bytes, "difference", ours.bandwidth - two.bandwidth, "MB/s");
  }
}

}  // namespace papers::put
