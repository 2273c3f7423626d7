// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/concepts/access_kind.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/machines/scc/chip.hpp>
#include <pgas/detail/types/scoped_value.hpp>
#include <pgas/vocabulary/request.hpp>
#include <string>

namespace PGAS_NAMESPACE::detail {

/// A window's memory on the chip, for one core.
///
/// On the chip a page's type decides how a core caches it and writes to it. Here each operation is a mapping
/// of its own: load and store are dcm, get is ncm, put is ncm_wcb; load_tagged and store_through are mpbt_wt.
/// An operation is complete when it returns, except for bytes in the write-combining buffer, which a flush
/// drains.
class scc_segment {
  using page_type = pgas::scc::page_type;
  using rules = pgas::scc::check_rules;

 public:
  static constexpr std::size_t line_bytes = scc::line_bytes;
  static constexpr bool writeback_is_masked = false;
  static constexpr bool has_speculative_fill = false;
  static constexpr bool drop_may_write_back = true;
  static constexpr bool write_allocates = false;
  static constexpr bool tagged_drop = true;
  template <class T>
  static constexpr bool is_atomic = false;

  scc_segment(std::shared_ptr<scc::chip> c, std::shared_ptr<scc::home_parts> home, team_ranks ranks)
      : chip_(std::move(c)),
        home_(std::move(home)),
        ranks_(std::move(ranks)),
        core_(&chip_->at(ranks_.to_world(ranks_.self()))) {}
  scc_segment(scc_segment&&) noexcept = default;
  scc_segment& operator=(scc_segment&&) noexcept = default;
  ~scc_segment() {
    if (!home_) return;
    abandon();
    // Forgets all copies of the memory, so that none reaches the memory's next window.
    for (rank_t r = 0; r < size(); ++r) {
      auto const& p = part(r);
      for (std::uint64_t done = 0; done < p.bytes;) {
        std::uint64_t const count = until_page_end(p.offset + done, p.bytes - done);
        scc::system_address const at = system(p, done);
        if (auto const where = core_->physical(at)) core_->forget(*where, count);
        done += count;
      }
    }
  }

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }
  [[nodiscard]] std::size_t part_bytes(rank_t rank) const noexcept { return part(rank).bytes; }

  // Past the caches. These are not inlined, so that the oracle can name the program's line.
  [[gnu::noinline]] void put(location at, bytes_in from) {
    write(page_type::ncm_wcb, at, from, false, here());
  }
  [[gnu::noinline]] void get(location at, bytes_out into) { read(page_type::ncm, at, into, here()); }
  [[gnu::noinline]] done rput(location at, bytes_in from) {
    write(page_type::ncm_wcb, at, from, false, here());
    return {};
  }
  [[gnu::noinline]] done rget(location at, bytes_out into) {
    read(page_type::ncm, at, into, here());
    return {};
  }
  void flush(rank_t rank) {
    core_->drain();
    complete(rank, true, &rules::flush);
    publish();
  }
  void flush_all() {
    core_->drain();
    for (rank_t r = 0; r < size(); ++r) complete(r, true, &rules::flush_all);
    publish();
  }
  void flush_local(rank_t rank) { complete(rank, false, &rules::flush_local); }
  void flush_local_all() {
    for (rank_t r = 0; r < size(); ++r) complete(r, false, &rules::flush_local_all);
  }

  // Through L1 and L2
  [[gnu::noinline]] void load(location at, bytes_out into) { read(page_type::dcm, at, into, here()); }
  [[gnu::noinline]] void store(location at, bytes_in from) { write(page_type::dcm, at, from, true, here()); }
  /// Writes back and drops all of L1, then the range in L2 by the kernel's routine: the chip has no cheaper
  /// way.
  void clean(location at, std::size_t count) {
    if (count != 0) flush_caches(at, count);
  }
  void drop(location at, std::size_t count) { clean(at, count); }
  void drain_stores() {
    core_->drain();
    publish();
  }
  /// Does nothing: the core is in order, so a drop is complete when the next load begins.
  void drain_all() noexcept {}

  // Through tagged lines of L1
  [[gnu::noinline]] void load_tagged(location at, bytes_out into) {
    read(page_type::mpbt_wt, at, into, here());
  }
  [[gnu::noinline]] void store_through(location at, bytes_in from) {
    write(page_type::mpbt_wt, at, from, false, here());
  }
  void drop_tagged() noexcept { core_->drop_tagged(); }

  /// Writes back and forgets all copies of this core.
  void flush_copies() {
    core_->write_back_l1();
    core_->flush_l2(0, scc::page_bytes);
  }
  /// A store past the caches that also drops the line in the target's cache. The chip of the paper cannot do
  /// this.
  [[gnu::noinline]] void put_and_drop(location at, bytes_in from) {
    write(page_type::ncm, at, from, false, here());
    scc::core& theirs = chip_->at(part(at.rank).owner);
    if (auto const where = theirs.physical(system(part(at.rank), at.offset)))
      theirs.forget_tagged(*where, from.size());
  }

  /// While the guard lives, loads copy elements that the program may never use: the oracle reports no
  /// race.
  [[nodiscard]] scoped_value<bool> copying() noexcept { return {is_copying_, true}; }

  /// See abandoned_segment.
  void abandon() noexcept { buffers().forget(home_.get()); }
  /// See access_checked_segment.
  [[nodiscard]] scc::checker_scope<access_kind> access_as(access_kind kind) const noexcept {
    return {chip_->oracle(), core_->number(), kind};
  }
  [[nodiscard]] scc::checker_scope<access_kind> access_as(access_kind kind, rank_t target) const noexcept {
    if (auto* const oracle = chip_->oracle()) oracle->ends_with(core_->number(), system(part(target), 0));
    return access_as(kind);
  }
  void describe(std::string_view label, std::size_t element_bytes) const {
    chip_->describe_parts(*home_, label, element_bytes);
  }

  // For programs that know the chip
  [[nodiscard]] scc::core& on_core() const noexcept { return *core_; }
  [[nodiscard]] pgas::scc::counters const& counters() const noexcept { return core_->count(); }

 private:
  [[nodiscard]] scc::part_place const& part(rank_t rank) const noexcept {
    return home_->parts()[static_cast<std::size_t>(rank)];
  }
  /// The place of the caller's caller in the program, for the oracle.
  [[gnu::always_inline]] std::uint32_t here() const {
    auto* const oracle = chip_->oracle();
    return oracle == nullptr ? 0 : oracle->known_places.number_of(scc::place_of_caller());
  }
  /// The rank's transfers to a part have happened: all of them, or the gets alone. A test may switch this
  /// off by the rule.
  void complete(rank_t rank, bool writes, bool rules::*rule) const {
    auto const& p = part(rank);
    auto* const oracle = chip_->oracle();
    if (oracle == nullptr || p.bytes == 0 || !(oracle->rules().*rule)) return;
    oracle->complete(core_->number(), system(p, 0), p.bytes, writes);
    if (!buffers().empty() && oracle->ends_operations(core_->number())) end_buffers(rank);
  }
  /// The buffer is empty, so this rank's stores to its own part are in memory.
  void publish() const {
    if (auto* const oracle = chip_->oracle()) oracle->publish(core_->number());
  }
  /// Buffers may be reused. Not inlined, so that the oracle can name the program's line.
  [[gnu::noinline]] void end_buffers(rank_t target) const {
    check_buffers(buffers().complete(home_.get(), target), here());
  }
  [[nodiscard]] open_buffers& buffers() const noexcept { return chip_->buffers_of(core_->number()); }
  void check_buffers(open_buffers::verdict const& found, std::uint32_t where) const {
    if (found.what != open_buffers::fault::none) [[unlikely]]
      chip_->complain(found, core_->number(), where);
  }
  /// A transfer reads private memory. The source of a put belongs to it from now on.
  void take_source(location at, bytes_in from, std::uint32_t where, scc::checker const& oracle) const {
    if (!buffers().empty()) check_buffers(buffers().reads(from), where);
    auto const kind = oracle.kind_of(core_->number());
    bool const keeps =
        kind == access_kind::put || (kind == access_kind::put_copied && !oracle.rules().requests);
    if (keeps && oracle.rules().buffers) buffers().begin_put(home_.get(), at.rank, from, where);
  }
  /// A transfer has written to private memory. The destination of a get belongs to it from now on.
  void take_destination(location at, bytes_out into, std::uint32_t where, scc::checker const& oracle) const {
    if (!buffers().empty()) check_buffers(buffers().writes(into), where);
    if (oracle.rules().buffers && !is_copying_ && oracle.kind_of(core_->number()) == access_kind::get)
      buffers().begin_get(home_.get(), at.rank, into, where);
  }
  static std::uint64_t until_page_end(std::uint64_t offset, std::uint64_t bytes) noexcept {
    return std::min<std::uint64_t>(bytes, scc::page_bytes - offset % scc::page_bytes);
  }
  [[nodiscard]] scc::system_address system(scc::part_place const& p, std::uint64_t byte) const noexcept {
    return std::uint64_t{chip_->dram().first_page(p.owner)} * scc::page_bytes + p.offset + byte;
  }

  /// Calls use(physical address, bytes before it, bytes) for each piece of a range that one table entry maps.
  template <class Use>
  void each_page(location at, std::size_t bytes, Use&& use) {
    auto const& p = part(at.rank);
    if (at.offset > p.bytes || bytes > p.bytes - at.offset) {
      throw_out_of_range(core_->number(), "access", at.rank, at.offset, bytes, p.bytes);
    }
    std::uint64_t offset = p.offset + at.offset;
    bool const is_own = p.owner == core_->number();
    for (std::size_t done = 0; done < bytes;) {
      auto const count = static_cast<std::size_t>(until_page_end(offset, bytes - done));
      if (is_own) {  // a core's own pages have the first entries, in order
        use(static_cast<scc::physical_address>(offset), done, count);
      } else {
        auto const page =
            static_cast<scc::page_number>(chip_->dram().first_page(p.owner) + offset / scc::page_bytes);
        unsigned const entry = core_->map(page);
        use(static_cast<scc::physical_address>(entry * scc::page_bytes + offset % scc::page_bytes), done,
            count);
      }
      offset += count;
      done += count;
    }
  }

  void read(page_type type, location at, bytes_out into, std::uint32_t where) {
    each_page(at, into.size(), [&](scc::physical_address from, std::size_t done, std::size_t count) {
      core_->load(type, from, into.subspan(done, count));
    });
    if (auto* const oracle = chip_->oracle()) {
      auto const first = system(part(at.rank), at.offset);
      auto const kind = oracle->kind_of(core_->number());
      bool const may_race = is_copying_ || (kind == access_kind::stage && !oracle->rules().stages);
      scc::each_line(first, into.size(), [&](scc::system_address line, std::size_t done, std::size_t count) {
        auto const verdict = oracle->read(core_->number(), line, into.subspan(done, count), may_race, where);
        if (verdict.what != scc::checker::fault::none) [[unlikely]]
          chip_->complain(verdict, core_->number(), line, where, false);
      });
      if (kind == access_kind::atomic_load || kind == access_kind::exchange)
        oracle->acquire_at(core_->number(), first);
      take_destination(at, into, where, *oracle);
    }
  }
  void write(page_type type, location at, bytes_in from, bool through_cache, std::uint32_t where) {
    if (auto* const oracle = chip_->oracle()) {
      if (fits(at.offset, from.size(), part(at.rank).bytes)) {
        auto const first = system(part(at.rank), at.offset);
        scc::each_line(first, from.size(),
                       [&](scc::system_address line, std::size_t done, std::size_t count) {
                         auto const verdict =
                             oracle->wrote(core_->number(), line, from.subspan(done, count), through_cache,
                                           where, part(at.rank).owner == core_->number());
                         if (verdict.what != scc::checker::fault::none) [[unlikely]]
                           chip_->complain(verdict, core_->number(), line, where, true);
                       });
        auto const kind = oracle->kind_of(core_->number());
        if (kind == access_kind::atomic_store || kind == access_kind::exchange)
          oracle->release_at(core_->number(), first);
        take_source(at, from, where, *oracle);
      }
    }
    each_page(at, from.size(), [&](scc::physical_address to, std::size_t done, std::size_t count) {
      core_->store(type, to, from.subspan(done, count));
    });
  }

  void flush_caches(location at, std::size_t count) {
    core_->write_back_l1();
    each_page(at, count, [&](scc::physical_address first, std::size_t, std::size_t bytes) {
      core_->flush_l2(first, bytes);
    });
  }

  std::shared_ptr<scc::chip> chip_;
  std::shared_ptr<scc::home_parts> home_;
  team_ranks ranks_;
  scc::core* core_;
  bool is_copying_ = false;
};
static_assert(tagged_segment<scc_segment> && race_checked_segment<scc_segment> &&
              access_checked_segment<scc_segment> && !local_segment<scc_segment>);

}  // namespace PGAS_NAMESPACE::detail
