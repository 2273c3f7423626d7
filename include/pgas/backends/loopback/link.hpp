// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <pgas/backends/loopback/message.hpp>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::loopback {

/// One end of the stream between two agents. It reads whole messages, and writes packets in the order of the
/// calls.
///
/// Only the owning agent's thread uses a link, and it never blocks. A packet waits here while the stream has
/// no room, so two agents that both send a lot still read. The owner has `received(peer, message, body)`,
/// `written(bytes)` and `broken(peer, error)`.
template <class Owner>
class link {
 public:
  using socket_type = boost::asio::local::stream_protocol::socket;

  link(Owner& owner, rank_t peer, boost::asio::io_context& context)
      : owner_(&owner), peer_(peer), socket_(context) {}
  link(link const&) = delete;
  link& operator=(link const&) = delete;

  [[nodiscard]] socket_type& socket() noexcept { return socket_; }

  /// Reads messages until the stream ends.
  void read() {
    boost::asio::async_read(socket_, boost::asio::buffer(&head_, sizeof head_),
                            [this](boost::system::error_code const& error, std::size_t) {
                              if (error) return owner_->broken(peer_, error);
                              if (head_.body == 0) return finish_read();
                              body_.resize(head_.body);
                              read_body();
                            });
  }

  void write(packet bytes) {
    queued_.push_back(std::move(bytes));
    if (writing_.empty()) write_queued();
  }

 private:
  void read_body() {
    boost::asio::async_read(socket_, boost::asio::buffer(body_),
                            [this](boost::system::error_code const& error, std::size_t) {
                              if (error) return owner_->broken(peer_, error);
                              finish_read();
                            });
  }
  void finish_read() {
    owner_->received(peer_, head_, std::exchange(body_, {}));
    read();
  }

  void write_queued() {
    writing_.swap(queued_);
    std::vector<boost::asio::const_buffer> buffers;
    buffers.reserve(writing_.size());
    for (packet const& p : writing_) buffers.emplace_back(p.data(), p.size());
    boost::asio::async_write(socket_, buffers,
                             [this](boost::system::error_code const& error, std::size_t bytes) {
                               if (error) return owner_->broken(peer_, error);
                               owner_->written(bytes);
                               writing_.clear();
                               if (!queued_.empty()) write_queued();
                             });
  }

  Owner* owner_;
  rank_t peer_;
  socket_type socket_;
  message head_;
  packet body_;
  std::vector<packet> queued_;
  std::vector<packet> writing_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::loopback
