# SPDX-License-Identifier: BSL-1.0
"""Finds the changes between two runs that exceed the noise."""

from collections import defaultdict

import judge
import spread
import words

# A smaller change is not worth a look, even if it is certain.
SMALLEST = 1.05


def by_round(samples, contender, way):
    """For each row and placement, one median a round; of quiet rounds only, if there are enough."""
    groups = defaultdict(dict)
    for sample in samples:
        place = judge.placement_of(sample)
        if (sample['contender'], sample['way']) == (contender, way) and place != 'moved':
            groups[judge.key_of(sample), place][sample['round']] = sample
    return {where: [spread.median(rounds[number]['seconds']) for number in judge.quiet(rounds, rounds)]
            for where, rounds in groups.items()}


def change(old, new):
    """The ratio new / old with its interval, over all pairs of rounds."""
    ratio = judge.quotient(spread.median(new), spread.median(old))
    if len(old) < 2 or len(new) < 2:
        return spread.Interval(ratio, 0.0, float('inf'), 1)
    if min(len(old), len(new)) < 6:
        return spread.Interval(ratio, judge.quotient(min(new), max(old)), judge.quotient(max(new), min(old)), min(len(old), len(new)))
    a, b = spread.interval(old), spread.interval(new)
    return spread.Interval(ratio, b.low / a.high, b.high / a.low, min(a.count, b.count))


def beyond_noise(ratio):
    return ratio.low > SMALLEST or ratio.high < 1 / SMALLEST


def raw_way(rows, key):
    for row in rows:
        if judge.key_of(row) == key:
            return row['best_raw']
    return None


def compare(old, new):
    """[(key, placement, ratio of ours, ratio of the machine's own time or None)], the largest slowdown
    first."""
    before, after = by_round(old.samples, 'pgas', ''), by_round(new.samples, 'pgas', '')
    changed = []
    for where in before.keys() & after.keys():
        ratio = change(before[where], after[where])
        if not beyond_noise(ratio):
            continue
        way = raw_way(old.rows, where[0])
        machine = None
        if way is not None:
            a = by_round(old.samples, 'pgas', way).get(where)
            b = by_round(new.samples, 'pgas', way).get(where)
            machine = judge.quotient(spread.median(b), spread.median(a)) if a and b else None
        # A slowdown that the hand-written code shares is not ours.
        if machine and not beyond_noise(spread.Interval(0, ratio.low / machine, ratio.high / machine, ratio.count)):
            continue
        changed.append((where[0], where[1], ratio, machine))
    return sorted(changed, key=lambda c: -c[2].middle), len(before.keys() & after.keys())


def lines(old, new):
    changed, compared = compare(old, new)
    timed = {judge.key_of(row) for row in new.rows if row['unit'] in ('s', 'B/s', 'op/s')}
    yield f"{old.machine.get('commit')} ({old.machine.get('date')}) -> {new.machine.get('commit')} ({new.machine.get('date')})"
    if old.machine.get('processor') != new.machine.get('processor'):
        yield 'These are different processors: times cannot be compared.'
    busy = {judge.key_of(row) for row in old.rows + new.rows if row.get('disturbed', 0) > 0.5}
    for (suite, row, mode, size, ranks), place, ratio, machine in changed:
        name = words.title({'row': row, 'mode': mode, 'bytes': size})
        doubt = '; others used the cores meanwhile' if (suite, row, mode, size, ranks) in busy else ''
        is_timed = (suite, row, mode, size, ranks) in timed
        word = ('slower' if is_timed else 'as many') if ratio.middle > 1 else ('quicker' if is_timed else 'fewer')
        factor = ratio.middle if ratio.middle > 1 else 1 / ratio.middle
        also = f'; by hand the time changed by {machine:.2f} too' if machine and not 1 / SMALLEST < machine < SMALLEST else ''
        yield f'{suite}: {name}, {ranks} ranks, {place}: {factor:.2f} times {word} ' \
              f'(new / old {ratio.low:.2f}..{ratio.high:.2f}{also}{doubt})'
    yield f'{len(changed)} of {compared} rows changed beyond noise.'


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
