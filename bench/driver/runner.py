# SPDX-License-Identifier: BSL-1.0
"""Runs the programs of the suites in turns, round by round, until the ratios are narrow or the time is over."""

import os
import shutil

import judge
import launch
import machine
import suites


class Runner:
    def __init__(self, build, root, compiler, effort, names, progress):
        self.build = build
        self.root = root
        self.compiler = compiler
        self.effort = effort
        self.progress = progress
        self.samples = []
        self.notes = {}  # (suite, contender, ranks, what) -> a line about what is not there, crashed or hung
        self.costs = {}  # (suite, contender, ranks) -> seconds
        self.given_up = {}  # (program, contender, ranks) -> how often it has failed
        self.parts = [(name, part) for name in names for part in suites.SUITES[name]
                      if effort.quick is False or not part.full_only]

    def run(self):
        """All rounds. The first `fewest_rounds` measure all; then only what is not decided yet."""
        longest = 0.0
        for number in range(self.effort.most_rounds):
            if number > 0 and self.progress.left() < longest:
                break
            only = None
            if number >= self.effort.fewest_rounds:
                only = self.undecided()
                if not only:
                    break
            before = self.progress.elapsed()
            self.round(number, only)
            longest = max(longest, self.progress.elapsed() - before) if only is None else \
                self.progress.elapsed() - before
        return self.samples

    def longest(self, how_many):
        """Where the time went, in words."""
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
        """Ours and each peer, one after the other, another one first in each round."""
        taking_part = [c for c in suites.CONTENDERS if c.family in part.programs]
        turn = number % len(taking_part)
        for contender in taking_part[turn:] + taking_part[:turn]:
            program = part.programs[contender.family] + contender.build
            if self.given_up.get((program, contender.name, ranks), 0) >= 2 or self.progress.left() <= 0:
                continue
            self.progress.step(number, f'{suite}, {contender.name}, {ranks} ranks')
            with launch.shared_memory_file() as shared:
                command = self.command(contender, part, program, ranks, shared.name, names)
                outcome = self.start(command, part)
            cost = (suite, contender.name, ranks)
            self.costs[cost] = self.costs.get(cost, 0) + outcome.seconds
            self.take(number, suite, part, contender, ranks, program, outcome)

    def start(self, command, part):
        if not command:
            return launch.Outcome(trouble='is not installed')
        environment = {'JSON': '/dev/stdout', 'COUNT': '1'} if part.style == 'script' else None
        return launch.run(command, min(self.effort.timeout, self.progress.left() + 10), environment)

    def command(self, contender, part, program, ranks, shared, names):
        path = os.path.join(self.build, 'bench', program)
        if part.style == 'script':
            path = os.path.join(self.root, 'bench', part.programs['ours'])
        if not os.path.exists(path) or (contender.launch and not shutil.which(contender.launch[0])):
            return None
        yields = '1' if ranks > (os.cpu_count() or 1) else '0'
        command = [word.format(ranks=ranks, **{'yield': yields}) for word in contender.launch] + [path]
        command += [word.format(root=self.root, compiler=self.compiler) for word in part.arguments]
        if part.style == 'meter':
            command += ['--ranks', str(ranks), '--row-seconds', str(self.effort.row_seconds), '--shared', shared]
            for name in names or ():
                command += ['--only', name]
        if self.effort.quick and part.style in ('meter', 'harness'):
            command += ['--quick']
        if part.style == 'harness':
            command += ['--json', '/dev/stdout']
        return command

    def take(self, number, suite, part, contender, ranks, program, outcome):
        where = {'suite': suite, 'contender': contender.name, 'round': number}
        last, ended = '', False
        for line in outcome.lines:
            ended = ended or line['type'] == 'end'
            if line['type'] == 'sample':
                self.samples.append({**line, **where})
                last = judge.name_of(line)
            elif line['type'] == 'row':
                self.samples.extend({**sample, **where} for sample in from_harness(line, ranks))
            elif line['type'] == 'absent':
                self.note(where, ranks, judge.name_of(line), line['why'])
        if part.style == 'job' and not outcome.trouble:
            self.samples.append({'type': 'sample', 'row': 'job', 'mode': '', 'bytes': 0, 'unit': 's', 'ranks': ranks,
                                 'way': '', 'hand_over': [], 'seconds': [outcome.seconds], **where})
        if outcome.trouble and ended:  # nothing is lost
            self.note(where, ranks, program, f'{outcome.trouble} at its end, after all rows')
        elif outcome.trouble:
            key = (program, contender.name, ranks)
            hopeless = 2 if outcome.trouble == 'is not installed' else 1
            self.given_up[key] = self.given_up.get(key, 0) + hopeless
            self.note(where, ranks, program, outcome.trouble + (f' after {last}' if last else ''))

    def note(self, where, ranks, what, why):
        key = (where['suite'], where['contender'], ranks, what)
        self.notes.setdefault(key, {'type': 'note', 'suite': where['suite'], 'contender': where['contender'],
                                    'ranks': ranks, 'what': what, 'why': why})

    def undecided(self):
        """Names of rows, by suite and number of ranks, whose ratio may still be on either side of its target."""
        names = {}
        for row in judge.judge(self.samples):
            if row['verdict'] == 'noise':
                names.setdefault((row['suite'], row['ranks']), []).append(judge.name_of(row))
        return names


def from_harness(line, ranks):
    """A row of bench/harness.hpp, which compares in its own process, as samples."""
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
    """What each library is and how it was set."""
    families = {family for name in names for part in suites.SUITES[name] for family in part.programs}
    for c in suites.CONTENDERS:
        if c.family in families:
            yield {'type': 'contender', 'name': c.name, 'kind': c.kind, 'setting': c.setting,
                   'version': machine.first_line(c.version) if c.version else ''}
