// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <pgas/concepts/channel.hpp>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/mailbox.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/vocabulary/node_ranges.hpp>
#include <pgas/vocabulary/transportable.hpp>
#include <span>
#include <string>
#include <string_view>

#include <sys/uio.h>

namespace PGAS_NAMESPACE {

/// The distance to another rank. A program may ask for it before it decides how to share work.
enum class locality {
  self,    ///< this rank itself
  node,    ///< a rank on this node, whose memory may be mapped
  remote,  ///< a rank on another node
};

/// A backend says *how*: one header in backends/, chosen as a type. An object of it is one rank's membership
/// in one team.
///
/// Memory is made in two steps, so that backends need no collectives of their own. One rank calls `reserve`,
/// which may throw errc::no_space, and sends the handle to the others. Then every rank calls `attach`. The
/// destructor of a segment or control gives this rank's share up and waits for no rank.
///   reserve_segment(bytes per rank) -> handle     attach_segment(handle, own bytes) -> segment
///   reserve_control(words)          -> handle     attach_control(handle, words, label) -> control
///   sub_team(members, rank)         -> backend    members: ranks of this team, rank: this one's number there
/// `rank()` is this rank's number in a team of `size()` ranks, and `locality_of(r)` says how near r is.
/// `name` is the backend's name in messages and after --pgas-backend. `progress_by` says who makes operations
/// happen at their targets. `default_coherence` is the policy of a window that names none. A `handle` can be
/// sent.
/// `label` names the control's owner in messages ("window 3"). `world_rank(r)` is the number of r in the job.
/// `fail(what)` tells the whole job that this rank cannot go on. `check(operation)` throws if some rank has
/// failed.
/// `launch(ranks, main)` calls main(backend, bootstrap) once on each rank of a new world, and throws if one
/// of them failed. `now` and `charge(cycles)` are the rank's clock; charge does nothing if time passes by
/// itself. Optional: `max_ranks`, if there is a bound; `reserve_mailbox` and `attach_mailbox`, see
/// mailbox_backend.
template <class B>
concept backend = std::copyable<B> && requires(B& b, B const& cb, rank_t rank,
                                               std::span<std::size_t const> sizes, typename B::handle handle,
                                               control_words words, group members, std::string_view text) {
  requires segment<typename B::segment_type>;
  requires control<typename B::control_type>;
  requires transportable<typename B::handle>;
  typename B::default_coherence;
  { B::name } -> std::convertible_to<std::string_view>;
  { B::progress_by } -> std::convertible_to<progress>;
  { cb.rank() } noexcept -> std::same_as<rank_t>;
  { cb.size() } noexcept -> std::same_as<rank_t>;
  { cb.world_rank(rank) } -> std::same_as<rank_t>;
  { cb.locality_of(rank) } -> std::same_as<locality>;
  { b.reserve_segment(sizes) } -> std::same_as<typename B::handle>;
  { b.attach_segment(handle, std::size_t{}) } -> std::same_as<typename B::segment_type>;
  { b.reserve_control(words) } -> std::same_as<typename B::handle>;
  { b.attach_control(handle, words, text) } -> std::same_as<typename B::control_type>;
  { b.sub_team(members, rank) } -> std::same_as<B>;
  b.fail(text);
  b.check(text);
  { cb.now() } -> std::same_as<time_point>;
  b.charge(std::uint64_t{});
};

/// The ranks of this backend can also exchange short messages, for protocols that consist of messages.
template <class B>
concept mailbox_backend = backend<B> && requires(B& b, typename B::handle handle) {
  requires mailbox<typename B::mailbox_type>;
  { b.reserve_mailbox() } -> std::same_as<typename B::handle>;
  { b.attach_mailbox(handle) } -> std::same_as<typename B::mailbox_type>;
};

/// The machine of this backend has a channel of its own, see `channel`. A backend with a mailbox needs none:
/// make_channel lets the mailbox carry a channel.
///
/// One rank calls `reserve_channel`, and every rank `attach_channel(handle, label)`. `label` names the
/// channel in messages ("channel 0").
template <class B>
concept channel_backend = backend<B> && requires(B& b, typename B::handle handle, std::string_view label) {
  requires channel<typename B::channel_type>;
  { b.reserve_channel() } -> std::same_as<typename B::handle>;
  { b.attach_channel(handle, label) } -> std::same_as<typename B::channel_type>;
};

/// The ranks of such a backend can work while they wait. `while_waiting(work)` returns an owner of an object;
/// while its object lives, each wait of this rank's thread calls work() between its looks. The work must not
/// wait. It may be called within a call of the library, so it checks whether it may proceed. The wait throws
/// what the work throws. The work does not destroy the object.
template <class B>
concept working_backend = backend<B> && requires(B& b, std::function<void()> work) { b.while_waiting(work); };

/// A backend whose ranks may see a file through a network, and which carries files through it by itself.
///
/// `spans_nodes()` says whether they do, the same on all ranks of the job. `file_type(path, writes)` opens an
/// existing file on one rank, and waits for no other rank. `write(pieces, first)` and `read(pieces, first)`
/// move pieces of memory from byte `first` of the file on. `sync()` returns when written bytes are on the
/// disk. All throw `error`. Ranks write different bytes at once, even of one page or block: none is lost.
template <class B>
concept file_backend = backend<B> && requires(B const& cb, typename B::file_type const& f,
                                              std::span<iovec> pieces, std::uint64_t first) {
  { cb.spans_nodes() } -> std::same_as<bool>;
  requires std::constructible_from<typename B::file_type, std::string const&, bool>;
  f.write(pieces, first);
  f.read(pieces, first);
  f.sync();
};

/// A backend whose ranks are on nodes, and reach those of their own node sooner than others.
///
/// `nodes()` are those of the team, the same on all ranks. It is called when the team has control words.
template <class B>
concept backend_of_nodes = backend<B> && requires(B const& cb) {
  { cb.nodes() } -> std::same_as<node_ranges>;
};

/// Memory of a rank, as the rank names it to other ranks of its job.
struct memory_place {
  /// The means that reaches the memory.
  enum class reach : std::uint32_t {
    none,    ///< nothing
    access,  ///< load and store
    call,    ///< a system call of another rank
  };
  std::uint64_t at = 0;    ///< an address; of which process depends on `by`
  reach by = reach::none;  ///< how other ranks reach it

  /// Whether other ranks reach the memory at all.
  [[nodiscard]] bool is_there() const noexcept { return by != reach::none; }
};

/// The ranks of such a backend copy to and from memory of another rank without that rank's help, also memory
/// that the library has not allocated. So a long message needs one copy, instead of one into shared memory
/// and one out of it.
///
/// `place_of(memory)` names memory of this rank for other ranks. `address_of(place)` is where this rank loads
/// and stores it, and null unless `by` is access. The system may forbid calls, which only a trial shows:
/// `admit_peers()` permits what this rank can permit, and `reaches(r, place, trial)` returns whether a call
/// reads these bytes of rank r. `read_from(r, place, into, operation)` and `write_to(r, place, from,
/// operation)` copy by a call. They throw errc::rank_failed if rank r is gone, and errc::unsupported if the
/// system refuses. Rank r leaves its memory as it is until the program has told it that the copy is complete;
/// a call orders memory as a memcpy does.
template <class B>
concept reaching_backend = backend<B> && requires(B const& cb, rank_t r, memory_place place, bytes_in from,
                                                  bytes_out into, std::string_view operation) {
  { cb.place_of(from) } noexcept -> std::same_as<memory_place>;
  { cb.address_of(place) } noexcept -> std::same_as<std::byte*>;
  cb.admit_peers();
  { cb.reaches(r, place, from) } -> std::same_as<bool>;
  cb.read_from(r, place, into, operation);
  cb.write_to(r, place, from, operation);
};

/// A backend makes windows over memory that its ranks already have, of whatever origin.
///
/// One rank reserves a handle for parts of these sizes, `reserve_user_segment(sizes)`; each rank attaches its
/// own memory, `attach_user_segment(handle, memory)`. `user_coherence` is the policy of such a window.
template <class B>
concept user_memory_backend = backend<B> && requires(B& b, std::span<std::size_t const> sizes,
                                                     typename B::handle handle, bytes_out own) {
  requires segment<typename B::user_segment_type>;
  typename B::user_coherence;
  { b.reserve_user_segment(sizes) } -> std::same_as<typename B::handle>;
  { b.attach_user_segment(handle, own) } -> std::same_as<typename B::user_segment_type>;
};

}  // namespace PGAS_NAMESPACE
