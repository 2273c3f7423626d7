// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstring>
#include <memory>
#include <pgas/concepts/mailbox.hpp>
#include <pgas/detail/machines/scc/chip.hpp>

namespace PGAS_NAMESPACE::detail {

namespace scc {

/// The place of each receiver's sections in its buffer, and for the oracle the knowledge of each section's
/// sender.
class home_sections {
 public:
  /// A line counts the messages sent, a line counts those taken, and three hold the message and its length.
  static constexpr std::size_t section_bytes = 5 * line_bytes;

  home_sections(chip& c, std::vector<rank_t> members) : chip_(&c), members_(std::move(members)) {
    clocks_.resize(members_.size() * members_.size() * 2);
    wanted_.resize(members_.size() * members_.size());
    try {
      for (rank_t owner : members_)
        starts_.push_back(static_cast<std::uint32_t>(c.dram().reserve_buffer(owner, bytes())));
    } catch (...) {
      release();
      throw;
    }
  }
  home_sections(home_sections const&) = delete;
  home_sections& operator=(home_sections const&) = delete;
  ~home_sections() { release(); }

  [[nodiscard]] std::uint32_t start(rank_t receiver, rank_t sender) const noexcept {
    return starts_[static_cast<std::size_t>(receiver)] +
           static_cast<std::uint32_t>(static_cast<std::size_t>(sender) * section_bytes);
  }
  /// The clock of a section's messages, or of its room.
  [[nodiscard]] vector_clock& clock(rank_t receiver, rank_t sender, bool of_room) noexcept {
    return clocks_[number(receiver, sender) * 2 + (of_room ? 1 : 0)];
  }
  /// Whether a section's sender has found no room in it. The emulator's knowledge, not the chip's.
  [[nodiscard]] char& room_is_wanted(rank_t receiver, rank_t sender) noexcept {
    return wanted_[number(receiver, sender)];
  }

 private:
  [[nodiscard]] std::size_t number(rank_t receiver, rank_t sender) const noexcept {
    return static_cast<std::size_t>(receiver) * members_.size() + static_cast<std::size_t>(sender);
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return members_.size() * section_bytes; }
  void release() {
    for (std::size_t i = 0; i < starts_.size(); ++i)
      chip_->dram().release_buffer(members_[i], starts_[i], bytes());
  }

  chip* chip_;
  std::vector<rank_t> members_;
  std::vector<std::uint32_t> starts_;
  std::vector<vector_clock> clocks_;
  std::vector<char> wanted_;
};

}  // namespace scc

/// Messages through the receivers' message passing buffers. Each sender has a section of its own in each
/// buffer, for one message, as in RCKMPI (Christgau 2017, section 2.3.3).
///
/// Only the sender writes `sent` and only the receiver writes `taken`, both past all caches. The section is
/// full while the two differ. A core that waits looks at its sections when the emulator knows of a message
/// there; RCKMPI looks in each turn of its progress engine. Memory: 160 bytes for each rank in each buffer of
/// 8 KiB, so one mailbox of 48 ranks fits.
class scc_mailbox {
 public:
  static constexpr std::size_t max_message_bytes = 3 * scc::line_bytes - sizeof(std::uint32_t);

  scc_mailbox(std::shared_ptr<scc::chip> c, std::shared_ptr<scc::home_sections> home, team_ranks ranks)
      : chip_(std::move(c)),
        home_(std::move(home)),
        ranks_(std::move(ranks)),
        core_(&chip_->at(ranks_.to_world(ranks_.self()))) {}

  /// Sends unless the previous message is still there. Throws errc::invalid_argument if the message is too
  /// long.
  [[nodiscard]] bool try_send(rank_t to, bytes_in message) {
    if (message.size() > max_message_bytes)
      throw_too_long(core_->number(), message.size(), max_message_bytes);
    auto const section = at(to, ranks_.self());
    home_->room_is_wanted(to, ranks_.self()) = true;  // before the look: the receiver may make room after it
    std::uint32_t const sent = number(section);
    if (sent != number(section + taken_at)) return false;
    home_->room_is_wanted(to, ranks_.self()) = false;
    if (auto* const oracle = chip_->oracle(); oracle != nullptr && oracle->rules().messages) {
      oracle->acquire(core_->number(), home_->clock(to, ranks_.self(), true));
      oracle->release(core_->number(), home_->clock(to, ranks_.self(), false));
    }
    set_number(section + length_at, static_cast<std::uint32_t>(message.size()));
    core_->store(pgas::scc::page_type::ncm, section + message_at, message);
    set_number(section, sent + 1);
    chip_->call_services(ranks_.to_world(to));
    return true;
  }

  /// Handles the messages that have arrived; returns their number.
  template <class Handler>
  std::size_t poll(Handler&& handler) {
    std::size_t handled = 0;
    for (rank_t from = 0; from < ranks_.size(); ++from) {
      auto const section = at(ranks_.self(), from);
      std::uint32_t const taken = number(section + taken_at);
      if (number(section) == taken) continue;
      std::array<std::byte, max_message_bytes> copy;
      auto const message = bytes_out(copy).first(number(section + length_at));
      core_->load(pgas::scc::page_type::ncm, section + message_at, message);
      if (auto* const oracle = chip_->oracle(); oracle != nullptr && oracle->rules().messages) {
        oracle->acquire(core_->number(), home_->clock(ranks_.self(), from, false));
        oracle->release(core_->number(), home_->clock(ranks_.self(), from, true));
      }
      set_number(section + taken_at, taken + 1);
      if (std::exchange(home_->room_is_wanted(ranks_.self(), from), false))
        chip_->call_services(ranks_.to_world(from));
      handler(from, bytes_in(message));
      ++handled;
    }
    return handled;
  }

  /// Calls `what` while this rank waits.
  void serve(std::function<void()> what) {
    service_.reset();
    if (what != nullptr)
      service_ = std::make_unique<emulation::service<scc::chip>>(chip_, core_->number(), std::move(what));
  }

 private:
  static constexpr scc::physical_address taken_at = scc::line_bytes;
  static constexpr scc::physical_address length_at = 2 * scc::line_bytes;
  static constexpr scc::physical_address message_at = length_at + sizeof(std::uint32_t);

  [[nodiscard]] scc::physical_address at(rank_t receiver, rank_t sender) const noexcept {
    return static_cast<scc::physical_address>(
        (scc::lookup_table::first_buffer + static_cast<std::size_t>(ranks_.to_world(receiver))) *
            scc::page_bytes +
        home_->start(receiver, sender));
  }
  [[nodiscard]] std::uint32_t number(scc::physical_address at) {
    std::uint32_t value = 0;
    core_->load(pgas::scc::page_type::ncm, at, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  void set_number(scc::physical_address at, std::uint32_t value) {
    core_->store(pgas::scc::page_type::ncm, at, std::as_bytes(std::span(&value, 1)));
  }

  std::shared_ptr<scc::chip> chip_;
  std::shared_ptr<scc::home_sections> home_;
  team_ranks ranks_;
  scc::core* core_;
  std::unique_ptr<emulation::service<scc::chip>> service_;
};
static_assert(mailbox<scc_mailbox>);

}  // namespace PGAS_NAMESPACE::detail
