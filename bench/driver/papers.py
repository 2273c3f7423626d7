# SPDX-License-Identifier: BSL-1.0
"""The papers' tables and figures: their printed numbers, their claims, and their looks. All of it is data,
here and in bench/papers/reference/.

A value is printed by one of the programs in bench/papers/: {figure, series, x, quantity, value, unit,
parameters}. The reference has a line for each number that a paper prints, under the same names. Its kind
tells its use:
  printed        counts: ours lies within 25 % of it, or not
  calibration    a constant of ours was set by it, so it proves nothing and does not count
  other machine  drawn beside ours, and not compared: ours was measured on the machine at hand
A claim is a statement of a paper about its own curves, tested on ours. Series whose names begin with "ours"
are protocols that the papers do not have.
"""

from dataclasses import dataclass

WITHIN = 0.25


class Missing(LookupError):
    """A value that a claim needs and no program has printed."""


@dataclass(frozen=True)
class Claim:
    """A statement of a paper. `holds(v)` tests it on values `v(series, x, quantity)`. `kind`: ordering,
    crossing or shape. `why`: the suspected cause if it does not hold."""

    text: str
    holds: object
    kind: str = 'ordering'
    why: str = ''


@dataclass(frozen=True)
class Figure:
    """A table or figure of a paper. `draws`: its quantities, each in a panel; without any there is no
    picture."""

    name: str
    title: str
    source: str
    says: str  # the paper's text, in our words
    xlabel: str = ''
    draws: tuple = ()
    log: str = ''
    ticks: tuple = ()  # names of the values of x
    claims: tuple = ()
    bars: bool = False
    stacked: bool = False  # bars: the series of one x on top of each other, in the order of the output
    xlabel_of_printed: str = ''  # if the printed numbers have another x than the drawn ones
    drawn_at: object = None  # in that case their x and quantity in a picture

    def printed_over(self):
        return self.xlabel_of_printed or self.xlabel

    def place_of(self, x, quantity):
        return self.drawn_at(x, quantity) if self.drawn_at else (x, quantity)

    def name_of(self, x):
        return self.ticks[x] if self.ticks and isinstance(x, int) else str(x)


@dataclass(frozen=True)
class Cause:
    """The suspected cause of a miss: the first that fits a value is printed."""

    figure: str
    why: str
    series: tuple = ()  # none: all
    quantities: tuple = ()
    xs: tuple = ()

    def fits(self, figure, series, x, quantity):
        return self.figure == figure and (not self.series or series in self.series) and \
            (not self.quantities or quantity in self.quantities) and (not self.xs or x in self.xs)


def grows_as_a_line(points, quantity, series, v):
    """True if the second half is less than 1.5 times as steep as the first, so that the curve does not
    explode."""
    a, b, c = (v(series, x, quantity) for x in points)
    first = (b - a) / (points[1] - points[0])
    second = (c - b) / (points[2] - points[1])
    return second < 1.5 * first + 1e-9


SHARES = (0, 50, 100)
CLASSES = ('S', 'W', 'A', 'B')
FAR_POLLS = 'far readers poll a little more slowly here, since each answer takes longer'
SPREAD = ('the paper\'s times of GBH without back-off have a longer tail than ours. Nothing in its text explains the '
          'tail: see the values')
SCHEMES = ('gbh', 'gbh_backoff', 'mcs_wp')

FIGURES = (
    Figure('post_start', 'Post, start, complete, wait: one origin, k targets', 'Christgau 2017, Figs. 3.15 and 3.16, Table 3.4',
           'In shared memory a whole cycle with 10 targets takes 17.9 us; by messages it takes 89.2 us. Both lock '
           'metrics grow about linearly with the targets, without exponential contention. The paper measures a '
           'tight loop. Its numbers are those of targets that post at the same time. Our rounds begin in the same '
           'way, except in the series that is named otherwise.',
           'targets', ('cycle', 'post', 'modification', 'start'), claims=(
               Claim('a cycle in shared memory is quicker than by messages, for any number of targets',
                     lambda v: all(v('match_vector', k, 'cycle') < v('messages', k, 'cycle') for k in (1, 10, 31, 47))),
               Claim('at 10 targets a cycle in shared memory is about 5 times as quick as by messages (4 to 6)',
                     lambda v: 4 <= v('messages', 10, 'cycle') / v('match_vector', 10, 'cycle') <= 6, 'shape',
                     'both times lie within 25 %: that of messages is below the paper\'s, that of shared memory '
                     'above it'),
               Claim('the time to set a bit in the match vector grows about linearly, not exponentially',
                     lambda v: grows_as_a_line((1, 24, 47), 'modification', 'match_vector', v), 'shape'),
               Claim('start takes longer with more targets',
                     lambda v: v('match_vector', 1, 'start') < v('match_vector', 8, 'start') < v('match_vector', 47, 'start')),
               Claim('setting a bit takes less time than translating the ranks (80 % of start) up to 4 targets, and '
                     'more from 8 on',
                     lambda v: all((v('match_vector', k, 'modification') < 0.8 * v('match_vector', k, 'start')) == (k <= 4)
                                   for k in (1, 2, 4, 8, 16, 24, 31, 47)), 'crossing'),
               Claim('complete grows linearly with the targets',
                     lambda v: grows_as_a_line((1, 24, 47), 'complete', 'match_vector', v), 'shape'),
               Claim('ours (stamped) is quicker than every other series',
                     lambda v: all(v('ours: stamped', k, 'cycle') < v(other, k, 'cycle') for k in (1, 10, 31, 47)
                                   for other in ('match_vector', 'ours: match_vector', 'ours: post_array', 'messages'))),
           )),
    Figure('barrier', 'Barriers', 'Christgau 2017, section 3.4.2, from the literature on the SCC',
           'At 48 cores RCCE\'s barrier takes 60 us. A barrier on a test-and-set register with back-off takes about '
           '25 us. Master and slaves with uncached flags near the master take 18 us; there polls are quicker than '
           'interrupts.',
           'cores', ('barrier', 'accesses'), claims=(
               Claim('master and slaves < test-and-set with back-off < RCCE, at 48 cores',
                     lambda v: v('master_slave', 48, 'barrier') < v('tsr_back_off', 48, 'barrier') < v('rcce', 48, 'barrier')),
               Claim('master and slaves: polls are quicker than interrupts',
                     lambda v: v('master_slave', 48, 'barrier') < v('master_slave, interrupts', 48, 'barrier'),
                     why='the literature explains it by contention at an interrupt controller, which later boards '
                         'have behind the system interface. Here a core raises another core\'s pin by one write, and '
                         'the slaves pass through their kernels at the same time'),
               Claim('from 32 cores on the barrier is quicker with back-off',
                     lambda v: v('tsr_back_off', 48, 'barrier') < v('tsr', 48, 'barrier') and
                     v('tsr_back_off', 32, 'barrier') < v('tsr', 32, 'barrier'), 'crossing',
                     'they cross between 32 and 40 cores: the lengths of the pauses are known only for another '
                     'library of the same authors'),
           )),
    Figure('locks', 'Lock and unlock, random targets', 'Christgau and Schnor 2019, Table 2, Figs. 6 to 8',
           'Two-level counters (GBH) with back-off are flat and quickest. Without back-off their time grows with '
           'the exclusive share. The time of the queue lock with writer preference (MCS-WP) does not depend on the '
           'mix.',
           'processes', tuple(f'median, {share} % exclusive' for share in SHARES), xlabel_of_printed='% exclusive',
           drawn_at=lambda share, quantity: (48, f'{quantity}, {share} % exclusive'), claims=(
               *(Claim(f'{share} % exclusive: GBH with back-off is quicker than MCS-WP',
                       lambda v, share=share: v('gbh_backoff', share, 'median') < v('mcs_wp', share, 'median'))
                 for share in SHARES),
               Claim('all shared: GBH takes the same time with and without back-off (within 5 %)',
                     lambda v: abs(v('gbh', 0, 'median') / v('gbh_backoff', 0, 'median') - 1) < 0.05, 'shape'),
               Claim('50 % and 100 % exclusive: without back-off GBH is at least twice as slow',
                     lambda v: all(v('gbh', s, 'median') > 2 * v('gbh_backoff', s, 'median') for s in (50, 100)), 'shape',
                     'it is 5 times as slow with all locks exclusive, and 1.6 times with half of them: ' + SPREAD),
               Claim('GBH without back-off is slower than MCS-WP with all locks exclusive, and quicker with all '
                     'shared',
                     lambda v: v('gbh', 100, 'median') > v('mcs_wp', 100, 'median') and
                     v('gbh', 0, 'median') < v('mcs_wp', 0, 'median'), 'crossing'),
               Claim('MCS-WP: the medians of the three mixes lie within 25 % of each other',
                     lambda v: max(v('mcs_wp', s, 'median') for s in SHARES) < 1.25 * min(v('mcs_wp', s, 'median') for s in SHARES),
                     'shape'),
               Claim('the spread (Q3 - Q1) / median of GBH is above 2 with exclusive locks, of all others below 1',
                     lambda v: all((v(name, s, 'q3') - v(name, s, 'q1')) / v(name, s, 'median') > 2
                                   if name == 'gbh' and s else
                                   (v(name, s, 'q3') - v(name, s, 'q1')) / v(name, s, 'median') < 1
                                   for name in SCHEMES for s in SHARES), 'shape', SPREAD),
               Claim('all shared and mixed: Q3 of GBH with back-off lies below Q1 of MCS-WP',
                     lambda v: all(v('gbh_backoff', s, 'q3') < v('mcs_wp', s, 'q1') for s in (0, 50))),
               Claim('all exclusive: Q3 of GBH with back-off lies above Q1 of MCS-WP',
                     lambda v: v('gbh_backoff', 100, 'q3') > v('mcs_wp', 100, 'q1')),
               Claim('all shared: ours (queued) is at most 10 % slower than GBH with back-off',
                     lambda v: v('ours: queued', 0, 'median') < 1.1 * v('gbh_backoff', 0, 'median')),
           )),
    Figure('writer', 'The cost of waiting readers to a writer: put and unlock', 'Christgau and Schnor 2019, Table 3',
           'With 47 readers the writer takes 2.6 to 3.9 times as long under GBH as under MCS-WP. Readers far away '
           'cost it nothing under MCS-WP. Under GBH they cost as much as near ones, since they spin at the writer.',
           'readers', ('32 B', '512 B', '1024 B'), ticks=('none', '1 near', '1 far', '11 near', '11 far', '47'), bars=True,
           claims=(
               *(Claim(f'47 readers, {k} B: MCS-WP is quicker than GBH by 2.6 to 3.9 times (at least 1.5)',
                       lambda v, k=k: v('gbh_backoff', 5, f'{k} B') > 1.5 * v('mcs_wp', 5, f'{k} B'))
                 for k in (32, 512, 1024)),
               Claim('no reader: both take the same (within 15 %)',
                     lambda v: all(abs(v('gbh_backoff', 0, f'{k} B') / v('mcs_wp', 0, f'{k} B') - 1) < 0.15
                                   for k in (32, 512, 1024)), 'shape'),
               Claim('with 11 near readers GBH is quicker; with 11 far readers and at least 512 B MCS-WP is quicker',
                     lambda v: all(v('gbh_backoff', 3, f'{k} B') < v('mcs_wp', 3, f'{k} B') and
                                   v('gbh_backoff', 4, f'{k} B') > v('mcs_wp', 4, f'{k} B')
                                   for k in (512, 1024)), 'crossing'),
               Claim('11 near readers slow a put of 1024 B down more than 2 times, in both schemes',
                     lambda v: all(v(s, 3, '1024 B') > 2 * v(s, 0, '1024 B')
                                   for s in ('gbh_backoff', 'mcs_wp')), 'shape',
                     'by slightly less than 2 times: a store without contention takes 71 core cycles by the '
                     'formulas, and 62 in the paper'),
               Claim('11 far readers slow it down more than 2 times in GBH, and less than 1.3 times in MCS-WP',
                     lambda v: v('gbh_backoff', 4, '1024 B') > 2 * v('gbh_backoff', 0, '1024 B') and
                     v('mcs_wp', 4, '1024 B') < 1.3 * v('mcs_wp', 0, '1024 B'), 'shape',
                     FAR_POLLS + ': 1.8 times in place of 2.5'),
               Claim('ours (queued) is no slower than MCS-WP under 47 readers (within 5 %)',
                     lambda v: all(v('ours: queued', 5, f'{k} B') < 1.05 * v('mcs_wp', 5, f'{k} B')
                                   for k in (32, 512, 1024))),
           )),
    Figure('memory', 'Memory bandwidth over working set', 'Christgau 2017, Figs. 4.11 to 4.13',
           'Loads: the rate of cached pages falls at the sizes of L1 and L2, that of tagged write-back pages at the '
           'size of L1. Tagged write-through pages are as slow as uncached ones at every size, by a defect of the '
           'chip. Stores: write-through is slower than cached and well above uncached, thanks to the '
           'write-combining buffer.',
           'KiB', ('load', 'store'), log='xy', claims=(
               Claim('loads of write-through pages are as slow as uncached ones at all sizes (within 10 %)',
                     lambda v: all(abs(v('mpbt_wt', k, 'load') / v('ncm', k, 'load') - 1) < 0.1 for k in (4, 64, 1024)), 'shape'),
               Claim('the rate of loads of cached pages falls at L1\'s size and again at L2\'s',
                     lambda v: v('dcm', 8, 'load') > 1.5 * v('dcm', 64, 'load') and
                     v('dcm', 64, 'load') > 1.5 * v('dcm', 1024, 'load'), 'shape'),
               Claim('the rate of loads of tagged write-back pages falls at L1\'s size, to one level',
                     lambda v: v('mpbt_wb', 8, 'load') > 1.5 * v('mpbt_wb', 64, 'load') and
                     abs(v('mpbt_wb', 64, 'load') / v('mpbt_wb', 1024, 'load') - 1) < 0.1, 'shape'),
               Claim('stores: cached > write-through > uncached, if the data fit in L1',
                     lambda v: v('dcm', 8, 'store') > v('mpbt_wt', 8, 'store') > v('ncm', 8, 'store')),
               Claim('stores to write-through pages reach more than twice the rate of uncached ones',
                     lambda v: v('mpbt_wt', 1024, 'store') > 2 * v('ncm', 1024, 'store'), 'shape'),
               Claim('without the defect, loads of write-through pages are as quick as those of tagged write-back '
                     'pages',
                     lambda v: abs(v('mpbt_wt, as intended', 8, 'load') / v('mpbt_wb', 8, 'load') - 1) < 0.1, 'shape'),
           )),
    Figure('buffer_access', 'Message passing buffers, from tile (0, 0)', 'Barrelfish TN-005',
           'Core cycles to write a line and to read a word, for each tile: the own tile is quick, and each hop '
           'costs about 5.',
           'tile column', ('cycles',), claims=(
               Claim('a hop costs 5 to 6 cycles',
                     lambda v: 4.5 < (v('word read, row 0', 5, 'cycles') - v('word read, row 0', 1, 'cycles')) / 4 < 6.5, 'shape'),
           )),
    Figure('dram_access', 'DRAM by hops to its controller', 'Barrelfish TN-005',
           'Core cycles for an uncached word, for an uncached line (eight stores, each of which pays the distance), '
           'and for a line through the write-combining buffer.', 'hops', ('cycles',), log='y', claims=(
               Claim('a combined line write is quicker than an uncached one, by more than 4 times',
                     lambda v: all(v('uncached line write', h, 'cycles') > 4 * v('combined line write', h, 'cycles')
                                   for h in (0, 2, 5, 7))),
           )),
    Figure('placement', 'The place of control words, with a stencil', 'Christgau 2017, Figs. 3.12 and 3.13',
           'With all synchronization data at one controller, the speed-up collapses to about 8, whichever '
           'controller it is. With each core\'s data at its own controller it is linear, and slightly below that '
           'without synchronization.',
           'cores', ('speedup',), claims=(
               Claim('no synchronization: linear (at least 90 % of 48)', lambda v: v('none', 48, 'speedup') > 0.9 * 48, 'shape'),
               Claim('distributed: linear too (at least 80 %), and not above no synchronization',
                     lambda v: 0.8 * 48 < v('distributed', 48, 'speedup') <= v('none', 48, 'speedup') * 1.001, 'shape'),
               Claim('central < distributed at 48 cores', lambda v: v('central', 48, 'speedup') < v('distributed', 48, 'speedup')),
               Claim('central: the speed-up at 48 cores is below the larger of those at 24 and 36',
                     lambda v: v('central', 48, 'speedup') < max(v('central', n, 'speedup') for n in (24, 36)), 'shape'),
           )),
    Figure('put_latency', 'Put latency', 'Christgau 2017, Fig. 4.15',
           'One byte takes 9.1 us one-sided, 24.8 us by messages behind the same calls, and 6.4 us by send and '
           'receive. Up to 512 B send and receive is quicker, above 512 B one-sided is. At 4 KiB messages take 3.7 '
           'times as long.',
           'bytes', ('latency',), log='xy', claims=(
               Claim('1 B: two-sided < one-sided < messages', lambda v: v('two_sided', 1, 'latency') < v('one_sided', 1, 'latency') <
                     v('messages', 1, 'latency')),
               Claim('two-sided is quicker up to 512 B, one-sided from 1 KiB on',
                     lambda v: v('two_sided', 512, 'latency') < v('one_sided', 512, 'latency') and
                     v('two_sided', 1024, 'latency') > v('one_sided', 1024, 'latency'), 'crossing',
                     'they cross between 1 and 2 KiB: at 1 KiB both take the same time within 3 %'),
           )),
    Figure('put_bandwidth', 'Put bandwidth', 'Christgau 2017, Fig. 4.14',
           'One-sided has 2 times the bandwidth of messages for small puts and 5 times for large ones, and 20 MB/s '
           'more than send and receive.', 'bytes', ('bandwidth',), log='xy', claims=(
               Claim('small puts: one-sided is at least 1.5 times as quick as messages',
                     lambda v: v('one_sided', 64, 'bandwidth') > 1.5 * v('messages', 64, 'bandwidth')),
               Claim('large puts: the advantage over messages is larger than for small puts',
                     lambda v: v('one_sided', 1048576, 'bandwidth') / v('messages', 1048576, 'bandwidth') >
                     v('one_sided', 64, 'bandwidth') / v('messages', 64, 'bandwidth'), 'shape'),
               Claim('large puts: one-sided > two-sided',
                     lambda v: v('one_sided', 1048576, 'bandwidth') > v('two_sided', 1048576, 'bandwidth')),
               Claim('one-sided has more than 40 MB/s from 64 B to 1 MiB',
                     lambda v: all(v('one_sided', n, 'bandwidth') > 40 for n in (64, 65536, 1048576)),
                     'shape', 'it has so from 256 B on. One constant stands for each call, and a put is the '
                              'cheapest call: 40 MB/s at 64 B leave it 1.1 us'),
           )),
    Figure('automaton', 'A cellular automaton, 2400 lines of 8 KiB, 100 generations', 'Christgau 2017, Table 4.3, Fig. 4.20',
           'One-sided takes about as long as send and receive. Messages behind the one-sided calls take about twice '
           'as long in total at 48 cores.', 'cores', ('computation', 'communication'), claims=(
               Claim('one-sided and two-sided differ by less than 10 % in total',
                     lambda v: all(abs(sum(v('one_sided', n, q) for q in ('computation', 'communication')) /
                                       sum(v('two_sided', n, q) for q in ('computation', 'communication')) - 1) < 0.1
                                   for n in (24, 48)), 'shape'),
               Claim('at 48 cores one-sided communication takes less than two-sided',
                     lambda v: v('one_sided', 48, 'communication') < v('two_sided', 48, 'communication')),
               Claim('messages take longer than both', lambda v: v('messages', 48, 'communication') >
                     max(v('one_sided', 48, 'communication'), v('two_sided', 48, 'communication'))),
           )),
    Figure('fft', 'NAS FT on 32 cores', 'Christgau 2017, Table 4.2, Fig. 4.18',
           'One-sided is 19 to 30 % quicker than messages, and 14 to 20 % quicker than send and receive. With a '
           'cached own part it is 34 to 46 % quicker, but its checksums are wrong for S and W.',
           'class', ('rate',), ticks=CLASSES, bars=True, claims=(
               Claim('messages < two-sided < one-sided < one-sided with a cached own part, in each class',
                     lambda v: all(v('messages', c, 'rate') < v('two_sided', c, 'rate') < v('one_sided', c, 'rate') <
                                   v('one_sided, cached', c, 'rate') for c in range(4)),
                     why='in A and B all holds except between messages and two-sided, which differ by 0.5 %, since '
                         'both copy received data once more. In S and W one-sided is level with both or behind. Our '
                         'model of RCKMPI\'s packets makes messages too quick (see data), most of all if little is '
                         'sent'),
           )),
    Figure('fft_parts', 'NAS FT on 32 cores: the parts of the time', 'Christgau 2017, Fig. 4.18',
           'Communication takes a quarter to a fifth of its time by messages. A sixth of it is synchronization, '
           'since some cores are farther from memory than others. Transpositions take three times as long if the '
           'own part is not cached. Transforms and bookkeeping stay the same, and barriers are slightly cheaper in '
           'S and W. Most numbers of this figure are lost; the others are compared above.', '', ('time',),
           ticks=tuple(f'{c} {how}' for c in CLASSES for how in ('messages', 'two-sided', 'one-sided', 'cached')), bars=True,
           stacked=True, claims=(
               Claim('one-sided: synchronization takes less than data',
                     lambda v: all(v('synchronization', 4 * c + 2, 'time') < v('data', 4 * c + 2, 'time') for c in range(4)), 'shape'),
               Claim('barriers take slightly less with one-sided calls, in S and W',
                     lambda v: all(v('barrier', 4 * c + 2, 'time') < v('barrier', 4 * c, 'time') for c in (0, 1)), 'shape',
                     'a core far from memory takes longer to read its window past the caches, and the other cores '
                     'wait for it'),
           )),
    Figure('fompi', 'foMPI\'s functions, on this machine', 'Gerstenberger, Besta and Hoefler 2014, section 3',
           'Models measured on Cray XE6 between nodes. Only their order is compared, since our times are of this '
           'machine.',
           '', ('time',), log='y', bars=True, claims=(
               Claim('a shared lock costs less than an exclusive one',
                     lambda v: v('pgas', 'shared lock', 'time') < v('pgas', 'exclusive lock', 'time'),
                     why='on coherent memory each takes one read-modify-write to acquire, and an exclusive lock is '
                         'released by a store'),
               Claim('a put costs no more than a get or a compare and swap',
                     lambda v: v('pgas', 'put', 'time') <= min(v('pgas', 'get', 'time'), v('pgas', 'compare and swap', 'time')) * 1.1),
               Claim('a fence among 8 costs more than one among 2',
                     lambda v: v('pgas', 'fence, 8', 'time') > v('pgas', 'fence, 2', 'time')),
               Claim('one-sided operations take less time than MPICH\'s and Open MPI\'s',
                     lambda v: all(v('pgas', x, 'time') < v(peer, x, 'time') for peer in ('mpich', 'openmpi-sm')
                                   for x in ('put', 'get', 'compare and swap', 'shared lock', 'exclusive lock'))),
           )),
)

# Our rows of the functions that foMPI's authors have measured: (row, ranks) -> x of figure fompi.
FOMPI_ROWS = {('put_latency/flush/8', 2): 'put', ('get_latency/flush/8', 2): 'get',
              ('cas_latency/flush/8', 2): 'compare and swap', ('acc_latency/flush/8', 2): 'accumulate',
              ('fence', 2): 'fence, 2', ('fence', 4): 'fence, 4', ('fence', 8): 'fence, 8', ('pscw', 2): 'post to wait',
              ('lock_exclusive', 2): 'exclusive lock', ('lock_shared', 2): 'shared lock'}

MCS = ('a pair of MCS-WP has 5 read-modify-writes. By table 3 each takes 1.7 to 2.1 us, and its unlock takes no longer than '
       'that of GBH. So lock() spends 6 to 8 us of the paper\'s first quartiles, in each mix, on steps that the pseudo-code '
       'does not show')
MASTER = ('each pair holds rank 0\'s register twice, for 280 core cycles each time: 96 such times are 51 us, our mean. The paper '
          'has a longer tail. If the count at the master were given back before that of the part, ours would be 28, 50 and '
          '92 us. The order here is that of the scheme\'s authors')
MASTER_PAUSES = ('pauses without a bound leave the register to lucky ranks; the paper names no bound. With a bound of 64 us ours '
                 'would be 7.8, 11 and 38 us, with spinning at the register as without back-off')
ARRIVALS = ('all readers come to the writer\'s register while it puts, and then poll. The number of readers that already poll '
            'when the writer lets go decides here')

CAUSES = (
    Cause('post_start', 'a straight line between Table 3.4\'s 5.7 us at 24 targets and 12.5 us at 47 gives 7.8 us '
                        'for the bit alone at 31. Of the figure\'s 8 us this leaves 0.2 us for the rest of the call, '
                        'which takes more than 2 us with one target', quantities=('post',)),
    Cause('locks', MCS, ('mcs_wp',)),
    Cause('locks', MASTER, ('gbh',), xs=(50, 100)),
    Cause('locks', MASTER_PAUSES, ('gbh_backoff',), xs=(100,)),
    Cause('writer', FAR_POLLS, ('gbh_backoff',), quantities=('512 B', '1024 B'), xs=(4,)),
    Cause('writer', ARRIVALS, xs=(3, 4, 5)),
    Cause('placement', 'waiting cores slow down the cores for which they wait, so that more cores wait. Here this '
                       'takes half of the 50 generations to spread. In the end (speedup later) the time is that of '
                       'a controller for the polls of all cores that do not compute. The paper\'s polls cost more, '
                       'or the effect spreads at once'),
    Cause('put_latency', 'RCKMPI\'s handlers of one-sided messages do more for each message than its send and '
                         'receive, by which the constant is set'),
    Cause('put_bandwidth', 'the paper names no size. At 512 B to 4 KiB ours differ by 18 to 29 MB/s. At 1 MiB, the '
                           'largest size, received data no longer fit in the caches'),
    Cause('fft', 'all lines of the points come from memory here; those of S, 128 KiB a process, fit partly in L2',
          ('one_sided',), ('share',), (0,)),
    Cause('fft', 'waiting cores wait for those far from memory. Each pass over the points counts as one read or '
                 'write of each line. This is the least possible, and less than the traffic of long transforms in '
                 'classes A and B', ('one_sided',), ('share', 'synchronization')),
    Cause('fft', 'a packet of 160 B takes 10,000 core cycles in the paper\'s class B (2100 s, 17 GB). Its accesses '
                 'account for fewer cycles. The library\'s work for each packet, as opposed to each message, is not '
                 'charged', ('messages', 'messages over one_sided'), ('data', 'communication')),
)
