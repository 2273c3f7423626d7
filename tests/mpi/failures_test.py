#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""A program on MPI ends within seconds, and says why: failures_test.py mpich|openmpi PROGRAM."""
import pathlib
import shutil
import subprocess
import sys
import time

mpi, program = sys.argv[1:]
program = str(pathlib.Path(program).resolve())
start = str(pathlib.Path(__file__).with_name('run.sh'))
if not shutil.which(f'mpirun.{mpi}'):
    print(f'skipped: there is no mpirun.{mpi}; tools/setup test installs it')
    sys.exit(77)

# What rank 1 does: how the program ends, and a piece of what it says. With no launcher of its own, MPI's says it.
EXPECTED = {
    'nothing': (True, 'sum 3'),
    'again': (True, 'again 3'),
    'own': (True, 'MPI still counts 3'),
    'together': (True, 'together 3'),
    'throw': (False, 'rank 1 threw: the tea is cold; rank 1 is on host '),
    'ring': (False, 'rank 0 waits in start (window 0) for rank 1; rank 1 waits in start (window 0) for rank 2'),
    'exit': (False, 'has ended before its body returned'),
    'kill': (False, ''),
    'leave': (None, ''),  # MPICH's launcher may end with 0, since the process did
}
LONGEST = 30  # seconds; a search for ranks that wait for each other looks twice, after a second

wrong = []
for how, (succeeds, says) in EXPECTED.items():
    began = time.monotonic()
    try:
        run = subprocess.run([start, mpi, '3', program, how], capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        wrong.append(f'{how}: has not ended after {LONGEST} s')
        continue
    said = run.stdout + run.stderr
    if succeeds is None and 'sum' in said:
        wrong.append(f'{how}: goes on without rank 1: {said[-600:]}')
    elif succeeds is not None and (run.returncode == 0) != succeeds:
        wrong.append(f'{how}: ends with {run.returncode}: {said[-600:]}')
    elif says not in said:
        wrong.append(f'{how}: does not say "{says}": {said[-600:]}')
    else:
        print(f'{how}: {time.monotonic() - began:.1f} s')
left = subprocess.run(['pgrep', '-f', program], capture_output=True, text=True).stdout.split()
left = [pid for pid in left if 'failures_test' not in pathlib.Path(f'/proc/{pid}/cmdline').read_text(errors='replace')]
if left:
    wrong.append(f'processes are left: {left}')
print('\n'.join(wrong))
sys.exit(bool(wrong))
