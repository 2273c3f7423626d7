# SPDX-License-Identifier: BSL-1.0
"""Tests statistics, verdicts, comparisons and the README's section on invented samples. Run it: python3
report_test.py"""

import contextlib
import io
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import asynchronous
import collectives
import compare
import counting
import growth
import history
import judge
import launch
import machine
import maps
import methods
import nodes
import notebook
import page
import paper_judge
import paper_model
import paper_page
import paper_plots
import papers
import plots
import readme
import runner
import scale
import schedule
import spread
import suites
import table
import why
import words
from progress import Progress
from results import Results

MACHINE = {'type': 'machine', 'processor': 'P', 'cores': 2, 'system': 'S', 'compiler': 'C', 'commit': 'abc', 'date': 'D'}


def sample(seconds, contender='pgas', way='', number=0, row='put_latency', mode='flush', size=8, hand_over=50e-9,
           **other):
    return {'type': 'sample', 'suite': 'micro', 'row': row, 'mode': mode, 'bytes': size, 'unit': 's', 'ranks': 2,
            'contender': contender, 'way': way, 'round': number, 'hand_over': [hand_over, hand_over],
            'seconds': seconds if isinstance(seconds, list) else [seconds] * 3, **other}


def rounds(*times, **what):
    return [sample(t, number=i, **what) for i, t in enumerate(times)]


def results(samples):
    return Results(MACHINE, [], [], samples, judge.judge(samples))


class Spread(unittest.TestCase):
    def test_quantiles_lie_between_neighbours(self):
        self.assertEqual(spread.median([3, 1, 2]), 2)
        self.assertEqual(spread.median([1, 2]), 1.5)
        self.assertEqual(spread.quantile([0, 10], 0.25), 2.5)
        self.assertEqual(spread.quantile([7], 0.9), 7)

    def test_one_round_says_nothing(self):
        once = spread.interval([1.0])
        self.assertEqual(spread.verdict(once, 2, 1), '?')

    def test_few_rounds_give_their_range_and_many_less(self):
        few = spread.interval([1.0, 1.2, 1.1])
        self.assertEqual((few.low, few.high), (1.0, 1.2))
        many = spread.interval([1.0 + 0.01 * (i % 10) for i in range(100)])
        self.assertLess(many.width(), 0.05)
        self.assertEqual(many, spread.interval([1.0 + 0.01 * (i % 10) for i in range(100)]))

    def test_a_verdict_needs_the_whole_interval(self):
        self.assertEqual(spread.verdict(spread.Interval(1, 0.9, 1.05, 3), 1.1, 1), 'ok')
        self.assertEqual(spread.verdict(spread.Interval(1.3, 1.2, 1.4, 3), 1.1, 1), 'BEHIND')
        self.assertEqual(spread.verdict(spread.Interval(1.1, 1.0, 1.2, 3), 1.1, 1), '?')


class Judging(unittest.TestCase):
    def test_a_rank_that_sleeps_is_compared_with_one_that_sleeps(self):
        def late(*times, **what):
            return rounds(*times, row='barrier_late', mode='', size=0, **what)
        by_hand = late(9e-6, 9e-6, 9e-6, way='futex') + late(1e-7, 1e-7, 1e-7, way='spin on a counter')
        peer = late(5e-6, 5e-6, 5e-6, contender='mpich')
        row, = judge.judge(late(8e-6, 8e-6, 8e-6) + by_hand + peer)
        self.assertEqual((row['verdict'], row['best_raw'], row['best_peer']), ('ok', 'futex', 'mpich'))
        row, = judge.judge(late(8e-5, 8e-5, 8e-5) + by_hand + peer)
        self.assertEqual((row['verdict'], row['ahead']['verdict']), ('BEHIND', ''))

    def test_a_counter_behind_a_guard_is_compared_with_its_own_accesses(self):
        def fence(*times, **what):
            return rounds(*times, row='fence', mode='guarded_counter', size=0, **what)
        alone = fence(9e-8, 9e-8, 9e-8, way='counter')
        row, = judge.judge(fence(1.8e-7, 1.8e-7, 1.8e-7) + alone + fence(1.6e-7, 1.6e-7, 1.6e-7, way='counter behind a guard'))
        self.assertEqual((row['verdict'], row['best_raw']), ('ok', 'counter behind a guard'))
        row, = judge.judge(fence(2e-7, 2e-7, 2e-7) + alone + fence(1.6e-7, 1.6e-7, 1.6e-7, way='counter behind a guard'))
        self.assertEqual(row['verdict'], 'BEHIND')

    def test_ours_is_compared_with_the_best_of_each(self):
        samples = rounds(1e-9, 1e-9, 1e-9) + rounds(1e-9, 1e-9, 1e-9, way='store') + rounds(9e-9, 9e-9, way='slow')
        samples += rounds(8e-9, 8e-9, 8e-9, contender='mpich') + rounds(4e-9, 4e-9, 4e-9, contender='openmpi')
        row, = judge.judge(samples)
        self.assertEqual((row['best_raw'], row['best_peer']), ('store', 'openmpi'))
        self.assertAlmostEqual(row['ahead']['ratio'], 4)
        self.assertEqual(row['verdict'], 'ok')

    def test_too_little_ahead_is_behind(self):
        row, = judge.judge(rounds(*[2e-9] * 5) + rounds(*[4e-9] * 5, contender='mpich'))
        self.assertEqual(row['verdict'], 'BEHIND')
        self.assertAlmostEqual(row['short'], 1.5)

    def test_two_programs_need_five_pairs_unless_ours_is_far_ahead(self):
        def put(ours, theirs, times):
            return judge.judge(rounds(*[ours] * times, row='acc_latency', size=1 << 20) +
                               rounds(*[theirs] * times, row='acc_latency', size=1 << 20, contender='mpich'))[0]
        for ours, theirs, verdict in ((1e-6, 0.9e-6, 'BEHIND'), (1e-6, 1.1e-6, 'ok')):
            few, enough = put(ours, theirs, 4), put(ours, theirs, 5)
            self.assertEqual((few['verdict'], judge.open_sides(few, far=False)), ('noise', {'ahead'}))
            self.assertIn('4 pairs of rounds', words.why_open(few))
            self.assertEqual((enough['verdict'], judge.open_sides(enough, far=False)), (verdict, set()))
        self.assertEqual(put(1e-6, 1.4e-6, 2)['verdict'], 'ok')

    def test_two_pairs_do_not_say_that_ours_is_far_behind(self):
        for times, verdict in ((2, 'noise'), (5, 'BEHIND')):
            row, = judge.judge(rounds(*[1e-6] * times, row='acc_latency', size=1 << 20) +
                               rounds(*[0.5e-6] * times, row='acc_latency', size=1 << 20, contender='mpich'))
            self.assertEqual(row['verdict'], verdict)

    def test_ratios_are_formed_within_a_round(self):
        # Both take three times as long in the second round: the ratio does not.
        row, = judge.judge(rounds(1e-9, 3e-9, 1e-9) + rounds(1e-9, 3e-9, 1e-9, way='store'))
        self.assertEqual((row['to_raw']['low'], row['to_raw']['high']), (1, 1))

    def test_only_one_placement_is_compared(self):
        near = rounds(1e-9, 1e-9, 1e-9) + rounds(4e-9, 4e-9, contender='mpich')
        far = [sample(1e-9, contender='mpich', number=2, hand_over=200e-9)]
        moved = [{**sample(1e-9, contender='mpich', number=1), 'hand_over': [50e-9, 200e-9]}]
        row, = judge.judge(near + far + moved[:0])
        self.assertEqual(row['placement'], 'near')
        self.assertEqual(row['peers']['mpich']['median'], 4e-9)
        self.assertEqual(judge.placement_of(moved[0]), 'moved')

    def test_a_program_of_one_process_has_no_placement_and_takes_part(self):
        row, = judge.judge(rounds(1e-9, 1e-9) + rounds(4e-9, 4e-9, contender='openmp', hand_over=0))
        self.assertEqual((row['placement'], row['best_peer']), ('near', 'openmp'))

    def test_as_few_as_nothing_are_as_many_and_more_than_nothing_is_too_many(self):
        calls = {'row': 'flag', 'mode': 'system calls', 'size': 0, 'unit': 'calls'}
        row, = judge.judge(rounds(0, 0, **calls) + rounds(0, 0, way='store', **calls))
        self.assertEqual((row['to_raw']['ratio'], row['verdict']), (1, 'ok'))
        row, = judge.judge(rounds(1, 1, **calls) + rounds(0, 0, way='store', **calls))
        self.assertEqual(row['verdict'], 'BEHIND')
        self.assertEqual(words.amount(4.005, row), '4 calls')

    def test_a_row_of_a_peer_alone_has_no_verdict(self):
        row, = judge.judge(rounds(1e-9, 1e-9, contender='mpich', mode='lock'))
        self.assertIsNone(row['ours'])
        self.assertEqual(row['verdict'], '')

    def test_rows_that_fall_short_come_first(self):
        fine = rounds(1e-9, 1e-9, row='pscw', mode='', size=0) + rounds(9e-9, 9e-9, row='pscw', mode='', size=0, contender='mpich')
        bad = rounds(*[1e-9] * 5) + rounds(*[2e-9] * 5, contender='mpich')
        self.assertEqual([r['verdict'] for r in judge.judge(fine + bad)], ['BEHIND', 'ok'])

    def test_targets_know_the_number_of_ranks(self):
        self.assertEqual(suites.target_of('barrier', 2).raw, 1.3)
        self.assertEqual(suites.target_of('barrier', 8).raw, 1.0)
        self.assertEqual(suites.target_of('anything', 2).raw, 0)

    def test_rows_of_the_other_harness_become_samples(self):
        line = {'type': 'row', 'program': 'put_get', 'row': 'put8', 'ranks': 2, 'target': 1.03,
                'ours_s': {'median': 2, 'p10': 1, 'p90': 3}, 'baselines': {'store': {'median': 2, 'p10': 1, 'p90': 3}}}
        samples = [{**s, 'suite': 'micro', 'contender': 'pgas', 'round': n} for n in (0, 1)
                   for s in runner.from_harness(line, 2)]
        row, = judge.judge(samples)
        self.assertEqual((row['verdict'], row['target_raw'], row['best_raw']), ('ok', 1.03, 'store'))


class Beside(unittest.TestCase):
    """Peers with a memcpy in their own process."""

    @staticmethod
    def put(ours, by_hand, theirs=(), their_memcpy=(), who='mpich', **what):
        what = {'size': 524288, **what}
        return rounds(*ours, **what) + rounds(*by_hand, way='memcpy', **what) + \
            rounds(*theirs, contender=who, **what) + rounds(*their_memcpy, contender=who, way='memcpy', **what)

    def test_a_process_with_slow_pages_neither_wins_nor_loses(self):
        one, slow = [1e-5] * 5, [1.3e-5] * 5
        for ours, theirs in ((slow, one), (one, slow)):
            row, = judge.judge(self.put(ours, ours, theirs, theirs))
            self.assertEqual((row['ahead']['ratio'], row['ahead']['beside'], row['verdict']), (1, 'memcpy', 'ok'))
            row, = judge.judge(self.put(ours, ours, theirs))  # nothing beside the peer
            self.assertEqual((row['ahead']['beside'], row['verdict']), ('', 'BEHIND' if ours is slow else 'ok'))

    def test_the_spread_of_pages_is_none_of_the_ratio(self):
        pages, others = [1e-5, 1.4e-5, 1.2e-5, 1e-5, 1.3e-5], [1.3e-5, 1e-5, 1e-5, 1.4e-5, 1.1e-5]
        row, = judge.judge(self.put(pages, pages, [1.1 * t for t in others], others))
        self.assertAlmostEqual(row['ahead']['low'], 1.1)
        self.assertAlmostEqual(row['ahead']['high'], 1.1)
        self.assertEqual(row['verdict'], 'ok')

    def test_a_peer_that_is_quicker_beside_its_memcpy_is_quicker(self):
        row, = judge.judge(self.put([1e-5] * 5, [1e-5] * 5, [1.1e-5] * 5, [1.3e-5] * 5))
        self.assertEqual(row['verdict'], 'BEHIND')
        self.assertAlmostEqual(row['ahead']['ratio'], 1.1 / 1.3)

    def test_ways_past_the_caches_are_beside_the_same_memcpy(self):
        what = {'size': 1 << 21}
        samples = self.put([6e-5] * 5, [9e-5] * 5, [9e-5] * 5, [9e-5] * 5, **what)
        row, = judge.judge(samples + rounds(*[6e-5] * 5, way='non-temporal', **what))
        self.assertEqual((row['best_raw'], row['to_raw']['ratio']), ('non-temporal', 1))
        self.assertAlmostEqual(row['ahead']['ratio'], 1.5)

    def test_the_memcpy_of_a_peer_is_no_time_of_its_own(self):
        row, = judge.judge(self.put([2e-5] * 5, [2e-5] * 5, [3e-5] * 5, [1e-5] * 5))
        self.assertEqual((list(row['peers']), row['peers']['mpich']['median'], list(row['raw'])), (['mpich'], 3e-5, ['memcpy']))
        self.assertEqual(row['raw']['memcpy']['median'], 2e-5)

    def test_the_quickest_peer_is_that_beside_its_memcpy(self):
        what = {'size': 524288}
        samples = self.put([1e-5] * 5, [1e-5] * 5, [1.2e-5] * 5, [1.2e-5] * 5)
        samples += rounds(*[1.1e-5] * 5, contender='oshmem', **what) + rounds(*[0.9e-5] * 5, contender='oshmem', way='memcpy', **what)
        row, = judge.judge(samples)
        self.assertEqual((row['best_peer'], row['ahead']['ratio']), ('mpich', 1))
        self.assertEqual(judge.near_the_best(row), {'mpich', 'oshmem'})  # one by its ratio, the other by its time

    def test_each_round_has_the_memcpy_of_its_own(self):
        row, = judge.judge(self.put([1e-5] * 5, [1e-5] * 5, [1e-5, 2e-5, 3e-5, 4e-5, 5e-5], [1e-5, 2e-5, 3e-5, 4e-5, 5e-5]))
        self.assertEqual((row['ahead']['low'], row['ahead']['high']), (1, 1))

    def test_the_report_says_so(self):
        said = results(self.put([1e-5] * 5, [1e-5] * 5, [1.3e-5] * 5, [1.3e-5] * 5))
        row, = said.rows
        self.assertIn('each beside a memcpy in its own process', '\n'.join(table.lines(said)))
        self.assertIn('each beside a memcpy in its own process', page.line_of(row))
        row, = judge.judge(rounds(1e-9) + rounds(9e-9, contender='mpich'))
        self.assertEqual(words.beside(row['ahead']), '')

    def test_the_methods_say_so(self):
        for name in ('put_latency/flush/524288', 'get_bw/flush/16384', 'acc_latency/flush/1048576'):
            self.assertIn('in its own process beside it', methods.method_of(name))


class Disturbances(unittest.TestCase):
    def test_disturbed_rounds_do_not_count_if_enough_are_quiet(self):
        samples = rounds(1e-9, 1e-9, 1e-9) + rounds(1e-9, 1e-9, 1e-9, way='store')
        samples += [sample(9e-9, number=3, others=0.5), sample(1e-9, number=3, way='store', others=0.5)]
        row, = judge.judge(samples)
        self.assertEqual((row['to_raw']['high'], row['to_raw']['rounds'], row['ours']['count']), (1, 3, 9))
        self.assertAlmostEqual(row['disturbed'], 0.25)

    def test_all_rounds_count_if_too_few_are_quiet(self):
        samples = rounds(1e-9, 1e-9) + rounds(1e-9, 1e-9, way='store')
        samples += [sample(8e-9, number=2, others=0.5), sample(1e-9, number=2, way='store')]
        row, = judge.judge(samples)
        self.assertEqual((row['to_raw']['high'], row['to_raw']['rounds'], row['verdict']), (8, 3, 'noise'))

    def test_a_round_needs_both_sides_to_be_quiet(self):
        ours = {n: sample(1e-9, number=n, others=0.5 if n == 3 else 0) for n in range(5)}
        peers = {n: sample(9e-9 if n == 4 else 4e-9, number=n, contender='mpich', others=0.5 if n == 4 else 0)
                 for n in range(5)}
        self.assertEqual([round(r) for r in judge.ratios(peers, ours)], [4, 4, 4])

    def test_a_contest_waits_for_quiet_and_not_for_ever(self):
        clock = FakeClock()
        quiet = runner.Quiet(suites.QUICK, clock.looks([0.6, 0.4, 0.05, 0.6]))
        quiet.wait(clock)
        self.assertEqual((clock.now, quiet.seen), (3, 0.05))
        quiet.wait(clock)  # other programs never rest again
        self.assertEqual((clock.now, quiet.seen), (3 + suites.LONGEST_WAIT, 0.6))
        for _ in range(9):
            quiet.wait(clock)
        self.assertEqual(clock.now, clock.seconds * suites.WAITING)

    def test_a_row_says_how_busy_the_machine_was(self):
        lines = '\n'.join(table.lines(results([sample(1e-9, others=0.2), sample(1e-9, number=1, others=0.3)])))
        self.assertIn('| 25%, too much in 100% |', lines)


class FakeClock:
    """A progress whose time advances by a second at each look."""

    seconds = 150

    def __init__(self):
        self.now = 0

    def elapsed(self):
        return self.now

    def step(self, number, what):
        pass

    def looks(self, shares):
        rest = iter(shares)

        def look():
            self.now += 1
            self.last = next(rest, None) or self.last
            return self.last
        return look


PROGRAM = """#!/usr/bin/env python3
import json, os, signal, sys
def say(kind, row, **more):
    print(json.dumps({'type': kind, 'row': row, 'mode': '', 'bytes': 0, **more}), flush=True)
given = sys.argv[1:]
skipped = [given[i + 1] for i, word in enumerate(given) if word == '--skip']
rows = ['one', 'two', 'three']
if '--after' in given:
    rows = rows[rows.index(given[given.index('--after') + 1]) + 1:]
for row in rows:
    if row in skipped:
        continue
    say('begin', row)
    if row == 'two':
        os.kill(os.getpid(), signal.SIGSEGV)
    say('sample', row, unit='s', ranks=2, way='', hand_over=[], seconds=[1e-9])
print('{"type":"end"}')
"""


class Breakdowns(unittest.TestCase):
    """A program that crashes in the second of its three rows."""

    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        os.mkdir(os.path.join(self.place.name, 'bench'))
        path = os.path.join(self.place.name, 'bench', 'program')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(PROGRAM)
        os.chmod(path, 0o755)
        self.part = suites.Part({'ours': 'program'})
        self.run = runner.Runner(self.place.name, '', suites.QUICK, [], Progress(60, io.StringIO()))
        self.entry = runner.Entry('micro', self.part, suites.CONTENDERS[0], 'program', 2)

    def tearDown(self):
        self.place.cleanup()

    def test_only_the_row_in_which_a_program_crashes_is_lost(self):
        for number in range(3):
            self.run.go_on(number, self.entry, None)
        self.assertEqual([s['row'] for s in self.run.samples], ['one', 'three'] * 3)
        self.assertEqual(self.run.hopeless(self.entry), ['two'])
        self.assertEqual(self.run.breakdowns[self.entry.key(), 'two'], 2)  # not tried a third time

    def test_the_row_says_so(self):
        self.run.go_on(0, self.entry, None)
        note, = self.run.notes.values()
        self.assertEqual((note['what'], note['why']), ('two', 'crashed: signal 11'))
        peer = {**note, 'contender': 'mpich'}
        row, = judge.judge([{**sample(1e-9), 'row': 'two', 'mode': '', 'bytes': 0}], [peer])
        self.assertEqual(words.missing(row), 'mpich: crashed: signal 11')
        self.assertIn('mpich: crashed: signal 11', ' '.join(table.cells(row)))
        self.assertIn('mpich: crashed: signal 11', page.line_of(row))


class Deciding(unittest.TestCase):
    """Time goes to rows whose verdict is open, and to those programs that the verdict needs."""

    def row(self, *ours, **peer):
        samples = rounds(*ours) + rounds(*[1e-9] * len(ours), way='store')
        for name, time in peer.items():
            samples += rounds(*[time] * len(ours), contender=name)  # a time, or those of one process
        return judge.judge(samples)[0]

    def test_a_row_far_from_its_target_is_settled_early_and_one_near_it_is_not(self):
        self.assertEqual(judge.open_sides(self.row(1e-9, 1.01e-9, 1e-9), far=True), set())
        self.assertEqual(judge.open_sides(self.row(3e-9, 3.1e-9, 3e-9), far=True), set())
        self.assertEqual(judge.open_sides(self.row(1.1e-9, 1.12e-9, 1.08e-9), far=True), {'to_raw'})
        self.assertEqual(judge.open_sides(self.row(1.1e-9, 1.12e-9, 1.08e-9), far=False), set())

    def test_a_row_without_a_target_is_settled(self):
        self.assertEqual(judge.open_sides(judge.judge(rounds(1e-9, 2e-9, row='put_overlap', size=8))[0], far=True), set())

    def test_a_row_that_is_behind_on_one_side_is_decided(self):
        row = self.row(2e-9, 2.1e-9, 2e-9, mpich=6.2e-9)
        self.assertEqual(row['verdict'], 'BEHIND')
        self.assertEqual(judge.open_sides(row, far=False), set())

    def test_only_peers_that_may_be_the_best_go_on(self):
        self.assertEqual(judge.near_the_best(self.row(1e-9, 1e-9, 1e-9, mpich=3e-9, openmpi=3.2e-9, oshmem=9e-9)), {'mpich', 'openmpi'})

    def runner_of(self, samples, number=3, **part):
        """A run that has those samples, with the contest of their program."""
        run = runner.Runner('', '', suites.QUICK, [], Progress(60, io.StringIO()))
        run.samples = samples
        contest = schedule.Contest('micro', suites.Part({'ours': 'bench_micro', 'rma': 'mpi_rma'}, **part), 2, number, rows=2, whole=10)
        for entry in run.taking_part(contest):
            for s in samples:
                if s['contender'] == entry.contender.name:
                    run.tell(entry, s)
        return run, contest

    near = [sample(t, number=i, size=64) for i, t in enumerate((1.0e-9, 1.07e-9, 1.0e-9))]
    two_rows = [*near, *rounds(*[1e-9] * 3, way='memcpy', size=64), *rounds(*[8e-9] * 3, contender='mpich', size=64),
                *rounds(*[1e-9] * 3), *rounds(*[1e-9] * 3, way='store')]

    def test_a_round_leaves_out_what_no_open_verdict_needs(self):
        run, contest = self.runner_of(self.two_rows)
        (name, (row, sides)), = run.open_rows(contest).items()
        self.assertEqual((name, sides, row['bytes']), ('put_latency/flush/64', {'to_raw'}, 64))
        entries = {entry.contender.name: entry for entry in run.taking_part(contest)}
        self.assertEqual(run.mine(entries['pgas'], {name: set()}), [name])
        self.assertEqual(run.mine(entries['mpich'], {name: set()}), [])  # only the hand-written side is open
        self.assertEqual(run.mine(entries['openmpi'], {name: {'openmpi'}}), [])  # it does not have the row
        other = schedule.Contest('micro', suites.Part({'ours': 'another'}), 2, 3)
        self.assertEqual(run.open_rows(other), {})  # neither has that program

    def test_who_runs_first_is_drawn_for_each_round(self):
        run, contest = self.runner_of([])
        orders = set()
        for contest.number in range(12):
            orders.add(tuple(entry.contender.name for entry in run.taking_part(contest)))
        self.assertEqual({tuple(sorted(order)) for order in orders}, {('mpich', 'openmpi', 'openmpi-sm', 'pgas')})
        self.assertGreater(len(orders), 6)

    def test_the_same_program_with_other_arguments_has_other_rows(self):
        run, contest = self.runner_of(self.two_rows)
        large = schedule.Contest('micro', suites.Part(contest.part.programs, arguments=('--large',)), 2, 3)
        self.assertEqual(run.open_rows(large), {})

    def test_after_its_first_round_a_peer_that_is_far_behind_rests(self):
        first = self.row(1e-9, mpich=[9e-9, 5e-9, 9e-9], openmpi=4e-9, oshmem=30e-9)
        self.assertIsNone(schedule.peers_needed([first], 0))
        # The quickest time of mpich may come from a round in which the machine was quiet: it stays.
        self.assertEqual(schedule.peers_needed([first], 1), {'put_latency/flush/8': {'mpich', 'openmpi'}})
        self.assertEqual(schedule.peers_needed([self.row(*[1e-9] * 3, openmpi=9e-9)], 2), {})  # it is decided
        near, = judge.judge(rounds(1e-9, 1.02e-9) + rounds(2.95e-9, 2.95e-9, contender='openmpi'))
        self.assertEqual(schedule.peers_needed([near], 2), {'put_latency/flush/8': {'openmpi'}})

    def test_a_peer_that_ran_in_another_placement_alone_runs_again(self):
        row, = judge.judge(rounds(1e-9, 1e-9) + rounds(9e-9, 9e-9, contender='mpich', hand_over=200e-9))
        self.assertEqual((row['ahead'], row['elsewhere']), (None, ['mpich']))
        self.assertEqual(judge.open_sides(row, far=False), {'ahead'})
        self.assertEqual(judge.near_the_best(row), {'mpich'})

    def test_a_pair_of_two_programs_needs_one_placement_and_not_one_round(self):
        ours = [sample(1e-9, number=n, hand_over=far) for n, far in enumerate((200e-9, 200e-9, 50e-9, 200e-9))]
        peer = [sample(4e-9, 'mpich', number=n, hand_over=far) for n, far in enumerate((200e-9, 50e-9, 200e-9, 200e-9))]
        row, = judge.judge(ours + peer)
        self.assertEqual((row['placement'], row['ahead']['rounds']), ('far', 4))  # three far, one near
        self.assertEqual((row['ahead']['low'], row['ahead']['high']), (4, 4))
        by_hand = [sample(1e-9, way='store', number=n) for n in (4, 5)]
        self.assertEqual(judge.ratios({n: s for n, s in enumerate(ours)}, {s['round']: s for s in by_hand}), [])

    @staticmethod
    def placed(near, far, far_peer=()):
        """Ours beside a store in rounds of either placement, and a peer in the far ones."""
        made = []
        for hand_over, times in ((50e-9, near), (200e-9, far)):
            for time in times:
                n = len(made)
                made += [sample(time, number=n, hand_over=hand_over), sample(1e-9, way='store', number=n, hand_over=hand_over)]
        return made + [sample(t, 'mpich', number=2 * (len(near) + n), hand_over=200e-9) for n, t in enumerate(far_peer)]

    def test_ratios_of_both_placements_count_and_times_are_those_of_one(self):
        row, = judge.judge(self.placed([1e-9] * 3, [1.02e-9] * 2))
        self.assertEqual((row['placement'], row['ours']['count'], row['to_raw']['rounds'], row['verdict']), ('near', 9, 5, 'ok'))

    def test_the_more_frequent_placement_hides_no_loss_in_the_other(self):
        row, = judge.judge(self.placed([1e-9] * 9, [1.5e-9] * 3))
        self.assertEqual((row['verdict'], row['to_raw']['where'], row['to_raw']['ratio']), ('BEHIND', 'far', 1.5))
        self.assertIn('far', words.ratio(row['to_raw']))
        row, = judge.judge(self.placed([1e-9] * 9, [1e-9, 1.3e-9, 1.2e-9]))  # its median is over the target, not all of it
        self.assertLess(row['to_raw']['high'], 1.1)
        self.assertEqual((row['verdict'], row['to_raw']['where']), ('noise', ''))
        row, = judge.judge(self.placed([1.3e-9] * 9, [1.5e-9] * 3))
        self.assertEqual((row['verdict'], row['to_raw']['where'], row['to_raw']['rounds']), ('BEHIND', '', 12))

    def test_in_each_placement_the_quickest_of_the_others_counts(self):
        samples = self.placed([1e-9] * 3, [1e-9] * 3, far_peer=[4e-9] * 3)
        samples += [sample(t, 'openmpi', number=n, hand_over=h) for n, (t, h) in enumerate(((3.5e-9, 50e-9), (9e-9, 200e-9)) * 3)]
        row, = judge.judge(samples)
        self.assertEqual([round(row['ahead'][end], 3) for end in ('low', 'high')], [3.5, 4])  # openmpi near, mpich far

    def test_what_moved_meanwhile_counts_where_ways_took_turns(self):
        moved = [{**s, 'hand_over': [50e-9, 200e-9]} for s in self.placed([1e-9] * 3, [])]
        row, = judge.judge(moved + [{**sample(4e-9, 'mpich', number=2 * n), 'hand_over': [50e-9, 200e-9]} for n in range(3)])
        self.assertEqual((row['to_raw']['rounds'], row['ahead']), (3, None))

    def test_a_row_of_ranks_that_always_move_tells_its_time_and_its_target(self):
        moved = [{**s, 'hand_over': [50e-9, 200e-9]} for s in self.placed([1e-9] * 3, [])]
        row, = judge.judge(moved + [sample(4e-9, 'mpich', number=n) for n in range(3)])
        self.assertEqual(row['ours']['median'], 1e-9)
        self.assertIn('raw', words.asked(row))

    def test_time_goes_to_the_program_that_may_decide_the_most_in_a_second(self):
        def contest(whole, **other):
            return schedule.Contest('s', suites.Part({}, **other), 2, number=3, rows=10, whole=whole)

        def choose(left, *contests, rows=None):
            found = schedule.choose(contests, lambda c: rows or {'a': (near, {'to_raw'})}, left, 25)
            return found and contests.index(found[0])

        near = self.row(1.1e-9, 1.3e-9, 1.1e-9)
        self.assertEqual(choose(100, contest(50), contest(5)), 1)
        self.assertEqual(choose(5, contest(50), contest(5, rounds=3)), None)  # the one is too dear, the other has had its rounds
        turns = contest(5)
        turns.again = [2.0] * 20  # it has had many turns
        self.assertEqual(choose(100, contest(50), turns), 0)

    def test_a_row_that_more_rounds_decide_soon_has_more_hope(self):
        at, off = self.row(1.12e-9, 1.2e-9, 1.1e-9), self.row(1.05e-9, 1.2e-9, 1.0e-9)
        self.assertLess(judge.hope(at, 'to_raw'), judge.hope(off, 'to_raw'))
        self.assertEqual(judge.hope(self.row(1.1e-9), 'to_raw'), 1)

    def test_rows_without_a_verdict_come_last_and_have_their_time_kept(self):
        run = runner.Runner('', '', suites.FULL, ['compile_time'], Progress(60, io.StringIO()))
        last = [c for c in run.contests if c.part.last]
        self.assertEqual(len(last) + 4 * len(suites.COMPILERS), len(run.contests))
        for contest in run.contests:
            contest.number, contest.whole = 0 if contest.part.last else 2, 3.0
        self.assertEqual(run.kept(), 1 + 3 * len(last) / runner.CORES)
        self.assertFalse(any(c.may_go_on(25) for c in last))

    def test_a_whole_run_gives_each_program_its_rounds_and_ends_with_those_that_come_last(self):
        def compiled(entry, *_):
            began.append(entry.part.arguments[1])
            row = {'type': 'row', 'row': ' '.join(entry.part.arguments), 'program': 'compile_time', 'ours_s': {'median': 1.9},
                   'baselines': {'headers of others': {'median': 1}}, 'target': float(entry.part.arguments[3])}
            return launch.Outcome(lines=[row], seconds=3)

        began, parts = [], [suites.Part({'ours': 'compile_time.sh'}, style='script', sure=2, arguments=('--header', name, '--target', '2'), **other)
                            for name, other in (('a', {}), ('b', {'last': True, 'rounds': 1}), ('c', {}))]
        run = runner.Runner('', '', suites.QUICK, [], Progress(60, io.StringIO()))
        run.contests = schedule.contests_of([('compile_time', part) for part in parts])
        run.quiet.look = lambda: 0
        with unittest.mock.patch.object(run, 'start', compiled):
            run.run()
        self.assertEqual(began, ['a', 'c', 'a', 'c', 'b'])  # both are decided after two rounds of processor time
        self.assertEqual([r['verdict'] for r in judge.judge(run.samples)], ['noise', 'ok', 'ok'])

    def test_few_of_many_noisy_rows_stay_open_in_the_same_time(self):
        """A model of a run: 60 rows whose true ratios lie 3 to 40 % from the target, and noise of 12 % a round."""
        chance = random.Random(1)
        rows = [(n, 1.1 * suites.SAME * (1 + 0.03 * (1 + n % 12) * (-1) ** n)) for n in range(60)]

        def run(budget, choose):
            samples, number = {n: [] for n, _ in rows}, 0
            while budget > 0:
                now = [(n, true) for n, true in rows if choose(number, samples[n])]
                if not now:
                    break
                for n, true in now:
                    samples[n] += [sample(1e-9 * true * chance.gauss(1, 0.12), number=number), sample(1e-9, way='store', number=number)]
                budget -= len(now)
                number += 1
            return [(judge.judge(samples[n])[0]['verdict'], true > 1.1 * suites.SAME) for n, true in rows]

        def is_open(number, samples):
            return number < schedule.SURE_FROM or bool(judge.open_sides(judge.judge(samples)[0], far=number < suites.FULL.fewest_rounds))

        old = run(60 * 8, lambda number, samples: number < 8)
        new = run(60 * 8, is_open)
        self.assertLess(2 * sum(said == 'noise' for said, _ in new), sum(said == 'noise' for said, _ in old))
        wrong = sum(said == ('ok' if is_behind else 'BEHIND') for said, is_behind in new)
        self.assertLessEqual(wrong, 3)

    def test_a_target_ahead_that_the_machine_forbids_is_restated_with_the_reason(self):
        def add(ours, hand, peer):
            of = {'row': 'fop_latency'}
            return judge.judge(rounds(*[ours] * 5, **of) + rounds(*[hand] * 5, way='atomic', **of) + rounds(*[peer] * 5, contender='mpich', **of))[0]

        row = add(10e-9, 10e-9, 27e-9)  # five times ahead would be half of an atomic instruction
        self.assertEqual(row['verdict'], 'ok')
        self.assertAlmostEqual(row['target_ahead'], 27 / 10 / 1.1)
        self.assertIn('Restated', row['restated'])
        self.assertIn('restated', words.asked(row))
        self.assertEqual(add(12e-9, 10e-9, 27e-9)['verdict'], 'BEHIND')  # the hand-written code stays the target
        self.assertEqual(add(10e-9, 10e-9, 8e-9)['target_ahead'], 1)  # never behind a peer
        self.assertNotIn('restated', add(10e-9, 10e-9, 90e-9))


class Counting(unittest.TestCase):
    def test_dumps_follow_each_other_as_the_lines_do(self):
        with tempfile.TemporaryDirectory() as place:
            for number, counted in ((1, 4000), (2, 9000)):
                with open(os.path.join(place, f'out.7.{number}'), 'w', encoding='utf-8') as dump:
                    dump.write(f'version: 1\ntotals: {counted}\n')
            line = {'row': 'put', 'mode': 'instructions', 'bytes': 8, 'way': '', 'times': 1000, 'pid': 7}
            got = list(counting.samples([line, {**line, 'row': 'get'}, {**line, 'row': 'add'}], place))
        self.assertEqual([(s['row'], s.get('seconds')) for s in got], [('put', [4]), ('get', [9]), ('add', None)])
        self.assertEqual(got[2]['type'], 'absent')


class Comparing(unittest.TestCase):
    """Made-up runs: each has rounds of ours and of the code by hand."""

    @staticmethod
    def said(old, new):
        """{bytes of a row: what its change says}."""
        return {c.key[3]: c.said for c in compare.compare(old, new)}

    def both(self, *times, by_hand=1e-9, **what):
        return rounds(*times, **what) + rounds(*[by_hand] * len(times), way='store', **what)

    def test_only_what_is_beyond_noise_is_told(self):
        old = results(rounds(1e-9, 1.1e-9, 1e-9) + rounds(5e-9, 5e-9, 5e-9, size=64))
        new = results(rounds(1.05e-9, 1e-9, 1.1e-9) + rounds(7e-9, 7e-9, 7e-9, size=64))
        self.assertEqual(self.said(old, new), {8: 'same', 64: 'slower'})
        told = '\n'.join(compare.lines(old, new))
        self.assertIn('1 rows became slower beyond noise, 0 quicker; 1 are the same within noise', told)
        self.assertIn('| micro: put_latency, flush, 64 B | 2, near | 5.00 ns | 7.00 ns | 1.40 times slower |', told)

    def test_the_largest_slowdown_comes_first_and_the_largest_gain_last(self):
        old = results([s for size in (8, 64, 128, 256) for s in rounds(*[4e-9] * 3, size=size)])
        new = results([s for size, time in ((8, 5e-9), (64, 9e-9), (128, 1e-9), (256, 2e-9)) for s in rounds(*[time] * 3, size=size)])
        self.assertEqual([c.key[3] for c in compare.compare(old, new)], [64, 8, 256, 128])
        told = list(compare.lines(old, new))
        self.assertEqual([line.split('|')[1].split(',')[2].strip() for line in told if line.startswith('| micro')], ['64 B', '8 B', '256 B', '128 B'])
        self.assertTrue(any('Most slower: put_latency, flush, 64 B on 2 ranks, 2.25 times slower' in line for line in told))
        self.assertTrue(any('Most quicker: put_latency, flush, 128 B on 2 ranks, 4.00 times quicker' in line for line in told))

    def test_disturbed_rounds_change_nothing_if_enough_are_quiet(self):
        old = results(rounds(1e-9, 1e-9, 1e-9))
        busy = [sample(9e-9, number=n, others=0.9) for n in range(3, 9)]
        self.assertEqual(self.said(old, results(rounds(1e-9, 1e-9, 1e-9) + busy)), {8: 'same'})

    def test_a_slowdown_while_others_used_the_cores_is_doubtful_without_code_by_hand(self):
        def busy(way=''):
            return [sample(9e-9 if not way else 1e-9, number=n, way=way, others=0.9) for n in range(3)]

        old, alone = results(rounds(1e-9, 1e-9, 1e-9)), results(busy())
        self.assertEqual(self.said(old, alone), {8: 'doubtful'})
        self.assertIn('others used the cores', '\n'.join(compare.lines(old, alone)))
        self.assertFalse(compare.is_slower([old, alone]))
        self.assertEqual(self.said(results(self.both(*[1e-9] * 3)), results(busy() + busy('store'))), {8: 'slower'})

    def test_what_the_machine_shares_is_no_change_and_the_rest_is_named(self):
        old = results(self.both(1e-9, 1e-9, 1e-9))
        self.assertEqual(self.said(old, results(self.both(2e-9, 2e-9, 2e-9, by_hand=2e-9))), {8: 'same'})
        new = results(self.both(3e-9, 3e-9, 3e-9, by_hand=2e-9))
        self.assertEqual(self.said(old, new), {8: 'slower'})
        self.assertIn('| 1.50 [1.50..1.50] | slower |', '\n'.join(compare.lines(old, new)))
        # Quicker code by hand alone is no slowdown of ours.
        self.assertEqual(self.said(old, results(self.both(1e-9, 1e-9, 1e-9, by_hand=0.5e-9))), {8: 'same'})

    def test_noise_that_both_ways_of_a_round_share_hides_no_change_of_ours(self):
        old = [s for n, t in enumerate((1e-9, 1.3e-9, 1e-9)) for s in (sample(t, number=n), sample(t, way='store', number=n))]
        new = [s for n, t in enumerate((1e-9, 1.3e-9, 1.1e-9)) for s in (sample(2 * t, number=n), sample(t, way='store', number=n))]
        self.assertEqual(self.said(results(old), results(new)), {8: 'slower'})

    def test_a_count_that_changed_is_told_and_one_that_did_not_is_not(self):
        calls = {'row': 'flag', 'mode': 'system calls', 'size': 0, 'unit': 'calls'}
        none, some = results(rounds(0, 0, **calls)), results(rounds(2, 2, **calls))
        self.assertEqual((self.said(none, none), self.said(none, some), self.said(some, none)),
                         ({0: 'same'}, {0: 'slower'}, {0: 'quicker'}))
        self.assertIn('3.00 times fewer', '\n'.join(compare.lines(some, none)))
        self.assertIn('3.00 times more', '\n'.join(compare.lines(none, some)))

    def test_many_runs_are_compared_one_by_one_and_as_a_whole(self):
        runs = [results(rounds(*[t * 1e-9] * 3)) for t in (4, 3, 2)]
        told = '\n'.join(compare.over(runs))
        self.assertIn('1.33 times quicker', told)
        self.assertIn('1.50 times quicker', told)
        self.assertIn('2.00 times quicker', told[told.index('From the first to the last'):])
        self.assertIn('| micro: put_latency, flush, 8 B | 2 | 4.00 ns | 3.00 ns | 2.00 ns | 2.00 times quicker: quicker |', told)

    def test_few_rounds_are_no_proof(self):
        for few, more, said in ((1, 1, 'too few rounds'), (2, 2, 'too few rounds'), (2, 4, 'too few rounds'), (3, 3, 'slower'), (2, 5, 'slower')):
            old, new = results(rounds(*[1e-9] * few)), results(rounds(*[9e-9] * more))
            self.assertEqual(self.said(old, new), {8: said}, (few, more))
            self.assertEqual(said != 'slower', 'they say nothing' in '\n'.join(compare.lines(old, new)))

    def test_beside_code_by_hand_rounds_of_both_placements_count(self):
        old, new = (results([{**s, 'hand_over': [hand] * 2, 'round': 2 * s['round'] + k} for k, (hand, slow) in enumerate(((50e-9, 1), (200e-9, 3)))
                             for s in self.both(*[time * slow] * 2, by_hand=1e-9 * slow)]) for time in (1e-9, 1.2e-9))
        self.assertEqual(self.said(old, new), {8: 'slower'})

    def test_a_gap_that_is_small_beside_the_spread_of_few_rounds_is_noise(self):
        old, near, apart = (results(rounds(*[t * 1e-9 for t in times])) for times in ((1, 1.3, 1.1), (1.5, 1.7, 1.6), (1.8, 1.9, 2)))
        self.assertEqual((self.said(old, near), self.said(old, apart)), ({8: 'same'}, {8: 'slower'}))

    def test_two_runs_of_the_same_program_say_that_nothing_changed(self):
        """A hundred rows, with noise of 10 % from round to round, or with two modes: at most 2 or 6 % seem to have
        changed, since 3 rounds of a row with two modes may all meet the same one."""
        chance = random.Random(3)
        for of, most in ((lambda: chance.lognormvariate(0, 0.1), 2), (lambda: chance.choice((1, 1.3)), 6)):
            for many in (3, 8):
                old, new = (Results(MACHINE, [], [], [sample(1e-9 * of(), number=n, size=8 * (k + 1)) for k in range(100)
                                                      for n in range(many)], []) for _ in range(2))
                changed = [c for c in compare.compare(old, new) if c.said in ('slower', 'quicker')]
                self.assertLessEqual(len(changed), most, many)

    def test_rows_of_one_run_alone_are_counted(self):
        old, new = results(rounds(*[1e-9] * 3)), results(rounds(*[1e-9] * 3, size=64))
        told = '\n'.join(compare.lines(old, new))
        self.assertIn('1 rows are only in the older run.', told)
        self.assertIn('1 rows are only in the newer run.', told)

    def test_the_exit_code_tells_of_a_slowdown(self):
        times = {'quick': 1e-9, 'slow': 2e-9}
        with tempfile.TemporaryDirectory() as place:
            for name, time in times.items():
                results(rounds(*[time] * 3)).write(os.path.join(place, name))

            def code(*names):
                command = [sys.executable, '-B', os.path.dirname(os.path.abspath(__file__)), '--compare', *(os.path.join(place, n) for n in names)]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                self.assertEqual(done.stderr, '')
                return done.returncode

            self.assertEqual((code('quick', 'slow'), code('slow', 'quick')), (1, 0))
            runs = {name: Results.read(os.path.join(place, name)) for name in times}
        for names, slower in ((('quick', 'quick'), False), (('quick', 'slow', 'quick'), False), (('slow', 'quick', 'slow'), True)):
            self.assertEqual(compare.is_slower([runs[name] for name in names]), slower)


class Reporting(unittest.TestCase):
    def test_the_section_is_replaced_and_nothing_else(self):
        text = f'before\n{readme.BEGIN}\nold\n{readme.END}\nafter\n'
        new = readme.rewrite(text, results(rounds(1e-9, 1e-9) + rounds(2e-9, 2e-9, contender='mpich')))
        self.assertTrue(new.startswith('before\n') and new.endswith('\nafter\n'))
        self.assertIn('| put 8 B and flush | 1.00 ns (not decided) |  | 2.00 ns (mpich) |', new)
        self.assertNotIn('old', new)
        self.assertRaises(ValueError, readme.rewrite, 'nothing', results(rounds(1e-9)))

    def test_the_section_says_how_many_rows_fall_short_also_of_those_it_does_not_show(self):
        fine = rounds(1e-9, 1e-9) + rounds(9e-9, 9e-9, contender='mpich')
        bad = [s for row in ('fence', 'barrier') for s in
               rounds(*[4e-9] * 5, row=row, mode='', size=0) + rounds(*[2e-9] * 5, row=row, mode='', size=0, contender='mpich')]
        lines = list(readme.section(results(fine + bad)))
        shown = {title: next(line for line in lines if f'| {title} |' in line) for title in ('fence', 'put 8 B and flush')}
        self.assertIn('(short by 2.00 times) |', shown['fence'])
        self.assertNotIn('short', shown['put 8 B and flush'])
        self.assertFalse(any('barrier' in line for line in lines))
        self.assertIn('2 rows fall short of their targets', ' '.join(lines))
        self.assertIn('0 are not decided', ' '.join(lines))
        open_one = list(readme.section(results(rounds(1e-9, 2e-9) + rounds(4e-9, 4e-9, contender='mpich'))))
        self.assertTrue(any('(not decided) |' in line for line in open_one))
        self.assertLessEqual(max(map(len, lines)), 110)

    def test_each_protocol_has_a_line_and_what_is_too_slow_is_bold(self):
        def of(row, mode, ours, unit='s'):
            shape = {'row': row, 'mode': mode, 'size': 0, 'suite': 'sync', 'unit': unit}
            return rounds(*[ours] * 3, **shape) + rounds(*[1e-8] * 3, way='by hand', **shape)

        fit = of('lock_exclusive', 'mcs', 1e-8) + of('lock_unfairness', 'mcs', 1.5, 'times')
        new = readme.rewrite(f'{readme.BEGIN_PROTOCOLS}{readme.END_PROTOCOLS}\nafter\n',
                             results(fit + of('lock_exclusive', 'bakery', 2e-8) + of('fence', 'tournament', 1e-8)))
        self.assertIn('| lock | exclusive | unfairness |', new)
        self.assertIn('| `mcs` | 10.0 ns (1.00) | 1.50 |', new)
        self.assertIn('| `bakery` | **20.0 ns (2.00)** |  |', new)
        self.assertIn('| `tournament` | 10.0 ns (1.00) |', new)
        self.assertTrue(new.endswith('\nafter\n'))
        self.assertNotIn('signal', new)
        self.assertNotIn('others used', new)
        self.assertIn('others used 50% of the cores', readme.busy([0.5]))

    def test_a_table_has_a_line_for_each_row(self):
        lines = list(table.lines(results(rounds(1e-9, 1e-9) + rounds(2e-9, contender='mpich', mode='lock'))))
        self.assertTrue(any(line.startswith('| put_latency, flush, 8 B | 2 | 1.00 ns') for line in lines))
        self.assertTrue(any('not there yet' in line for line in lines))

    def test_numbers_have_three_digits_and_a_unit(self):
        self.assertEqual(words.seconds(1.234e-6), '1.23 us')
        self.assertEqual(words.seconds(12.34), '12.3 s')
        self.assertEqual(words.size(4096), '4 KiB')
        self.assertEqual(words.amount(1e-6, {'unit': 'B/s', 'bytes': 4096}), '4.10 GB/s')


REFERENCE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'papers', 'reference')


def value(figure, series, x, quantity, amount, parameters='set'):
    return {'type': 'value', 'figure': figure, 'series': series, 'x': x, 'quantity': quantity, 'value': amount, 'unit': 'us',
            'parameters': parameters}


class Papers(unittest.TestCase):
    barrier = next(f for f in papers.FIGURES if f.name == 'barrier')

    def barriers(self, *said):
        printed = paper_judge.read(REFERENCE, 'barrier')
        return paper_judge.reproduce(self.barrier, printed, [value('barrier', name, 48, 'barrier', v) for name, v in said])

    def test_a_value_within_a_quarter_counts_and_one_beyond_is_a_miss_with_a_cause(self):
        got = self.barriers(('rcce', 74.9), ('tsr_back_off', 18.8), ('master_slave', 22.6))
        barriers = [c for c in got.counted() if c.printed.quantity == 'barrier']
        self.assertEqual({c.printed.series: c.holds() for c in barriers},
                         {'rcce': True, 'tsr_back_off': True, 'master_slave': False})
        self.assertEqual([bool(c.cause) for c in barriers], [False, False, True])

    def test_what_no_program_has_said_is_a_miss_and_claims_about_it_are_not_tried(self):
        got = self.barriers(('rcce', 60))
        self.assertEqual(sum(c.holds() for c in got.counted()), 1)
        self.assertEqual([t.holds for t in got.claims], [None] * len(self.barrier.claims))
        self.assertIn('missing: ', '\n'.join(paper_judge.summary([got])))

    def test_what_a_constant_was_set_by_does_not_count(self):
        figure = next(f for f in papers.FIGURES if f.name == 'put_latency')
        got = paper_judge.reproduce(figure, paper_judge.read(REFERENCE, 'put_latency'),
                                    [value('put_latency', 'two_sided', 1, 'latency', 6.4)])
        self.assertEqual([(c.printed.kind, c.printed.basis) for c in got.compared if c.ours], [('calibration', 'rckmpi')])
        self.assertFalse(any(c.holds() for c in got.counted('prediction')))
        self.assertEqual(paper_judge.total([got], 'prediction')[0], (0, len(got.counted('prediction'))))

    def test_stacked_bars_end_at_their_sums_and_the_highest_is_drawn_first(self):
        parts = {'computation': ([(0, 3.0), (1, 4.0)], []), 'data': ([(0, 1.0), (1, 0.5)], [])}
        self.assertEqual(list(paper_plots.on_top_of_each_other(parts).items()),
                         [('data', ([(0, 4.0), (1, 4.5)], [])), ('computation', ([(0, 3.0), (1, 4.0)], []))])

    def test_claims_hold_of_the_papers_own_numbers(self):
        tried = 0
        for figure in papers.FIGURES:
            values = {p.key(): p.value for p in paper_judge.read(REFERENCE, figure.name)}
            for claim in figure.claims:
                holds = paper_judge.try_claim(claim, values).holds
                self.assertIn(holds, (True, None), claim.text)
                tried += holds is not None
        self.assertGreater(tried, 10)

    def test_effects_are_formed_of_the_papers_own_numbers_or_state_one(self):
        formed = 0
        for figure in papers.FIGURES:
            values = {p.key(): p.value for p in paper_judge.read(REFERENCE, figure.name)}
            for effect in figure.effects:
                if effect.printed is None:
                    self.assertTrue(paper_judge.measure(effect, values, values).holds(), effect.text)
                    formed += 1
                elif effect.kind == 'crossing':
                    self.assertLess(*effect.printed)
        self.assertGreater(formed, 30)

    def test_an_effect_needs_the_papers_own_strength(self):
        def strong(kind, printed, ours):
            return paper_judge.measure(papers.Effect('', lambda v: ours, printed, kind), {}, {}).holds()

        self.assertTrue(strong('ratio', 2, 1.75) and strong('ratio', 2, 2.25))
        self.assertFalse(strong('ratio', 2, 1.7) or strong('ratio', 2, 1.1) or strong('ratio', 2, 2.3))
        self.assertTrue(strong('ratio', 1.2, 1.16))
        self.assertFalse(strong('ratio', 1.2, 1.1))  # within 25 % of the number, and half of the effect
        self.assertFalse(strong('ratio', 0.9, 1.1))  # the other way round
        self.assertTrue(strong('difference', 20, 16))
        self.assertFalse(strong('difference', 20, -20))
        self.assertTrue(strong('crossing', (512, 1024), 512))
        self.assertFalse(strong('crossing', (512, 1024), 1024) or strong('crossing', (512, 1024), 256))
        self.assertEqual(papers.last_ahead((1, 2, 4, 8), lambda x: x in (1, 2, 8)), 2)
        self.assertEqual(papers.last_ahead((1, 2), lambda x: False), 0)

    def test_an_effect_of_values_that_nobody_has_printed_is_not_tried_and_not_as_strong(self):
        got = self.barriers(('rcce', 60))
        self.assertEqual([e.holds() for e in got.effects], [None, None])
        self.assertEqual(paper_judge.total([got], 'prediction')[1], (0, 2))

    def test_classes_are_never_added_and_statements_about_ours_are_in_none(self):
        claims = (papers.Claim('a', lambda v: True), papers.Claim('b', lambda v: True, basis='write_hold'),
                  papers.Claim('c', lambda v: True, 'ours'))
        figure = papers.Figure('f', 'F', 'S', '', claims=claims)
        printed = [paper_judge.Printed('s', 1, 'q', 1, 'us', kind, '', 'active')
                   for kind in (*papers.CLASSES_OF_VALUES, 'other source', 'other machine')]
        got = paper_judge.reproduce(figure, printed, [value('f', 's', 1, 'q', 1)])
        self.assertEqual(paper_judge.total([got], 'prediction'), ((1, 1), (0, 0), (1, 1)))
        self.assertEqual(paper_judge.total([got], 'consequence'), ((1, 1), (0, 0), (1, 1)))
        self.assertEqual(paper_judge.total([got], 'calibration'), ((1, 1), (0, 0), (0, 0)))
        self.assertEqual(len(got.claims_of('ours')), 1)
        here = paper_judge.reproduce(papers.Figure('f', 'F', 'S', '', claims=claims, real_time=True), [], [])
        self.assertEqual((len(here.claims_of('this machine')), paper_judge.total([here], 'prediction')[2]), (3, (0, 0)))
        self.assertEqual(got.sixth()[0], 1)

    def test_the_sixth_source_is_scored_by_both_sets_and_mixes_none(self):
        figure = next(f for f in papers.FIGURES if f.name == 'dram_access')
        printed = paper_judge.read(REFERENCE, 'dram_access')
        said = [value('dram_access', p.series, p.x, 'cycles', p.value, 'barrelfish') for p in printed]
        said += [value('dram_access', p.series, p.x, 'cycles by formulas-533', p.value * (1 if p.x else 2), 'formulas-533') for p in printed]
        got = paper_judge.reproduce(figure, printed, said)
        self.assertEqual((got.parameters, got.counted()), (['barrelfish'], []))
        self.assertEqual(got.sixth(), (12, 12, 9))
        self.assertIn('sixth source: 12 of 12 values lie within 25% by the set of parameters that was fitted to it, 9 by',
                      '\n'.join(paper_judge.summary([got])))
        self.assertNotIn('MISS', '\n'.join(line for line in paper_judge.summary([got]) if 'prediction' in line))

    def test_each_reading_is_scored_and_the_first_is_in_use(self):
        figure = next(f for f in papers.FIGURES if f.name == 'barrier')
        got = paper_judge.reproduce(figure, paper_judge.read(REFERENCE, 'barrier'), [
            value('barrier', 'rcce', 48, 'barrier', 60), value('barrier', 'rcce, flags of a bit', 48, 'barrier', 120)])
        self.assertEqual([(s.reading.series, s.within, s.of) for s in got.readings],
                         [('rcce', 1, 1), ('rcce, flags of a bit', 0, 1)])
        self.assertEqual(paper_page.readings_table(got).count('(in use)'), 1)

    def test_a_missed_effect_of_a_papers_summary_stands_beside_the_headline(self):
        figure = next(f for f in papers.FIGURES if f.name == 'automaton')

        def of(messages):
            said = [value('automaton', series, 48, quantity, seconds)
                    for series, communication in (('one_sided', 2), ('two_sided', 2), ('messages', messages))
                    for quantity, seconds in (('computation', 8), ('communication', communication))]
            return paper_judge.reproduce(figure, paper_judge.read(REFERENCE, 'automaton'), said)

        missed = '48 cores: the whole time by messages over that of one-sided is 2 in the paper and 1.05 here'
        self.assertIn(missed, paper_page.words(of(2.5)))
        self.assertIn(missed, paper_page.headlines([of(2.5)]))
        self.assertIn(missed, '\n'.join(paper_judge.summary([of(2.5)])))
        self.assertNotIn('issed', paper_page.words(of(12)) + paper_page.headlines([of(12)]))

    def test_each_calibration_and_consequence_names_its_basis_and_no_prediction_has_one(self):
        names = {c.name for c in paper_model.CHOICES}
        self.assertEqual(len(names), len(paper_model.CHOICES))
        for figure in papers.FIGURES:
            for p in paper_judge.read(REFERENCE, figure.name):
                self.assertIn(p.kind, paper_page.RANKS)
                self.assertEqual(p.basis in names, p.kind in ('calibration', 'consequence', 'other source'), p)
            for said in (*figure.claims, *figure.effects):
                self.assertIn(said.basis, {'', *names})

    def test_each_constant_is_that_of_the_code(self):
        root = os.path.join(os.path.dirname(REFERENCE), '..', '..')
        for choice in paper_model.CHOICES:
            with open(os.path.join(root, choice.where), encoding='utf-8') as file:
                self.assertIn(choice.code, ' '.join(file.read().split()), choice.name)

    def test_figures_that_choices_readings_and_the_list_name_exist(self):
        names = {f.name for f in papers.FIGURES}
        for choice in paper_model.CHOICES:
            self.assertTrue(names.issuperset(choice.moves) or choice.moves == ('all',), choice.name)
        for reading in paper_model.READINGS:
            self.assertIn(reading.figure, names)
        for item in paper_model.LIST:
            self.assertNotEqual(bool(item.figure), bool(item.why), item.item)
            self.assertIn(item.figure, {'', *names})
        self.assertEqual(len({item.paper for item in paper_model.LIST}), 5)
        sixth = {f.name for f in papers.FIGURES if f.other_set}
        self.assertEqual(names - sixth, {item.figure for item in paper_model.LIST if item.figure})

    def test_measurements_in_a_cause_are_those_of_the_run(self):
        def v(series, x, quantity):
            return 1234.0

        for cause in (papers.POSTS_DO_NOT_MEET, papers.SPREADING, papers.LITTLE, papers.PACKETS, papers.MASTER, papers.MASTER_PAUSES,
                      papers.OWN_BUFFER, papers.ONE_LINE, papers.PEAK):
            self.assertRegex(papers.told(cause, v), "1234|1.23e")
        self.assertIn('not known without rcce', papers.told(lambda v: v('rcce', 1, 'q'), paper_judge.looking_up({})))

    def test_a_broadcast_is_compared_for_the_lengths_that_the_run_has(self):
        v = paper_judge.looking_up({(name, lines, quantity): 10 * lines + change for name, change in (('a', 0), ('b', -1), ('c', 0))
                                    for lines in (1, 96) for quantity in ('latency', 'throughput')} |
                                   {('a', 2048, 'latency'): 7, ('a', 2048, 'throughput'): 7})
        self.assertEqual(papers.lengths(v, 'a'), [1, 96, 2048])
        self.assertEqual(papers.each_length(v, 'latency', 'a', 'b'), {1: 9, 96: 959})
        self.assertEqual((papers.behind(v, 'latency', 'b', 'a'), papers.behind(v, 'latency', 'a', 'b')), ([], [1, 96]))
        self.assertEqual((papers.behind(v, 'throughput', 'b', 'a'), papers.behind(v, 'throughput', 'a', 'c')), ([1, 96], [1, 96]))
        self.assertEqual(papers.peak(v, 'b', 'c'), 960)
        with self.assertRaises(papers.Missing):
            papers.lengths(v, 'a', 'd')

    def test_a_calibrated_broadcast_is_no_prediction_and_a_quick_one_misses(self):
        figure = next(f for f in papers.FIGURES if f.name == 'broadcast')
        got = paper_judge.reproduce(figure, paper_judge.read(REFERENCE, 'broadcast'), [
            value('broadcast', 'binomial', 1, 'latency', 21.6), value('broadcast', 'OC-Bcast, k = 7', 1, 'latency', 9)])
        text = '\n'.join(paper_judge.summary([got]))
        self.assertIn('predictions: 0 of 1 printed values', text)
        self.assertIn('calibrations: 1 printed values set a constant', text)
        self.assertIn('HEADLINE MISSED broadcast: 1 line: the latency of the binomial tree over that of OC-Bcast', text)

    def test_contention_follows_from_what_was_set_by_it_but_for_gets_into_the_own_buffer(self):
        figure = next(f for f in papers.FIGURES if f.name == 'contention')
        said = [value('contention', series, n, what, us) for what, slow in zip((*papers.GETS, 'put of a line'), (2.5, 1.5, 5))
                for n in (24, 48) for series, us in (('fastest', 1), ('mean', 1), ('mean, each alone', 1), ('slowest', slow))]
        got = paper_judge.reproduce(figure, [], said)
        self.assertEqual(paper_judge.total([got], 'consequence')[2], (5, 5))
        self.assertEqual(paper_judge.total([got], 'prediction')[2], (0, 2))  # the link was not measured

    def test_a_map_below_its_model_is_near_it_and_a_doubtful_claim_says_so(self):
        figure = next(f for f in papers.FIGURES if f.name == 'map_servers')
        said = [value('map_servers', series + suffix, s, 'throughput', share * (20 if s in (4, 8, 16, 32) else 10) / s)
                for series in ('part_simple', 'lookups of two words') for suffix, share in (('', 0.9), (', model', 1)) for s in range(1, 36)]
        claims = {t.claim.text: t for t in paper_judge.reproduce(figure, [], said).claims}
        self.assertTrue(claims['the model is above the emulation, by at most 12 %'].holds)
        self.assertTrue(claims['the throughput has a peak at 4, 8, 16 and 32 servers, above both neighbours'].holds)
        self.assertIn('doubtful in the thesis: 1 are best here', claims['two servers are best'].why)

    def test_each_reference_is_a_figures_and_no_number_is_there_twice(self):
        names = {f.name for f in papers.FIGURES}
        for file in os.listdir(REFERENCE):
            name = file.removesuffix('.csv')
            self.assertIn(name, names)
            keys = [p.key() for p in paper_judge.read(REFERENCE, name)]
            self.assertEqual(len(keys), len(set(keys)), name)

    def test_the_summary_counts_and_tells_when_sets_of_parameters_are_mixed(self):
        got = self.barriers(('rcce', 60), ('tsr_back_off', 25), ('master_slave', 40))
        text = '\n'.join(paper_judge.summary([got]))
        self.assertIn('predictions: 1 of 2 printed values lie within 25%; 0 of 2 effects are as strong as the paper\'s; 0 of 3 claims hold', text)
        self.assertIn('consequences: 1 of 1 printed values lie within 25%', text)
        self.assertIn('calibrations: 0 printed values set a constant', text)
        self.assertIn('MISS prediction barrier: master_slave, 48, barrier: 18 us; ours 40 us, 2.22 times', text)
        self.assertIn('MISS effect barrier: 48 cores: RCCE over master and slaves: 3.33; ours 1.5', text)
        self.assertNotIn('MIXED', text)
        got.parameters.append('another')
        self.assertIn('MIXED barrier', '\n'.join(paper_judge.summary([got])))

    def test_rows_in_real_time_stand_for_fompis_functions(self):
        rows = judge.judge(rounds(1e-9, 1e-9) + rounds(4e-9, 4e-9, contender='mpich') + rounds(1e-9, size=64))
        got = {(l['series'], l['x']): l['value'] for l in paper_judge.values_of_rows(rows)}
        self.assertEqual({k: round(v, 6) for k, v in got.items()}, {('pgas', 'put'): 1e-3, ('mpich', 'put'): 4e-3})

    def test_what_a_program_of_the_papers_says_is_a_value_and_no_sample(self):
        run = runner.Runner('', '', suites.QUICK, [], Progress(60, io.StringIO()))
        entry = runner.Entry('papers', suites.Part({}, style='paper'), suites.CONTENDERS[0], 'paper', 48)
        line = value('barrier', 'rcce', 48, 'barrier', 66.0)
        run.take(0, entry, launch.Outcome(lines=[line, {'type': 'end'}]))
        self.assertEqual((run.values, run.samples), ([line], []))

    def test_the_papers_programs_are_one_executable_and_fail_one_by_one(self):
        with tempfile.TemporaryDirectory() as place:
            os.mkdir(os.path.join(place, 'bench'))
            with open(os.path.join(place, 'bench', 'paper'), 'w', encoding='utf-8'):
                pass
            run = runner.Runner(place, '', suites.QUICK, [], Progress(60, io.StringIO()))
            parts = [p for p in suites.SUITES['papers'] if p.style == 'paper']
            entries = [runner.Entry('papers', p, suites.CONTENDERS[0], p.programs['ours'], 48) for p in parts]
            self.assertEqual([run.command(e, '', None, '')[1:] for e in entries], [[name, '--quick'] for name in suites.PAPERS])
            run.take(0, entries[0], launch.Outcome(trouble='crashed'))
            self.assertEqual([run.failures.get(e.key(), 0) for e in entries], [1] + [0] * (len(entries) - 1))
            self.assertIn(f'paper {suites.PAPERS[0]}', [note['what'] for note in run.notes.values()])

    def test_pictures_of_a_program_are_kept_and_shown_beside_their_figure_alone(self):
        drawn = {'type': 'picture', 'figure': 'barrier', 'name': 'central', 'svg': "<svg width='1'></svg>"}
        run = runner.Runner('', '', suites.QUICK, [], Progress(60, io.StringIO()))
        entry = runner.Entry('papers', suites.Part({}, style='paper'), suites.CONTENDERS[0], 'paper', 48)
        run.take(0, entry, launch.Outcome(lines=[drawn, {'type': 'end'}]))
        with tempfile.TemporaryDirectory() as place:
            Results(MACHINE, [], [], [], [], run.values).write(os.path.join(place, 'rows.jsonl'))
            self.assertEqual(Results.read(place).values, [drawn])
            text = paper_page.section(self.barriers(('rcce', 66.0)), {}, place, [drawn, {**drawn, 'figure': 'put', 'name': 'other'}])
            self.assertIn('href="paper_barrier_central.svg"', text)
            self.assertEqual(text.count('src="data:image/svg+xml'), 1)
            self.assertNotIn('other', text)
            with open(os.path.join(place, 'paper_barrier_central.svg'), encoding='utf-8') as file:
                self.assertEqual(file.read(), drawn['svg'])

    def test_values_are_kept_and_their_section_says_what_the_paper_says_and_what_we_got(self):
        lines = [value('barrier', 'rcce', 48, 'barrier', 66.0)]
        with tempfile.TemporaryDirectory() as place:
            Results(MACHINE, [], [], [], [], lines).write(os.path.join(place, 'rows.jsonl'))
            self.assertEqual(Results.read(place).values, lines)
        text = paper_page.section(self.barriers(('rcce', 66.0)), {}, '')
        for part in ('The paper:</b> At 48 cores', 'consequences: 1 of 1 printed values', 'predictions: 0 of 2 printed values', '>66<', '>1.10<'):
            self.assertIn(part, text)

    def test_the_words_beside_a_figure_are_made_of_its_numbers(self):
        text = paper_page.words(self.barriers(('rcce', 66.0), ('tsr_back_off', 75.0), ('ours: tournament', 5.04)))
        self.assertNotIn('<b>rcce</b>: 1 of 1', text)  # a consequence
        for part in ('<b>tsr_back_off</b>: 0 of 1 within 25%, ours 3 times', 'farthest off: <b>tsr_back_off</b>, 48 cores, barrier: 75 us for 25 us',
                     'barrier, 48 cores: <b>ours: tournament</b> 5.04, <b>rcce</b> 66, <b>tsr_back_off</b> 75 us'):
            self.assertIn(part, text)

    def test_a_number_is_drawn_where_its_figure_says(self):
        figure = next(f for f in papers.FIGURES if f.name == 'locks')
        printed = paper_judge.read(REFERENCE, 'locks')
        got = paper_judge.reproduce(figure, printed, [value('locks', 'gbh', 48, 'median, 50 % exclusive', 13)])
        median = next(p.value for p in printed if p.key() == ('gbh', 50, 'median'))
        self.assertEqual(paper_plots.points(got, 'median, 50 % exclusive')['gbh'], ([(48, 13)], [(48, median)]))

    def test_of_names_that_have_no_order_the_least_values_are_counted(self):
        figure = next(f for f in papers.FIGURES if f.name == 'fompi')
        said = [value('fompi', s, x, 'time', t) for s, x, t in (('pgas', 'put', 1), ('mpich', 'put', 2), ('pgas', 'get', 1), ('mpich', 'cas', 5))]
        self.assertIn('time, the least of all: <b>pgas</b> at 2 of 3, <b>mpich</b> at 1 of 3',
                      paper_page.words(paper_judge.reproduce(figure, [], said)))

    def test_a_cause_is_said_once_and_referred_to_by_a_letter(self):
        figure = next(f for f in papers.FIGURES if f.name == 'locks')
        printed = paper_judge.read(REFERENCE, 'locks')
        said = [value('locks', p.series, p.x, p.quantity, 9 * p.value) for p in printed if p.series == 'mcs_wp']
        got = paper_judge.reproduce(figure, printed, said)
        text = paper_page.section(got, {}, '')
        missed = [c for c in got.counted() if c.printed.series == 'mcs_wp']
        self.assertGreater(len(missed), 5)
        self.assertEqual(text.count(papers.MCS.replace("'", '&#x27;')), 1)
        letter = text.split('&ensp;' + papers.MCS.replace("'", '&#x27;'))[0][-5]
        self.assertEqual(text.count(f'miss <sup>{letter}</sup>'), len(missed))

    def test_a_series_has_one_colour_in_all_panels_and_the_page_is_written_without_pictures_too(self):
        figure = next(f for f in papers.FIGURES if f.name == 'post_start')
        said = [value('post_start', s, 1, q, 2) for s, q in (('b', 'cycle'), ('a', 'post'), ('b', 'post'))]
        got = paper_judge.reproduce(figure, paper_judge.read(REFERENCE, 'post_start'), said)
        self.assertLess({'a', 'b'}, set(paper_plots.colours(got)))
        with tempfile.TemporaryDirectory() as place, unittest.mock.patch.object(paper_plots, 'draw', side_effect=OSError('no gnuplot')):
            with contextlib.redirect_stderr(io.StringIO()):
                paper_page.write([got, self.barriers(('rcce', 66.0))], MACHINE, place)
            with open(os.path.join(place, 'papers.html'), encoding='utf-8') as page:
                text = page.read()
        claims = sum(c.kind != 'ours' and not c.basis for c in figure.claims)
        for part in ('href="#barrier"', 'id="barrier"', '1 of 1 values', f'0 of {claims}', 'id="choices"', 'id="list"'):
            self.assertIn(part, text)


class Growth(unittest.TestCase):
    RANKS = (64, 256, 1024, 4096)

    def test_constants_logarithms_and_powers_are_told_apart(self):
        def of(value):
            return scale.growth({p: value(p) for p in self.RANKS})

        self.assertEqual(of(lambda p: 5.0 + (p == 4096) * 0.2), 'constant')
        self.assertEqual(of(lambda p: 1.0 + p.bit_length()), 'log p')
        self.assertEqual(of(lambda p: 3.0 * p), 'p^1.00')
        self.assertEqual(of(lambda p: p ** 2 / 7), 'p^2.00')
        self.assertEqual(scale.growth({64: 1.0, 256: 2.0}), '-')

    def test_the_section_has_a_line_for_each_row_and_says_when_there_is_none(self):
        empty = f'{readme.BEGIN_SCALE}{readme.END_SCALE}'
        samples = [sample(1e-6 * p, suite='scale', row='make_window', mode='', size=0, hand_over=0, ranks=p) for p in self.RANKS]
        new = readme.rewrite(empty, results(samples))
        self.assertIn('| virtual time, on ranks | 64 | 256 | 1,024 | 4,096 | grows as |', new)
        self.assertIn('| `make_window` | 64.0 us | 256 us | 1.02 ms | 4.10 ms | p^1.00 |', new)
        with self.assertRaises(ValueError):
            readme.rewrite(empty, results(rounds(1e-9)))


class BetweenNodes(unittest.TestCase):
    @staticmethod
    def of(seconds, mode, way='', **other):
        return [sample(seconds, suite='nodes', row='far_put', mode=mode, way=way, number=i, hand_over=0, **other)
                for i in range(3)]

    def test_each_way_stands_beside_rma_of_its_setting(self):
        samples = self.of(1e-6, 'target waits, MPICH', 'RMA') + self.of(3e-6, 'target waits, MPICH', 'messages') + \
            self.of(4e-6, 'mpi, Open MPI', 'RMA') + self.of(2e-6, 'mpi, Open MPI')
        lines = list(nodes.lines(results(samples)))
        self.assertIn('| put 8 B; target waits | RMA | 1.00 us | - |', lines)
        self.assertIn('|  | messages | 3.00 us (3.00) | - |', lines)
        self.assertIn('| `mpi`: put 8 B, flush | RMA | - | 2.00 us (0.50) |', lines)

    def test_sections_of_suites_that_did_not_run_stay(self):
        both = f'{readme.BEGIN_SCALE}old{readme.END_SCALE} {readme.BEGIN_NODES}old{readme.END_NODES}'
        new = readme.rewrite(both, results(self.of(1e-6, 'target waits, MPICH', 'RMA')))
        self.assertIn(f'{readme.BEGIN_SCALE}old{readme.END_SCALE}', new)
        self.assertIn('| put 8 B; target waits | RMA | 1.00 us |', new)

    def test_a_setting_is_part_of_the_reports_names_and_not_of_the_programs(self):
        setting = next(c for c in suites.CONTENDERS if c.name == 'MPICH')
        names = ['far_put/mpi, MPICH/8', 'far_put/mpi, MPICH tcp/8']
        self.assertEqual(runner.names_in(setting, names), ['far_put/mpi/8'])
        self.assertIsNone(runner.names_in(setting, None))
        self.assertEqual(runner.names_in(suites.CONTENDERS[0], names), names)


class OfKeys(unittest.TestCase):
    def test_a_map_stands_beside_each_other_table_and_by_hand(self):
        samples = [sample(seconds, contender, way, i, 'map_lookup', '', 8, suite='maps') for i in range(3)
                   for seconds, contender, way in ((2e-7, 'pgas', ''), (1e-7, 'pgas', 'two misses'), (6e-7, 'openmp', ''))]
        lines = list(maps.lines(judge.judge(samples)))
        self.assertIn('| lookup of a key at random | 8 B | **200 ns** | 0.50 two misses | 3.00 |', lines)
        new = readme.rewrite(f'{readme.BEGIN_MAPS}{readme.END_MAPS}', results(samples))
        self.assertIn('lookup of a key at random', new)

    def test_a_queue_stands_beside_the_ring_by_hand_for_each_number_of_ranks(self):
        samples = [sample(seconds, 'pgas', way, i, 'queue_each', '', 8, suite='maps', ranks=ranks) for i in range(3)
                   for seconds, way, ranks in ((2e-7, '', 2), (1e-7, 'a mutex', 2), (4e-7, '', 4), (8e-7, 'a mutex', 4))]
        line = '| queue: each rank pushes and pops | 200 ns | 0.50 a mutex | 400 ns | 2.00 a mutex |'
        self.assertIn(line, list(maps.lines_of_others(judge.judge(samples))))
        new = readme.rewrite(f'{readme.BEGIN_CONTAINERS}{readme.END_CONTAINERS}', results(samples))
        self.assertIn(line, new)
        self.assertEqual(list(maps.lines(judge.judge(samples))), [])


class InFlight(unittest.TestCase):
    def test_a_call_stands_beside_hand_overs_and_the_quickest_peer_and_is_bold_if_it_misses_its_target(self):
        samples = [sample(seconds, contender, way, i, 'call', '', 8, suite='async') for i in range(3)
                   for seconds, contender, way in ((3e-7, 'pgas', ''), (1e-7, 'pgas', 'two hand-overs'), (6e-7, 'oshmem', ''))]
        lines = list(asynchronous.lines(judge.judge(samples)))
        self.assertIn('| a call and its value | **300 ns** | 100 ns (two hand-overs): 3.00 | 1.50 | 600 ns (oshmem) |', lines)
        new = readme.rewrite(f'{readme.BEGIN_ASYNC}{readme.END_ASYNC}', results(samples))
        self.assertIn('a call and its value', new)


class ThePage(unittest.TestCase):
    """Layout is what a browser makes of it; these tests hold what keeps the page as narrow as its window."""

    def page_of(self, *runs):
        with tempfile.TemporaryDirectory() as place:
            for number, samples in enumerate(runs):
                run = results(samples)
                run.machine = {**MACHINE, 'date': f'2026-01-0{number + 1}', 'commit': f'c{number}'}
                page.write(run, [], place, history.add(run, place))
            with open(os.path.join(place, 'index.html'), encoding='utf-8') as file:
                return file.read()

    def put(self, time):
        return rounds(*[time] * 5) + rounds(*[1e-9] * 5, way='store') + rounds(*[9e-9] * 5, contender='mpich')

    def test_a_row_folds_out_to_its_picture_history_method_and_limit(self):
        text = self.page_of(self.put(2e-9), self.put(1e-9))
        for title in ('Picture', 'History', 'How it is measured', 'Its limit'):
            self.assertIn(f'<h4>{title}</h4>', text)
        self.assertIn('2026-01-01, c0: 2.00 ns, 2.00 times by hand, 4.50 times ahead, BEHIND', text)
        self.assertIn('2026-01-02, c1: 1.00 ns, 1.00 times by hand, 9.00 times ahead, ok', text)
        self.assertIn('One store or load', text)

    def test_the_history_of_a_row_has_all_runs_also_those_in_the_other_placement(self):
        apart = [{**s, 'hand_over': [200e-9] * 2} for s in self.put(4e-9)]
        text = self.page_of(self.put(2e-9), apart, *([self.put(1e-9)] * 3))
        self.assertIn('2026-01-02, c1: 4.00 ns, cores far, 4.00 times by hand', text)
        self.assertEqual(text.count('<li>2026-01-0'), 5 * text.count('<h4>History</h4>'))
        line = text.split('<polyline points="')[1].split('"')[0]
        self.assertEqual(len(line.split()), 4)  # its line is that of one placement

    def test_counts_of_the_same_operation_stand_beside_its_time(self):
        counts = [{**s, 'suite': 'counts', 'mode': 'instructions', 'unit': 'instructions'}
                  for s in rounds(3, 3) + rounds(1, 1, way='store')]
        self.assertIn('<h4>Counted</h4>instructions: 3, 1 by hand', self.page_of(self.put(1e-9) + counts))
        self.assertNotIn('<h4>Counted</h4>', self.page_of(self.put(1e-9)))

    def test_a_run_that_is_judged_again_is_one_run(self):
        with tempfile.TemporaryDirectory() as place:
            history.add(results(self.put(1e-9)), place)
            self.assertEqual(len(history.add(results(self.put(1e-9)), place)), 1)

    def test_the_page_opens_with_at_most_ten_rows_in_words_before_all_others(self):
        text = self.page_of(self.put(1e-9))
        self.assertEqual(text.count('<details class="open">'), 1)
        self.assertLess(text.index('Write 8 bytes into the memory'), text.index('<h2>All rows'))
        rows = [{**judge.judge(self.put(1e-9))[0], 'row': name, 'mode': '', 'bytes': 0} for name in
                ('fence', 'pscw', 'lock_exclusive', 'lock_shared', 'barrier')]
        rows += [{**rows[0], 'row': name, 'bytes': 8} for name in ('call', 'allreduce', 'map_lookup', 'await_get')]
        rows += [{**rows[0], 'row': name, 'mode': mode} for name, mode in (('heat', 'a'), ('gups', 'a'), ('fft3d', 'a'))]
        self.assertEqual(len(methods.chosen(rows, judge.name_of)), methods.OPENING)

    def test_nothing_is_wider_than_its_window_unless_it_scrolls_by_itself(self):
        text = self.page_of(self.put(1e-9))
        self.assertNotIn('nowrap', page.STYLE)
        self.assertIn('overflow-wrap: anywhere', page.STYLE)
        self.assertIn('min(100%,', page.STYLE)
        self.assertNotRegex(page.STYLE, r'minmax\(\d')  # a column of a fixed least width is wider than a narrow window
        self.assertEqual(text.count('<table'), text.count('<div class="wide"><table'))
        for svg in text.split('<svg ')[1:]:
            self.assertIn('viewBox', svg.split('>')[0])
            self.assertNotIn(' width=', svg.split('>')[0])

    BROWSER = next(filter(None, map(shutil.which, ('chromium', 'chromium-browser', 'google-chrome'))), None)
    # Opens all rows, and tells what is wider than the window but does not scroll by itself.
    PROBE = """<script>onload = () => {
        document.querySelectorAll('details').forEach(d => d.open = true);
        const wide = document.documentElement.clientWidth;
        const bad = [...document.querySelectorAll('body *')].filter(e => !e.closest('.wide') && !e.closest('svg') &&
                                                                    e.getBoundingClientRect().right > wide + 1);
        top.postMessage(`${wide} of ${document.documentElement.scrollWidth}, too wide: ${bad.map(e => e.className)}`, '*');
    }</script></html>"""

    @unittest.skipUnless(BROWSER, 'no browser is installed')
    def test_a_browser_finds_nothing_wider_than_1300_and_400_pixels(self):
        long = [{**s, 'row': 'a row with a rather long name', 'mode': '1024_by_1024_without_any_space_in_it'} for s in self.put(1e-9)]
        text = self.page_of(self.put(2e-9) + long, self.put(1e-9) + long).replace('</html>', self.PROBE)
        frames = ''.join(f'<iframe width={wide} height=900 style="border:0" src=page.html></iframe>' for wide in (1300, 400))
        around = f'<!doctype html><title></title><script>onmessage = e => document.title += `(${{e.data}})`</script>{frames}'
        with tempfile.TemporaryDirectory() as place:
            for name, said in (('page', text), ('around', around)):
                with open(os.path.join(place, f'{name}.html'), 'w', encoding='utf-8') as file:
                    file.write(said)
            done = self.browse([self.BROWSER, '--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--window-size=1500,2000',
                                f'--user-data-dir={place}/profile', '--virtual-time-budget=3000', '--dump-dom', f'file://{place}/around.html'])
        for wide in (1300, 400):
            self.assertIn(f'({wide} of {wide}, too wide: )', done)

    def browse(self, command):
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False).stdout
        except subprocess.TimeoutExpired:
            self.skipTest('the browser said nothing')


class Why(unittest.TestCase):
    SAID = '''
         : 3     Disassembly of section .text:
 Percent |\tSource code & Disassembly of bench_micro for cpu-clock:u (20 samples, percent: local period)
         : 5     000000000000a1b0 <bench::meter::align() const>:
   99.00 :   a1b4:  mov    (%rdi),%rax
 Percent |\tSource code & Disassembly of bench_micro for cpu-clock:u (80 samples, percent: local period)
         : 5     000000000000b1b0 <std::_Function_handler<void (unsigned long), micro<team<int> >::with_flush()::{lambda()#2}>::_M_invoke>:
    0.00 :   b1b0:  nop
    0.00 :   b1b1:  nop
    0.00 :   b1b2:  nop
    0.00 :   b1b3:  nop
    0.00 :   b1b4:  first
   10.50 :   b1c4:  movq   $0x7,(%rdx)
   89.50 :   b1cb:  jne    b1c4 <std::function<void (int)>::call+0x1>
'''

    def test_the_inner_loop_is_listed_and_the_meter_is_not(self):
        told = '\n'.join(why.listing(self.SAID))
        self.assertIn('80% of the samples: way 2 in with_flush()', told)
        self.assertIn('10.5 %  b1c4:  movq   $0x7,(%rdx)', told)
        self.assertIn('jne    b1c4', told)
        self.assertIn('first', told)
        self.assertNotIn('b1b0', told)
        self.assertNotIn('align', told)

    def test_gaps_are_marked(self):
        lines = why.loop_of([(50.0, 'a'), *[(0.0, 'b')] * 20, (50.0, 'c')])
        self.assertEqual(lines.count(None), 1)
        self.assertEqual(len(lines), 2 + 2 * why.AROUND + 1)

    def test_each_program_of_rows_is_asked(self):
        self.assertIn(('bench_sync', 2, ()), why.programs())


class GrowthOnCores(unittest.TestCase):
    def of(self, power, ranks=(2, 4, 8, 16, 32, 64)):
        made = []
        for n in ranks:
            for way, time in (('', 100e-9 * n ** power), ('flags', 50e-9 * n)):
                made += [{**s, 'ranks': n} for s in rounds(*[time] * 3, row='fence', mode='', size=0, way=way)]
        return judge.judge(made)

    def test_the_exponent_is_that_of_the_times(self):
        (title, times, ours, by_hand), = growth.table(self.of(1.5))
        self.assertEqual((title, sorted(times)), ('fence', [2, 4, 8, 16, 32, 64]))
        self.assertAlmostEqual(ours, 1.5)
        self.assertAlmostEqual(by_hand, 1.0)
        self.assertIn('| 1.50 | 1.00 |', '\n'.join(growth.lines(self.of(1.5))))

    def test_ranks_with_a_core_each_are_left_out(self):
        by_ranks, = growth.series(self.of(1)).values()
        by_ranks[2] = {**by_ranks[2], 'ours': {**by_ranks[2]['ours'], 'median': 1e-9}}
        self.assertAlmostEqual(growth.exponents(by_ranks, cores=2)[0], 1)
        self.assertGreater(growth.exponents(by_ranks, cores=1)[0], 1.5)

    def test_two_numbers_of_ranks_are_too_few(self):
        self.assertEqual(growth.table(self.of(1, (2, 64))), [])

    def test_the_page_and_the_suite_have_it(self):
        self.assertIn('Growth with the number of ranks', page.growth_table(self.of(1)))
        ranks = {n for part in suites.SUITES['sync'] if part.programs.get('ours') == 'bench_sync' for n in part.ranks}
        self.assertLessEqual({2, 4, 8, 16, 32, 64}, ranks)


class EveryRow(unittest.TestCase):
    """Each row has a target or says why it has none."""

    NAMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'row_names.txt')

    def names(self):
        with open(self.NAMES, encoding='utf-8') as lines:
            for line in lines:
                if not line.startswith('#'):
                    suite, ranks, name = line.rstrip('\n').split(' ', 2)
                    yield suite, int(ranks), name
        for header in suites.HEADERS:  # each header by itself, as compile_time.sh names it
            yield 'compile_time', 2, f"include {header.removeprefix('pgas/')}, g++/compile_time"

    def test_each_known_row_has_a_target_or_a_reason_and_a_limit(self):
        for suite, ranks, name in self.names():
            target = suites.target_of(name, ranks)
            with self.subTest(suite=suite, ranks=ranks, name=name):
                self.assertTrue(target.raw or target.ahead or notebook.reason_of(suite, name, ranks))
                self.assertTrue(notebook.limit_of(name))

    def test_each_count_on_the_chip_stands_beside_the_fewest(self):
        counted = [(n, name) for suite, n, name in self.names() if suite == 'counts' and '/SCC, ' in name]
        self.assertEqual({name.split(', ')[1].rsplit('/', 1)[0] for _, name in counted}, {'lines', 'drops', 'flushes of a cache'})
        for ranks, name in counted:
            self.assertEqual(suites.target_of(name, ranks).raw, 1.0, name)
        none = {'suite': 'counts', 'row': 'fence', 'mode': 'SCC, flushes of a cache', 'unit': 'flushes', 'ranks': 4}
        judged = [judge.judge(rounds(many, many, **none) + rounds(0, 0, way='fewest', **none))[0] for many in (0, 1)]
        self.assertEqual([row['verdict'] for row in judged], ['ok', 'BEHIND'])

    def test_each_reason_and_each_limit_is_that_of_a_row(self):
        known = list(self.names())
        for of, names, least, most, why in notebook.REASONS:
            self.assertTrue(any(notebook.reason_of(suite, name, ranks) == why for suite, ranks, name in known), (of, names))
        for names, text in notebook.LIMITS:
            self.assertTrue(any(notebook.limit_of(name) == text for _, _, name in known), names)

    def test_a_row_without_both_is_counted(self):
        unknown = judge.judge(rounds(1e-9, row='new', mode='', size=0))
        self.assertIn('1 of them do not', words.counts(unknown))
        self.assertIn('nobody has said why', words.asked(unknown[0]))

    def test_a_row_without_a_verdict_says_what_keeps_it_open(self):
        wide = judge.judge(rounds(1e-9, 1.3e-9, 1.1e-9) + rounds(*[1e-9] * 3, way='store'))[0]
        self.assertEqual(words.why_open(wide), 'beside code by hand 3 rounds say 1 to 1.3, and the middle is 2.9% below the bound of 1.13')
        once = judge.judge(rounds(1e-9) + rounds(4e-9, contender='mpich'))[0]
        self.assertEqual(words.why_open(once), 'beside the quickest peer there is one pair of rounds')
        self.assertIn('Not decided: beside the quickest peer', page.line_of(once))
        busy = judge.judge([sample(t, number=n, way=way, others=0.5) for n, t in enumerate((1e-9, 1.3e-9)) for way in ('', 'store')])[0]
        self.assertEqual(words.why_open(busy), 'others used the cores in 100% of the samples')

    def test_a_target_without_anything_beside_says_so(self):
        alone = judge.judge(rounds(1e-9, row='put_target_busy', mode='flush'))[0]
        self.assertIn('none of that ran', words.asked(alone))


class Together(unittest.TestCase):
    @staticmethod
    def of(seconds, row, size, way='', contender='pgas', mode='', **other):
        return [sample(seconds, contender, way, i, row, mode, size, suite='collectives', **other) for i in range(3)]

    def test_a_collective_stands_beside_the_quickest_peer_and_is_bold_if_behind(self):
        samples = self.of(1e-6, 'bcast', 8) + self.of(2e-6, 'bcast', 8, contender='mpich') + self.of(3e-6, 'bcast', 8, contender='oshmem') + \
            self.of(4e-6, 'bcast', 4096) + self.of(2e-6, 'bcast', 4096, contender='oshmem')
        lines = list(collectives.lines(judge.judge(samples)))
        self.assertIn('| bcast | 1.00 us (2.00 mpich) | **4.00 us (0.50 oshmem)** |', lines)

    def test_a_started_form_stands_beside_the_blocking_one_and_shows_its_overlap(self):
        samples = self.of(1.2e-6, 'ibcast', 8) + self.of(1e-6, 'ibcast', 8, 'blocking') + \
            self.of(30, 'ibcast_exposed', 8, unit='%') + self.of(90, 'ibcast_exposed', 8, contender='mpich', unit='%')
        lines = list(collectives.lines(judge.judge(samples)))
        self.assertIn('| ibcast | **1.20** |', lines)
        self.assertIn('| ibcast | 70 % (10 % mpich) |', lines)

    def test_the_section_has_a_line_for_each_algorithm_and_the_quickest_is_bold(self):
        empty = f'{readme.BEGIN_COLLECTIVES}{readme.END_COLLECTIVES}'
        samples = self.of(1e-6, 'bcast', 8, mode='direct') + self.of(2e-6, 'bcast', 8, mode='ring')
        new = readme.rewrite(empty, results(samples))
        self.assertIn('| bcast | `direct` | **1.00 us** |', new)
        self.assertIn('| bcast | `ring` | 2.00 us |', new)
        with self.assertRaises(ValueError):
            readme.rewrite(empty, results(rounds(1e-9)))

    def test_a_picture_has_one_number_of_ranks_or_one_size(self):
        rows = judge.judge(self.of(1e-6, 'bcast', 8) + self.of(2e-6, 'bcast', 4096) + self.of(3e-6, 'bcast', 8, ranks=4))
        self.assertEqual([r['bytes'] for r in plots.rows_of(rows, 'bcast', '', 'bytes')], [8, 4096])
        self.assertEqual([r['ranks'] for r in plots.rows_of(rows, 'bcast', '', 'ranks')], [2, 4])
        self.assertEqual(plots.rows_of(rows, 'reduce', '', 'bytes'), [])

    def test_rows_that_a_peer_had_no_time_for_are_one_note(self):
        notes = [{'suite': 's', 'contender': 'mpich', 'ranks': 4, 'what': what, 'why': 'over'} for what in ('a', 'b', 'c')]
        self.assertEqual(list(words.gathered(notes)), [('s', 'mpich', 4, '3 rows, a to c', 'over')])
        self.assertEqual(list(words.gathered(notes[:1])), [('s', 'mpich', 4, 'a', 'over')])


class Launching(unittest.TestCase):
    def test_lines_are_read_and_noise_is_not(self):
        got = launch.run(['sh', '-c', 'echo warning; echo \'{"type":"x"}\'; echo "{broken"'], 10)
        self.assertEqual((got.lines, got.trouble), ([{'type': 'x'}], ''))

    def test_a_crash_a_hang_and_an_absence_are_told(self):
        self.assertIn('signal 9', launch.run(['sh', '-c', 'kill -9 $$'], 10).trouble)
        self.assertIn('exit code 3: why', launch.run(['sh', '-c', 'echo why >&2; exit 3'], 10).trouble)
        self.assertIn('did not end', launch.run(['sh', '-c', 'sleep 60 & wait'], 0.3).trouble)
        self.assertIn('said nothing', launch.run(['sh', '-c', 'echo; sleep 60 & wait'], 60, silence=0.3).trouble)
        self.assertEqual(launch.run(['/nowhere/at/all'], 10).trouble, 'is not installed')

    def test_the_time_of_ranks_for_which_a_launcher_does_not_wait_is_ours(self):
        rank = 'import time\nwhile time.process_time() < 0.3: pass'
        before = machine.own_seconds()
        launch.run(['sh', '-c', f'{sys.executable} -c "{rank}" & exec sleep 2'], 10)
        self.assertGreater(machine.own_seconds() - before, 0.3)


if __name__ == '__main__':
    unittest.main()
