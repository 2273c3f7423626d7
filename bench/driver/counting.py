# SPDX-License-Identifier: BSL-1.0
"""Counts instructions by callgrind. bench/counts.cpp announces each operation, and requests a dump after
it."""

import os
import shutil
import tempfile

import launch

CALLGRIND = ['valgrind', '-q', '--tool=callgrind', '--collect-atstart=no', '--toggle-collect=*counted_region*']


def total(path):
    """The count in one dump; None if the dump does not exist."""
    try:
        with open(path, encoding='utf-8', errors='replace') as dump:
            return next((int(line.split()[1]) for line in dump if line.startswith('totals:')), None)
    except OSError:
        return None


def samples(announced, directory):
    """One sample for each announcing line: the dumps of a process are in the order of the lines."""
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
    """Runs the program by itself, where it counts system calls, and again under callgrind."""
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
