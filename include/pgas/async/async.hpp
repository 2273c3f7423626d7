// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Tasks and all that they await, calls and progress, in one header: <pgas/async/async.hpp>.
///
/// It needs no Asio. A program that takes completion tokens includes <pgas/async/asio.hpp>, too. Single
/// headers of this folder compile faster.
#include <pgas/async/calls.hpp>
#include <pgas/async/cancel_after.hpp>
#include <pgas/async/in_flight.hpp>
#include <pgas/async/progress_thread.hpp>
#include <pgas/async/requests.hpp>
#include <pgas/async/scheduler.hpp>
#include <pgas/async/task.hpp>
#include <pgas/async/when_all.hpp>
#include <pgas/async/when_any.hpp>
