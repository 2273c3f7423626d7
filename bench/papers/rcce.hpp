// SPDX-License-Identifier: BSL-1.0
// RCCE and iRCCE on whole lines of private memory: put, get, flags, and send and receive made of those
// (Shahmirzadi 2014, sections 2.2.2 and 2.5.2; RCCE_put.c, RCCE_get.c, RCCE_flags.c and RCCE_send.c of Intel
// 2010 as they are usually described).
#pragma once

#include "chip.hpp"

namespace papers {

/// The time of RCCE's put and get beside their accesses, each. Set by: a broadcast of one line to 48 cores by
/// a binomial tree of RCCE's send and receive takes 21.6 us (Shahmirzadi 2014, section 2.5.2).
inline constexpr double rcce_us = 0.484;

/// One core's puts and gets. A flag is a line of a buffer with a number; a put sets it.
class rcce {
 public:
  static constexpr std::uint32_t line = machine::line_bytes;

  /// `call_us`: the time of each put and get beside its accesses.
  explicit rcce(machine& m, double call_us = rcce_us) : m_(m), call_us_(call_us) { m_.read(copy, line); }

  [[nodiscard]] machine& on() const noexcept { return m_; }
  [[nodiscard]] rank_t rank() const noexcept { return m_.rank(); }
  [[nodiscard]] rank_t size() const noexcept { return m_.size(); }

  /// Copies lines of private memory to a core's buffer.
  void put(rank_t where, std::uint32_t to, std::uint32_t from, std::size_t lines) const {
    begin();
    m_.copy_lines(page_type::mpbt_wt, machine::buffer_of(where, to), page_type::dcm, from, lines);
  }
  /// Copies lines of a core's buffer to private memory.
  void get(std::uint32_t to, rank_t where, std::uint32_t from, std::size_t lines) const {
    begin();
    m_.copy_lines(page_type::dcm, to, page_type::mpbt_wb, machine::buffer_of(where, from), lines);
  }
  /// Copies lines of a core's buffer to the own one.
  void get_into_buffer(std::uint32_t to, rank_t where, std::uint32_t from, std::size_t lines) const {
    begin();
    m_.copy_lines(page_type::mpbt_wt, machine::buffer_of(rank(), to), page_type::mpbt_wb,
                  machine::buffer_of(where, from), lines);
  }

  void set(rank_t where, std::uint32_t flag, std::uint64_t number) const {
    begin();
    m_.core().store(page_type::dcm, copy, std::as_bytes(std::span(&number, 1)));
    m_.copy_lines(page_type::mpbt_wt, machine::buffer_of(where, flag), page_type::dcm, copy, 1);
  }
  /// Polls an own flag until it has at least this number.
  void wait(std::uint32_t flag, std::uint64_t number) const {
    std::uint64_t seen = 0;
    do {
      m_.core().drop_tagged();
      m_.core().load(page_type::mpbt_wb, machine::buffer_of(rank(), flag),
                     std::as_writable_bytes(std::span(&seen, 1)));
    } while (seen < number);
  }

 private:
  static constexpr std::uint32_t copy = machine::scratch(0);

  void begin() const {
    if (call_us_ > 0) m_.work(call_us_);
    m_.core().drop_tagged();
  }

  machine& m_;
  double call_us_;
};

/// Two-sided messages as RCCE has them: the sender puts a piece into its own buffer and sets a flag, the
/// receiver gets the piece and sets another one. Each resets the flag that it has seen.
class rcce_messages {
 public:
  explicit rcce_messages(machine& m) : library_(m) {}

  void send(rank_t to, std::uint32_t from, std::size_t lines) const {
    for (std::size_t done = 0; done < lines; done += piece) {
      library_.put(rank(), message, at(from, done), std::min(piece, lines - done));
      library_.set(to, sent_of(rank()), 1);
      library_.wait(ready_of(to), 1);
      library_.set(rank(), ready_of(to), 0);
    }
  }
  void receive(rank_t from, std::uint32_t into, std::size_t lines) const {
    for (std::size_t done = 0; done < lines; done += piece) {
      library_.wait(sent_of(from), 1);
      library_.set(rank(), sent_of(from), 0);
      library_.get(at(into, done), from, message, std::min(piece, lines - done));
      library_.set(from, ready_of(rank()), 1);
    }
  }
  /// Both, with two neighbours of a circle: cores with even numbers send first.
  void exchange(rank_t to, std::uint32_t out, std::size_t lines_out, rank_t from, std::uint32_t in,
                std::size_t lines_in) const {
    if (rank() % 2 == 0) send(to, out, lines_out);
    receive(from, in, lines_in);
    if (rank() % 2 != 0) send(to, out, lines_out);
  }

 private:
  // A flag of each kind for each other core, and some lines for barriers; the rest is the message's.
  static constexpr std::uint32_t first_flag = 4 * rcce::line;
  static constexpr std::uint32_t message = first_flag + 2 * 48 * rcce::line;
  static constexpr std::size_t piece = (pgas::detail::scc::mpb_bytes - message) / rcce::line;

  static std::uint32_t ready_of(rank_t r) {
    return first_flag + 2 * static_cast<std::uint32_t>(r) * rcce::line;
  }
  static std::uint32_t sent_of(rank_t r) { return ready_of(r) + rcce::line; }
  static std::uint32_t at(std::uint32_t address, std::size_t lines) {
    return address + static_cast<std::uint32_t>(lines * rcce::line);
  }
  [[nodiscard]] rank_t rank() const noexcept { return library_.rank(); }

  rcce library_;

  friend class ircce_messages;
};

/// The same with two halves of a buffer in turn, as in iRCCE: the sender fills one while the receiver empties
/// the other one, and a core sends and receives at the same time.
///
/// Differs   from iRCCE, whose flags are reset. Here they count pieces, which saves two puts a piece.
class ircce_messages {
 public:
  explicit ircce_messages(machine& m)
      : library_(m),
        sent_(static_cast<std::size_t>(m.size())),
        received_(static_cast<std::size_t>(m.size())) {}

  void send(rank_t to, std::uint32_t from, std::size_t lines) { exchange(to, from, lines, to, 0, 0); }
  void receive(rank_t from, std::uint32_t into, std::size_t lines) {
    exchange(from, 0, 0, from, into, lines);
  }
  void exchange(rank_t to, std::uint32_t out, std::size_t lines_out, rank_t from, std::uint32_t in,
                std::size_t lines_in) {
    std::uint64_t& sent = sent_[static_cast<std::size_t>(to)];
    std::uint64_t& received = received_[static_cast<std::size_t>(from)];
    std::uint64_t const before = sent;
    for (std::size_t done = 0; done < std::max(lines_out, lines_in); done += piece) {
      if (done < lines_out) {
        if (sent >= before + 2) library_.wait(of::ready_of(to), sent - 1);
        library_.put(rank(), half(sent - before), of::at(out, done), std::min(piece, lines_out - done));
        library_.set(to, of::sent_of(rank()), ++sent);
      }
      if (done < lines_in) {
        library_.wait(of::sent_of(from), ++received);
        library_.get(of::at(in, done), from, half(done / piece), std::min(piece, lines_in - done));
        library_.set(from, of::ready_of(rank()), received);
      }
    }
    if (lines_out > 0) library_.wait(of::ready_of(to), sent);
  }

 private:
  using of = rcce_messages;
  static constexpr std::size_t piece = of::piece / 2;
  static std::uint32_t half(std::uint64_t number) {
    return of::at(of::message, static_cast<std::size_t>(number % 2) * piece);
  }
  [[nodiscard]] rank_t rank() const noexcept { return library_.rank(); }

  rcce library_;
  std::vector<std::uint64_t> sent_, received_;  ///< pieces to each core, and from each
};

}  // namespace papers
