// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <pgas/concepts/predictor.hpp>

namespace PGAS_NAMESPACE::prediction {

/// The graph predictor: a node is the last three messages, and its edges count what came after them.
///
/// A prediction of k steps walks k times along the most frequent edge; the younger of two equal edges wins.
/// Source: Ferreras 2008, section 3.3. It needs no period, but forgets what is more than three back.
/// Memory    `Nodes` nodes with four edges; a full table is emptied, and a fifth edge takes the rarest one's
///           place. Costs O(1) a message, and O(k) a prediction.
template <std::size_t Nodes = 128>
class transition_graph {
 public:
  static constexpr std::string_view name = "transition_graph";

  void observe(observed_message m) noexcept {
    if (seen_ >= depth) count(find_or_add(last_), m);
    shift(last_, m);
    seen_ = std::min(seen_ + 1, depth);
  }
  [[nodiscard]] std::optional<observed_message> ahead(std::size_t k) const noexcept {
    if (seen_ < depth || k == 0) return std::nullopt;
    key at = last_;
    for (; k > 0; --k) {
      std::size_t const place = place_of(at);
      if (!nodes_[place].is_used) return std::nullopt;
      auto const& edges = nodes_[place].edges;
      auto const best = std::max_element(edges.begin(), edges.end(), [](edge const& a, edge const& b) {
        return a.times != b.times ? a.times < b.times : a.last < b.last;
      });
      shift(at, best->to);
    }
    return at.back();
  }

 private:
  static constexpr std::size_t depth = 3;
  using key = std::array<observed_message, depth>;
  struct edge {
    observed_message to;
    std::uint64_t times = 0;
    std::uint64_t last = 0;  ///< the number of the message that used it last
  };
  struct node {
    bool is_used = false;
    key from{};
    std::array<edge, 4> edges{};
  };

  static void shift(key& k, observed_message m) noexcept {
    std::rotate(k.begin(), k.begin() + 1, k.end());
    k.back() = m;
  }
  /// The place of a node, or the free one where it would be. Some place is always free.
  [[nodiscard]] std::size_t place_of(key const& k) const noexcept {
    std::uint64_t h = 0;
    for (observed_message const& m : k) {
      h = (h ^ static_cast<std::uint64_t>(m.from) ^ (std::uint64_t{m.bytes} << 20U)) * 0x9e3779b97f4a7c15U;
      h ^= h >> 29U;
    }
    std::size_t place = static_cast<std::size_t>(h) % Nodes;
    while (nodes_[place].is_used && nodes_[place].from != k) place = (place + 1) % Nodes;
    return place;
  }
  node& find_or_add(key const& k) noexcept {
    std::size_t place = place_of(k);
    if (!nodes_[place].is_used) {
      if (++used_ > Nodes * 3 / 4) {
        nodes_.fill({});
        used_ = 1;
        place = place_of(k);
      }
      nodes_[place].is_used = true;
      nodes_[place].from = k;
    }
    return nodes_[place];
  }
  void count(node& n, observed_message m) noexcept {
    auto found =
        std::find_if(n.edges.begin(), n.edges.end(), [&](edge const& e) { return e.times > 0 && e.to == m; });
    if (found == n.edges.end()) {
      found = std::min_element(n.edges.begin(), n.edges.end(),
                               [](edge const& a, edge const& b) { return a.times < b.times; });
      *found = {m, 0, 0};
    }
    ++found->times;
    found->last = ++time_;
  }

  std::array<node, Nodes> nodes_{};
  key last_{};
  std::size_t seen_ = 0;
  std::size_t used_ = 0;
  std::uint64_t time_ = 0;
};
static_assert(predictor<transition_graph<>>);

}  // namespace PGAS_NAMESPACE::prediction
