#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The attack on inherited state: environment_test.py --program PROGRAM --launcher PGAS_RUN [NAME...]

Starts a pgas program by itself and under pgas-run with one thing wrong in what it inherits: descriptors, signals,
limits, mask of new files, folder, environment, outputs. After each trial no process, named shared memory or file may
be left. NAMEs select the faults whose names contain one of them. It prints a line for each kind of fault.
"""
import argparse
import concurrent.futures
import itertools
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import uuid

MARK = "PGAS_ENVIRONMENT_TEST"
LIMIT = 20  # seconds: nothing may hang
WELL = r"sum 3\n"


def trial(command, out=WELL, err="", code=0, extra=None, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
          stderr=subprocess.PIPE, before=lambda: None, close=(), within=LIMIT, send=None):
    """Runs the command; returns what was wrong, as sentences. `err` must be found in standard error. `send` is a
    signal for the program once it has written its first line, and whether its process group gets it, too."""
    mark = str(uuid.uuid4())
    env = {k: v for k, v in os.environ.items() if not k.startswith("PGAS_")}
    env.update(extra or {})
    env[MARK] = mark

    def prepare():
        before()
        for fd in close:
            os.close(fd)

    started = time.monotonic()
    process = subprocess.Popen(command, env=env, stdin=stdin, stdout=stdout, stderr=stderr, preexec_fn=prepare,
                               cwd=FOLDER, start_new_session=send is not None)
    wrong = []
    try:
        if send:
            process.stdout.readline()
            (os.killpg if send[1] else os.kill)(process.pid, send[0])
        got_out, got_err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        wrong.append(f"hangs for {LIMIT} s")
        process.kill()
        got_out, got_err = None, None
    seconds = time.monotonic() - started
    if not wrong:
        codes = code if isinstance(code, tuple) else (code,)
        text_out, text_err = (got_out or b"").decode(), (got_err or b"").decode()
        if process.returncode not in codes:
            wrong.append(f"exit code {process.returncode}, not {code}; {text_err[:500]}")
        if got_out is not None and out is not None and 1 not in close and not re.fullmatch(out, text_out):
            wrong.append(f"output {text_out[:300]!r}; {text_err[:300]}")
        if got_err is not None and 2 not in close and not re.search(err, text_err):
            wrong.append(f"standard error {text_err[:500]!r} lacks {err!r}")
        if seconds > within:
            wrong.append(f"took {seconds:.1f} s, not {within}")
    end = time.monotonic() + (3 if send else 0)  # the supervisor sees the program's end, and acts on it
    while time.monotonic() < end and left_behind(mark):
        time.sleep(0.05)
    for pid in left_behind(mark):
        wrong.append(f"process {pid} is left behind")
        os.kill(pid, signal.SIGKILL)
    return wrong


def left_behind(mark):
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and f"{MARK}={mark}".encode() in open(f"/proc/{name}/environ", "rb").read().split(b"\0"):
                found.append(int(name))
        except OSError:
            pass
    return found


def limit(which, soft):
    return lambda: resource.setrlimit(which, (soft, resource.getrlimit(which)[1]))


def few_processes(most):
    """Another user, since the limit does not hold for root."""
    def prepare():
        os.setresuid(60000 + most, 60000 + most, 60000 + most)
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))

    return prepare


def others_may_run(path):
    while path != "/":
        if not os.stat(path).st_mode & 0o001:
            return False
        path = os.path.dirname(path)
    return os.geteuid() == 0


def ignore(number):
    return lambda: signal.signal(number, signal.SIG_IGN)


def block(numbers):
    return lambda: signal.pthread_sigmask(signal.SIG_SETMASK, numbers)


def gone_folder():
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.rmdir(folder)


def full_input():
    read, write = os.pipe()
    os.set_blocking(write, False)
    try:
        while True:
            os.write(write, b"x" * 4096)
    except BlockingIOError:
        os.close(write)
    return read


def unread_output():
    read, write = os.pipe()
    os.close(read)
    return write


DEATH = dict(out=r"(?s).*", err=r"rank 1 .*was killed by signal 9", within=8)


def faults(program, run):
    """Yields (kind, name, command, expectations)."""
    ways = {"alone": [program], "pgas-run": [run, "-n", "3", program]}
    death_code = {"alone": 3, "pgas-run": 137}
    for way, command in ways.items():
        def fault(kind, name, what="ring", host=None, **more):
            return kind, f"{name}, {way}", command + [what] + ([host] if host else []), more

        for count in (1, 2, 3):
            for closed in itertools.combinations((0, 1, 2), count):
                yield fault("closed standard streams", f"closed {closed}", close=closed)
                yield fault("closed standard streams", f"closed {closed} and a death", "die", close=closed,
                            code=death_code[way], **DEATH)
        # What the interpreter must not lose itself: SIGKILL and SIGSTOP cannot be ignored.
        signals = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
        for number in signals:
            yield fault("ignored signals", f"signal {int(number)} ignored", before=ignore(number))
        yield fault("blocked signals", "all signals blocked", before=block(signals))
        yield fault("blocked signals", "all signals blocked and a death", "die", before=block(signals),
                    code=death_code[way], **DEATH)
        for number in signals:
            yield fault("blocked signals", f"signal {int(number)} blocked", before=block([number]))
        yield fault("SIGCHLD", "inherited as ignored, and a death", "die", before=ignore(signal.SIGCHLD),
                    code=death_code[way], **DEATH)
        for host in ("ignore", "nocldwait", "handler", "thief", "timer"):
            yield fault("SIGCHLD", f"{host}", host=host)
            yield fault("SIGCHLD", f"{host} and a death", "die", host, code=death_code[way], **DEATH)
        for what in ("children", "lost"):
            if what == "lost":
                yield fault("processes of ranks", "a daemon, and a death", what, code=death_code[way], **DEATH)
            else:
                yield fault("processes of ranks", "a daemon", what, out="", within=12)
        for what in ("return", "throw"):
            yield fault("processes of ranks", f"a forked one leaves the body by {what}", what, out="", within=8, code=3,
                        err=r"a process that rank 1 has forked \(process \d+\) left the body")
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            for group in (False, True):
                # Killed by SIGKILL, pgas-run cannot end what its ranks have started.
                if way == "alone" or number != signal.SIGKILL:
                    yield fault("processes of ranks", f"a daemon, and signal {int(number)} to the "
                                + ("group" if group else "program"), "hold", out=None, send=(number, group),
                                code=-number if way == "alone" else 128 + number, within=8)
        yield fault("descriptors", "all closed, own files under their numbers", "close",
                    out=r"sum 3\nsum 3\n" if way == "alone" else r"(sum 3\n)+")
        yield fault("descriptors", "of the last rank", "descriptors",
                    out=r"" if way == "alone" else r"open \d+ /memfd:pgas \(deleted\)\n")
        for size in (1 << 16, 1 << 20):
            yield fault("limits", f"{size} bytes a file", before=limit(resource.RLIMIT_FSIZE, size), out="",
                        code=3 if way == "alone" else 1, err=r"limit of file sizes \(ulimit -f\) is \d+ bytes")
        for size in (1 << 24, 1 << 30):
            yield fault("limits", f"{size} bytes a file", before=limit(resource.RLIMIT_FSIZE, size))
        if others_may_run(program) and others_may_run(run):
            for most in (1, 2) if way == "alone" else (2, 3):
                yield fault("limits", f"{most} processes", before=few_processes(most), out="", code=3 if way == "alone" else 1,
                            err=r"cannot (be started|start rank \d)")
        yield fault("limits", "10 descriptors", before=limit(resource.RLIMIT_NOFILE, 10))
        yield fault("limits", "30 descriptors", before=limit(resource.RLIMIT_NOFILE, 30))
        yield fault("limits", "1 GiB of address space", before=limit(resource.RLIMIT_AS, 1 << 30))
        yield fault("limits", "no core", before=limit(resource.RLIMIT_CORE, 0))
        yield fault("limits", "1 MiB of stack", before=limit(resource.RLIMIT_STACK, 1 << 20))
        yield fault("limits", "no locked memory", before=limit(resource.RLIMIT_MEMLOCK, 0))
        yield fault("limits", "no queued signals", before=limit(resource.RLIMIT_SIGPENDING, 0))
        yield fault("limits", "no queued signals and a death", "die", before=limit(resource.RLIMIT_SIGPENDING, 0),
                    code=death_code[way], **DEATH)
        for mask in (0, 0o777):
            yield fault("masks of files", f"umask {mask:o}", before=lambda mask=mask: os.umask(mask))
        yield fault("folder", "deleted", before=gone_folder)
        for name, extra in {"huge": {f"PGAS_X{i}": "x" * 100_000 for i in range(10)},
                            "no home": {"HOME": "", "PATH": os.environ["PATH"], "TMPDIR": "/nowhere"},
                            "empty variables": {f"PGAS_{v}": "" for v in ("WAIT", "CHECK", "TRACE", "CORE", "POOL")},
                            "another language": {"LC_ALL": "tr_TR.UTF-8", "LANG": "de_DE"}}.items():
            yield fault("environment", name, extra=extra)
        yield fault("outputs", "input full", stdin="full")
        yield fault("outputs", "output closed", stdout="unread",
                    code=(3, 141) if way == "alone" else 141, err=r"rank 0.*signal 13|nobody reads standard output")
        yield fault("outputs", "output to a full device", stdout="device", code=(1, 3), err=r"[Ss]tandard output|stdout")
        yield fault("core dumps", "of a rank", "dump", out=r"dumped 0\n")
        yield fault("core dumps", "with the own part", "dump", out=r"dumped 1048576\n", extra={"PGAS_CORE": "1"})
        # An error that nobody catches: its sentence in one line, and exit code 1. A handler of the program stays.
        launched = way == "pgas-run"
        said = r"(said\n)*" if launched else r"said\n"
        for how, line in (("throw", "rank 1 threw: the tea is cold"), ("thread", "the tea is gone"),
                          ("index", r"rank 1: put: element 7 does not exist on rank 0, whose part has 2 \(program\.cpp:\d+\)")):
            line = f"(pgas: {line}\n|pgas-run: .*\n)+" if launched else f"pgas: {line}\n"
            yield fault("uncaught errors", how, "uncaught", how, out=said, err=rf"\A{line}\Z", code=1, within=8)
        yield fault("uncaught errors", "in a function that must not throw", "uncaught", "destructor", out=said, within=8,
                    code=134 if launched else 1, err=r"rank 1: world_rank: .*left a function that must not throw")
        yield fault("uncaught errors", "the program's handler", "uncaught", "handler", out=None, within=8, code=7,
                    err=r"\A(the program's own handler\n|pgas-run: .*\n)+\Z")
        yield fault("uncaught errors", "of another library", "uncaught", "other", out=None, within=8,
                    code=134 if launched else -signal.SIGABRT, err="the tea is not of the library")
        # The second job begins while the first one holds the memory.
        words = " ".join(command)
        both = f"head -c 1000000 /dev/zero >$$.pool; export PGAS_POOL=$$.pool; {words} pool hold & sleep 0.2; " \
               f"{words} pool; code=$?; wait $! || code=99; rm $$.pool; exit $code"
        yield ("memory of pool_map", f"two jobs on one file, {way}", ["sh", "-c", both],
               dict(code=3, out=r"sum 3\nsum 3\n", err="another job uses '.*pool'"))
    for name, stdin in {"a device": subprocess.DEVNULL, "a large file": "file"}.items():
        yield ("environment", f"the job's descriptor is {name}", [program, "ring"],
               dict(code=3, out="", err=r"descriptor 0 \(PGAS_JOB_FD\) is not the memory of a pgas job", stdin=stdin,
                    extra={"PGAS_JOB_FD": "0", "PGAS_RANK": "0", "PGAS_RANKS": "3"}))
    yield ("failures", "a writer that dies while it records", [program, "record"],
           dict(code=3, out="", err=r"rank 1 .*was killed by signal 11", within=8))
    yield ("failures", "the supervisor is killed", [program, "supervisor"],
           dict(code=3, out="", err=r"the ranks' supervisor .* was killed", within=8))
    whole = {"PGAS_RANK": "0", "PGAS_RANKS": "3", "PGAS_JOB_FD": "0"}
    asks = r"a launcher sets PGAS_RANK, PGAS_RANKS and PGAS_JOB_FD; start the ranks by pgas-run, or unset all three"
    halves = [names for count in (1, 2) for names in itertools.combinations(whole, count) if names != ("PGAS_RANKS",)]
    for names in halves:
        missing = "|".join(set(whole) - set(names))
        yield ("half of a launcher's environment", "only " + " and ".join(names), [program, "ring"],
               dict(code=3, out="", err=rf"run: ({missing}) is missing, but {asks}", extra={n: whole[n] for n in names}))
    for name in whole:
        for others in ({}, whole):
            if name == "PGAS_RANKS" and not others:  # the user's own variable
                yield "half of a launcher's environment", "an empty number of ranks", [program, "ring"], {"extra": {name: ""}}
                continue
            yield ("half of a launcher's environment", f"{name} is empty" + (", others are there" if others else ""),
                   [program, "ring"], dict(code=3, out="", err=rf"run: {name} is empty, but {asks}",
                                           extra={**others, name: ""}))
        for wrong in ("x", "-1", "1 ", "0x", "1.5", "99999999999999999999"):
            yield ("half of a launcher's environment", f"{name} is {wrong!r}", [program, "ring"],
                   dict(code=3, out="", err=rf"{name} takes a .*, not '{wrong}'", extra={**whole, name: wrong}))
    yield ("half of a launcher's environment", "a rank that the job has not", [program, "ring"],
           dict(code=3, out="", err=r"PGAS_RANK takes a rank's number below PGAS_RANKS, which is 3, not '3'",
                extra={**whole, "PGAS_RANK": "3"}))
    yield ("half of a launcher's environment", "a number of ranks alone", [program, "ring"],
           dict(extra={"PGAS_RANKS": "5"}))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        sentence = rf"the ranks' supervisor \(process \d+\) got {number.name} from process \d+, which ends the job"
        yield ("signals to the supervisor", f"{number.name}", [program, "told", str(int(number))],
               dict(code=3, out="", err=sentence, within=8))
        yield ("signals to the supervisor", f"{number.name}, twice", [program, "told twice", str(int(number))],
               dict(code=3, out="", err=sentence, within=4))
        # An ignored signal changes nothing: the job ends when the trial's program is told to.
        yield ("signals to the supervisor", f"{number.name}, which the program ignores",
               [program, "ring told", str(int(number))], dict(before=ignore(number)))
    yield ("failures", "a second process joins as a rank", [run, "-n", "3", program, "again"],
           dict(out=WELL, err=r"cannot join as rank 1, as which process \d+ runs"))


def opened(which):
    if which == "full":
        return full_input()
    if which == "file":
        with tempfile.TemporaryFile() as file:
            file.truncate(64 << 20)
            return os.dup(file.fileno())
    if which == "unread":
        return unread_output()
    return os.open("/dev/full", os.O_WRONLY)


def attempt(fault):
    kind, name, command, more = fault
    owned = [key for key in ("stdin", "stdout") if isinstance(more.get(key), str)]
    more = dict(more)
    for key in owned:
        more[key] = opened(more[key])
    try:
        return kind, name, trial(command, **more)
    finally:
        for key in owned:
            os.close(more[key])


def in_shared_memory():
    # Another test's Open MPI names its files after the host, whatever that is called.
    return {name for name in os.listdir("/dev/shm") if "pgas" in name and not name.startswith("vader_segment.")}


def main():
    global FOLDER
    # Trials inherit the usual signals, also if this suite runs under nohup.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--launcher", required=True)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    shared = in_shared_memory()
    counts = {}
    bad = 0
    with tempfile.TemporaryDirectory() as FOLDER:
        chosen = [f for f in faults(os.path.abspath(options.program), os.path.abspath(options.launcher))
                  if not options.names or any(n in f"{f[0]}: {f[1]}" for n in options.names)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for kind, name, wrong in pool.map(attempt, chosen):
                counts[kind] = counts.get(kind, 0) + 1
                for sentence in wrong:
                    bad += 1
                    print(f"FAILED {kind}: {name}: {sentence}")
        for name in os.listdir(FOLDER):
            bad += 1
            print(f"FAILED: the file {name} is left behind")
    for name in in_shared_memory() - shared:
        bad += 1
        print(f"FAILED: /dev/shm/{name} is left behind")
    for kind, count in counts.items():
        print(f"covered: {kind}: {count} trials")
    print(f"covered: {sum(counts.values())} trials, {bad} faults")
    return 1 if bad or not counts else 0


if __name__ == "__main__":
    sys.exit(main())
