# SPDX-License-Identifier: BSL-1.0
"""Runs one program under a deadline and reads its output. A hang or a crash is a result to report."""

import ctypes
import glob
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field

import machine
from suites import ENVIRONMENT


PR_SET_CHILD_SUBREAPER = 36  # of linux/prctl.h


@dataclass
class Outcome:
    lines: list = field(default_factory=list)  # its output, parsed
    trouble: str = ''  # the failure in words
    seconds: float = 0  # of the whole run
    others: float = 0  # the share of the cores that other programs used; None: the run was too short


def shared_memory_file():
    """A file of zeros in memory, through which the ranks of a program agree on the start."""
    place = '/dev/shm' if os.path.isdir('/dev/shm') else None
    return tempfile.NamedTemporaryFile(prefix='bench-memory-', dir=place)


class Watch:
    """Ends a process that runs too long or prints nothing for too long."""

    def __init__(self, process, timeout, silence):
        self.end_at = time.perf_counter() + timeout
        self.silence = silence or timeout
        self.heard = time.perf_counter()
        self.trouble = ''
        self.over = threading.Event()
        threading.Thread(target=self.look, args=(process,), daemon=True).start()

    def look(self, process):
        while not self.over.wait(min(self.end_at, self.heard + self.silence) - time.perf_counter()):
            now = time.perf_counter()
            if now >= self.end_at:
                self.trouble = 'did not end in time'
            elif now >= self.heard + self.silence:
                self.trouble = f'hung: said nothing for {self.silence:.3g} s'
            if self.trouble:
                end_session(process)
                return


def run(command, timeout, environment=None, silence=None):
    """Runs a command in a session of its own, so that the whole session can be ended. Returns its Outcome.
    The command has `timeout`
    seconds as a whole, and `silence` seconds for each line."""
    outcome = Outcome()
    adopt_orphans()
    started = time.perf_counter()
    ours_before = machine.own_seconds()
    busy_before = machine.busy()
    env = {**os.environ, **ENVIRONMENT, **(environment or {})}
    for unwanted in ('PGAS_RANKS', 'PGAS_RANK', 'PGAS_TIMEOUT', 'PGAS_JOB_FD', 'PGAS_BENCH_JSON'):
        env.pop(unwanted, None)
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, errors='replace', env=env, start_new_session=True)
    except OSError as problem:
        outcome.trouble = 'is not installed' if isinstance(problem, FileNotFoundError) else str(problem)
        return outcome
    errors = []

    def read_errors():
        with process.stderr as said:
            errors.extend(said)

    reader = threading.Thread(target=read_errors, daemon=True)
    reader.start()
    watch = Watch(process, timeout, silence)
    try:
        for line in process.stdout:
            watch.heard = time.perf_counter()
            if line.startswith('{'):
                try:
                    outcome.lines.append(json.loads(line))
                except ValueError:
                    pass  # two ranks wrote into one line
        code = process.wait()
    except BaseException:
        end_session(process)
        raise
    finally:
        watch.over.set()
    outcome.seconds = time.perf_counter() - started
    wait_for_orphans(process.pid)
    outcome.others = machine.share_of_others(busy_before, ours_before, outcome.seconds)
    reader.join(timeout=2)
    process.stdout.close()
    if watch.trouble:
        outcome.trouble = watch.trouble
    elif code != 0:
        outcome.trouble = describe(code, errors)
    return outcome


def adopt_orphans():
    """Makes processes whose parent has ended children of this program. A launcher that breaks down waits for none of its
    ranks, and the system would then count their time as that of others."""
    try:
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (OSError, AttributeError):
        pass  # not Linux


def wait_for_orphans(session, patience=0.5):
    """Waits for the orphans of a session, so that their time counts as ours. One that goes on is left alone."""
    give_up = time.perf_counter() + patience
    while orphans := orphans_of(session):
        for pid, has_ended in orphans:
            if has_ended:
                os.waitpid(pid, 0)
        if time.perf_counter() > give_up:
            return
        time.sleep(0.01)


def orphans_of(session):
    """[(process, whether it has ended)] of a session that are children of this program now."""
    found = []
    for path in glob.glob('/proc/[0-9]*/stat'):
        try:
            with open(path, encoding='utf-8') as stat:
                pid, _, rest = stat.read().partition(' ')
        except OSError:
            continue  # it has gone
        state, parent, _group, theirs = rest.rpartition(') ')[2].split()[:4]
        if int(parent) == os.getpid() and int(theirs) == session:
            found.append((int(pid), state == 'Z'))
    return found


def end_session(process):
    """Ends a process that we have started, and its children."""
    try:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=3)
        except subprocess.TimeoutExpired:
            pass
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def describe(code, errors):
    """A crash in a few words: the signal that a launcher or the system names, else the exit code."""
    text = ''.join(errors)
    for name, words in (('SIGSEGV', 'segmentation fault'), ('Segmentation fault', 'segmentation fault'),
                        ('SIGBUS', 'bus error'), ('Bus error', 'bus error'), ('SIGABRT', 'aborted'),
                        ('Aborted', 'aborted')):
        if name in text:
            return f'crashed: {words}'
    if code < 0:
        return f'crashed: signal {-code}'
    last = next((line.strip() for line in reversed(errors) if line.strip(' -=\n')), '')
    return f'ended with exit code {code}' + (f': {last[:80]}' if last else '')
