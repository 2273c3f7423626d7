# SPDX-License-Identifier: BSL-1.0
"""What a reader must know about where numbers come from."""

import os
import platform
import subprocess
import time


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
    """Seconds that all programs on the machine have run, and that the host has taken away, since it started."""
    try:
        with open('/proc/stat', encoding='utf-8') as stat:
            words = stat.readline().split()[1:]
        tick = os.sysconf('SC_CLK_TCK')
        user, nice, system, _idle, _wait, irq, soft, steal = (int(w) / tick for w in words[:8])
        return user + nice + system + irq + soft, steal
    except (OSError, ValueError, IndexError):
        return 0.0, 0.0


def describe(root, compiler):
    commit = first_line(['git', '-C', root, 'describe', '--always', '--dirty'])
    return {'type': 'machine', 'processor': processor(), 'cores': len(os.sched_getaffinity(0)),
            'system': f'{platform.system()} {platform.release()}', 'compiler': first_line([compiler, '--version']),
            'commit': commit, 'date': time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}
