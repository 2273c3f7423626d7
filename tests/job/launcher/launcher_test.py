#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Tests of pgas-run: launcher_test.py --launcher PGAS_RUN --probe PROBE --pgas-probe PGAS_PROBE
--stopped-start LIBRARY [NAME...]

Most cases are rows of the table CASES. Those that act while the job runs are functions below it. After each,
no process of the job may be left. NAMEs select the cases whose names contain one of them.
"""
import argparse
import concurrent.futures
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
import uuid

sys.dont_write_bytecode = True
import hosts  # noqa: E402

MARK = "PGAS_LAUNCHER_TEST"
JOBS = []  # all that were started, so that a case that fails leaves nothing either


def environment(mark, extra=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith("PGAS_")}
    env[MARK] = mark
    env.update(extra or {})
    return env


def processes(mark):
    """The processes of a job: those with its mark in their environment, zombies not counted."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if f"{MARK}={mark}".encode() in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            pass  # ended, or is not ours
    return found


def state(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.01)


class Job:
    """A running launcher, its output gathered by threads."""

    def __init__(self, arguments, stdin=b"", extra=None, limit=30, read_output=True, **more):
        self.mark = str(uuid.uuid4())
        JOBS.append(self)
        self.begin = time.monotonic()
        self.limit = limit
        # Standard input is a file, so that rank 0 gets it unchanged.
        read_end, write_end = os.pipe()
        os.write(write_end, stdin)
        os.close(write_end)
        self.process = subprocess.Popen([OPTIONS.launcher, *arguments], stdin=read_end, stdout=subprocess.PIPE,
                                        stderr=more.pop("stderr", subprocess.PIPE),
                                        env=environment(self.mark, extra), **more)
        os.close(read_end)
        self.out = bytearray()
        self.err = bytearray()
        self.threads = []
        if read_output:
            self.gather(self.process.stdout, self.out)
        if self.process.stderr:
            self.gather(self.process.stderr, self.err)

    def gather(self, pipe, into):
        def read():
            while data := os.read(pipe.fileno(), 65536):
                into.extend(data)

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        self.threads.append(thread)

    def await_output(self, text, times=1):
        until(lambda: self.out.count(text.encode()) >= times, 10, f"{times} x {text!r} in the output {bytes(self.out)!r}")

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        """Waits for the launcher; returns its exit code. All of its job must be gone by then."""
        try:
            code = self.process.wait(self.limit)
        except subprocess.TimeoutExpired:
            self.clean_up()
            raise AssertionError(f"the launcher did not end within {self.limit} s; stderr: {bytes(self.err)!r}")
        self.seconds = time.monotonic() - self.begin
        for thread in self.threads:
            thread.join(5)
        left = processes(self.mark)
        self.clean_up()
        assert not left, f"processes left behind: {left}"
        return code

    def clean_up(self):
        self.process.kill()
        for pid in processes(self.mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass


def by_rank(**programs):
    """A shell command in which rank r runs what r<r>= says, the others what others= says."""
    rows = "".join(f"{name[1:]}) {text};;\n" for name, text in programs.items() if name != "others")
    return ["sh", "-c", f"case $PGAS_RANK in\n{rows}*) {programs.get('others', ':')};;\nesac"]


def lines(text):
    return sorted(text.decode().splitlines())


LONG = "sleep 100"  # a child of the shell: also the rank's group must end

# name: (arguments, {expected results}). err is a regular expression for all of standard error.
CASES = {
    # exit codes
    "all ranks succeed": (["-n", "4", "true"], {"code": 0, "err": ""}),
    "one rank": (["-n1", "sh", "-c", "exit 5"],
                 {"code": 5, "err": r"pgas-run: rank 0 \(pid \d+, sh\) exited with code 5\n"}),
    "all ranks fail": (["-n", "3", "false"], {"code": 1, "err": r"pgas-run: rank \d \(pid \d+, false\) exited with "
                                                               r"code 1(; ending the (other 2 ranks|other rank))?\n"}),
    "the first failure ends the others": (
        ["-n", "4", *by_rank(r2="exit 7", others=LONG)],
        {"code": 7, "within": 3, "err": r"pgas-run: rank 2 \(pid \d+, sh\) exited with code 7; ending the other 3 ranks\n"}),
    "the first failure in time counts": (
        ["-n", "3", *by_rank(r0="sleep 0.4; exit 3", r1="sleep 0.1; exit 4", r2=LONG)],
        {"code": 4, "err": r"pgas-run: rank 1 .* exited with code 4; ending the other 2 ranks\n"}),
    "others may end by themselves": (
        ["-n", "2", *by_rank(r0="exit 3", r1="trap 'echo killed' TERM; sleep 0.1; echo done")],
        {"code": 3, "out": ["done"]}),
    "killed by a signal": (
        ["-n", "4", *by_rank(r2="kill -9 $$", others=LONG)],
        {"code": 137, "within": 3,
         "err": r"pgas-run: rank 2 \(pid \d+, sh\) was killed by signal 9 \(SIGKILL\); ending the other 3 ranks\n"}),
    "aborted": (["-n", "2", *by_rank(r1="ulimit -c 0; kill -6 $$", r0=LONG)],
                {"code": 134, "err": r"pgas-run: rank 1 .* was killed by signal 6 \(SIGABRT\); ending the other rank\n"}),
    "a late success does not hide a failure": (
        ["-n", "2", *by_rank(r0="exit 9", r1="trap 'exit 0' TERM; sleep 100 & wait")], {"code": 9}),
    "SIGTERM ignored": (
        ["-n", "2", "--grace", "0.5", *by_rank(r0="exit 3", r1="trap '' TERM; sleep 100")],
        {"code": 3, "after": 1.0, "within": 4}),
    "16 ranks": (["-n", "16", "sh", "-c", "echo $PGAS_RANK"], {"code": 0, "out": [str(r) for r in range(16)]}),
    # processes that ranks leave behind
    "a child left behind": (["-n", "2", "--grace", "0.3", "sh", "-c", "sleep 100 & exit 0"],
                            {"code": 0, "after": 0.3, "within": 4}),
    "a child left behind may finish": (["-n", "2", "sh", "-c", "(sleep 0.3; echo late) & exit 0"],
                                       {"code": 0, "within": 1.8, "out": ["late", "late"]}),
    "a daemon left behind": (["-n", "1", "--grace", "0.3", "{probe}", "daemon"], {"code": 0, "after": 0.6, "within": 4}),
    "a child of a killed rank": (
        ["-n", "2", "--grace", "0.3", *by_rank(r0="kill -9 $$", r1="trap '' TERM; (trap '' TERM; sleep 100) & sleep 100")],
        {"code": 137, "within": 4}),
    "the signal goes to the rank's group": (  # a shell acts on a signal when its child has ended
        ["-n", "2", "--grace", "60", *by_rank(r0="exit 3", r1="trap 'exit 0' TERM; sleep 100; :")], {"code": 3, "within": 2}),
    # programs that cannot run
    "program not found": (["-n", "3", "./no/such/program"],
                          {"code": 127, "err": r"pgas-run: cannot run \./no/such/program: No such file or directory\n"}),
    "command not found": (["-n", "3", "no-such-command-anywhere"],
                          {"code": 127, "err": r"pgas-run: cannot run no-such-command-anywhere: No such file .*\n"}),
    "not executable": (["-n", "3", "/dev/null"],
                       {"code": 126, "err": r"pgas-run: cannot run /dev/null: Permission denied\n"}),
    # the command line
    **{f"usage: {' '.join(words)}": (words, {"code": 2, "err": rf"pgas-run: .*{text}.*\n{hosts.USAGE}", "within": 1})
       for words, text in [
           ([], "-n N"), (["-n", "4"], "which program"), (["true"], "-n N"), (["-n"], "-n needs a value"),
           (["-n", "0", "true"], "-n takes a number of ranks from 1 to 1000000, not '0'"), (["-n", "-3", "true"], "not '-3'"),
           (["-n", "4x", "true"], "not '4x'"), (["-n", "", "true"], "not ''"), (["-n", "99999999999", "true"], "99999999999"),
           (["-n", "2", "--timeout", "soon", "true"], "--timeout takes a number of seconds from 0 to 32000000, not 'soon'"),
           (["-n", "2", "--timeout", "-1", "true"], "--timeout"), (["-n", "2", "--timeout", "0", "true"], "--timeout"),
           (["-n", "2", "--grace", "nan", "true"], "--grace"), (["--nodes", "2", "true"], "unknown option '--nodes'"),
           (["-n", "2", "--tag-output=yes", "true"], "takes no value"), (["-n", "2", "--"], "which program")]},
    "too many ranks": (["-n", "1025", "true"], {"code": 2, "err": r"pgas-run: a job has 1 to 1024 ranks, not 1025\n"}),
    "help": (["--help"], {"code": 0, "contains": "usage: pgas-run -n N"}),
    "version": (["--version"], {"code": 0, "contains": "pgas-run "}),
    "the program's own options": (["-n", "1", "--", "sh", "-c", "printf '%s.' \"$@\"", "sh", "-n", "--help"],
                                  {"code": 0, "out": ["-n.--help."]}),
    "options with =": (["--ranks=2", "--timeout=20", "--grace=1", "echo", "x"], {"code": 0, "out": ["x", "x"]}),
    # environment and descriptors
    "environment": (["-n", "3", "sh", "-c", "echo $PGAS_RANK of $PGAS_RANKS $KEPT"],
                    {"code": 0, "extra": {"KEPT": "kept", "PGAS_RANK": "77", "PGAS_RANKS": "78"},
                     "out": ["0 of 3 kept", "1 of 3 kept", "2 of 3 kept"]}),
    "variables are replaced": (["-n", "1", "env"], {"code": 0, "extra": {"PGAS_RANK": "stale", "PGAS_JOB_FD": "stale"},
                                                    "contains": "PGAS_RANK=0\n", "lacks": "=stale"}),
    "a launcher under a launcher": (["-n", "2", "{launcher}", "-n", "2", "sh", "-c", "echo $PGAS_RANK of $PGAS_RANKS"],
                                    {"code": 0, "out": ["0 of 2", "0 of 2", "1 of 2", "1 of 2"]}),
    "descriptors": (["-n", "3", "{probe}", "descriptors"],
                    {"code": 0, "leak": True, "lines_match": r"open: 0 1 2 (\d+) job: \1"}),
    "signal mask and handlers": (["-n", "2", "{probe}", "signals"],
                                 {"code": 0, "lines_match": r"blocked: ignored:"}),
    "descriptor limit": (["-n", "1", "sh", "-c", "ulimit -n"], {"code": 0, "soft_files": 200, "out": ["200"]}),
    "more descriptors than the limit": (["-n", "60", "echo", "x"], {"code": 0, "soft_files": 100, "out": ["x"] * 60}),
    # input
    "input goes to rank 0": (["-n", "3", "--tag-output", "cat"], {"code": 0, "stdin": b"one\ntwo\n", "out": ["[0] one", "[0] two"]}),
    "input of others is empty": (["-n", "3", *by_rank(others="read x || echo none", r0="read x; echo $x")],
                                 {"code": 0, "stdin": b"line\n", "out": ["line", "none", "none"]}),
    "input waits for rank 0": (["-n", "3", *by_rank(others="read x || echo none", r0="sleep 0.2; read x; echo $x")],
                               {"code": 0, "stdin": b"line\n", "out": ["line", "none", "none"]}),
    # output
    "tags": (["-n", "2", "--tag-output", "sh", "-c", "echo out; echo; echo err >&2"],
             {"code": 0, "out": ["[0] ", "[0] out", "[1] ", "[1] out"], "err": r"(\[\d\] err\n){2}"}),
    "an unterminated line": (["-n", "1", "printf", "no end"], {"code": 0, "raw": b"no end"}),
    "unterminated lines of two": (["-n", "2", "printf", "no end"], {"code": 0, "raw": b"no end\nno end"}),
    "an unterminated line, tagged": (["-n", "1", "--tag-output", "printf", "a\nb"], {"code": 0, "raw": b"[0] a\n[0] b"}),
    "zeros and no text": (["-n", "1", "printf", r"a\000b\377\n\n"], {"code": 0, "raw": b"a\0b\xff\n\n"}),
    "words before death": (["-n", "1", "sh", "-c", "echo last words >&2; kill -9 $$"],
                           {"code": 137, "err": r"last words\npgas-run: rank 0 .*\n"}),
    "1 MiB of each rank": (["-n", "4", "{probe}", "bytes", str(1 << 20)],
                           {"code": 0, "raw": (b"b" * ((1 << 20) - 1) + b"\n") * 4}),
    "3 MiB without an end": (["-n", "1", "sh", "-c", "head -c 3145728 /dev/zero"], {"code": 0, "raw": bytes(3 << 20)}),
    # timeout
    "timeout": (["-n", "3", "--timeout", "0.5", *by_rank(r1=":", others=LONG)],
                {"code": 124, "after": 0.5, "within": 3,
                 "err": r"pgas-run: still running after 0.5 s: rank 0 \(pid \d+\), rank 2 \(pid \d+\); ending them\n"}),
    "timeout of one that ignores SIGTERM": (
        ["-n", "1", "--timeout", "0.3", "--grace", "0.3", "sh", "-c", "trap '' TERM; sleep 100"],
        {"code": 124, "after": 1.0, "within": 4, "err": r"pgas-run: still running after 0.3 s: rank 0 \(pid \d+\); ending it\n"}),
    "no timeout needed": (["-n", "2", "--timeout", "20", "true"], {"code": 0, "within": 3, "err": ""}),
    # several hosts
    **{f"hosts: {name}": row for name, row in hosts.CASES.items()},
    # ranks that are pgas programs
    "pgas: works": (["-n", "3", "{pgas_probe}", "pass"], {"code": 0, "err": ""}),
    "pgas: a death is told to the others": (
        ["-n", "3", "--tag-output", "{pgas_probe}", "kill"],
        {"code": 137, "within": 0.6, "err_lines": [
            r"\[0\] rank 1 \(pid \d+, .*\) was killed by signal 9 \(SIGKILL\): .*",
            r"\[2\] rank 1 \(pid \d+, .*\) was killed by signal 9 \(SIGKILL\): .*",
            r"pgas-run: rank 1 .* was killed by signal 9 \(SIGKILL\); ending the other 2 ranks"]}),
    "pgas: an early exit is told to the others": (
        ["-n", "2", "--tag-output", "{pgas_probe}", "exit"],
        {"code": 7, "within": 0.6, "err_lines": [r"\[0\] rank 1 .* exited with code 7: .*",
                                                 r"pgas-run: rank 1 .* exited with code 7; ending the other rank"]}),
    "pgas: who threw is blamed, not who was faster": (
        ["-n", "3", "{pgas_probe}", "throw"],
        {"code": 11, "err_lines": [r"pgas-run: rank 1 .* exited with code 11.*"] + [r"rank 1 threw: the coffee is cold.*"] * 3}),
    "pgas: a rank that leaves its body by exit(0) has failed": (
        ["-n", "2", "{pgas_probe}", "leave"],
        {"code": 1, "within": 5, "contains_err": r"rank \d+ .* exited with code 0 before its body returned"}),
    "pgas: a timeout names what is waited in": (
        ["-n", "2", "--timeout", "1", "{pgas_probe}", "publish"],
        {"code": 124, "contains_err": r"rank 0 \(pid \d+, waits in coffee break\), rank 1 \(pid \d+, waits in coffee break\)"}),
}


def limit_files(soft):
    import resource
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def run_case(arguments, expected):
    names = {"{probe}": OPTIONS.probe, "{pgas_probe}": OPTIONS.pgas_probe, "{launcher}": OPTIONS.launcher}
    more = {}
    leaked = None
    if expected.get("leak"):  # whoever starts the launcher may be careless
        leaked = os.open("/dev/null", os.O_RDONLY)
        more["pass_fds"] = [leaked]
    if "soft_files" in expected:
        more["preexec_fn"] = limit_files(expected["soft_files"])
    job = Job([names.get(a, a) for a in arguments], stdin=expected.get("stdin", b""), extra=expected.get("extra"), **more)
    if leaked is not None:
        os.close(leaked)
    code = job.end()
    said = f"\nstdout: {bytes(job.out[:2000])!r}\nstderr: {bytes(job.err[:2000])!r}\nseconds: {job.seconds:.2f}"
    error_text = job.err.decode()

    def check(ok, what):
        assert ok, what + said

    check(code == expected["code"], f"exit code {code}, expected {expected['code']}")
    check(job.seconds <= expected.get("within", 10) * OPTIONS.patience, "too slow")
    check(job.seconds >= expected.get("after", 0), "too fast")
    if "out" in expected:
        wanted = sorted(line.replace("{launcher}", OPTIONS.launcher) for line in expected["out"])
        check(lines(job.out) == wanted, f"expected {wanted}")
    if "raw" in expected:
        check(bytes(job.out) == expected["raw"], "other bytes than expected")
    if "contains" in expected:
        check(expected["contains"] in job.out.decode(), f"no {expected['contains']!r}")
    if "lacks" in expected:
        check(expected["lacks"] not in job.out.decode(), f"has {expected['lacks']!r}")
    if "lines_match" in expected:
        check(all(re.fullmatch(expected["lines_match"], line) for line in lines(job.out)) and job.out, "wrong lines")
    if "err" in expected:
        check(re.fullmatch(expected["err"], error_text), f"expected /{expected['err']}/")
    if "contains_err" in expected:
        check(re.search(expected["contains_err"], error_text), f"no /{expected['contains_err']}/")
    if "err_lines" in expected:
        got = lines(job.err)
        check(len(got) == len(expected["err_lines"]) and
              all(any(re.fullmatch(e, line) for line in got) for e in expected["err_lines"]), f"expected {expected['err_lines']}")


# Cases that act while the job runs.

def lines_stay_whole():
    """Lines of 8 chatty ranks: none is cut, none is missing, each rank's are in order."""
    job = Job(["-n", "8", "--tag-output", OPTIONS.probe, "chat", "500"])
    assert job.end() == 0
    next_line = [0] * 8
    for text in job.out.decode().splitlines():
        match = re.fullmatch(r"\[(\d)\] rank=\1 line=(\d+) (x*)\|", text)
        assert match, f"not whole: {text!r}"
        rank, number = int(match[1]), int(match[2])
        assert number == next_line[rank] and len(match[3]) == number * 37 % 201, text
        next_line[rank] += 1
    assert next_line == [500] * 8


def lines_stay_whole_across_outputs():
    """Also when standard output and error are one pipe."""
    job = Job(["-n", "4", "sh", "-c", f"{OPTIONS.probe} chat 200 & {OPTIONS.probe} chat 200 >&2; wait"], stderr=subprocess.STDOUT,
              read_output=False)
    time.sleep(0.2)  # a reader that is late, so that no more than a part of what there is can be written
    job.gather(job.process.stdout, job.out)
    assert job.end() == 0
    all_lines = job.out.decode().splitlines()
    assert len(all_lines) == 4 * 2 * 200
    for text in all_lines:
        assert re.fullmatch(r"rank=\d line=\d+ x*\|", text), f"not whole: {text!r}"


def a_slow_reader_does_not_make_it_grow():
    job = Job(["-n", "4", OPTIONS.probe, "flood"], read_output=False)

    def memory():
        with open(f"/proc/{job.process.pid}/status") as file:
            return int(re.search(r"VmRSS:\s+(\d+) kB", file.read())[1])

    time.sleep(0.3)
    first = memory()
    time.sleep(0.7)
    assert memory() < first + 1000 and first < 30_000, f"{first} kB, then {memory()} kB"
    job.signal(signal.SIGTERM)  # it must still listen, and end although nobody reads
    assert job.end() == 143
    assert job.seconds < 6


def the_reader_goes():
    job = Job(["-n", "4", OPTIONS.probe, "flood"], read_output=False)
    os.read(job.process.stdout.fileno(), 1000)
    job.process.stdout.close()
    assert job.end() == 141
    assert job.seconds < 2 * OPTIONS.patience
    assert re.fullmatch(rb"pgas-run: nobody reads standard output any more; ending the \d ranks\n", job.err), job.err


def a_full_disk():
    mark = str(uuid.uuid4())
    with open("/dev/full", "wb") as full:
        done = subprocess.run([OPTIONS.launcher, "-n", "2", OPTIONS.probe, "flood"], stdin=subprocess.DEVNULL, stdout=full,
                              stderr=subprocess.PIPE, env=environment(mark), timeout=20)
    assert done.returncode == 1 and b"No space left on device" in done.stderr, done
    assert not processes(mark)


def to_a_file():
    """A regular file cannot be waited for, yet all of the output arrives."""
    mark = str(uuid.uuid4())
    with open(os.path.join(OPTIONS.scratch, f"launcher-{mark}"), "w+b") as file:
        os.unlink(file.name)
        done = subprocess.run([OPTIONS.launcher, "-n", "4", OPTIONS.probe, "bytes", "1000000"], stdin=subprocess.DEVNULL,
                              stdout=file, env=environment(mark), timeout=20)
        assert done.returncode == 0
        file.seek(0)
        assert file.read() == (b"b" * 999999 + b"\n") * 4


def interrupt_is_passed_on():
    job = Job(["-n", "3", OPTIONS.probe, "wait", "0"])
    job.await_output("ready", 3)
    job.signal(signal.SIGINT)
    assert job.end() == 130
    assert job.out.count(b"got 2\n") == 3 and job.out.count(b"got") == 3, job.out
    assert job.err == b"pgas-run: SIGINT: passed on to the 3 ranks; send it again to kill them\n", job.err
    assert job.seconds < 2 * OPTIONS.patience


def interrupt_of_the_stubborn_kills_after_grace():
    job = Job(["-n", "2", "--grace", "0.5", OPTIONS.probe, "wait", "1"])
    job.await_output("ready", 2)
    begin = time.monotonic()
    job.signal(signal.SIGINT)
    assert job.end() == 130
    assert 0.5 <= time.monotonic() - begin < 3 * OPTIONS.patience


def second_interrupt_kills():
    job = Job(["-n", "2", "--grace", "60", OPTIONS.probe, "wait", "1"])
    job.await_output("ready", 2)
    job.signal(signal.SIGINT)
    job.await_output("got 2", 2)
    job.signal(signal.SIGINT)
    assert job.end() == 130
    assert job.seconds < 3 * OPTIONS.patience


def terminate_is_passed_on():
    job = Job(["-n", "2", *by_rank(others=LONG)])
    time.sleep(0.2)
    job.signal(signal.SIGTERM)
    assert job.end() == 143
    assert job.err == b"pgas-run: SIGTERM: passed on to the 2 ranks; send it again to kill them\n", job.err


def user_signals_are_passed_on():
    job = Job(["-n", "2", OPTIONS.probe, "wait", "1"])
    job.await_output("ready", 2)
    job.signal(signal.SIGUSR1)
    job.await_output("got 10", 2)
    job.signal(signal.SIGUSR2)
    job.await_output("got 12", 2)
    job.signal(signal.SIGHUP)
    job.await_output("got 1\n", 2)
    job.signal(signal.SIGHUP)
    assert job.end() == 129


def stop_and_continue():
    job = Job(["-n", "2", OPTIONS.probe, "wait", "1"])
    job.await_output("ready", 2)
    ranks = [p for p in processes(job.mark) if p != job.process.pid]
    job.signal(signal.SIGTSTP)
    until(lambda: all(state(p) == "T" for p in [job.process.pid, *ranks]), 5, "all are stopped")
    job.signal(signal.SIGCONT)
    until(lambda: all(state(p) != "T" for p in [job.process.pid, *ranks]), 5, "all go on")
    job.signal(signal.SIGTERM)
    job.signal(signal.SIGTERM)
    assert job.end() == 143


def a_stopped_rank_ends_too():
    job = Job(["-n", "2", "--grace", "60", OPTIONS.probe, "wait", "0"])
    job.await_output("ready", 2)
    for pid in processes(job.mark):
        if pid != job.process.pid:
            os.kill(pid, signal.SIGSTOP)
    job.signal(signal.SIGTERM)
    assert job.end() == 143
    assert job.seconds < 2 * OPTIONS.patience


def nohup_is_respected():
    job = Job(["-n", "1", OPTIONS.probe, "signals"], preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    assert job.end() == 0
    assert job.out == b"blocked: ignored: 1\n", job.out
    job = Job(["-n", "1", "sh", "-c", "echo ready; sleep 0.5; echo done"],
              preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    job.await_output("ready")
    job.signal(signal.SIGHUP)
    assert job.end() == 0


def no_orphans_when_the_launcher_is_killed():
    for ranks in (1, 4):
        job = Job(["-n", str(ranks), OPTIONS.probe, "wait", "1"])
        job.await_output("ready", ranks)
        job.signal(signal.SIGKILL)
        job.process.wait()
        until(lambda: not processes(job.mark), 3, "all ranks are gone")


def no_orphans_when_the_launcher_is_killed_at_the_start():
    for delay in range(12):
        job = Job(["-n", "8", OPTIONS.probe, "wait", "1"])
        time.sleep(delay * 0.002)
        job.signal(signal.SIGKILL)
        job.process.wait()
        until(lambda: not processes(job.mark), 3, f"all ranks are gone, {delay}")


def a_rank_killed_from_outside():
    for victim in range(3):
        job = Job(["-n", "3", "sh", "-c", "echo rank $PGAS_RANK is $$; exec sleep 100"])
        job.await_output("rank", 3)
        until(lambda: job.out.count(b"\n") == 3, 5, "three lines")
        pid = int(re.search(rf"rank {victim} is (\d+)", job.out.decode())[1])
        os.kill(pid, signal.SIGSEGV)
        assert job.end() == 139
        assert re.fullmatch(rf"pgas-run: rank {victim} \(pid {pid}, sh\) was killed by signal 11 \(SIGSEGV(, core dumped)?\); "
                            r"ending the other 2 ranks\n", job.err.decode()), job.err


def nothing_in_shared_memory():
    def ours():
        # Another test's Open MPI names its files after the host, whatever that is called.
        return {name for name in os.listdir("/dev/shm") if "pgas" in name and not name.startswith("vader_segment.")}

    before = ours()
    job = Job(["-n", "3", OPTIONS.pgas_probe, "pass"])
    assert job.end() == 0
    job = Job(["-n", "3", OPTIONS.pgas_probe, "wait"])
    time.sleep(0.3)
    during = ours()
    job.signal(signal.SIGKILL)
    job.process.wait()
    assert ours() == during == before


def closed_descriptors():
    """A launcher without standard input, output and error."""
    mark = str(uuid.uuid4())
    done = subprocess.run(["sh", "-c", f"{OPTIONS.launcher} -n 2 {OPTIONS.probe} descriptors <&- >&- 2>&-"],
                          env=environment(mark), timeout=20)
    assert done.returncode == 0 and not processes(mark)


def on_a_terminal(arguments, act):
    """Runs the launcher with a terminal of its own; act(descriptor, pid). Returns exit code and what was shown."""
    mark = str(uuid.uuid4())
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(OPTIONS.launcher, [OPTIONS.launcher, *arguments], environment(mark))
    shown = bytearray()

    def read_until(text, seconds=10):
        end = time.monotonic() + seconds
        while text not in shown:
            assert time.monotonic() < end, f"no {text!r} in {bytes(shown)!r}"
            if select.select([terminal], [], [], 0.1)[0]:
                try:
                    shown.extend(os.read(terminal, 4096))
                except OSError:
                    break

    try:
        act(terminal, read_until)
        end = time.monotonic() + 10
        while True:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                break
            assert time.monotonic() < end, f"the launcher does not end; shown: {bytes(shown)!r}"
            if select.select([terminal], [], [], 0.05)[0]:
                try:
                    shown.extend(os.read(terminal, 4096))
                except OSError:
                    pass
        while select.select([terminal], [], [], 0)[0]:  # what it wrote last
            try:
                shown.extend(os.read(terminal, 4096))
            except OSError:
                break
    finally:
        left = processes(mark)
        for process in left:
            os.kill(process, signal.SIGKILL)
        os.close(terminal)
    assert not left, left
    return os.waitstatus_to_exitcode(status), bytes(shown)


def typed_input_reaches_rank_0():
    def act(terminal, read_until):
        os.write(terminal, b"hello\n")
        read_until(b"0 <hello>")
        os.write(terminal, b"again\n\x04")  # Ctrl-D
        read_until(b"0 end")

    code, shown = on_a_terminal(
        ["-n", "2", "sh", "-c", "while read x; do echo \"$PGAS_RANK <$x>\"; done; echo $PGAS_RANK end"], act)
    assert code == 0, (code, shown)
    assert b"0 <again>" in shown and b"1 end" in shown and b"1 <" not in shown, shown


def typed_interrupt():
    def act(terminal, read_until):
        read_until(b"ready\r\nready")
        os.write(terminal, b"\x03")  # Ctrl-C

    code, shown = on_a_terminal(["-n", "2", OPTIONS.probe, "wait", "0"], act)
    assert code == 130 and shown.count(b"got 2") == 2, (code, shown)


def stopped_at_the_start(arguments, stops, rank=1):
    """A job of three ranks, one of which stops before it runs the program."""
    return Job(["-n", "3", *arguments, "sh", "-c", "echo $PGAS_RANK"], limit=12,
               extra={"LD_PRELOAD": OPTIONS.stopped_start, "PGAS_TEST_STOPPED": str(rank),
                      "PGAS_TEST_STOPS": str(stops)})


def a_rank_stopped_at_the_start_is_continued():
    job = stopped_at_the_start([], 2)
    assert job.end() == 0, job.err
    assert lines(job.out) == ["0", "1", "2"], job.out
    said = lines(job.err)
    assert len(said) == 2 and all(
        re.fullmatch(r"pgas-run: rank 1 \(pid \d+\) was stopped before it ran sh; continuing it", s) for s in said), said


def a_rank_stopped_at_the_start_holds_up_no_signal():
    for number, name in ((signal.SIGTERM, "SIGTERM"), (signal.SIGINT, "SIGINT"), (signal.SIGHUP, "SIGHUP")):
        job = stopped_at_the_start([], 1000)
        until(lambda: any(state(pid) == "T" for pid in processes(job.mark)), 5, "a stopped rank")
        job.signal(number)
        assert job.end() == 128 + number, job.err
        assert re.search(rf"pgas-run: {name} came before rank 1 \(pid \d+\) ran sh; ended all ranks\n",
                         job.err.decode()), job.err


def a_rank_stopped_at_the_start_holds_up_no_timeout():
    job = stopped_at_the_start(["--timeout", "0.5"], 1000, rank=0)
    assert job.end() == 124, job.err
    assert re.search(r"pgas-run: the timeout of 0.5 s was over before rank 0 \(pid \d+\) ran sh; ended all ranks\n",
                     job.err.decode()), job.err


ACTIONS = [a_rank_stopped_at_the_start_is_continued, a_rank_stopped_at_the_start_holds_up_no_signal,
           a_rank_stopped_at_the_start_holds_up_no_timeout, lines_stay_whole, lines_stay_whole_across_outputs, a_slow_reader_does_not_make_it_grow, the_reader_goes,
           a_full_disk, to_a_file, interrupt_is_passed_on, interrupt_of_the_stubborn_kills_after_grace,
           second_interrupt_kills, terminate_is_passed_on, user_signals_are_passed_on, stop_and_continue,
           a_stopped_rank_ends_too, nohup_is_respected, no_orphans_when_the_launcher_is_killed,
           no_orphans_when_the_launcher_is_killed_at_the_start, a_rank_killed_from_outside, nothing_in_shared_memory,
           closed_descriptors]
ALONE = [typed_input_reaches_rank_0, typed_interrupt]  # these fork, and must not while threads run


def attempt(name, run):
    begin = time.monotonic()
    try:
        run()
        return name, None, time.monotonic() - begin
    except Exception:  # report it with the others
        return name, traceback.format_exc(limit=-2), time.monotonic() - begin


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--launcher", required=True)
    parser.add_argument("--probe", required=True)
    parser.add_argument("--pgas-probe", required=True)
    parser.add_argument("--stopped-start", required=True, help="the library that stops a rank before its program")
    parser.add_argument("--patience", type=float, default=4, help="factor on upper bounds of times, for a busy machine")
    parser.add_argument("--jobs", type=int, default=4, help="cases run at once")
    parser.add_argument("--scratch", default=os.environ.get("TMPDIR", "/tmp"))
    parser.add_argument("names", nargs="*")
    OPTIONS = parser.parse_args()
    for name in ("launcher", "probe", "pgas_probe", "stopped_start"):
        setattr(OPTIONS, name, os.path.abspath(getattr(OPTIONS, name)))
    # Tests that run in the background may have these ignored, and ranks would inherit that.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)

    together = [(name, lambda row=row: run_case(*row)) for name, row in CASES.items()]
    together += [(f.__name__.replace("_", " "), f) for f in ACTIONS]
    alone = [(f.__name__.replace("_", " "), f) for f in ALONE]

    def chosen(cases):
        return [case for case in cases if not OPTIONS.names or any(n in case[0] for n in OPTIONS.names)]

    results = [attempt(*case) for case in chosen(alone)]
    with concurrent.futures.ThreadPoolExecutor(OPTIONS.jobs) as pool:
        results += pool.map(lambda case: attempt(*case), chosen(together))
    for job in JOBS:
        if job.process.poll() is None or any(r[1] for r in results):
            job.clean_up()
    failed = [r for r in results if r[1]]
    for name, problem, seconds in results:
        print(f"{'FAIL' if problem else 'ok  '} {seconds:5.2f} s  {name}")
        if problem:
            print(problem)
    print(f"{len(results)} cases, {len(failed)} failed")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
