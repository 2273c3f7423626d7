// SPDX-License-Identifier: BSL-1.0
// Compiled to assembly by opcodes.py. Each function NAME must be that instruction, on the line that its
// second parameter points to. The unused first parameter prevents that a register holds the right address by
// luck.
#include <pgas/detail/processor/processor.hpp>

namespace processor = pgas::processor;

extern "C" {

using unused = std::byte*;

#if defined(__x86_64__)
void clwb(unused, std::byte* p) { processor::x86_64::clwb{}(p); }
void clflushopt(unused, std::byte* p) { processor::x86_64::clflushopt{}(p); }
void clflush(unused, std::byte* p) { processor::x86_64::clflush{}(p); }
void put_8(unused, std::byte* p) { processor::x86_64::put_8(p, 1); }
void put_4(unused, std::byte* p) { processor::x86_64::put_4(p, 1); }
void put_masked(std::byte const (*value)[16], std::byte* p) {
  processor::x86_64::put_masked(p, *value, *value);
}
#elif defined(__aarch64__)
void dc_cvac(unused, std::byte* p) { processor::aarch64::dc_cvac{}(p); }
void dc_civac(unused, std::byte* p) { processor::aarch64::dc_civac{}(p); }
#else
void cbo_clean(unused, std::byte* p) { processor::riscv::cbo_clean{}(p); }
void cbo_flush(unused, std::byte* p) { processor::riscv::cbo_flush{}(p); }
#endif
void drain_stores(unused, std::byte*) { processor::here::drain_stores(); }
void drain_all(unused, std::byte*) { processor::here::drain_all(); }

// Makes sure that the whole header compiles for this processor.
void all_of_it(std::byte* to, std::byte* p) {
  processor::clean(p, processor::line_bytes());
  processor::drop(p, 100);
  processor::put_past(to, p, 13);
  (void)processor::clean_instruction();
  (void)processor::drop_instruction();
}
}
