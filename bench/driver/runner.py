# SPDX-License-Identifier: BSL-1.0
"""Runs the programs of the suites in turns, round by round, until the ratios are narrow or the time is
over."""

import concurrent.futures
import os
import random
import shutil
from dataclasses import dataclass

import counting
import judge
import launch
import machine
import schedule
import suites


# The number of restarts of a program in one turn, after it has crashed or hung in a row.
MOST_RESTARTS = 5
CORES = os.cpu_count() or 1


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
        self.told = {}  # (program, contender, ranks), arguments -> the names of its rows
        self.breakdowns = {}  # ((program, contender, ranks), row) -> crashes and hangs in it
        self.contests = schedule.contests_of(suites.parts_of(names, effort.quick))
        self.lap = 0  # the whole round, or their number while open rows go on
        self.judged = {}  # (suite, ranks) -> the number of its samples at that time, and its rows

    def run(self):
        """Measures all rows in a few rounds. Then those with an open verdict go on as long as time permits, but for
        the time of parts that come last."""
        for self.lap in range(schedule.SURE_FROM):
            for contest in self.contests:
                if self.lap < contest.sure_from() and not contest.part.last:
                    self.whole(contest)
        self.lap = schedule.SURE_FROM
        self.settle(self.kept())
        self.last()
        self.settle(1)
        return self.samples

    def kept(self):
        """The seconds to keep for parts that come last: for each as much as the cheapest of its style took."""
        seconds = 0.0
        for last in self.contests:
            if last.part.last:
                seconds += min((c.whole for c in self.contests if c.part.style == last.part.style and c.number), default=0)
        return 1 + seconds / CORES

    def last(self):
        """Runs the parts that come last, one on each core: they tell processor time, and nothing judges them."""
        entries = [entry for contest in self.contests if contest.part.last for entry in self.taking_part(contest)]

        def start(entry):
            return self.start(entry, None, '') if self.progress.left() > 0 else None

        with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
            for entry, outcome in zip(entries, pool.map(start, entries)):
                self.progress.step(None, f'{entry.suite}, {entry.ranks} ranks')
                if outcome:
                    outcome.others = 0  # the other one is ours
                    self.keep(0, entry, outcome)

    def settle(self, kept):
        """Measures rows with an open verdict until all are decided, or until so many seconds are left."""
        while chosen := schedule.choose(self.contests, self.open_rows, self.progress.left() - kept, self.effort.most_rounds):
            contest, rows = chosen
            beside = {name: judge.near_the_best(row) if 'ahead' in sides else set() for name, (row, sides) in rows.items()}
            contest.again.append(self.contest(contest, beside, beside))

    def whole(self, contest):
        """Measures all rows of ours, and of other libraries those that verdicts need."""
        beside = schedule.peers_needed(self.rows_of(contest), contest.number)
        contest.whole = self.contest(contest, None, beside)
        contest.rows = max(1, len(self.told_by_ours(contest)))

    def longest(self, how_many):
        """The most expensive parts of the run, in words."""
        most = sorted(self.costs.items(), key=lambda item: -item[1])[:how_many]
        return ', '.join(f'{suite} {name} {ranks} ranks {seconds:.0f} s' for (suite, name, ranks), seconds in most)

    def taking_part(self, contest):
        """Ours and each peer, in an order that is drawn for each round, so that none always follows the same one."""
        entries = [entry_of(contest, c) for c in suites.CONTENDERS if c.family in contest.part.programs]
        random.Random(f'{contest.suite} {contest.ranks} {contest.number}').shuffle(entries)
        return entries

    def contest(self, contest, ours, peers):
        """Runs ours and each peer, one after the other, and returns the seconds without those of waiting. `ours` and
        `peers`: {name: the other libraries that its verdict needs}, or None for all rows."""
        if contest.part.is_timed():
            self.quiet.wait(self.progress)
        started = self.progress.elapsed()
        for entry in self.taking_part(contest):
            only = peers if entry.contender.kind == 'peer' else ours
            wanted = None if only is None else self.mine(entry, only)
            if wanted == []:
                continue
            self.progress.step(self.lap, f'{entry.suite}, {entry.contender.name}, {entry.ranks} ranks')
            self.go_on(contest.number, entry, wanted)
        contest.number += 1
        return self.progress.elapsed() - started

    def go_on(self, number, entry, names):
        """Runs a program. If it breaks down in a row, runs it again with the rows after that one."""
        after = ''
        for _ in range(MOST_RESTARTS):
            if self.failures.get(entry.key(), 0) >= 2 or self.progress.left() <= 0:
                return
            outcome = self.start(entry, names, after)
            story = self.keep(number, entry, outcome)
            if not outcome.trouble or story.ended or story.last in ('', after):
                return
            after = story.last

    def keep(self, number, entry, outcome):
        """Takes the output of a program, and counts its time."""
        cost = (entry.suite, entry.contender.name, entry.ranks)
        self.costs[cost] = self.costs.get(cost, 0) + outcome.seconds
        return self.take(number, entry, outcome)

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
        yields = '1' if entry.ranks > CORES else '0'
        numbers = {'ranks': entry.ranks, 'processes': entry.ranks + part.agents, 'yield': yields}
        command = [word.format(**numbers) for word in contender.launch] + [path]
        command += [word.format(root=self.root) for word in part.arguments]
        if part.style == 'meter':
            row_seconds = min(self.effort.row_seconds, part.row_seconds or self.effort.row_seconds)
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
        self.told.setdefault((entry.key(), entry.part.arguments), set()).add(judge.name_of(sample))

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

    def rows_of(self, contest):
        """The rows of a suite for that number of ranks, judged as of now."""
        where = contest.suite, contest.ranks
        samples = [s for s in self.samples if (s['suite'], s['ranks']) == where]
        if self.judged.get(where, (None,))[0] != len(samples):
            self.judged[where] = len(samples), judge.judge(samples)
        return self.judged[where][1]

    def told_by_ours(self, contest):
        """The rows of ours in this part: (the setting, its name)."""
        return {(entry.contender.name, name) for entry in self.taking_part(contest) if entry.contender.kind != 'peer'
                for name in self.told_by(entry)}

    def open_rows(self, contest):
        """{name: (row, open sides)} of the rows of this part whose verdict is open. While few rounds are there, a
        verdict also counts as open if the ratio is near the target."""
        entries = [entry for entry in self.taking_part(contest) if entry.contender.kind != 'peer']
        found = {}
        for row in self.rows_of(contest):
            sides = judge.open_sides(row, far=contest.number < self.effort.fewest_rounds)
            name = judge.name_of(row)
            if sides and any(self.mine(entry, {name: ()}) for entry in entries):
                found[name] = row, sides
        return found

    def told_by(self, entry):
        return self.told.get((entry.key(), entry.part.arguments), set())

    def mine(self, entry, rows):
        """The names of those rows that this program has, and whose verdict needs it. One that has broken down once
        in a row tries it again."""
        is_peer = entry.contender.kind == 'peer'
        needed = [name for name, beside in rows.items() if not is_peer or entry.contender.name in beside]
        found = [name for name in names_in(entry.contender, needed) if name in self.told_by(entry)]
        once = [row for (key, row), times in self.breakdowns.items() if key == entry.key() and times == 1] if is_peer else []
        return found + [name for name in once if name in rows and name not in found]


def entry_of(contest, contender):
    """The program of a contender in a contest."""
    return Entry(contest.suite, contest.part, contender, contest.part.programs[contender.family] + contender.build, contest.ranks)


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
