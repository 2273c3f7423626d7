# SPDX-License-Identifier: BSL-1.0
"""Makes rows of samples: pairs them, computes their ratios, and judges the ratios by the targets.

A sample is the output of one program for one row in one round: {suite, row, mode, bytes, unit, ranks,
contender, way, round, hand_over: [before, after], others, seconds: [...]}. Ours and the hand-written ways
(those with a name) come from one process, the peers from other processes. `others` is the share of the cores
that other programs used at the time.
"""

import math
from collections import defaultdict
from dataclasses import asdict

import limits
import spread
import suites

# A library whose quarter of quickest times is within this factor of the best median may be the quickest one.
NEAR = 1.15


def key_of(sample):
    return (sample['suite'], sample['row'], sample['mode'], sample['bytes'], sample['ranks'])


def name_of(row):
    """The name row/mode/bytes, in the form of bench/meter.hpp."""
    return '/'.join([row['row']] + ([row['mode']] if row['mode'] else []) + ([str(row['bytes'])] if row['bytes'] else []))


def placement_of(sample):
    """The place of the two cores: near to each other, far apart, or moved in between."""
    times = [t for t in sample['hand_over'] if t > 0]
    if not times:
        return '-'
    if max(times) < suites.FAR_FROM:
        return 'near'
    return 'far' if min(times) >= suites.FAR_FROM else 'moved'


def usual_placement(samples):
    """The placement with the most rounds of ours, each counted twice if there is one of another library for it.
    Of all samples, if none is ours."""
    ours, others, counts = defaultdict(set), defaultdict(set), defaultdict(int)
    for sample in samples:
        place = placement_of(sample)
        counts[place] += place != 'moved'
        if place != 'moved' and not sample['way']:
            (ours if sample['contender'] == 'pgas' else others)[place].add(sample['round'])
    for place, rounds in ours.items():
        counts[place] += 1000 * (len(rounds) + min(len(rounds), len(others[place])))
    return max(counts, key=counts.get)


def is_quiet(sample):
    return sample.get('others', 0) <= suites.QUIET


def quiet(rounds, *series):
    """The rounds in which no sample of the series was disturbed, if there are enough of them, else all."""
    calm = [number for number in rounds if all(is_quiet(s[number]) for s in series)]
    return calm if len(calm) >= suites.ENOUGH else list(rounds)


def quotient(a, b):
    """a / b; if one of two counts is 0, both are increased by one, so that equal counts give 1."""
    return a / b if a and b else (a + 1) / (b + 1)


def pairs(over, under):
    """Pairs of samples of one placement: those of one round, and of two programs also the rest, in their order."""
    both = sorted(over.keys() & under.keys())
    made = [(over[number], under[number]) for number in both]
    if {s['contender'] for s in over.values()} != {s['contender'] for s in under.values()}:
        made += [(over[a], under[b]) for a, b in zip(sorted(over.keys() - both), sorted(under.keys() - both))]
    return made


def quiet_pairs(over, under):
    """The pairs of which neither sample was disturbed, if there are enough of them, else all."""
    calm = pairs(*({n: s for n, s in series.items() if is_quiet(s)} for series in (over, under)))
    return calm if len(calm) >= suites.ENOUGH else pairs(over, under)


def ratios(over, under):
    """One ratio a pair, of samples taken in turns in one process or of the medians of two processes."""
    values = []
    for one, other in quiet_pairs(over, under):
        a, b = one['seconds'], other['seconds']
        if one['contender'] == other['contender'] and len(a) == len(b):
            values.append(spread.median([quotient(x, y) for x, y in zip(a, b)]))
        else:
            values.append(quotient(spread.median(a), spread.median(b)))
    return values


def judge_row(samples, given_target=None, missing=None):
    """One row of the report from all samples of one key. `missing`: the reason of each contender without a
    time."""
    place = usual_placement(samples)
    series = defaultdict(dict)  # (contender, way) -> round -> sample
    for sample in samples:
        if placement_of(sample) in (place, '-'):  # '-': a program of one process, like OpenMP's
            series[sample['contender'], sample['way']][sample['round']] = sample
    spreads = {who: spread.Spread.of([t for number in quiet(rounds, rounds) for t in rounds[number]['seconds']])
               for who, rounds in series.items()}
    first = samples[0]
    row = {'type': 'row', **{k: first[k] for k in ('suite', 'row', 'mode', 'bytes', 'unit', 'ranks')},
           'placement': place, 'rounds': len({s['round'] for s in samples}), 'missing': missing or {},
           'others': spread.median([s.get('others', 0) for s in samples]),
           'disturbed': sum(not is_quiet(s) for s in samples) / len(samples),
           'hand_over': spread.median([t for s in samples for t in s['hand_over']] or [0])}

    ours = ('pgas', '')
    raw = [who for who in series if who[0] == 'pgas' and who[1]]
    peers = [who for who in series if who[0] != 'pgas']
    row['ours'] = asdict(spreads[ours]) if ours in series else None
    row['raw'] = {who[1]: asdict(spreads[who]) for who in raw}
    row['peers'] = {who[0]: asdict(spreads[who]) for who in peers}
    row['elsewhere'] = sorted({s['contender'] for s in samples} - {'pgas', *row['peers']})  # in other placements alone
    target = suites.target_of(name_of(row), row['ranks'])
    beside = [who for who in raw if who[1] == target.beside] or raw
    row['best_raw'] = min(beside, key=lambda w: spreads[w].median)[1] if raw else None
    row['best_peer'] = min(peers, key=lambda w: spreads[w].median)[0] if peers else None

    row['target_raw'], row['target_ahead'] = given_target or target.raw, target.ahead
    row['to_raw'] = row['ahead'] = None
    judged, short = [], 0.0
    if ours in series and raw:
        values = ratios(series[ours], series['pgas', row['best_raw']])
        short = max(short, compare(row, 'to_raw', values, row['target_raw'], judged, upwards=False))
    if ours in series and raw and peers:
        restate(row, target, row['to_raw'], ratios(series[row['best_peer'], ''], series['pgas', row['best_raw']]))
    if ours in series and peers:
        values = ratios(series[row['best_peer'], ''], series[ours])
        short = max(short, compare(row, 'ahead', values, row['target_ahead'], judged, upwards=True))
    row['short'] = short
    row['verdict'] = ('' if not judged else 'BEHIND' if 'BEHIND' in judged else 'noise' if '?' in judged else 'ok')
    row['reason'] = limits.why_untargeted(row, name_of(row))
    return row


def compare(row, field, values, target, judged, upwards):
    """Writes a ratio into the row, judges it if it has a target, and returns the factor by which it misses
    that."""
    if not values:
        return 0.0
    ratio = spread.interval(values)
    row[field] = {'ratio': ratio.middle, 'low': ratio.low, 'high': ratio.high, 'rounds': ratio.count,
                  'verdict': ''}
    if not target:
        return 0.0
    asked = ratio
    if upwards:  # at least n times quicker is the same as at most 1/n of the time
        asked = spread.Interval(1 / ratio.middle, 1 / ratio.high, 1 / ratio.low if ratio.low else float('inf'),
                                ratio.count)
    limit = 1 / target if upwards else target
    said = spread.verdict(asked, limit, suites.SAME)
    row[field]['verdict'] = 'noise' if said == '?' else said
    judged.append(said)
    return asked.middle / limit


def open_sides(row, far):
    """The ratios of a row whose verdict is open: of 'to_raw' and 'ahead'. `far`: few rounds are there, so a verdict
    also counts as open if the interval, with its own width added on both sides, contains the target."""
    if row['verdict'] == 'BEHIND' and not far:
        return set()  # one side is enough
    sides = set()
    for side, target in (('to_raw', row['target_raw']), ('ahead', row['target_ahead'])):
        ratio = row[side]
        if target and not ratio and side == 'ahead' and row['ours'] and (row['peers'] or row.get('elsewhere')):
            sides.add(side)  # no pair yet: they ran in other placements
        if not ratio or not target:
            continue
        limit = target / suites.SAME if side == 'ahead' else target * suites.SAME
        more = (ratio['high'] - ratio['low']) * far
        if ratio['verdict'] == 'noise' or not (ratio['low'] - more > limit or ratio['high'] + more < limit):
            sides.add(side)
    return sides if far else {side for side in sides if not row[side] or row[side]['verdict'] == 'noise'}


def near_the_best(row, near=NEAR, by='p25'):
    """The other libraries that may be the quickest in a row: those of other placements may be, too."""
    best = min((s['median'] for s in row['peers'].values()), default=0)
    return {name for name, s in row['peers'].items() if s[by] <= near * best} | set(row.get('elsewhere', ()))


def hope(row, side):
    """The part of a side's width that lies between its ratio and its target, at most 1. It says how soon more
    rounds decide: four times as many halve a width."""
    ratio, target = row[side], row['target_raw'] if side == 'to_raw' else row['target_ahead']
    if not ratio or ratio['rounds'] < 2 or min(ratio['low'], ratio['ratio']) <= 0:
        return 1.0
    limit = target / suites.SAME if side == 'ahead' else target * suites.SAME
    width = max(math.log(ratio['high'] / ratio['ratio']), math.log(ratio['ratio'] / ratio['low']), 1e-9)
    return min(1.0, abs(math.log(ratio['ratio'] / limit)) / width)


def restate(row, targets, ours_to_raw, peer_to_raw):
    """Restates how many times ahead a row must be if the hand-written code is not that far ahead of the best
    other library: ours at its target for the hand-written code is then as far ahead as can be."""
    if not (row['target_raw'] and targets.ahead > 1 and ours_to_raw and peer_to_raw):
        return
    most = spread.median(peer_to_raw) / row['target_raw']
    if most >= targets.ahead:
        return
    row['target_ahead'] = max(1.0, most)
    row['restated'] = (f"Restated: {targets.ahead:g} times ahead cannot be reached, since the code by hand is "
                       f"{spread.median(peer_to_raw):.3g} times ahead itself. At {row['target_raw']:.3g} of that code ours is "
                       f"{row['target_ahead']:.3g} times ahead.")


def judge(samples, notes=()):
    """All rows; those that miss their target come first, the furthest one at the top."""
    missing = defaultdict(dict)
    for note in notes:
        missing[note['suite'], note['what'], note['ranks']][note['contender']] = note['why']
    groups = defaultdict(list)
    for sample in samples:
        groups[key_of(sample)].append(sample)
    rows = [judge_row(group, group[0].get('target'), missing.get((group[0]['suite'], name_of(group[0]), group[0]['ranks'])))
            for group in groups.values()]
    rank = {'BEHIND': 0, 'noise': 1, 'ok': 2, '': 3}
    return sorted(rows, key=lambda r: (rank[r['verdict']], -r['short'] if r['verdict'] == 'BEHIND' else 0))
