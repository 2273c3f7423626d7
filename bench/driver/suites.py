# SPDX-License-Identifier: BSL-1.0
"""The measured programs, their contenders and their targets: all of it is data, here.

A new program is a line in SUITES, a new library a line in CONTENDERS, a new bar a line in TARGETS.
"""

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

MIB = 1024 * 1024


@dataclass(frozen=True)
class Contender:
    """A library with one of its settings, and the command that starts its programs on {ranks} ranks."""

    name: str
    kind: str  # 'ours', 'peer', or 'setting': ours on that MPI; its name becomes part of the rows' modes
    family: str  # the program of a part that it runs
    build: str  # the suffix of its programs' names
    launch: tuple = ()
    setting: str = ''
    version: tuple = ()  # a command whose first output line has it


OPENMPI = ('mpirun.openmpi', '--bind-to', 'none', '--oversubscribe', '--mca', 'mpi_yield_when_idle', '{yield}')
MPICH = ('mpirun.mpich', '-bind-to', 'none')
RANKS = ('-n', '{ranks}')
PROCESSES = ('-n', '{processes}')  # ranks and their agents
ALLOCATED = 'windows from MPI_Win_allocate, accumulate_ordering=none, acc_single_intrinsic=true'

CONTENDERS = [
    Contender('pgas', 'ours', 'ours', '', setting='process_map, assertion level light'),
    Contender('mpich', 'peer', 'rma', '_mpich', MPICH + RANKS, 'default settings; ' + ALLOCATED, ('mpichversion',)),
    Contender('openmpi', 'peer', 'rma', '_openmpi', OPENMPI + RANKS, 'default settings; ' + ALLOCATED,
              ('mpirun.openmpi', '--version')),
    Contender('openmpi-sm', 'peer', 'rma', '_openmpi', OPENMPI + ('--mca', 'osc', '^rdma') + RANKS,
              'shared memory component: --mca osc ^rdma; ' + ALLOCATED, ('mpirun.openmpi', '--version')),
    Contender('mpich-2sided', 'peer', 'two_sided', '_mpich', MPICH + RANKS, 'send and receive', ('mpichversion',)),
    Contender('openmpi-2sided', 'peer', 'two_sided', '_openmpi', OPENMPI + RANKS, 'send and receive',
              ('mpirun.openmpi', '--version')),
    Contender('oshmem', 'peer', 'shmem', '', ('oshrun', '--bind-to', 'none', '--oversubscribe') + RANKS,
              'OpenSHMEM of Open MPI, symmetric heap', ('oshrun', '--version')),
    Contender('openmp', 'peer', 'openmp', '', (), 'a thread on each core, one parallel region an iteration'),
    Contender('fftw-mpi', 'peer', 'fftw_mpi', '', OPENMPI + RANKS, 'FFTW on Open MPI, in place, FFTW_MEASURE, transposed out',
              ('pkg-config', '--modversion', 'fftw3')),
]

# Collectives, by the settings of Open MPI that are the quickest in some row.
CONTENDERS += [
    Contender('mpich', 'peer', 'collective', '_mpich', MPICH + RANKS, 'default settings', ('mpichversion',)),
    Contender('openmpi', 'peer', 'collective', '_openmpi', OPENMPI + RANKS,
              'default settings: pml ob1, btl vader with copies through the kernel, coll tuned', ('mpirun.openmpi', '--version')),
    Contender('openmpi-sm', 'peer', 'collective_spins', '_openmpi', OPENMPI + ('--mca', 'coll_sm_priority', '95') + RANKS,
              'shared memory component: --mca coll_sm_priority 95', ('mpirun.openmpi', '--version')),
    Contender('openmpi-basic', 'peer', 'collective_yields', '_openmpi', OPENMPI + ('--mca', 'coll', 'basic,libnbc,self,inter') + RANKS,
              'linear algorithms: --mca coll basic,libnbc,self,inter', ('mpirun.openmpi', '--version')),
]

# Maps. Open MPI's default osc rdma crashes in MPI_Compare_and_swap. MPICH fills no table in a minute where ranks share
# cores, since a rank that waits for its lock of accumulates spins.
CONTENDERS += [
    Contender('mpich', 'peer', 'map', '_mpich', MPICH + RANKS, 'default settings; ' + ALLOCATED, ('mpichversion',)),
    Contender('openmpi-sm', 'peer', 'map_shares_cores', '_openmpi', OPENMPI + ('--mca', 'osc', '^rdma') + RANKS,
              'shared memory component: --mca osc ^rdma; ' + ALLOCATED, ('mpirun.openmpi', '--version')),
]

# Two nodes on one machine: name, suffix of programs, launch, words, version.
SETTINGS = [
    ('MPICH', '_mpich', MPICH, 'as it comes', ('mpichversion',)),
    ('MPICH apart', '_mpich', MPICH + ('-env', 'MPIR_CVAR_NOLOCAL', '1'), 'each rank a node: MPIR_CVAR_NOLOCAL=1',
     ('mpichversion',)),
    ('MPICH tcp', '_mpich', MPICH + ('-env', 'MPIR_CVAR_NOLOCAL', '1', '-env', 'UCX_TLS', 'tcp,self'),
     'MPIR_CVAR_NOLOCAL=1, UCX_TLS=tcp,self', ('mpichversion',)),
    ('Open MPI', '_openmpi', OPENMPI, 'as it comes', ('mpirun.openmpi', '--version')),
    ('Open MPI tcp', '_openmpi', OPENMPI + ('--mca', 'pml', 'ob1', '--mca', 'btl', 'tcp,self', '--mca', 'osc', 'pt2pt'),
     'pml ob1, btl tcp,self, osc pt2pt', ('mpirun.openmpi', '--version')),
]
CONTENDERS += [Contender(name, 'setting', family, build, launch + PROCESSES, words, version)
               for name, build, launch, words, version in SETTINGS for family in ('far', 'nodes')]

# The environment of peers: a benchmark machine's user is often root. OpenMP's threads have a core each, and
# spin.
ENVIRONMENT = {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1', 'PMIX_MCA_gds': 'hash',
               'OMP_PLACES': 'threads', 'OMP_PROC_BIND': 'close', 'OMP_WAIT_POLICY': 'active'}


@dataclass(frozen=True)
class Part:
    """One program of each family, for some numbers of ranks.

    style:
      'meter'    bench/meter.hpp: rows line up with those of other libraries
      'harness'  bench/harness.hpp: ours and the baselines are in one process
      'job'      the whole process is timed from outside
      'script'   prints harness rows
      'counts'   bench/counts.cpp: runs under callgrind too
      'once'     prints samples, and takes no arguments
      'paper'    bench/papers/: prints values in virtual time, the same in each run
      'scale'    bench/scale.cpp: prints samples in virtual time on simulated ranks
    """

    programs: dict
    ranks: tuple = (2,)
    style: str = 'meter'
    full_only: bool = False
    rounds: int = 0  # at most; 0: as many as time permits
    sure: int = 0  # rounds of all its rows before those with an open verdict go on alone; 0: as of the others
    arguments: tuple = ()
    last: bool = False  # runs once, after all verdicts: its rows have none
    slow: bool = False  # a row may take as long as another whole program
    agents: int = 0  # processes beside the ranks
    row_seconds: float = 0  # at most, of a row; 0: as of the others
    # No row of a peer begins later, and none of ours after twice that: some peers spin where ranks share cores. 0: no limit.
    seconds: float = 0

    def is_timed(self):
        """True if other load on the machine matters."""
        return self.style not in ('counts', 'once', 'paper', 'scale')


# Every header that a program includes: the flat ones, and the backends.
INCLUDE = Path(__file__).resolve().parents[2] / 'include'
HEADERS = tuple(str(path.relative_to(INCLUDE)) for folder in ('pgas', 'pgas/backends')
                for path in sorted((INCLUDE / folder).glob('*.hpp')))
# The largest ratio of the compile time of the two entrances to that of the headers of other libraries that
# they need.
ENTRANCES = {'pgas/pgas.hpp': 2.0, 'pgas/core.hpp': 1.5}
# Programs in the README as users compile them: their number, the compiler's option, and the target in seconds.
USERS_PROGRAMS = (('1', '-O0', 2.5), ('2', '-O2', 5))
# The first installed compiler of each group.
COMPILERS = [next(name for name in names if shutil.which(name))
             for names in (('g++',), ('clang++-16', 'clang++')) if any(map(shutil.which, names))]

# The programs in bench/papers/.
PAPERS = ('post_start', 'barrier', 'contention', 'broadcast', 'locks', 'writer', 'maps', 'memory', 'placement', 'put', 'automaton', 'fft', 'flow')

def only(*rows):
    return tuple(word for name in rows for word in ('--only', name))


SUITES = {
    'micro': [
        Part({'ours': 'bench_micro', 'rma': 'mpi_rma', 'shmem': 'shmem_micro'}),
        Part({'ours': 'bench_put_get'}, style='harness', rounds=3, full_only=True),
        Part({'ours': 'bench_user_memory'}, style='harness', rounds=2, full_only=True, arguments=('--quick',)),
        Part({'ours': 'bench_scc'}, ranks=(1,), style='harness', rounds=2, full_only=True),
    ],
    'sync': [
        Part({'ours': 'bench_sync', 'rma': 'mpi_sync', 'two_sided': 'mpi_two_sided', 'shmem': 'shmem_sync'}),
        Part({'ours': 'bench_sync', 'rma': 'mpi_sync', 'shmem': 'shmem_sync'}, ranks=(4, 8)),
        Part({'ours': 'bench_sync', 'rma': 'mpi_sync', 'shmem': 'shmem_sync'}, ranks=(16,), full_only=True),
        # Growth on two cores: ours and by hand alone, since some libraries' barriers take seconds there.
        Part({'ours': 'bench_sync'}, ranks=(32, 64), rounds=6, row_seconds=0.03, seconds=4, full_only=True, arguments=only(
            'barrier', 'fence', 'pscw')),
        Part({'ours': 'bench_protocols'}),
        Part({'ours': 'bench_protocols'}, ranks=(4,), full_only=True),
        Part({'ours': 'bench_sync', 'rma': 'mpi_sync'}, arguments=('--large',), rounds=8, sure=2, full_only=True,
             slow=True),
        Part({'ours': 'bench_start_end', 'rma': 'mpi_start_end'}, style='job'),
    ],
    # Beside hand-written code; put_block in micro compares blocks with other libraries.
    'arrays': [
        Part({'ours': 'bench_arrays'}),
        Part({'ours': 'bench_halos'}),
        Part({'ours': 'bench_halos'}, ranks=(4,), full_only=True),
    ],
    'kernels': [
        Part({'ours': 'bench_heat', 'openmp': 'openmp_heat', 'rma': 'mpi_heat', 'two_sided': 'mpi_heat_two_sided'}, sure=2),
        Part({'ours': 'bench_fft3d', 'fftw_mpi': 'fftw_mpi_fft3d'}, slow=True, sure=2),
        Part({'ours': 'bench_fft3d'}, ranks=(1,), slow=True, rounds=2),  # shows the gain of the second core
        Part({'ours': 'bench_kernels', 'openmp': 'openmp_kernels', 'rma': 'mpi_kernels',
              'two_sided': 'mpi_kernels_two_sided'}, sure=2),
        Part({'ours': 'bench_fields'}, ranks=(1,)),
    ],
    # Counts are the same in each run: two rounds would show a difference.
    'counts': [
        Part({'ours': 'bench_counts'}, style='counts', rounds=2),
        Part({'ours': 'bench_counts_scc'}, ranks=(4,), style='once', rounds=2),
    ],
    'papers': [
        *(Part({'ours': 'paper'}, ranks=(48,), style='paper', rounds=1, arguments=(name,)) for name in PAPERS),
        # foMPI's functions, in real time.
        Part({'ours': 'bench_micro', 'rma': 'mpi_rma'}, rounds=3, arguments=only(
            'put_latency/flush/8', 'get_latency/flush/8', 'cas_latency/flush/8', 'acc_latency/flush/8')),
        Part({'ours': 'bench_sync', 'rma': 'mpi_sync'}, rounds=3, arguments=only(
            'fence', 'pscw', 'lock_exclusive', 'lock_shared')),
        Part({'ours': 'bench_sync', 'rma': 'mpi_sync'}, ranks=(4, 8), rounds=3, arguments=only('fence')),
    ],
    # Two nodes that are one machine: what carries an access between them, and the library beside it.
    'nodes': [
        Part({'far': 'mpi_far'}, rounds=3, agents=1),
        Part({'nodes': 'bench_nodes'}, rounds=3),
        Part({'nodes': 'bench_nodes'}, ranks=(4, 8), rounds=3),
        Part({'nodes': 'bench_node_collectives'}, ranks=(4,), rounds=3),
    ],
    # More ranks than cores: `coll sm` spins there, and so does MPICH.
    'collectives': [
        Part({'ours': 'bench_collectives', 'collective': 'mpi_collectives', 'collective_spins': 'mpi_collectives',
              'shmem': 'shmem_collectives'}, rounds=5, sure=3, seconds=8, row_seconds=0.02),
        Part({'ours': 'bench_collectives', 'collective': 'mpi_collectives', 'collective_yields': 'mpi_collectives',
              'shmem': 'shmem_collectives'}, ranks=(4,), rounds=5, sure=3, seconds=5, row_seconds=0.02),
        Part({'ours': 'bench_collectives', 'collective': 'mpi_collectives', 'collective_yields': 'mpi_collectives',
              'shmem': 'shmem_collectives'}, ranks=(8, 16), rounds=5, sure=3, seconds=4, row_seconds=0.02, full_only=True),
        Part({'ours': 'bench_collective_algorithms'}, ranks=(2, 8), rounds=3, row_seconds=0.01),
    ],
    # A table of a million keys takes seconds to fill, so a program measures all its rows in one go.
    'maps': [
        Part({'ours': 'bench_maps', 'openmp': 'openmp_maps', 'map': 'mpi_maps', 'map_shares_cores': 'mpi_maps'}, rounds=5,
             sure=3, row_seconds=0.05, slow=True),
        Part({'ours': 'bench_maps', 'openmp': 'openmp_maps', 'map_shares_cores': 'mpi_maps'}, ranks=(4, 8), rounds=5,
             sure=3, row_seconds=0.05, seconds=12, slow=True, full_only=True),
        # Counters, queues, vectors and tasks, beside the same by hand.
        Part({'ours': 'bench_containers'}, rounds=4, row_seconds=0.05),
        Part({'ours': 'bench_containers'}, ranks=(4,), rounds=3, row_seconds=0.05, full_only=True),
    ],
    # Coroutines, tokens, calls and messages; exchanges and floods in virtual time.
    'async': [
        Part({'ours': 'bench_awaits'}, rounds=3),
        Part({'ours': 'bench_calls', 'two_sided': 'mpi_calls', 'shmem': 'shmem_calls'}, rounds=5),
        Part({'ours': 'bench_lattice'}, rounds=3),
        Part({'ours': 'bench_async_virtual'}, ranks=(16, 64), style='scale', rounds=1),
    ],
    # Loops in the bodies of users' programs, beside the same loops in programs without the library.
    'bodies': [
        Part({'ours': 'bodies.py'}, ranks=(1,), style='script', rounds=4,
             arguments=('--target', '1.03', program, level, '{root}/include', compiler))
        for program in ('plates', 'loops') for compiler in COMPILERS for level in ('-O2', '-O3')
    ],
    # Programs under the checker of races, beside the same programs without it.
    'checked': [Part({'ours': 'bench_checked'}, rounds=3)],
    # On simulated nodes: the numbers are those of ranks that are fibers.
    'scale': [
        Part({'ours': 'bench_scale'}, ranks=(64, 256, 1024), style='scale', rounds=1),
        Part({'ours': 'bench_scale'}, ranks=(4096, 16384, 65536), style='scale', rounds=1, full_only=True),
    ],
    'compile_time': [
        Part({'ours': 'compile_time.sh'}, style='script', sure=2,  # processor time varies little
             arguments=('--header', header, '--target', str(ratio), '{root}/include', compiler))
        for header, ratio in ENTRANCES.items() for compiler in COMPILERS
    ] + [
        Part({'ours': 'compile_time.sh'}, style='script', sure=2,  # processor time varies little
             arguments=('--program', number, '--level', level, '--target', str(seconds), '{root}/include', compiler))
        for number, level, seconds in USERS_PROGRAMS for compiler in COMPILERS
    ] + [
        Part({'ours': 'compile_time.sh'}, style='script', rounds=1, full_only=True, last=True,
             arguments=('--header', header, '{root}/include', compiler))
        for header in HEADERS if header not in ENTRANCES for compiler in COMPILERS
    ],
}

# The suites that run without --suite. The others take too long, and say the same in each run.
USUAL = tuple(name for name in SUITES if name not in ('papers', 'scale', 'nodes', 'collectives', 'maps', 'async', 'checked', 'bodies'))


def parts_of(names, quick):
    """[(suite, part)] of some suites."""
    return [(name, part) for name in names for part in SUITES[name] if not (quick and part.full_only)]


def programs_of(names, quick):
    """The programs that they need, if the libraries are installed."""
    return {part.programs[c.family] + c.build for _, part in parts_of(names, quick) for c in CONTENDERS
            if c.family in part.programs}


@dataclass(frozen=True)
class Target:
    """The target of the rows with such names: at most `raw` times the hand-written time, and `ahead` times
    quicker than the quickest peer. 0: no target. The hand-written time is that of the way `beside`, or else the
    shortest."""

    names: str  # a regular expression for the whole of row/mode/bytes
    raw: float = 0
    ahead: float = 0
    ranks: tuple = (2, 2)  # from, to
    beside: str = ''

    def fits(self, name, ranks):
        return self.ranks[0] <= ranks <= self.ranks[1] and re.fullmatch(self.names, name) is not None


COLLECTIVE = r'(bcast|reduce|allreduce|scatterv?|gatherv?|allgatherv?|alltoallv?|reduce_scatter(_block)?|scan|exscan)'
# The first target that fits a row counts.
TARGETS = [
    Target(r'(put|get)_latency/flush/8', raw=1.1, ahead=3),
    Target(r'(put|get)_latency/flush/\d+', raw=1 / 0.97, ahead=1),
    Target(r'(put_bw|put_bibw|get_bw)/flush/\d+', raw=1 / 0.97, ahead=1),
    Target(r'put_mr/.*', raw=1.1, ahead=4),
    Target(r'(fop|cas|acc)_latency/flush/8', raw=1.1, ahead=5),
    Target(r'acc_latency/flush/\d+', ahead=1),
    Target(r'(put|get|fop|cas|acc)_latency/(fence|post|lock|lock_shared)/\d+', ahead=1),
    Target(r'(put_)?get_chain/flush/8', raw=1.1, ahead=3),
    Target(r'put_target_busy/.*', ahead=1),
    Target(r'put_block/.*', raw=1.0, ahead=1),
    Target(r'flag', raw=1.1, ahead=1),
    Target(r'pingpong/\d+', ahead=1),
    Target(r'barrier|fence|pscw(_each)?', raw=1.3, ahead=1),
    Target(r'barrier|fence|pscw(_each)?', raw=1.0, ahead=1, ranks=(3, 64)),
    Target(r'barrier_late', raw=1.3, beside='futex'),  # peers, and ranks that spin, keep their cores
    Target(r'lock_exclusive', raw=1.3, ahead=3),
    Target(r'lock_shared', raw=1.2, ahead=3),
    Target(r'lock_hand_over', raw=1.5, ahead=2),
    # Each protocol beside its accesses to lines. Contended rows have targets for the defaults only, as above.
    Target(r'fence/guarded_counter', raw=1.2, beside='counter behind a guard'),  # a counter alone is central_counter
    Target(r'(fence/by_size|pscw/match_vector|lock_exclusive/queued)', raw=1.3),
    Target(r'(fence|pscw|lock_exclusive|lock_shared|lock_all)/\w+', raw=1.2),
    Target(r'lock_hand_over/queued', raw=1.5),
    Target(r'signal/.*', raw=1.1),
    Target(r'lock_contended', ahead=2, ranks=(2, 4)),  # by hand one rank keeps it, and the others starve
    Target(r'(transpose_array|redistribute)/.*', raw=1 / 0.85),
    Target(r'get_box/.*', raw=1),
    Target(r'own_cells/(local\(i, j\)|for_each)/8', raw=1.02),
    # Notified puts beside exchange_halo: quicker where halos are small; the large ones show where they are not.
    Target(r'halo/(rows of (8|256)|blocks of (8|64))', raw=1.0, ranks=(2, 4)),
    Target(r'checked_gups/.*', raw=20),
    Target(r'checked_memory/.*', raw=2),
    Target(r'checked_.*', raw=5),
    Target(r'heat/.*', raw=1.02, ahead=1),
    Target(r'(heat|stencil) by u\(i, j\)/.*', raw=1.1),
    # The compiler knows as little of these pointers. A row of its own has what knows more on both sides.
    Target(r'.* in a body, .*', raw=1.03, ranks=(1, 1)),
    Target(r'fields/.* by local views?', raw=1.1, ranks=(1, 1), beside='pointers that may overlap'),
    Target(r'fields/.*', raw=1.1, ranks=(1, 1)),
    Target(r'fft3d/.*', raw=1 / 0.95, ahead=1.5),
    Target(r'gups/.*', raw=1 / 0.9, ahead=10),
    Target(r'stencil/.*', raw=1, ahead=1),
    Target(r'heat3d/.*', raw=1.02, ahead=1),
    Target(r'nstream/.*', raw=1 / 0.97, ahead=1),
    Target(r'transpose/.*', raw=1, ahead=1),
    Target(r'matmul/.*', raw=1.1, ahead=1),  # by hand nothing is copied
    Target(r'matvec/.*', raw=1, ahead=1),
    Target(r'cg/.*', raw=1, ahead=1),
    Target(r'.*/SCC, (lines|drops|flushes of a cache)/\d+', raw=1.0, ranks=(4, 4)),
    Target(r'.*/system calls(/\d+)?', raw=1.0),
    Target(r'program \d of the README .*', raw=1, beside='the target'),
    # Collectives: short ones beside a barrier by hand, long ones beside the bandwidth of copies by hand.
    Target(r'(bcast|allreduce)/8', raw=1.3, ahead=1, beside='raw barrier'),
    Target(rf'{COLLECTIVE}/\d{{6,}}', raw=1 / 0.9, ahead=1, beside='copies by hand'),
    Target(rf'{COLLECTIVE}/\d+', ahead=1, ranks=(2, 16)),
    Target(rf'i{COLLECTIVE}/\d+', raw=1.05, ahead=1, ranks=(2, 16), beside='blocking'),
    Target(rf'(i{COLLECTIVE}_exposed|{COLLECTIVE}_(touched|symmetric))/\d+', ahead=1),
    Target(r'far_(put|get|fetch_add)/mpi, .*', raw=1.05, beside='RMA'),
    Target(r'far_(put|get|fetch_add)/cluster, .*', raw=1.1, beside='RMA'),
    Target(r'far_(barrier|fence)/.*', raw=1.0, ranks=(3, 64)),
    Target(r'far_heat/.*', raw=1.0, beside='messages'),
    Target(r'win_create/.*', raw=1.2, ahead=1),
    # Memory has no target: a map with more room has shorter searches.
    Target(r'map_lookup/8', raw=1.5, ahead=1, ranks=(2, 8), beside='two misses'),
    Target(r'map_lookup_64/8', raw=1, ranks=(2, 8), beside='one by one'),
    Target(r'map_accumulate/8', raw=1 / 0.8, ahead=1, ranks=(2, 8), beside='atomic'),
    Target(r'map_accumulate_64/8', raw=1 / 0.8, ranks=(2, 8), beside='atomic'),
    Target(r'(map_contains|map_insert)/8', raw=1, ahead=1, ranks=(2, 8)),  # beside the papers' tables
    Target(r'map_grow/8', raw=3, ranks=(2, 8), beside='room for all'),  # three lines a chain, for one
    Target(r'ycsb_[abcf]/\d+', ahead=1, ranks=(2, 8)),
    Target(r'await_get/8', raw=1.2),
    Target(r'call/8', raw=1.5, ahead=1, beside='two hand-overs'),
    Target(r'call_one_way/8', ahead=1),
    Target(r'lattice/.*', raw=1 / 0.95, beside='flags by hand'),
    # In virtual time: half of the time of the quickest message form; twice the time without a bound of memory.
    Target(r'dsde', raw=0.5, ranks=(64, 64)),
    Target(r'flood/\d+', raw=2, ranks=(16, 128)),
    Target(r'job', ahead=5),
]


def target_of(name, ranks):
    return next((t for t in TARGETS if t.fits(name, ranks)), Target(''))


# Cores are far from each other if a line takes longer than this from one to the other.
FAR_FROM = 110e-9
# The ratio by which two runs of the same program may differ.
SAME = 1.03


# The machine is quiet while other programs use at most this share of the cores. Samples with more are marked.
QUIET = 0.1
# With fewer quiet rounds, a ratio is formed from all rounds.
ENOUGH = 3
# A verdict on two programs needs so many pairs, unless their ratio exceeds its target by this factor.
SURE_PAIRS = 5
CLOSE = 1.25
# The time limit of one of the papers' programs, and of one on simulated nodes, in seconds.
PAPER_TIMEOUT = 900
# The longest wait of a contest for quiet in seconds, and the share of the whole time for all waits.
LONGEST_WAIT = 10
WAITING = 0.1


@dataclass(frozen=True)
class Effort:
    """The time budget of a run."""

    seconds: float  # for all: building, measuring, pictures
    least: float  # for measuring, regardless of the time to build
    row_seconds: float
    fewest_rounds: int
    most_rounds: int
    timeout: float  # of one program
    silence: float  # of one program of rows: a row that takes longer hangs
    papers: float  # additional time if they are requested
    quick: bool = field(default=False)


QUICK = Effort(seconds=270, least=100, row_seconds=0.015, fewest_rounds=3, most_rounds=9, timeout=40, silence=8,
               papers=300, quick=True)
FULL = Effort(seconds=1500, least=600, row_seconds=0.05, fewest_rounds=5, most_rounds=25, timeout=180, silence=30,
              papers=900)
