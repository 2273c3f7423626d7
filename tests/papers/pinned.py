# SPDX-License-Identifier: BSL-1.0
"""Runs the papers' programs small, and compares their virtual times with pinned.csv, to the last digit.

A difference is a change of the emulated chip, its clock or a protocol. If it is meant, `--write` rewrites the
file, and the commit says which times have changed and why.
usage: pinned.py PROGRAM [--write]"""

import csv
import io
import json
import os
import subprocess
import sys

PINNED = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'pinned.csv')
NAMES = ('automaton', 'barrier', 'broadcast', 'contention', 'fft', 'flow', 'locks', 'maps', 'memory', 'placement', 'post_start', 'put', 'writer')
COLUMNS = ('program', 'figure', 'series', 'x', 'quantity', 'value')


def values(program, name):
    ran = subprocess.run([program, name, '--small'], capture_output=True, text=True, timeout=150, check=True)
    for line in map(json.loads, ran.stdout.splitlines()):
        if line['type'] == 'value':
            yield [name, line['figure'], line['series'], str(line['x']), line['quantity'], f"{line['value']:.6g}"]


def main():
    got = [line for name in NAMES for line in values(sys.argv[1], name)]
    if sys.argv[2:] == ['--write']:
        with open(PINNED, 'w', encoding='utf-8', newline='') as file:
            csv.writer(file, lineterminator='\n').writerows([COLUMNS, *got])
        return 0
    with open(PINNED, encoding='utf-8', newline='') as file:
        pinned = list(csv.reader(file))[1:]
    old, new = ({tuple(line[:-1]): line[-1] for line in lines} for lines in (pinned, got))
    wrong = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    out = io.StringIO()
    for key in wrong[:20]:
        print(f"{', '.join(key)}: {old.get(key, 'nothing')} is pinned, {new.get(key, 'nothing')} came", file=out)
    print(out.getvalue() + f'{len(new)} virtual times, {len(wrong)} differ from pinned.csv' +
          ('; pinned.py --write rewrites it if the change is meant' if wrong else ''))
    return 1 if wrong or not new else 0


if __name__ == '__main__':
    sys.exit(main())
