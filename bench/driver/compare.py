# SPDX-License-Identifier: BSL-1.0
"""Finds what became quicker and what slower from run to run, beyond noise.

A row's change is its time in the newer run over that in the older one, of rounds in one placement. It counts if all
rounds of one run, or with six and more the intervals of their medians, lie apart by more than 5 %. With code by hand, the
ratio to that code must change so, in pairs of either placement, and the time with it: what the machine changed is in both.
"""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass

import judge
import spread
import words

# A smaller change is not worth a look, even if it is certain.
SMALLEST = 1.05
# The chance that all rounds of two runs lie apart although nothing has changed is at most this, or a time says nothing:
# two of each do so in one row of three, three of each in one of ten.
CHANCE = 0.1
# With so many rounds, the gap between two runs is also at least so large a part of the spread in each.
PART_OF_SPREAD = {2: 1, 3: 1, 4: 0.5}
# Of all pairs of rounds, at least so many differ that way: a time with two modes has few that do.
MOST_PAIRS = 0.9
# Samples are disturbed in more than this part: without code by hand, the change may be the other programs'.
BUSY = 0.5
TIMES = ('s', 'B/s', 'op/s')
ORDER = ('slower', 'doubtful', 'quicker', 'same', 'too few rounds')


@dataclass(frozen=True)
class Change:
    """One row in two runs."""

    key: tuple
    placement: str
    ratio: spread.Interval  # new / old
    ours: spread.Interval  # the same over the code by hand, or the ratio itself
    machine: float  # the change of the code by hand; 0: there is none
    said: str  # one of ORDER
    unit: str
    old: float
    new: float

    def title(self):
        _, row, mode, size, _ = self.key
        return words.title({'row': row, 'mode': mode, 'bytes': size})


def series_of(samples):
    """{(contender, way)}[key, placement] -> {round: sample}."""
    groups = defaultdict(lambda: defaultdict(dict))
    for sample in samples:
        place = judge.placement_of(sample)
        if place != 'moved':
            groups[sample['contender'], sample['way']][judge.key_of(sample), place][sample['round']] = sample
    return groups


def medians(rounds):
    """One median a round; of quiet rounds only, if there are enough."""
    return [spread.median(rounds[number]['seconds']) for number in judge.quiet(rounds, rounds)]


def change(old, new):
    """The ratio new / old with its interval, over all pairs of rounds."""
    ratio = judge.quotient(spread.median(new), spread.median(old))
    if len(old) < 2 or len(new) < 2:
        return spread.Interval(ratio, 0.0, float('inf'), 1)
    if min(len(old), len(new)) < 6:
        return spread.Interval(ratio, judge.quotient(min(new), max(old)), judge.quotient(max(new), min(old)), min(len(old), len(new)))
    a, b = spread.interval(old), spread.interval(new)
    return spread.Interval(ratio, b.low / a.high, b.high / a.low, min(a.count, b.count))


def asked_for(old, new):
    """The factor that a change must exceed: more where few rounds of a run differ much."""
    part = PART_OF_SPREAD.get(min(len(old), len(new)), 0)
    return max(SMALLEST, *(judge.quotient(max(values), min(values)) ** part for values in (old, new)))


def pairs_that_differ(old, new, slower):
    """The share of all pairs of rounds in which the newer run is slower, or quicker."""
    more = [judge.quotient(b, a) if slower else judge.quotient(a, b) for a in old for b in new]
    return sum(factor > SMALLEST for factor in more) / len(more)


def beyond_noise(ratio, factor=SMALLEST):
    return ratio.low > factor or ratio.high < 1 / factor


def raw_ways(rows):
    return {judge.key_of(row): row['best_raw'] for row in rows}


def verdict(old, new, ratio, is_timed):
    """What the values of two runs say, without a look at the code by hand."""
    if is_timed and 2 / math.comb(len(old) + len(new), len(old)) > CHANCE:
        return 'too few rounds'
    if not beyond_noise(ratio, asked_for(old, new)) or pairs_that_differ(old, new, ratio.middle > 1) < MOST_PAIRS:
        return 'same'
    return 'slower' if ratio.middle > 1 else 'quicker'


def beside_by_hand(runs, key, way):
    """One ratio to the code by hand for each quiet round of either placement."""
    over, under = ({(place, n): s for (k, place), rounds in runs['pgas', w].items() if k == key for n, s in rounds.items()} for w in ('', way))
    return judge.ratios(over, under)


def compare(old, new):
    """The Change of each row that both runs have in one placement, the largest slowdown first."""
    units = {judge.key_of(row): row['unit'] for row in new.rows}
    busy = {judge.key_of(row) for run in (old, new) for row in run.rows if row.get('disturbed', 0) > BUSY}
    before, after, ways = series_of(old.samples), series_of(new.samples), raw_ways(old.rows)
    found = []
    for where in before['pgas', ''].keys() & after['pgas', ''].keys():
        key, place = where
        a, b = (medians(runs['pgas', ''][where]) for runs in (before, after))
        is_timed = units.get(key, 's') in TIMES
        ratio = change(a, b)
        said, net, machine = verdict(a, b, ratio, is_timed), ratio, 0.0
        by_hand = [runs['pgas', ways.get(key)].get(where) for runs in (before, after)] if ways.get(key) else []
        if by_hand and all(by_hand):
            machine = judge.quotient(*(spread.median(medians(rounds)) for rounds in reversed(by_hand)))
            c, d = (beside_by_hand(runs, key, ways[key]) for runs in (before, after))
            if c and d:
                net = change(c, d)
                said = verdict(c, d, net, is_timed)
                if said in ('slower', 'quicker') and not at_least(ratio.middle, said == 'slower'):
                    said = 'same'  # it is the code by hand that changed
        elif said == 'slower' and is_timed and key in busy:
            said = 'doubtful'
        found.append(Change(key, place, ratio, net, machine, said, units.get(key, 's'), spread.median(a), spread.median(b)))
    return one_a_row(found)


def at_least(ratio, slower):
    """True if a ratio is a change worth a look in that direction."""
    return (ratio if slower else 1 / ratio if ratio else float('inf')) > SMALLEST


def one_a_row(changes):
    """The change of each row, in that placement that says the most: a change rather than none, then more rounds."""
    best = {}
    for c in sorted(changes, key=lambda c: (ORDER.index(c.said), -c.ratio.count, c.placement)):
        best.setdefault(c.key, c)
    return sorted(best.values(), key=lambda c: (-c.ratio.middle, c.key))


def word_of(change):
    """The change as a factor, in words."""
    if change.unit not in TIMES:
        word = 'more' if change.ratio.middle > 1 else 'fewer'
    else:
        word = 'slower' if change.ratio.middle > 1 else 'quicker'
    factor = change.ratio.middle if change.ratio.middle > 1 else 1 / change.ratio.middle
    return f'{factor:.2f} times {word}'


def range_of(ratio):
    return f'{ratio.low:.2f}..{ratio.high:.2f}' if ratio.count > 1 else 'one round'


def line(change):
    suite, row, mode, size, ranks = change.key
    of = {'row': row, 'mode': mode, 'bytes': size, 'unit': change.unit}
    by_hand = f'{change.ours.middle:.2f} [{range_of(change.ours)}]' if change.machine else '-'
    place = '' if change.placement == '-' else f', {change.placement}'
    return f'| {suite}: {change.title()} | {ranks}{place} | {words.amount(change.old, of)} | {words.amount(change.new, of)} ' \
        f'| {word_of(change)} | {range_of(change.ratio)} | {by_hand} | {said_of(change)} |'


def said_of(change):
    return 'doubtful: others used the cores' if change.said == 'doubtful' else change.said


def sentence(changes, old, new):
    """The whole comparison in words."""
    count = Counter(c.said for c in changes)
    yield f'{count["slower"]} rows became slower beyond noise, {count["quicker"]} quicker; {count["same"]} are the same within noise' \
        + (f', of which half would show a change of {hidden(changes):.0%}' if count['same'] else '') + '.'
    if count['doubtful']:
        yield f'{count["doubtful"]} rows took longer while others used the cores, and have no code by hand beside them: they are not counted ' \
            'as slower.'
    if count['too few rounds']:
        yield f'{count["too few rounds"]} rows have too few rounds that can be compared, so they say nothing.'
    for here, there, word in ((old, new, 'only in the older run'), (new, old, 'only in the newer run')):
        names = {judge.key_of(r) for r in here.rows if r['ours']} - {judge.key_of(r) for r in there.rows if r['ours']}
        if names:
            yield f'{len(names)} rows are {word}.'
    for said in ('slower', 'quicker'):
        most = [c for c in (changes if said == 'slower' else reversed(changes)) if c.said == said][:5]
        if most:
            yield f'Most {said}: ' + '; '.join(f'{c.title()} on {c.key[4]} ranks, {word_of(c)}' for c in most) + '.'


def hidden(changes):
    """The change that half of the unchanged rows would have shown: the width of their intervals on the nearer side."""
    return spread.median([max(SMALLEST, min(c.ours.middle / c.ours.low if c.ours.low > 0 else float('inf'),
                                            c.ours.high / c.ours.middle)) for c in changes if c.said == 'same']) - 1


def name_of(run):
    return f"{run.machine.get('commit')} ({run.machine.get('date')})"


def lines(old, new):
    """Two runs: what they say in words, and a table of what changed."""
    yield f'{name_of(old)} -> {name_of(new)}'
    if old.machine.get('processor') != new.machine.get('processor'):
        yield 'These are different processors: times cannot be compared.'
    changes = compare(old, new)
    yield from sentence(changes, old, new)
    told = [c for c in changes if c.said in ('slower', 'doubtful', 'quicker')]
    if told:
        yield ''
        yield '| row | ranks | older | newer | change | new / old | the same over the code by hand | verdict |'
        yield '|---|---|---|---|---|---|---|---|'
        yield from map(line, told)


def course(runs):
    """Each row's time in all of the runs, for rows that changed between any two that follow each other or as a whole."""
    steps = list(zip(runs, runs[1:])) + [(runs[0], runs[-1])]
    changed = {c.key for old, new in steps for c in compare(old, new) if c.said in ('slower', 'quicker')}
    whole = {c.key: c for c in compare(runs[0], runs[-1])}
    rows = [{judge.key_of(row): row for row in run.rows if row['ours']} for run in runs]
    yield '| row | ranks | ' + ' | '.join(name_of(run) for run in runs) + ' | first to last |'
    yield '|---' * (len(runs) + 3) + '|'
    for key in sorted(changed, key=lambda key: (-whole[key].ratio.middle if key in whole else 0, key)):
        there = next(of[key] for of in rows if key in of)
        times = ' | '.join(words.amount(of[key]['ours']['median'], of[key]) if key in of else '-' for of in rows)
        last = f'{word_of(whole[key])}: {said_of(whole[key])}' if key in whole else '-'
        yield f'| {key[0]}: {words.title(there)} | {key[4]} | {times} | {last} |'


def over(runs):
    """The changes from each run to the next, and, if there are more than two, from the first to the last."""
    for number, (old, new) in enumerate(zip(runs, runs[1:])):
        if number:
            yield ''
        yield from lines(old, new)
    if len(runs) > 2:
        yield ''
        yield 'From the first to the last:'
        yield from lines(runs[0], runs[-1])
        yield ''
        yield 'All runs:'
        yield from course(runs)


def is_slower(runs):
    """True if a row of the last run is slower, beyond noise, than in the first one or in the one before."""
    return any(c.said == 'slower' for old in {id(run): run for run in (runs[0], runs[-2])}.values() for c in compare(old, runs[-1]))
