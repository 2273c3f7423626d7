# SPDX-License-Identifier: BSL-1.0
"""The facts about a machine that a reader of its numbers needs."""

import os
import platform
import resource
import subprocess
import time

# Seconds with enough clock ticks of the system to measure a share of a few percent.
SHORTEST = 0.2


def first_line(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
        lines = (done.stdout or done.stderr).splitlines()
        return ' '.join(lines[0].replace('\t', ' ').split()) if lines else ''
    except (OSError, subprocess.TimeoutExpired):
        return ''


def processor():
    try:
        with open('/proc/cpuinfo', encoding='utf-8') as info:
            for line in info:
                if line.startswith('model name'):
                    return line.split(':', 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or 'unknown processor'


def busy():
    """Seconds since the start of the machine that its programs have run or its host has taken away."""
    try:
        with open('/proc/stat', encoding='utf-8') as stat:
            words = stat.readline().split()[1:]
        tick = os.sysconf('SC_CLK_TCK')
        user, nice, system, _idle, _wait, irq, soft, steal = (int(w) / tick for w in words[:8])
        return user + nice + system + irq + soft + steal
    except (OSError, ValueError, IndexError):
        return 0.0


def own_seconds():
    """Seconds that this program has run, and the children for which it has waited."""
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def share_of_others(busy_before, own_before, seconds):
    """The share of all cores that other programs have used since then; None if the time is too short to
    measure."""
    if seconds < SHORTEST:
        return None
    used = busy() - busy_before - (own_seconds() - own_before)
    return min(1.0, max(0.0, used / seconds / (os.cpu_count() or 1)))


def look():
    """The share of all cores that other programs use now. Takes a moment, in which we do nothing."""
    before, own = busy(), own_seconds()
    time.sleep(SHORTEST)
    return share_of_others(before, own, SHORTEST)


def describe(root, compiler):
    commit = first_line(['git', '-C', root, 'describe', '--always', '--dirty'])
    return {'type': 'machine', 'processor': processor(), 'cores': len(os.sched_getaffinity(0)),
            'system': f'{platform.system()} {platform.release()}', 'compiler': first_line([compiler, '--version']),
            'commit': commit, 'date': time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}
