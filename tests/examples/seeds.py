# SPDX-License-Identifier: BSL-1.0
"""Checks that an example gives the same bytes on the emulated chip as on loopback, against each seed of the
chip's schedule and memory: seeds.py PROGRAM ARGS...

The seeds take turns with 2, 6, 24 and 48 cores until PGAS_TEST_SECONDS (2 by default) are over or a thousand
have run. Each number of cores gets at least one seed."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

CORES = (2, 6, 24, 48)
MOST_SEEDS = 1000


def result(program, arguments, ranks, backend, seed=None):
    """The output and the files of a run, or None if it fails; and its error output."""
    environment = dict(os.environ)
    environment.pop('PGAS_SEED', None)
    if seed is not None:
        environment['PGAS_SEED'] = str(seed)
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([program, *arguments, '--pgas-backend', backend, '--pgas-ranks', str(ranks)], cwd=folder,
                             env=environment, capture_output=True, timeout=120, check=False)
        files = {str(path.relative_to(folder)): path.read_bytes() for path in pathlib.Path(folder).rglob('*')
                 if path.is_file()}
        return (None if run.returncode else (run.stdout, files)), run.stderr.decode(errors='replace')


def main():
    program = os.path.realpath(sys.argv[1])
    arguments = sys.argv[2:]
    end = time.monotonic() + float(os.environ.get('PGAS_TEST_SECONDS', '2'))
    expected = {}
    seeds = 0
    while seeds < len(CORES) or (seeds < MOST_SEEDS and time.monotonic() < end):
        ranks = CORES[seeds % len(CORES)]
        if ranks not in expected:
            expected[ranks], errors = result(program, arguments, ranks, 'loopback')
            if expected[ranks] is None:
                sys.exit(f'on loopback, {ranks} ranks:\n{errors}')
        seeds += 1
        found, errors = result(program, arguments, ranks, 'scc', seeds)
        if found != expected[ranks]:
            what = 'failed' if found is None else 'gives other bytes than on loopback'
            sys.exit(f'seed {seeds} on {ranks} cores {what}; again by: PGAS_SEED={seeds} {os.path.basename(program)} '
                     f'{" ".join(arguments)} --pgas-backend scc --pgas-ranks {ranks}\n{errors}')
    print(f'covered: {seeds} seeds of {os.path.basename(program)} on {", ".join(map(str, CORES))} cores')


main()
