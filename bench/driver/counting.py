# SPDX-License-Identifier: BSL-1.0
"""Instructions, counted by callgrind. bench/counts.cpp says in its output what it does, and asks for a dump after each."""

import os
import shutil
import tempfile

import launch

CALLGRIND = ['valgrind', '-q', '--tool=callgrind', '--collect-atstart=no', '--toggle-collect=*counted_region*']


def total(path):
    """What one dump has counted; None if it is not there."""
    try:
        with open(path, encoding='utf-8', errors='replace') as dump:
            return next((int(line.split()[1]) for line in dump if line.startswith('totals:')), None)
    except OSError:
        return None


def samples(announced, directory):
    """One sample for each line that says what was counted: the dumps of a process follow each other as the lines do."""
    numbers = {}
    for line in announced:
        numbers[line['pid']] = number = numbers.get(line['pid'], 0) + 1
        counted = total(os.path.join(directory, f"out.{line['pid']}.{number}"))
        if counted is None:
            yield {**line, 'type': 'absent', 'why': 'callgrind was not there when this program was built'}
            continue
        yield {'type': 'sample', 'row': line['row'], 'mode': line['mode'], 'bytes': line['bytes'],
               'unit': 'instructions', 'way': line['way'], 'hand_over': [], 'seconds': [counted / line['times']]}


def run(program, timeout):
    """The program by itself, which counts system calls, and once more under callgrind."""
    outcome = launch.run([program], timeout)
    if outcome.trouble:
        return outcome
    if not shutil.which(CALLGRIND[0]):
        outcome.lines.append({'type': 'absent', 'row': 'all', 'mode': 'instructions', 'bytes': 0,
                              'why': 'valgrind is not installed'})
        return outcome
    with tempfile.TemporaryDirectory(prefix='pgas-bench-') as directory:
        again = launch.run([*CALLGRIND, f'--callgrind-out-file={directory}/out.%p', program, '--instructions'], timeout)
        again.lines = outcome.lines + list(samples([l for l in again.lines if l['type'] == 'counted'], directory))
    again.seconds += outcome.seconds
    return again
