// SPDX-License-Identifier: BSL-1.0
// The broadcasts of RCCE_comm (Shahmirzadi 2014, section 2.5.2, Figs. 2.4 and 2.6), from core 0.
#pragma once

#include "rcce.hpp"

namespace papers {

/// One half of the cores gets the whole message from the other half, and so on in both halves.
template <class Messages>
class binomial {
 public:
  explicit binomial(machine& m) : m_(m), messages_(m) {}

  void operator()(std::uint32_t at, std::size_t lines) {
    rank_t first = 0, end = m_.size();
    while (end - first > 1) {
      rank_t const middle = first + (end - first) / 2;
      if (m_.rank() == first) messages_.send(middle, at, lines);
      if (m_.rank() == middle) messages_.receive(first, at, lines);
      (m_.rank() < middle ? end : first) = middle;
    }
  }

 private:
  machine& m_;
  Messages messages_;
};

/// Core 0 sends each core its slice. Then each core sends its left neighbour the slice that came last, until
/// all cores have all slices.
template <class Messages>
class scatter_allgather {
 public:
  explicit scatter_allgather(machine& m) : m_(m), messages_(m) {}

  void operator()(std::uint32_t at, std::size_t lines) {
    rank_t const n = m_.size(), me = m_.rank();
    auto const first = [&](rank_t slice) {
      return lines * static_cast<std::size_t>(slice) / static_cast<std::size_t>(n);
    };
    auto const place = [&](rank_t slice) {
      return at + static_cast<std::uint32_t>(first(slice) * rcce::line);
    };
    auto const length = [&](rank_t slice) { return first(slice + 1) - first(slice); };
    if (me == 0) {
      for (rank_t r = 1; r < n; ++r) messages_.send(r, place(r), length(r));
    } else {
      messages_.receive(0, place(me), length(me));
    }
    rank_t const left = (me + n - 1) % n, right = (me + 1) % n;
    for (rank_t step = 0; step < n - 1; ++step) {
      rank_t const out = (me + step) % n, in = (out + 1) % n;
      messages_.exchange(left, place(out), length(out), right, place(in), length(in));
    }
  }

 private:
  machine& m_;
  Messages messages_;
};

}  // namespace papers
