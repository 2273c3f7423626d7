// SPDX-License-Identifier: BSL-1.0
// Channels of messages of words, on every model that has mailboxes or a channel of its own.
#include "conformance/channel.hpp"
