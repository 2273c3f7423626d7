#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""A program on MPI ends in seconds, says why and leaves nothing: failures_test.py mpich|openmpi PROGRAM."""
import concurrent.futures
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

mpi, program = sys.argv[1:]
program = str(pathlib.Path(program).resolve())
start = str(pathlib.Path(__file__).with_name('run.sh'))
if not shutil.which(f'mpirun.{mpi}'):
    print(f'skipped: there is no mpirun.{mpi}; tools/setup test installs it')
    sys.exit(77)

# What rank 1 does: how the program ends, and what it says, one of several sentences if there is a list. With no
# launcher of its own, MPI's says it.
EXPECTED = {
    'nothing': (True, 'sum 3'),
    'again': (True, 'again 3'),
    'own': (True, 'MPI still counts 3'),
    'together': (True, 'together 3'),
    'alone': (True, 'alone 3'),
    'throw': (False, 'rank 1 threw: the tea is cold; rank 1 is on host '),
    'uncaught': (False, 'pgas: rank 1 threw: the tea is cold; rank 1 is on host '),
    'uncaught at one': (False, 'pgas: the tea is cold'),
    'ring': (False, 'rank 0 waits in start (window 0) for rank 1; rank 1 waits in start (window 0) for rank 2'),
    'exit': (False, 'has ended before its body returned'),
    'kill': (False, ''),
    'leave': (None, ''),  # MPICH's launcher may end with 0, since the process did
}
# Rank 1 throws, or is killed, while all ranks are in a state. The launcher speaks for a rank that is killed.
# A rank that leaves an epoch with a get under way says that it has left the epoch, or why.
KILLED = {'mpich': 'EXIT STRING: Killed (signal 9)', 'openmpi': 'process rank 1 with PID'}
for state in 'fence', 'lock', 'post', 'halo', 'get', 'create', 'collective':
    thrown = '' if state == 'get' else 'rank 1 threw: the tea is cold'
    EXPECTED[f'{state} throw'] = (False, thrown + '; rank 1 is on host ')
    EXPECTED[f'{state} kill'] = (False, KILLED[mpi])
# UCX below MPICH copies long gets from the memory of the other process. Where that process is gone, UCX ends the
# reader, and may do so before the launcher has seen the death.
if mpi == 'mpich':
    EXPECTED['get kill'] = (False, [KILLED[mpi], 'process_vm_readv'])
LONGEST = 30  # seconds; a search for ranks that wait for each other looks twice, after a second
AT_ONCE = 3  # most of a run is sleep

# Folders of its own for /dev/shm and temporary files show what a run leaves, and hide what others make.
APART = ['unshare', '--mount', 'sh', '-c',
         'mount -t tmpfs none /dev/shm && mount -t tmpfs none "$TMPDIR" || exit 99; "$@"; code=$?; '
         'ls -A /dev/shm "$TMPDIR" | grep -v "^/.*:$" | grep . | sed "s/^/left: /"; exit $code', 'sh']
can_mount = bool(shutil.which('unshare')) and subprocess.run(
    ['unshare', '--mount', 'mount', '-t', 'tmpfs', 'none', '/dev/shm'], capture_output=True).returncode == 0


def wrong_in(how):
    """Runs the program, and returns what is wrong, or None."""
    succeeds, says = EXPECTED[how]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.Popen([*(APART if can_mount else []), start, mpi, '3', program, how], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                               env=os.environ | {'TMPDIR': folder})
        try:
            said = run.communicate(timeout=LONGEST)[0]
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            return f'{how}: has not ended after {LONGEST} s: {run.communicate()[0][-600:]}'
    if succeeds is None and 'sum' in said:
        return f'{how}: goes on without rank 1: {said[-600:]}'
    if succeeds is not None and (run.returncode == 0) != succeeds:
        return f'{how}: ends with {run.returncode}: {said[-600:]}'
    if not any(each in said for each in ([says] if isinstance(says, str) else says)):
        return f'{how}: does not say "{says}": {said[:1500]} ... {said[-600:]}'
    if 'terminate called' in said:
        return f'{how}: names the type of an error, and not only its sentence: {said[-600:]}'
    if 'left: ' in said:
        return f'{how}: leaves files: {said[-600:]}'
    print(f'{how}: {time.monotonic() - began:.1f} s')
    return None


if not can_mount:
    print('not checked: the files that a run leaves, since this user may not mount')
with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as workers:
    wrong = [each for each in workers.map(wrong_in, EXPECTED) if each]
left = subprocess.run(['pgrep', '-f', program], capture_output=True, text=True).stdout.split()
left = [pid for pid in left if 'failures_test' not in pathlib.Path(f'/proc/{pid}/cmdline').read_text(errors='replace')]
if left:
    wrong.append(f'processes are left: {left}')
print('\n'.join(wrong))
sys.exit(bool(wrong))
