#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compares loops in the bodies of users' programs with the same loops in plain programs, on one rank.

usage: bodies.py [--target RATIO] PROGRAM LEVEL INCLUDE_DIR COMPILER [ARGUMENT...]

bodies/PROGRAM.cpp and bodies/plain/PROGRAM.cpp print the time of each loop. Both are built with the same options, and
run in turns, COUNT times three (9). JSON=file appends the rows to a file.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# As Meson and CMake give it to programs, and as all of our benchmarks have it.
OPTIONS = ['-std=c++20', '-falign-loops=64', '-pthread']
OF_GCC = ['--param=vect-max-version-for-alias-checks=60']


def build(source, program, level, include, compiler):
    of_gcc = [] if 'clang' in compiler[0] else OF_GCC
    subprocess.run([*compiler, *OPTIONS, *of_gcc, level, f'-I{include}', f'-I{HERE}', source, '-o', program], check=True)


def times(program):
    """Loop -> seconds."""
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return {name: float(seconds) for name, seconds in (line.rsplit(' ', 1) for line in said.splitlines())}


def spread(values):
    ordered = sorted(values)
    return {'p10': ordered[len(ordered) // 10], 'median': statistics.median(ordered),
            'p90': ordered[-1 - len(ordered) // 10]}


def main():
    arguments = sys.argv[1:]
    target = 0.0
    if arguments[:1] == ['--target']:
        target = float(arguments[1])
        arguments = arguments[2:]
    if len(arguments) < 4:
        sys.exit(__doc__)
    program, level, include, *compiler = arguments
    ours, plain = [], []
    with tempfile.TemporaryDirectory() as folder:
        built = [os.path.join(folder, name) for name in ('ours', 'plain')]
        for source, to in zip((f'{program}.cpp', f'plain/{program}.cpp'), built):
            build(os.path.join(HERE, 'bodies', source), to, level, include, compiler)
        for _ in range(3 * int(os.environ.get('COUNT', '3'))):
            ours.append(times(built[0]))
            plain.append(times(built[1]))
    short = os.path.basename(compiler[0]).split('-')[0]  # clang++-16 and its successor measure one row
    for name in ours[0]:
        ratio = spread([o[name] / p[name] for o, p in zip(ours, plain)])
        verdict = f", target {target:g}: {'ok' if ratio['median'] <= target else 'BEHIND'}" if target else ''
        row = {'type': 'row', 'program': 'bodies', 'row': f'{name} in a body, {short} {level}', 'ranks': 1,
               'ours_s': spread([o[name] for o in ours]), 'baselines': {'plain program': spread([p[name] for p in plain])},
               'ratio': ratio, 'target': target}
        print(f"{row['row']}: {row['ours_s']['median'] * 1e6:.1f} us, in a plain program "
              f"{row['baselines']['plain program']['median'] * 1e6:.1f}; ratio {ratio['median']:.3f} "
              f"[{ratio['p10']:.3f}..{ratio['p90']:.3f}]{verdict}")
        if 'JSON' in os.environ:
            with open(os.environ['JSON'], 'a', encoding='utf-8') as to:
                print(json.dumps(row), file=to)


if __name__ == '__main__':
    main()
