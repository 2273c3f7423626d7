# SPDX-License-Identifier: BSL-1.0
"""Runs one program under a deadline and reads what it says. A program that hangs or crashes is a fact to report."""

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field

from suites import ENVIRONMENT


@dataclass
class Outcome:
    lines: list = field(default_factory=list)  # what it said, parsed
    trouble: str = ''  # what went wrong, in words
    seconds: float = 0  # that it took, as a whole


def shared_memory_file():
    """A file of zeros in memory, through which the ranks of a program agree when to start."""
    place = '/dev/shm' if os.path.isdir('/dev/shm') else None
    return tempfile.NamedTemporaryFile(prefix='pgas-bench-', dir=place)


def run(command, timeout, environment=None):
    """Runs a command in a session of its own, so that all of it can be ended, and returns its Outcome."""
    outcome = Outcome()
    started = time.perf_counter()
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
    reader = threading.Thread(target=lambda: errors.extend(process.stderr), daemon=True)
    reader.start()
    expired = threading.Event()

    def end():
        expired.set()
        end_session(process)

    clock = threading.Timer(timeout, end)
    clock.start()
    try:
        for line in process.stdout:
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
        clock.cancel()
    outcome.seconds = time.perf_counter() - started
    reader.join(timeout=2)
    if expired.is_set():
        outcome.trouble = f'did not end within {timeout:.0f} s'
    elif code != 0:
        outcome.trouble = describe(code, errors)
    return outcome


def end_session(process):
    """Ends what we have started, and what that has started."""
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
