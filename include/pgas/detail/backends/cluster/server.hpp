// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/backends/cluster/packet.hpp>
#include <pgas/detail/backends/process_map/control.hpp>

namespace PGAS_NAMESPACE::detail::cluster {

/// The element that a request names, and what to do with it.
inline element_request element_request_of(request_head const& head, bytes_in body) noexcept {
  element_request r{.element = head.element, .op = head.op, .value = head.value};
  switch (head.what) {
    case action::element_load:
      r.action = element_action::load;
      break;
    case action::element_store:
      r.action = element_action::store;
      break;
    case action::element_compare:
      r.action = element_action::compare;
      r.expected = read_as<std::uint64_t>(body.data());
      break;
    default:
      r.action = element_action::modify;
  }
  return r;
}

/// Combines the values of an element_combine with the elements at `at`, each in one indivisible step.
inline void combine_elements(request_head const& head, bytes_in body, std::byte* at) {
  with_element(head.element, [&]<class T>(T) {
    with_operation(head.op, [&]<class Op>(Op op) {
      if constexpr (operation_on<Op, T>) {
        for (std::size_t i = 0; i < body.size(); i += sizeof(T)) {
          atomic_element<T>(*reinterpret_cast<T*>(at + i)).fetch_op(read_as<T>(body.data() + i), op);
        }
      }
    });
  });
}

/// Carries out a request on the control word at `at`, and wakes the ranks that sleep on it. Returns the old
/// word.
///
/// seq_cst: as strong as any order that the asking rank requested. Pairs with the accesses of ranks of this
/// node.
inline word carry_out_on_word(request_head const& head, bytes_in body, std::byte* at) noexcept {
  constexpr auto order = std::memory_order_seq_cst;
  mapped_control::cell_type const cell(reinterpret_cast<word*>(at));
  switch (head.what) {
    case action::word_store:
      mapped_control::slot_type(reinterpret_cast<word*>(at)).store(head.value, order);
      return 0;
    case action::word_add:
    case action::word_add_only:
      return cell.fetch_add(head.value, order);
    case action::word_xor:
    case action::word_flip_only:
      return cell.fetch_xor(head.value, order);
    case action::word_exchange:
      return cell.exchange(head.value, order);
    case action::word_compare: {
      auto found = read_as<word>(body.data());
      cell.compare_exchange(found, head.value, order);
      return found;
    }
    default:
      return cell.load(order);
  }
}

}  // namespace PGAS_NAMESPACE::detail::cluster
