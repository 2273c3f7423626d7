// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/mail/mail_office.hpp>
#include <pgas/detail/types/sole_owner.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The control of a window with mailed protocols: words, and a post office.
template <control Control, mailbox Mailbox>
class mailed_control : public Control {
 public:
  mailed_control(Control words, Mailbox m)
      : Control(std::move(words)), office_(new mail_office<Mailbox>(std::move(m))) {}

  [[nodiscard]] mail_office<Mailbox>& office() noexcept { return *office_; }

 private:
  sole_owner<mail_office<Mailbox>> office_;
};

/// The control that carries protocols on a backend: its words, with a post office if one of the protocols
/// is mailed. A backend without mailboxes has its words only; a window refuses that.
template <class Backend, bool IsMailed>
struct carrying_control {
  using type = typename Backend::control_type;
};
template <class Backend>
  requires mailbox<typename Backend::mailbox_type>
struct carrying_control<Backend, true> {
  using type = mailed_control<typename Backend::control_type, typename Backend::mailbox_type>;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
