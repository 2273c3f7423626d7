#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Two hosts on one machine, over TCP.

hosts_test.py mpich|openmpi PGAS_RUN PROGRAM HEAT HEAT_ON_MPI PICTURE FFT3D_ON_MPI GUPS_ON_MPI
HASH_TABLE_ON_MPI CG_ON_MPI

A host is a network namespace with a name and an address of its own; a pair of veth devices joins the two. Each command
on a host has a /dev/shm of its own, so tests that run beside this one do not see its files. pgas-run --hosts starts
the ranks from host a. Its remote shell is this file, under the name ssh: it enters a namespace in place of a
connection. Like ssh, it asks the host every ServerAliveInterval seconds whether it is there.
"""
import collections
import fcntl
import filecmp
import os
import pathlib
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

ADDRESSES = ('10.77.1.1', '10.77.1.2')
HOSTS = [f'pgas-{os.environ.get("PGAS_TEST_HOSTS", os.getpid())}-{letter}' for letter in 'ab']
# UCX carries the accesses in both MPIs. It would find memory that both hosts share, and with its variable Open MPI
# would also send messages by UCX, which it does not do over TCP. MPICH's launcher would name host a by the name of the
# machine, which is no address of it. Hosts are missed after seconds, where pgas-run alone grants half a minute. Open
# MPI would bind the first rank of each host to the first core, which is one core here, and a rank would wait for a time
# slice of 4 ms to be answered.
SETTINGS = {
    'mpich': {'UCX_TLS': 'tcp,self', 'HYDRA_IFACE': 'eth0',
              'HYDRA_LAUNCHER_EXTRA_ARGS': '-o ServerAliveInterval=1 -o ServerAliveCountMax=2'},
    'openmpi': {'UCX_TLS': 'tcp,self', 'OMPI_MCA_pml': 'ob1', 'OMPI_MCA_hwloc_base_binding_policy': 'none',
                'OMPI_ALLOW_RUN_AS_ROOT': '1',
                'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1', 'OMPI_MCA_oob_tcp_keepalive_time': '1',
                'OMPI_MCA_oob_tcp_keepalive_intvl': '1', 'OMPI_MCA_oob_tcp_keepalive_probes': '2'},
}
# What is said when host b is gone: pgas-run's remote shell, and Open MPI's launcher.
SAYS_GONE = {'mpich': 'pgas-run: ssh has no connection to a host',
             'openmpi': 'lost communication with a remote daemon'}
LONGEST = 40  # seconds of a job on a busy machine
NOTICED = 15  # seconds after which a host that has vanished must have been missed


def ssh(arguments):
    """ssh OPTIONS HOST COMMAND..., with a namespace as the host."""
    interval, most = 0, 3
    while arguments[0].startswith('-'):
        if arguments.pop(0) == '-o':
            name, value = arguments.pop(0).split('=')
            interval, most = (int(value), most) if name == 'ServerAliveInterval' else (interval, int(value))
    address, *command = arguments
    host = HOSTS[ADDRESSES.index(address)]
    shell = subprocess.Popen(on(host, 'unshare', '--uts', 'sh', '-c', f'hostname {host}; {" ".join(command)}'))
    missed = 0
    while missed < most:
        try:
            shell.wait(interval or None)
        except subprocess.TimeoutExpired:
            pass
        # The word that a command has ended travels over the network, too. A host that is cut off cannot send it.
        if not answers(address, interval or 1):
            missed += bool(interval)
            time.sleep(0.1)
        elif shell.returncode is not None:
            return shell.returncode
        else:
            missed = 0
    print(f'Timeout, server {address} not responding.', file=sys.stderr)
    return 255


def on(host, *command):
    # `ip netns exec` has mounts of its own, so this /dev/shm is seen by the command alone, and ends with it.
    alone = 'mount -t tmpfs none /dev/shm && exec "$@"'
    return ['ip', 'netns', 'exec', host, 'sh', '-c', alone, 'sh', *command]


def answers(address, seconds):
    try:
        socket.create_connection((address, 9), seconds).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return True


def ip(*arguments):
    return subprocess.run(['ip', *arguments], check=True, capture_output=True, text=True).stdout


def processes(host):
    return [int(pid) for pid in ip('netns', 'pids', host).split()]


def commands(pids):
    found = [pathlib.Path(f'/proc/{pid}/cmdline') for pid in pids]
    return [file.read_bytes().replace(b'\0', b' ').decode(errors='replace')[:100] for file in found if file.exists()]


def join_hosts():
    for host in HOSTS:
        ip('netns', 'add', host)
    ip('link', 'add', 'eth0', 'netns', HOSTS[0], 'type', 'veth', 'peer', 'name', 'eth0', 'netns', HOSTS[1])
    for host, address in zip(HOSTS, ADDRESSES):
        ip('-n', host, 'addr', 'add', f'{address}/24', 'dev', 'eth0')
        for device in 'lo', 'eth0':
            ip('-n', host, 'link', 'set', device, 'up')
    await_network()


def await_network():
    until(lambda: all(' UP ' in ip('-n', host, '-br', 'link', 'show', 'eth0') for host in HOSTS), 5,
          'the network is up')


class SlowNetwork:
    """Joins the hosts by two TUN devices in place of veth. Packets arrive 5 ms later; each hundredth is lost.

    The devices belong to this process, and end with it. A kernel with netem would do the same.
    """
    DELAY = 0.005  # seconds
    LOST = 100  # one of so many packets, in each direction

    def __init__(self):
        self.lost = self.carried = 0
        self.ends = threading.Event()
        self.devices = []

    def __enter__(self):
        for letter in 'ab':
            device = os.open('/dev/net/tun', os.O_RDWR | os.O_NONBLOCK)
            self.devices.append(device)
            # TUNSETIFF with IFF_TUN and IFF_NO_PI, from linux/if_tun.h
            name = f'pgas{os.getpid()}{letter}'
            fcntl.ioctl(device, 0x400454ca, struct.pack('16sH14x', name.encode(), 0x1001))
        ip('-n', HOSTS[0], 'link', 'del', 'eth0')
        for host, address, letter in zip(HOSTS, ADDRESSES, 'ab'):
            ip('link', 'set', f'pgas{os.getpid()}{letter}', 'netns', host, 'name', 'eth0')
            ip('-n', host, 'addr', 'add', f'{address}/24', 'dev', 'eth0')
            ip('-n', host, 'link', 'set', 'eth0', 'up')
        self.relay = threading.Thread(target=self.carry)
        self.relay.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        if len(self.devices) == 2:
            self.relay.join()
        for device in self.devices:
            os.close(device)

    def carry(self):
        under_way = collections.deque()  # (time of arrival, device, packet)
        read = [0, 0]
        while not self.ends.is_set():
            wait = max(0, under_way[0][0] - time.monotonic()) if under_way else 0.1
            for device in select.select(self.devices, [], [], wait)[0]:
                side = self.devices.index(device)
                packet = os.read(device, 65536)
                read[side] += 1
                if read[side] % self.LOST == 0:
                    self.lost += 1
                else:
                    under_way.append((time.monotonic() + self.DELAY, self.devices[1 - side], packet))
            while under_way and under_way[0][0] <= time.monotonic():
                _, device, packet = under_way.popleft()
                os.write(device, packet)
                self.carried += 1


def remove_hosts():
    for host in HOSTS:
        if host in ip('netns', 'list').split():
            end_processes(host)
            ip('netns', 'del', host)


def end_processes(host):
    while pids := processes(host):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)


def until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f'not within {seconds} s: {what if isinstance(what, str) else what()}')
        time.sleep(0.02)


class Job:
    """Ranks on both hosts. Their output goes to a file, since processes of a host that is cut off keep it open."""

    def __init__(self, *words):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=FOLDER))
        self.output = self.folder / 'output'
        self.began = time.monotonic()
        # Two launchers of Open MPI that begin at once would make one folder, and the second one gives up.
        own = ENVIRONMENT | {'TMPDIR': str(self.folder)}
        with open(self.output, 'wb') as output:
            self.launcher = subprocess.Popen(
                on(HOSTS[0], PGAS_RUN, '--hosts', ','.join(ADDRESSES), *words),
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=own)

    def said(self):
        return self.output.read_text(errors='replace')

    def ends(self, seconds=LONGEST):
        """Returns whether the launcher ends within these seconds."""
        try:
            self.launcher.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def expect(self, succeeds, *texts):
        """The ranks say the texts, and the launcher ends with 0 or with another code."""
        until(lambda: all(text in self.said() for text in texts) or self.launcher.poll() is not None, LONGEST,
              lambda: f'the ranks say {texts}: {self.said()[-1500:]}')
        if not self.ends(1 if MPI == 'mpich' else LONGEST):
            assert MPI == 'mpich', f'has not ended after {LONGEST} s: {self.said()[-1500:]}'
            print('     MPICH hangs in MPI_Finalize: before 4.2 it may do so over TCP (issue 6596 of pmodels/mpich)')
            self.launcher.kill()
            self.launcher.wait()
            for host in HOSTS:
                end_processes(host)
        else:
            code = self.launcher.returncode
            assert (code == 0) == succeeds, f'ended with {code}: {self.said()[-1500:]}'
        for text in texts:
            assert text in self.said(), f'does not say "{text}": {self.said()[-1500:]}'


def nothing_runs_on(host, seconds=5):
    until(lambda: not processes(host), seconds, lambda: f'no process is left on {host}: {commands(processes(host))}')


def ranks_of_two_hosts_compute():
    Job('-n', '2', PROGRAM, 'nothing').expect(True, 'sum 1\nsum 1')


def an_error_names_its_host_while_another_job_writes_the_bytes_of_one_host():
    error = Job('-n', '2', PROGRAM, 'throw')  # Open MPI's launcher then waits for four seconds
    writes_the_bytes_of_one_host()
    error.expect(False, f'rank 1 threw: the tea is cold; rank 1 is on host {HOSTS[1]}')


def writes_the_bytes_of_one_host():
    job = Job('-n', '2', HEAT_ON_MPI, PICTURE, '10', '5', '--pgas-backend', 'cluster')
    job.expect(True, 'heat: 10 steps on 2 ranks')
    alone = pathlib.Path(tempfile.mkdtemp(dir=FOLDER))
    subprocess.run([HEAT, PICTURE, '10', '5', '--pgas-ranks', '2', '--pgas-backend', 'process_map'], cwd=alone,
                   check=True, capture_output=True)
    pictures = sorted(file.name for file in alone.glob('*.png'))
    assert pictures, 'process_map writes no pictures'
    _, different, missing = filecmp.cmpfiles(alone, job.folder, pictures, shallow=False)
    assert not different and not missing, f'not what process_map writes: {different}, {missing}'


def programs_verify_themselves_on_both_hosts():
    for ranks, says, *program in (
            ('4', 'class S: verified', FFT3D_ON_MPI),
            ('4', 'class S: verified', CG_ON_MPI, '--class', 'S'),
            ('4', 'gups: 4096 updates of 1024 words, 0 errors', GUPS_ON_MPI, '10'),
            ('2', 'atomic: 300 words from 2 ranks', HASH_TABLE_ON_MPI, 'atomic', '/usr/share/dict/words',
             '300')):
        began = time.monotonic()
        Job('-n', ranks, *program, '--pgas-backend', 'cluster').expect(True, says)
        print(f'     {time.monotonic() - began:4.1f} s  {says}')


def a_slow_network_that_loses_packets_changes_no_result():
    if not os.access('/dev/net/tun', os.R_OK | os.W_OK):
        print('     skipped: there is no /dev/net/tun')
        return
    with SlowNetwork() as network:
        writes_the_bytes_of_one_host()
        Job('-n', '2', GUPS_ON_MPI, '8', '--pgas-backend', 'cluster').expect(
            True, 'gups: 1024 updates of 256 words, 0 errors')
        for host in HOSTS:
            nothing_runs_on(host)
        print(f'     {network.carried} packets came 5 ms later, and {network.lost} were lost')
        assert network.lost > 0, 'no packet was lost'


def a_host_that_vanishes_ends_the_job():
    """Host b is cut off without a word. Its own processes are another matter: MPICH's do not notice it."""
    job = Job('-n', '2', HEAT_ON_MPI, PICTURE, '100000000', '1')
    until(lambda: list(job.folder.glob('*.png')), LONGEST,
          lambda: f'heat writes its first picture: {job.said()[-1500:]}')
    time.sleep(0.3)
    assert job.launcher.poll() is None, job.said()[-1500:]
    ip('-n', HOSTS[1], 'link', 'set', 'eth0', 'down')
    try:
        assert job.ends(NOTICED), f'has not ended {NOTICED} s later: {job.said()[-1500:]}'
        assert job.launcher.returncode != 0 and SAYS_GONE[MPI] in job.said(), job.said()[-1500:]
        nothing_runs_on(HOSTS[0])
    finally:
        end_processes(HOSTS[1])
        ip('-n', HOSTS[1], 'link', 'set', 'eth0', 'up')
        await_network()


def main():
    def stop(number, _):
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, stop)
    wrong = 0
    try:
        try:
            join_hosts()
        except subprocess.CalledProcessError as problem:
            print(f'skipped: this system makes no network namespaces: {problem.stderr.strip()}')
            return 77
        for case in (ranks_of_two_hosts_compute, a_host_that_vanishes_ends_the_job,
                     an_error_names_its_host_while_another_job_writes_the_bytes_of_one_host,
                     programs_verify_themselves_on_both_hosts,
                     a_slow_network_that_loses_packets_changes_no_result):  # last: it replaces the network
            name = case.__name__.replace('_', ' ')
            began = time.monotonic()
            try:
                case()
                for host in HOSTS:
                    nothing_runs_on(host)
                print(f'ok   {time.monotonic() - began:4.1f} s  {name}')
            except AssertionError as problem:
                wrong += 1
                print(f'FAIL {time.monotonic() - began:4.1f} s  {name}: {problem}')
                for host in HOSTS:
                    end_processes(host)
    finally:
        remove_hosts()
        shutil.rmtree(FOLDER, ignore_errors=True)
    return 1 if wrong else 0


if __name__ == '__main__':
    if pathlib.Path(sys.argv[0]).name == 'ssh':
        sys.exit(ssh(sys.argv[1:]))
    MPI = sys.argv[1]
    (PGAS_RUN, PROGRAM, HEAT, HEAT_ON_MPI, PICTURE, FFT3D_ON_MPI, GUPS_ON_MPI,
     HASH_TABLE_ON_MPI, CG_ON_MPI) = map(os.path.abspath, sys.argv[2:])
    for command, package in (f'mpirun.{MPI}', 'it'), ('ip', 'its package iproute2'), ('unshare', 'util-linux'):
        if not shutil.which(command):
            print(f'skipped: there is no {command}; tools/setup test installs {package}')
            sys.exit(77)
    if os.geteuid() != 0:
        print('skipped: only root makes network namespaces')
        sys.exit(77)
    FOLDER = tempfile.mkdtemp()
    os.symlink(os.path.abspath(__file__), os.path.join(FOLDER, 'ssh'))
    ENVIRONMENT = {name: value for name, value in os.environ.items()
                   if not name.startswith(('PGAS_', 'HYDRA_', 'UCX_'))}
    ENVIRONMENT |= SETTINGS[MPI] | {'PATH': f'{FOLDER}:{os.environ["PATH"]}', 'TMPDIR': FOLDER,
                                    'PGAS_TEST_HOSTS': str(os.getpid())}
    sys.exit(main())
