# SPDX-License-Identifier: BSL-1.0
"""Runs the programs of the suites in turns, round by round, until the ratios are narrow or the time is
over."""

import os
import shutil
from dataclasses import dataclass

import counting
import judge
import launch
import machine
import suites


# The number of restarts of a program in one turn, after it has crashed or hung in a row.
MOST_RESTARTS = 5
# The number of rounds that measure all rows.
SURE_FROM = 3
# A row that is measured alone or among few has so many times the usual time.
LONGER = 2


@dataclass(frozen=True)
class Entry:
    """A program that takes part in a contest."""

    suite: str
    part: suites.Part
    contender: suites.Contender
    program: str
    ranks: int

    def name(self):
        """The papers' programs are one executable, and the first argument is the name of each."""
        return ' '.join((self.program, *self.part.arguments)) if self.part.style == 'paper' else self.program

    def key(self):
        return (self.name(), self.contender.name, self.ranks)


@dataclass
class Story:
    """The progress of a program through its rows."""

    last: str = ''  # the row that began last
    told: bool = False  # whether that row has ended
    ended: bool = False  # whether the program has ended

    def hear(self, line):
        if line['type'] == 'begin':
            self.last, self.told = judge.name_of(line), False
        elif line['type'] == 'sample':
            self.last, self.told = judge.name_of(line), True
        elif line['type'] == 'end':
            self.ended = True


class Quiet:
    """Waits for a short time until other programs leave the cores alone."""

    def __init__(self, effort, look=machine.look):
        self.effort = effort
        self.look = look
        self.seen = 0.0  # the last measured share of the cores that other programs used
        self.waited = 0.0

    def wait(self, progress):
        """Returns when the machine is quiet, or when this contest or all of them have waited long enough."""
        started = progress.elapsed()
        most = min(suites.LONGEST_WAIT, progress.seconds * suites.WAITING - self.waited)
        while progress.elapsed() - started < most:
            self.seen = self.look()
            if self.seen <= suites.QUIET:
                break
            progress.step(None, f'waiting for quiet: others use {self.seen:.0%} of the cores')
        self.waited += progress.elapsed() - started


class Runner:
    def __init__(self, build, root, effort, names, progress):
        self.build = build
        self.root = root
        self.effort = effort
        self.progress = progress
        self.samples = []
        self.values = []  # the values of the papers' programs, in virtual time
        self.quiet = Quiet(effort)
        self.notes = {}  # (program, contender, ranks, what) -> a line about a program that is missing, crashed or hung
        self.costs = {}  # (suite, contender, ranks) -> seconds
        self.failures = {}  # (program, contender, ranks) -> failures outside of any row
        self.told = {}  # (program, contender, ranks) -> the names of its rows
        self.breakdowns = {}  # ((program, contender, ranks), row) -> crashes and hangs in it
        self.parts = suites.parts_of(names, effort.quick)

    def run(self):
        """Runs all rounds, as long as time permits and a verdict is open."""
        longest = 0.0
        for number in range(self.effort.most_rounds):
            if self.progress.left() < (longest if number >= self.effort.fewest_rounds else 1):
                break
            only = self.open_rows(number)
            if only is not None and not only:
                break
            before = self.progress.elapsed()
            self.round(number, only)
            longest = max(longest, self.progress.elapsed() - before) if only is None else \
                self.progress.elapsed() - before
        return self.samples

    def longest(self, how_many):
        """The most expensive parts of the run, in words."""
        most = sorted(self.costs.items(), key=lambda item: -item[1])[:how_many]
        return ', '.join(f'{suite} {name} {ranks} ranks {seconds:.0f} s' for (suite, name, ranks), seconds in most)

    def round(self, number, only):
        for suite, part in self.parts:
            if part.rounds and number >= part.rounds:
                continue
            for ranks in part.ranks:
                names = None
                if only is not None:
                    names = only.get((suite, ranks))
                    if not names:
                        continue
                self.contest(number, suite, part, ranks, names)

    def contest(self, number, suite, part, ranks, names):
        """Runs ours and each peer, one after the other, beginning with another one in each round."""
        taking_part = [c for c in suites.CONTENDERS if c.family in part.programs]
        turn = number % len(taking_part)
        if part.is_timed():
            self.quiet.wait(self.progress)
        for contender in taking_part[turn:] + taking_part[:turn]:
            entry = Entry(suite, part, contender, part.programs[contender.family] + contender.build, ranks)
            wanted = None if names is None else self.mine(entry, names)
            if wanted == []:
                continue
            self.progress.step(number, f'{suite}, {contender.name}, {ranks} ranks')
            self.go_on(number, entry, wanted)

    def go_on(self, number, entry, names):
        """Runs a program. If it breaks down in a row, runs it again with the rows after that one."""
        after = ''
        for _ in range(MOST_RESTARTS):
            if self.failures.get(entry.key(), 0) >= 2 or self.progress.left() <= 0:
                return
            outcome = self.start(entry, names, after)
            cost = (entry.suite, entry.contender.name, entry.ranks)
            self.costs[cost] = self.costs.get(cost, 0) + outcome.seconds
            story = self.take(number, entry, outcome)
            if not outcome.trouble or story.ended or story.last in ('', after):
                return
            after = story.last

    def start(self, entry, names, after):
        with launch.shared_memory_file() as shared:
            command = self.command(entry, shared.name, names, after)
            if not command:
                return launch.Outcome(trouble='is not installed')
            if entry.part.style == 'counts':
                return counting.run(command[0], self.effort.timeout)
            scripted = entry.part.style == 'script'
            timeout = suites.PAPER_TIMEOUT if entry.part.style in ('paper', 'scale') else self.effort.timeout
            return launch.run(command, min(timeout, self.progress.left() + 10),
                              {'JSON': '/dev/stdout', 'COUNT': '1'} if scripted else None,
                              self.effort.silence if entry.part.style == 'meter' and not entry.part.slow else None)

    def command(self, entry, shared, names, after):
        contender, part = entry.contender, entry.part
        path = os.path.join(self.build, 'bench', entry.program)
        if part.style == 'script':
            path = os.path.join(self.root, 'bench', entry.program)
        if not os.path.exists(path) or (contender.launch and not shutil.which(contender.launch[0])):
            return None
        yields = '1' if entry.ranks > (os.cpu_count() or 1) else '0'
        numbers = {'ranks': entry.ranks, 'processes': entry.ranks + part.agents, 'yield': yields}
        command = [word.format(**numbers) for word in contender.launch] + [path]
        command += [word.format(root=self.root) for word in part.arguments]
        if part.style == 'meter':
            row_seconds = min(self.effort.row_seconds, part.row_seconds or self.effort.row_seconds)
            row_seconds *= LONGER if names is not None else 1
            command += ['--ranks', str(entry.ranks), '--row-seconds', str(row_seconds), '--shared', shared]
            command += [word for name in names or () for word in ('--only', name)]
            command += [word for name in self.hopeless(entry) for word in ('--skip', name)]
            command += ['--after', after] if after else []
            limit = part.seconds * (1 if contender.kind == 'peer' else 2)
            command += ['--seconds', f'{limit:g}'] if limit else []
        if self.effort.quick and part.style in ('meter', 'harness', 'paper'):
            command += ['--quick']
        if part.style == 'harness':
            command += ['--json', '/dev/stdout']
        if part.style == 'scale':
            command += ['--ranks', str(entry.ranks)]
        return command

    def hopeless(self, entry):
        """Rows in which this program has broken down twice."""
        return [row for key, row in self.breakdowns if key == entry.key() and self.breakdowns[key, row] >= 2]

    def take(self, number, entry, outcome):
        """Keeps the output of a program, and returns its progress."""
        others = self.quiet.seen if outcome.others is None else outcome.others
        is_setting = entry.contender.kind == 'setting'
        where = {'suite': entry.suite, 'contender': 'pgas' if is_setting else entry.contender.name, 'round': number,
                 'others': others if entry.part.is_timed() else 0}
        story = Story()
        for line in outcome.lines:
            story.hear(line)
            if line['type'] == 'sample':
                mode = [line['mode']] * bool(line['mode']) + [entry.contender.name] * is_setting
                self.samples.append({**line, **where, 'ranks': entry.ranks, 'mode': ', '.join(mode)})
                self.tell(entry, line)
            elif line['type'] == 'row':
                self.samples.extend({**sample, **where} for sample in from_harness(line, entry.ranks))
                self.tell(entry, self.samples[-1])
            elif line['type'] in ('value', 'picture'):
                self.values.append(line)
            elif line['type'] == 'absent':
                self.note(entry, judge.name_of(line), line['why'])
        if entry.part.style == 'job' and not outcome.trouble:
            self.samples.append({'type': 'sample', 'row': 'job', 'mode': '', 'bytes': 0, 'unit': 's',
                                 'ranks': entry.ranks, 'way': '', 'hand_over': [], 'seconds': [outcome.seconds],
                                 **where})
            self.tell(entry, self.samples[-1])
        if outcome.trouble:
            self.blame(entry, story, outcome.trouble)
        return story

    def tell(self, entry, sample):
        self.told.setdefault(entry.key(), set()).add(judge.name_of(sample))

    def blame(self, entry, story, trouble):
        """Blames a breakdown on the row in which it happened, or on the program if it happened outside of any
        row."""
        if story.ended:  # nothing is lost
            self.note(entry, entry.name(), f'{trouble} at its end, after all rows')
        elif story.last and not story.told and self.progress.left() <= 0:
            pass  # we have ended it
        elif story.last and not story.told:
            row = entry.key(), story.last
            self.breakdowns[row] = self.breakdowns.get(row, 0) + 1
            self.note(entry, story.last, trouble)
        else:
            self.failures[entry.key()] = self.failures.get(entry.key(), 0) + (2 if trouble == 'is not installed' else 1)
            self.note(entry, entry.name(), trouble + (f' after {story.last}' if story.last else ''))

    def note(self, entry, what, why):
        self.notes.setdefault((*entry.key(), what), {
            'type': 'note', 'suite': entry.suite, 'contender': entry.contender.name, 'ranks': entry.ranks,
            'what': what, 'why': why})

    def open_rows(self, number):
        """The rows that this round measures: (suite, ranks) -> {name: contenders beside ours}. None: all rows.
        The first rounds measure all. Up to `fewest_rounds`, rows are left out whose ratios are far from their
        targets, and rows without a target. Then only those rows go on whose verdict is open."""
        if number < SURE_FROM:
            return None
        rows = {}
        for row in judge.judge(self.samples):
            sides = judge.open_sides(row, far=number < self.effort.fewest_rounds)
            if sides:
                beside = judge.near_the_best(row) if 'ahead' in sides else set()
                rows.setdefault((row['suite'], row['ranks']), {})[judge.name_of(row)] = beside
        return rows

    def mine(self, entry, rows):
        """The names of those rows that this program has, and whose verdict needs it."""
        told = self.told.get(entry.key(), set())
        needed = [name for name, beside in rows.items() if entry.contender.kind != 'peer' or entry.contender.name in beside]
        return [name for name in names_in(entry.contender, needed) if name in told]


def names_in(contender, names):
    """The names of rows as a contender's program has them. A setting's name is part of the report's rows only."""
    if names is None or contender.kind != 'setting':
        return names
    end = f', {contender.name}/'
    return [name.replace(end, '/') for name in names if end in name]


def from_harness(line, ranks):
    """Makes samples of a row of bench/harness.hpp, which compares in its own process."""
    one_way = line.get('hand_over_s', {}).get('median', 0)
    base = {'type': 'sample', 'row': line['row'], 'mode': line['program'], 'bytes': 0, 'unit': 's',
            'ranks': line.get('ranks', ranks), 'hand_over': [one_way] if one_way else []}
    if line.get('target'):
        base['target'] = line['target']

    def values(s):
        return [s[k] for k in ('p10', 'median', 'p90') if k in s]

    yield {**base, 'way': '', 'seconds': values(line['ours_s'])}
    for name, s in line['baselines'].items():
        yield {**base, 'way': name, 'seconds': values(s)}


def contenders_line(names):
    """Each library with its version and settings."""
    families = {family for name in names for part in suites.SUITES[name] for family in part.programs}
    for c in suites.CONTENDERS:
        if c.family in families:
            yield {'type': 'contender', 'name': c.name, 'kind': c.kind, 'setting': c.setting,
                   'version': machine.first_line(c.version) if c.version else ''}
