// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <pgas/collectives/binomial.hpp>
#include <pgas/collectives/bruck.hpp>
#include <pgas/collectives/pulled.hpp>
#include <pgas/collectives/rabenseifner.hpp>
#include <pgas/collectives/recursive_doubling.hpp>
#include <pgas/collectives/ring.hpp>
#include <pgas/collectives/scatter_allgather.hpp>
#include <pgas/detail/exchange/links.hpp>
#include <pgas/detail/exchange/media.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "../support/mutated_exchange.hpp"

/// Programs of collectives on links and pull areas that tests make themselves: with steps left out, and
/// without the start-up of a team, so that a search of orders is about the collectives.
namespace pgas_test::exchanges {

using pgas::bytes_in;
using pgas::bytes_out;
using pgas::rank_t;
namespace collectives = pgas::collectives;

/// The links and the pull area of a team, on words and memory that may lack a step.
template <class Control, class Segment>
class media {
  using words_type = watched_control<Control, mutant_of_words>;
  using memory_type = mutant_of_memory<Segment>;
  using links_type = pgas::detail::links<words_type, memory_type>;
  using pull_area_type = pgas::detail::pull_area<words_type, memory_type>;

 public:
  static constexpr pgas::control_words words(rank_t ranks) { return links_type::words(ranks); }
  static constexpr std::size_t bytes(rank_t ranks) {
    return links_type::bytes(ranks) + pull_area_type::bytes(ranks);
  }

  media(Control& c, Segment& s)
      : memory_(s, later_, links_type::bytes(c.size()), pull_area_type::buffer_bytes),
        words_(c, watches_),
        waits_(words_),
        links_(words_, {}, waits_, 0),
        pull_area_(links_, links_type::bytes(c.size())) {
    watches_.later = &later_;
    links_.lie_on(memory_);
    pull_area_.lie_on(memory_);
  }
  media(media const&) = delete;
  media& operator=(media const&) = delete;

  [[nodiscard]] rank_t rank() const noexcept { return links_.rank(); }
  [[nodiscard]] rank_t size() const noexcept { return links_.size(); }

  /// Carries out steps(medium) of an algorithm, or of the links themselves.
  template <class Algorithm, class Steps>
  void carry_out(Steps const& steps) {
    auto const here = waits_.in_place();
    waits_.begin(Algorithm::name, pgas::detail::collective_call(Algorithm::name));
    pgas::detail::steps all = [&] {
      if constexpr (Algorithm::stands_on == pgas::collective_medium::pull_areas) {
        return steps(pull_area_);
      } else {
        return steps(links_);
      }
    }();
    all.begin();
    all.conclude();
  }

 private:
  delayed later_;
  mutant_of_memory<Segment> memory_;
  mutant_of_words watches_;
  words_type words_;
  pgas::detail::patience<words_type> waits_;
  links_type links_;
  pull_area_type pull_area_;
};

/// Links without an algorithm.
struct messages {
  static constexpr std::string_view name = "messages";
  static constexpr auto stands_on = pgas::collective_medium::links;
};

/// Element i of what rank r gives in a round.
constexpr std::uint32_t element(rank_t r, std::size_t i, int round) {
  return ((static_cast<std::uint32_t>(r) + 1) * 2654435761U ^ static_cast<std::uint32_t>(i) * 40503U ^
          static_cast<std::uint32_t>(round) * 9770011U) |
         1U;
}
constexpr std::size_t some = 5;  // elements, too many for the words of a link

inline std::vector<std::uint32_t> elements(rank_t r, std::size_t count, int round) {
  std::vector<std::uint32_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = element(r, i, round);
  return all;
}
inline bytes_in in_bytes(std::vector<std::uint32_t> const& v) { return std::as_bytes(std::span(v)); }
inline bytes_out out_bytes(std::vector<std::uint32_t>& v) { return std::as_writable_bytes(std::span(v)); }

/// Functions x -> a x + b, one after the other: an operation whose operands may not change places. The lower
/// half of a number is a, and the upper one b.
struct chain {
  std::uint32_t operator()(std::uint32_t first, std::uint32_t second) const {
    std::uint32_t const a = second & 0xffffU;
    return (a * (first & 0xffffU) & 0xffffU) | (a * (first >> 16U) + (second >> 16U)) << 16U;
  }
};
struct sum {
  std::uint32_t operator()(std::uint32_t x, std::uint32_t y) const { return x + y; }
};
template <class Algorithm>
using operation = std::conditional_t<requires { Algorithm::needs_commutative; }, sum, chain>;

/// The fold of the elements of all ranks up to `last`.
template <class Op>
std::vector<std::uint32_t> folded(rank_t last, std::size_t count, int round) {
  auto all = elements(0, count, round);
  for (rank_t r = 1; r <= last; ++r) {
    for (std::size_t i = 0; i < count; ++i) all[i] = Op{}(all[i], element(r, i, round));
  }
  return all;
}

/// A program calls media and reports to check(is, should).
struct by_messages {
  static constexpr std::string_view name = "messages one way on a link";
  static void run(auto& m, int rounds, auto const& check) {
    pgas::link const up{0, false};
    for (int round = 0; round < rounds; ++round) {
      auto const sent = elements(0, some, round);
      std::vector<std::uint32_t> came(some);
      m.template carry_out<messages>([&](auto& links) {
        return m.rank() == 0   ? links.send(up, in_bytes(sent))
               : m.rank() == 1 ? links.receive(up, out_bytes(came))
                               : links.send(up, bytes_in());
      });
      if (m.rank() == 1) check(came, sent);
    }
  }
};
template <class Algorithm>
struct by_broadcast {
  static constexpr std::string_view name = "broadcasts whose root changes";
  static void run(auto& m, int rounds, auto const& check) {
    for (int round = 0; round < rounds; ++round) {
      rank_t const root = round % m.size();
      auto values = elements(m.rank(), some, round);
      m.template carry_out<Algorithm>(
          [&](auto& medium) { return Algorithm::broadcast(medium, out_bytes(values), root); });
      check(values, elements(root, some, round));
    }
  }
};
template <class Algorithm>
struct by_reduce {
  static constexpr std::string_view name = "reductions whose root changes";
  static void run(auto& m, int rounds, auto const& check) {
    operation<Algorithm> op;
    for (int round = 0; round < rounds; ++round) {
      rank_t const root = (m.size() - 1 + round) % m.size();
      auto const mine = elements(m.rank(), some, round);
      std::vector<std::uint32_t> result(some);
      m.template carry_out<Algorithm>([&](auto& medium) {
        auto const fold = pgas::detail::folding::of<std::uint32_t>(op, false);
        return Algorithm::reduce(medium, in_bytes(mine), out_bytes(result), fold, root);
      });
      if (m.rank() == root) check(result, folded<operation<Algorithm>>(m.size() - 1, some, round));
    }
  }
};
template <class Algorithm>
struct by_all_reduce {
  static constexpr std::string_view name = "all_reduce again and again";
  static void run(auto& m, int rounds, auto const& check) {
    operation<Algorithm> op;
    for (int round = 0; round < rounds; ++round) {
      auto const mine = elements(m.rank(), some, round);
      std::vector<std::uint32_t> result(some);
      m.template carry_out<Algorithm>([&](auto& medium) {
        auto const fold = pgas::detail::folding::of<std::uint32_t>(op, true);
        return Algorithm::all_reduce(medium, in_bytes(mine), out_bytes(result), fold);
      });
      check(result, folded<operation<Algorithm>>(m.size() - 1, some, round));
    }
  }
};
template <class Algorithm>
struct by_scan {
  static constexpr std::string_view name = "scans";
  static void run(auto& m, int rounds, auto const& check) {
    chain op;
    for (int round = 0; round < rounds; ++round) {
      auto const mine = elements(m.rank(), some, round);
      std::vector<std::uint32_t> result(some);
      m.template carry_out<Algorithm>([&](auto& medium) {
        auto const fold = pgas::detail::folding::of<std::uint32_t>(op, false);
        return Algorithm::scan(medium, in_bytes(mine), out_bytes(result), fold, false);
      });
      check(result, folded<chain>(m.rank(), some, round));
    }
  }
};
/// The blocks of all ranks, one behind the other.
inline std::vector<std::uint32_t> all_blocks(rank_t ranks, int round) {
  std::vector<std::uint32_t> all;
  for (rank_t r = 0; r < ranks; ++r) {
    auto const block = elements(r, some, round);
    all.insert(all.end(), block.begin(), block.end());
  }
  return all;
}
inline std::vector<std::uint32_t> block_of(std::vector<std::uint32_t> const& all, rank_t r) {
  auto const first = all.begin() + static_cast<std::ptrdiff_t>(some) * r;
  return {first, first + some};
}
template <class Algorithm>
struct by_all_gather {
  static constexpr std::string_view name = "all_gather again and again";
  static void run(auto& m, int rounds, auto const& check) {
    for (int round = 0; round < rounds; ++round) {
      auto const mine = elements(m.rank(), some, round);
      pgas::detail::block_sizes const sizes(some * sizeof(std::uint32_t));
      std::vector<std::uint32_t> all(some * static_cast<std::size_t>(m.size()));
      m.template carry_out<Algorithm>(
          [&](auto& medium) { return Algorithm::all_gather(medium, in_bytes(mine), out_bytes(all), sizes); });
      check(all, all_blocks(m.size(), round));
    }
  }
};
template <class Algorithm>
struct by_all_to_all {
  static constexpr std::string_view name = "all_to_all again and again";
  static void run(auto& m, int rounds, auto const& check) {
    for (int round = 0; round < rounds; ++round) {
      // Rank r gives block b of the round r * size + b.
      pgas::detail::block_sizes const sizes(some * sizeof(std::uint32_t));
      auto const from = all_blocks(m.size(), round + 100 * m.rank());
      std::vector<std::uint32_t> into(from.size());
      std::vector<std::uint32_t> should;
      for (rank_t r = 0; r < m.size(); ++r) {
        auto const block = block_of(all_blocks(m.size(), round + 100 * r), m.rank());
        should.insert(should.end(), block.begin(), block.end());
      }
      m.template carry_out<Algorithm>([&](auto& medium) {
        return Algorithm::all_to_all(medium, in_bytes(from), sizes, out_bytes(into), sizes, true);
      });
      check(into, should);
    }
  }
};
template <class Algorithm>
struct by_reduce_scatter {
  static constexpr std::string_view name = "reduce_scatter again and again";
  static void run(auto& m, int rounds, auto const& check) {
    operation<Algorithm> op;
    for (int round = 0; round < rounds; ++round) {
      pgas::detail::block_sizes const sizes(some * sizeof(std::uint32_t));
      std::size_t const count = some * static_cast<std::size_t>(m.size());
      auto const all = elements(m.rank(), count, round);
      std::vector<std::uint32_t> mine(some);
      m.template carry_out<Algorithm>([&](auto& medium) {
        auto const fold = pgas::detail::folding::of<std::uint32_t>(op, true);
        return Algorithm::reduce_scatter(medium, in_bytes(all), sizes, out_bytes(mine), fold);
      });
      check(mine, block_of(folded<operation<Algorithm>>(m.size() - 1, count, round), m.rank()));
    }
  }
};
/// Gathers and scatters, in turn, with blocks whose sizes only the root knows.
template <class Algorithm>
struct by_gather_and_scatter {
  static constexpr std::string_view name = "gathers and scatters whose root changes";
  static void run(auto& m, int rounds, auto const& check) {
    for (int round = 0; round < rounds; ++round) {
      rank_t const root = round % m.size();
      bool const is_root = root == m.rank();
      std::vector<std::size_t> counts;
      std::vector<std::uint32_t> all;
      for (rank_t r = 0; r < m.size(); ++r) {
        counts.push_back(1 + static_cast<std::size_t>(r));
        auto const block = elements(r, counts.back(), round);
        all.insert(all.end(), block.begin(), block.end());
      }
      auto const sizes =
          is_root ? pgas::detail::block_sizes(counts, sizeof(std::uint32_t)) : pgas::detail::block_sizes();
      auto mine = elements(m.rank(), counts[static_cast<std::size_t>(m.rank())], round);
      auto const should = mine;
      std::vector<std::uint32_t> came(is_root ? all.size() : 0);
      m.template carry_out<Algorithm>([&](auto& medium) {
        return Algorithm::gather(medium, in_bytes(mine), out_bytes(came), sizes, false, root);
      });
      if (is_root) check(came, all);
      std::fill(mine.begin(), mine.end(), 0U);
      std::vector<std::uint32_t> const from = is_root ? all : std::vector<std::uint32_t>();
      m.template carry_out<Algorithm>([&](auto& medium) {
        return Algorithm::scatter(medium, in_bytes(from), sizes, out_bytes(mine), false, root);
      });
      check(mine, should);
    }
  }
};

/// Each algorithm on links or pull areas with each of its operations.
template <class Use>
void for_each_program(Use const& use) {
  use(by_messages{}, "links");
  use(by_broadcast<collectives::binomial>{}, "binomial");
  use(by_broadcast<collectives::scatter_allgather>{}, "scatter_allgather");
  use(by_broadcast<collectives::ring>{}, "ring");
  use(by_reduce<collectives::binomial>{}, "binomial");
  use(by_all_reduce<collectives::binomial>{}, "binomial");
  use(by_all_reduce<collectives::recursive_doubling>{}, "recursive_doubling");
  use(by_all_reduce<collectives::rabenseifner>{}, "rabenseifner");
  use(by_all_reduce<collectives::ring>{}, "ring");
  use(by_scan<collectives::recursive_doubling>{}, "recursive_doubling");
  use(by_all_gather<collectives::bruck>{}, "bruck");
  use(by_all_gather<collectives::ring>{}, "ring");
  use(by_all_gather<collectives::pulled>{}, "pulled");
  use(by_all_to_all<collectives::bruck>{}, "bruck");
  use(by_all_to_all<collectives::pulled>{}, "pulled");
  use(by_reduce_scatter<collectives::ring>{}, "ring");
  use(by_reduce_scatter<collectives::pulled>{}, "pulled");
  use(by_gather_and_scatter<collectives::pulled>{}, "pulled");
}

}  // namespace pgas_test::exchanges
