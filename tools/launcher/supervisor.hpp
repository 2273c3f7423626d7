// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <launcher/descriptor.hpp>
#include <launcher/input.hpp>
#include <launcher/job_hook.hpp>
#include <launcher/options.hpp>
#include <launcher/output.hpp>
#include <launcher/processes.hpp>
#include <memory>
#include <optional>
#include <pgas/detail/job/launch.hpp>
#include <string>
#include <utility>
#include <vector>

namespace pgas::launcher {

/// The signals that the launcher handles, without those that its own parent made it ignore (nohup does).
class signals_of_interest {
 public:
  signals_of_interest() {
    ::sigemptyset(&set_);
    for (int const signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT}) {
      struct ::sigaction now {};
      if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) add(signal);
    }
    add(SIGCHLD);
  }

  [[nodiscard]] ::sigset_t const& set() const noexcept { return set_; }
  [[nodiscard]] std::vector<int> const& list() const noexcept { return list_; }

 private:
  void add(int signal) {
    ::sigaddset(&set_, signal);
    list_.push_back(signal);
  }

  ::sigset_t set_{};
  std::vector<int> list_;
};

/// Watches the ranks from their start to the end of all processes that they have started.
///
/// It has one thread and one event loop. It reaps a rank only after the rank's pidfd has reported the end, in
/// the order of the ends. Until then the rank's number and group are its own, so no signal hits an unrelated
/// process.
class supervisor {
 public:
  supervisor(options const& o, job_hook const& job, std::vector<started_rank> started,
             descriptor terminal_pipe, signals_of_interest const& signals)
      : options_(o),
        job_(job),
        errors_(context_, 2, [this](int why) { output_broke("standard error", why); }),
        signals_(context_) {
    if (!same_file(1, 2)) {
      output_.emplace(context_, 1, [this](int why) { output_broke("standard output", why); });
    }
    for (auto& s : started) {
      auto const rank = static_cast<int>(ranks_.size());
      std::string const tag = o.tag_output ? '[' + std::to_string(rank) + "] " : "";
      auto const ended = [this] { look_for_end(); };
      ranks_.push_back(std::make_unique<process>(process{
          .rank = rank,
          .pid = s.pid,
          .watch = s.watch.get() >= 0 ? std::make_unique<pidfd>(context_, s.watch.release()) : nullptr,
          .output = std::make_unique<stream>(context_, std::move(s.output), output(), tag, ended),
          .errors = std::make_unique<stream>(context_, std::move(s.errors), errors_, tag, ended)}));
    }
    running_ = static_cast<int>(ranks_.size());
    if (terminal_pipe.get() >= 0) input_.emplace(context_, std::move(terminal_pipe));
    for (int const signal : signals.list()) signals_.add(signal);
  }

  /// Runs the loop; returns the launcher's exit code.
  int run() {
    output().when_empty([this] { look_for_end(); });
    errors_.when_empty([this] { look_for_end(); });
    wait_for_signal();
    for (auto const& r : ranks_) {
      r->output->start();
      r->errors->start();
      if (r->watch) {
        r->watch->async_wait(pidfd::wait_read, [this, &r = *r](boost::system::error_code error) {
          if (!error) reap(r);
        });
      }
    }
    if (input_) input_->start();
    if (options_.timeout) {
      timeout_.expires_after(*options_.timeout);
      timeout_.async_wait([this](boost::system::error_code error) {
        if (!error) time_out();
      });
    }
    reap_what_ended();  // also reaps processes that ended before the loop ran
    context_.run();
    return exit_code_.value_or(0);
  }

 private:
  using pidfd = boost::asio::posix::stream_descriptor;

  struct process {
    int rank;
    ::pid_t pid;
    std::unique_ptr<pidfd> watch;
    std::unique_ptr<stream> output;
    std::unique_ptr<stream> errors;
    bool running = true;
  };

  /// The stage of the job's end. Each stage begins when the time of the one before is over.
  enum class stage { none, let_end, told, killed, abandoned };

  /// A rank's failure. It is reported once no other rank can be its cause.
  struct failure {
    int rank;
    int exit_code;
    std::string what;
  };

  static constexpr std::chrono::milliseconds to_hear_of_it{
      1500};  // on a busy machine a yielding wait looks rarely
  static constexpr std::chrono::milliseconds to_notice_it{500};
  static constexpr std::chrono::milliseconds between_kills{50};
  static constexpr int most_kills = 40;

  // Events

  void reap(process& r) {
    int status = 0;
    ::pid_t ended = 0;
    do {
      ended = ::waitpid(r.pid, &status, 0);
    } while (ended < 0 && errno == EINTR);
    r.running = false;
    r.watch.reset();
    --running_;
    r.output->catch_up();
    r.errors->catch_up();
    if (r.rank == 0 && input_) input_->stop();

    std::optional<failure> failed;
    std::string const who = "rank " + std::to_string(r.rank) + " (pid " + std::to_string(r.pid) + ", " +
                            options_.program[0] + ")";
    if (WIFSIGNALED(status)) {
      int const signal = WTERMSIG(status);
      failed = {.rank = r.rank,
                .exit_code = 128 + signal,
                .what = who + " was killed by signal " + std::to_string(signal) + " (" + signal_name(signal) +
                        (WCOREDUMP(status) ? ", core dumped)" : ")")};
    } else if (int const code = WEXITSTATUS(status); code != 0) {
      failed = {.rank = r.rank, .exit_code = code, .what = who + " exited with code " + std::to_string(code)};
    } else if (job_.in_body(r.rank)) {
      failed = {.rank = r.rank, .exit_code = 1, .what = who + " exited with code 0 before its body returned"};
    }
    if (failed) {
      job_.failed(r.rank, failed->what);
    } else {
      job_.finished(r.rank);
    }
    judge(failed, r.rank);
    if (running_ == 0) all_ended();
  }

  /// Decides which rank failed first. A failing pgas rank tells the other ranks before it ends, and they may
  /// end sooner.
  void judge(std::optional<failure> const& failed, int rank) {
    if (exit_code_) return;
    auto const culprit = job_.culprit();
    if (failed && !suspect_) suspect_ = failed;
    if (!suspect_) return;
    if (culprit == rank && failed) suspect_ = failed;
    bool const culprit_runs = culprit && ranks_[static_cast<std::size_t>(*culprit)]->running;
    if (!culprit_runs) blame_suspect();
    if (stage_ == stage::none) end_after(patience());
  }

  void blame_suspect() {
    exit_code_ = suspect_->exit_code;
    say(suspect_->what + (running_ > 0 ? "; ending " + others() : ""));
  }

  void all_ended() {
    timeout_.cancel();
    if (suspect_ && !exit_code_) blame_suspect();
    // Every rank has ended. Its remaining children have the grace period from now.
    if (stage_ == stage::none) end_after(options_.grace);
    look_for_end();
  }

  void time_out() {
    if (running_ == 0 || stage_ != stage::none) return;
    std::string const seconds = seconds_of(*options_.timeout);
    std::string list;
    int first = -1;
    for (auto const& r : ranks_) {
      if (!r->running) continue;
      if (first < 0) first = r->rank;
      list +=
          (list.empty() ? "rank " : ", rank ") + std::to_string(r->rank) + " (pid " + std::to_string(r->pid);
      if (auto const operation = job_.waits_in(r->rank); !operation.empty())
        list += ", waits in " + operation;
      list += ')';
    }
    exit_code_ = 124;
    say("still running after " + seconds + " s: " + list + "; ending " + (running_ == 1 ? "it" : "them"));
    job_.timed_out(first, "the launcher's timeout of " + seconds + " s is over");
    bound_flush_ = true;
    end_after(patience());
  }

  void wait_for_signal() {
    signals_.async_wait([this](boost::system::error_code error, int signal) {
      if (error) return;
      switch (signal) {
        case SIGCHLD:
          reap_what_ended();
          break;
        case SIGUSR1:
        case SIGUSR2:
        case SIGCONT:
          pass_on(signal);
          break;
        case SIGTSTP:
          pass_on(signal);
          ::kill(::getpid(), SIGSTOP);  // stops, as the unhandled signal would have done; SIGCONT follows
          break;
        default:
          interrupt(signal);
      }
      wait_for_signal();
    });
  }

  void interrupt(int signal) {
    bound_flush_ = true;
    if (interrupted_ || running_ == 0) {
      if (!exit_code_) exit_code_ = 128 + signal;
      stop_now_ = true;
      kill_all();
      return;
    }
    interrupted_ = true;
    if (!exit_code_ && !suspect_) {
      exit_code_ = 128 + signal;
      say(signal_name(signal) + ": passed on to " + others("") + "; send it again to kill them");
    }
    tell_all(signal);
  }

  /// An output has no reader any more, so the job ends, as any program would.
  void output_broke(std::string const& which, int why) {
    if (exit_code_) return;
    exit_code_ = why == EPIPE ? 128 + SIGPIPE : 1;
    say((why == EPIPE ? "nobody reads " + which + " any more"
                      : "cannot write " + which + ": " + std::strerror(why)) +
        (running_ > 0 ? "; ending " + others("") : ""));
    if (stage_ == stage::none || stage_ == stage::let_end) end_after(std::chrono::milliseconds(0));
  }

  // The end

  /// Starts the stages that end all processes.
  void end_after(std::chrono::milliseconds patience) {
    stage_ = stage::let_end;
    after(patience, [this] {
      if (suspect_ && !exit_code_) blame_suspect();  // the stages' own signals must not count as the cause
      tell_all(SIGTERM);
    });
  }

  void tell_all(int signal) {
    stage_ = stage::told;
    signal_all(signal);
    signal_all(SIGCONT);  // a stopped process cannot act on the signal
    after(options_.grace, [this] { kill_all(); });
  }

  void kill_all(int times = 0) {
    stage_ = times < most_kills ? stage::killed : stage::abandoned;
    signal_all(SIGKILL);
    if (stage_ ==
        stage::abandoned) {  // a process hangs in the kernel, or has passed a pipe to an unrelated one
      for (auto const& r : ranks_) {
        r->output->close();
        r->errors->close();
      }
    } else {
      after(between_kills, [this, times] { kill_all(times + 1); });  // a process may just have forked
    }
    look_for_end();
  }

  template <class Step>
  void after(std::chrono::milliseconds time, Step step) {
    steps_.expires_after(time);
    steps_.async_wait([step](boost::system::error_code error) {
      if (!error) step();
    });
  }

  /// Stops the loop when nothing is left to wait for.
  void look_for_end() {
    if (running_ > 0 || done_) return;
    if (bound_flush_ && !flushing_) {
      flushing_ = true;
      bound_flush();
    }
    if (stage_ != stage::abandoned) {
      if (reap_what_ended()) return;
      bool const open = std::any_of(ranks_.begin(), ranks_.end(),
                                    [](auto const& r) { return r->output->open() || r->errors->open(); });
      if (open && !stop_now_) return;
    }
    steps_.cancel();
    if ((output().empty() && errors_.empty()) || stop_now_) {
      done_ = true;
      context_.stop();
    }
  }

  /// Limits the wait for a reader after a timeout or an interrupt.
  void bound_flush() {
    flush_limit_.expires_after(std::max(options_.grace, between_kills));
    flush_limit_.async_wait(
        [this, before = output().written() + errors_.written()](boost::system::error_code error) {
          if (error) return;
          if (output().written() + errors_.written() == before) stop_now_ = true;
          look_for_end();
          if (!done_) bound_flush();
        });
  }

  // Means

  /// Reaps the ranks' orphans, and ranks that have no pidfd. Returns true while there is any child.
  bool reap_what_ended() {
    for (;;) {
      ::siginfo_t info{};
      if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return errno != ECHILD;
      if (info.si_pid == 0) return true;
      auto const r = std::find_if(ranks_.begin(), ranks_.end(),
                                  [&](auto const& p) { return p->running && p->pid == info.si_pid; });
      if (r == ranks_.end()) {
        ::waitpid(info.si_pid, nullptr, 0);
        if (running_ == 0) boost::asio::post(context_, [this] { look_for_end(); });
      } else if ((*r)->watch) {
        // A rank with a pidfd is reaped in its turn. It hides other ended processes from waitid, so this
        // looks again.
        boost::asio::post(context_, [this] { reap_what_ended(); });
        return true;
      } else {
        reap(**r);
      }
    }
  }

  /// The time in which ranks may end by themselves. Pgas ranks learn of the failure and report its effect on
  /// them; other programs can only notice a closed connection or the like.
  [[nodiscard]] std::chrono::milliseconds patience() const {
    bool const told = std::any_of(ranks_.begin(), ranks_.end(),
                                  [this](auto const& r) { return r->running && job_.has_joined(r->rank); });
    return told ? to_hear_of_it : to_notice_it;
  }

  void pass_on(int signal) {
    for (auto const& r : ranks_) {
      if (r->running) ::kill(-r->pid, signal);
    }
  }

  /// Signals the groups of all running ranks, and all other descendants.
  void signal_all(int signal) {
    pass_on(signal);
    for (auto const& d : pgas::detail::descendants()) {
      bool const reached = std::any_of(ranks_.begin(), ranks_.end(),
                                       [&](auto const& r) { return r->running && r->pid == d.group; });
      if (!reached) ::kill(d.pid, signal);
    }
  }

  void say(std::string const& sentence) { errors_.write("pgas-run: " + sentence + '\n', this); }

  [[nodiscard]] std::string others(std::string const& which = "other ") const {
    return running_ == 1 ? "the " + which + "rank" : "the " + which + std::to_string(running_) + " ranks";
  }

  static bool same_file(int a, int b) {
    struct ::stat x {
    }, y{};
    return ::fstat(a, &x) == 0 && ::fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
  }

  /// Outputs to one file share one queue; otherwise their lines could mix.
  sink& output() { return output_ ? *output_ : errors_; }

  options const& options_;
  job_hook const& job_;
  boost::asio::io_context context_{1};
  sink errors_;
  std::optional<sink> output_;
  std::optional<terminal_input> input_;
  std::vector<std::unique_ptr<process>> ranks_;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer timeout_{context_};
  boost::asio::steady_timer steps_{context_};
  boost::asio::steady_timer flush_limit_{context_};
  std::optional<int> exit_code_;
  std::optional<failure> suspect_;
  stage stage_ = stage::none;
  int running_ = 0;
  bool interrupted_ = false;
  bool bound_flush_ = false;
  bool flushing_ = false;
  bool stop_now_ = false;
  bool done_ = false;
};

}  // namespace pgas::launcher
