# SPDX-License-Identifier: BSL-1.0
"""Makes rows of samples: pairs them, computes their ratios, and judges the ratios by the targets.

A sample is the output of one program for one row in one round: {suite, row, mode, bytes, unit, ranks,
contender, way, round, hand_over: [before, after], others, seconds: [...]}. Ours and the hand-written ways
(those with a name) come from one process, the peers from other processes. `others` is the share of the cores
that other programs used at the time. In rows of long copies a peer has a way with a name, too: the same code by hand, on
its own memory, in turns with its operation.
"""

import math
from collections import defaultdict
from dataclasses import asdict

import notebook
import spread
import suites

OURS = ('pgas', '')
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
    That of no placement, if ours has always moved. Of all samples, if none is ours."""
    ours, others, counts = defaultdict(set), defaultdict(set), defaultdict(int)
    for sample in samples:
        place = placement_of(sample)
        counts[place] += place != 'moved'
        if place != 'moved' and not sample['way']:
            (ours if sample['contender'] == 'pgas' else others)[place].add(sample['round'])
    if not ours and any(s['contender'] == 'pgas' and not s['way'] for s in samples):
        return 'moved'
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
    """Pairs of samples that met the same placement of the cores. Ways of one program took turns in a round. Two programs
    pair by rounds, and in one placement also the rest in their order."""
    both = sorted(over.keys() & under.keys())
    made = [(over[number], under[number]) for number in both]
    if {s['contender'] for s in over.values()} != {s['contender'] for s in under.values()}:
        rest = [[series[n] for n in sorted(series.keys() - set(both)) if placement_of(series[n]) != '-'] for series in (over, under)]
        made += zip(*rest)
    return made


def quiet_pairs(made):
    """The pairs of which neither sample was disturbed, if there are enough of them, else all."""
    calm = [pair for pair in made if all(map(is_quiet, pair))]
    return calm if len(calm) >= suites.ENOUGH else made


def ratio_of(one, other):
    """The ratio of samples that were taken in turns in one process, or of the medians of two processes."""
    a, b = one['seconds'], other['seconds']
    if one['contender'] == other['contender'] and len(a) == len(b):
        return spread.median([quotient(x, y) for x, y in zip(a, b)])
    return quotient(spread.median(a), spread.median(b))


def ratios(over, under):
    """One ratio a pair of two series of one placement."""
    return [ratio_of(*pair) for pair in quiet_pairs(pairs(over, under))]


class Placed:
    """The samples of a row by contender, way and round, apart for each placement of the cores.

    Pages differ from process to process, so one memcpy may take a fifth longer in one of them. Where both programs have
    the same code by hand beside them, the ratio of a pair is that of their ratios to it."""

    def __init__(self, samples):
        by_hand = [{s['way'] for s in samples if s['way'] and (s['contender'] == 'pgas') == ours} for ours in (True, False)]
        self.reference = min(set.intersection(*by_hand), default='')  # the way by hand that programs have in common
        self.references = {(s['contender'], s['round']): s for s in samples if s['way'] and s['way'] == self.reference}
        self.places = {}  # placement -> (contender, way) -> round -> sample
        for place in sorted({placement_of(s) for s in samples}):
            series = self.places[place] = defaultdict(dict)
            for s in samples:
                if placement_of(s) in (place, '-'):  # '-': a program of one process, like OpenMP's
                    series[s['contender'], s['way']][s['round']] = s

    def has_reference(self, sample):
        return not sample['way'] and (sample['contender'], sample['round']) in self.references

    def beside(self, sample):
        """A program's time over that of its reference."""
        return ratio_of(sample, self.references[sample['contender'], sample['round']])

    def said_beside(self, rounds):
        """The median ratio of a program's rounds to the reference, if all have it."""
        if not all(map(self.has_reference, rounds.values())):
            return {}
        return {'beside': spread.median([self.beside(s) for s in rounds.values()])}

    def quickest(self, place, choose):
        """The one with the least median of those that are chosen, or nothing: of the ratios to the reference if all have it."""
        found = {who: list(self.places[place][who].values()) for who in self.places[place] if choose(who)}
        if all(self.has_reference(s) for some in found.values() for s in some):
            return min(found, key=lambda who: spread.median([self.beside(s) for s in found[who]]), default=None)
        return min(found, key=lambda who: spread.median([t for s in found[who] for t in s['seconds']]), default=None)

    def compared(self, over, under):
        """(the reference, [(placement, ratio)]) of pairs: the quickest of `over` in each placement, over the quickest of
        `under`. What has moved counts if both ways took turns meanwhile. No reference: the ratios are those of times."""
        made = {}
        for place, series in self.places.items():
            one, other = self.quickest(place, over), self.quickest(place, under)
            if one and other and (place != 'moved' or one[0] == other[0]):
                made.update({(id(a), id(b)): (a, b) for a, b in pairs(series[one], series[other])})
        chosen = quiet_pairs(list(made.values()))
        if chosen and all(a['contender'] != b['contender'] and self.has_reference(a) and self.has_reference(b) for a, b in chosen):
            return self.reference, [(place_of_pair((a, b)), quotient(self.beside(a), self.beside(b))) for a, b in chosen]
        return '', [(place_of_pair(pair), ratio_of(*pair)) for pair in chosen]

    def ratios(self, over, under):
        return self.compared(over, under)[1]


def is_peer(who):
    """True for the operation of another library, and not for the code by hand beside it."""
    return who[0] != 'pgas' and not who[1]


def place_of_pair(pair):
    return next((placement_of(s) for s in pair if placement_of(s) != '-'), '-')


def judge_row(samples, given_target=None, missing=None):
    """One row of the report from all samples of one key. `missing`: the reason of each contender without a
    time. Times are those of the usual placement, and ratios those of pairs in any."""
    place = usual_placement(samples)
    placed = Placed(samples)
    series = placed.places[place]
    spreads = {who: spread.Spread.of([t for number in quiet(rounds, rounds) for t in rounds[number]['seconds']])
               for who, rounds in series.items()}
    first = samples[0]
    row = {'type': 'row', **{k: first[k] for k in ('suite', 'row', 'mode', 'bytes', 'unit', 'ranks')},
           'placement': place, 'rounds': len({s['round'] for s in samples}), 'missing': missing or {},
           'others': spread.median([s.get('others', 0) for s in samples]),
           'disturbed': sum(not is_quiet(s) for s in samples) / len(samples),
           'hand_over': spread.median([t for s in samples for t in s['hand_over']] or [0])}

    raw = [who for who in series if who[0] == 'pgas' and who[1]]
    peers = [who for who in series if is_peer(who)]
    row['ours'] = asdict(spreads[OURS]) if OURS in series else None
    row['raw'] = {who[1]: asdict(spreads[who]) for who in raw}
    row['peers'] = {who[0]: asdict(spreads[who]) | placed.said_beside(series[who]) for who in peers}
    row['elsewhere'] = sorted({s['contender'] for s in samples} - {'pgas', *row['peers']})  # in other placements alone
    target = suites.target_of(name_of(row), row['ranks'])
    named = target.beside if any(s['way'] == target.beside for s in samples) else ''

    def is_ours(who):
        return who == OURS

    def is_raw(who):
        return who[0] == 'pgas' and who[1] and (not named or who[1] == named)

    row['best_raw'] = min(filter(is_raw, raw), key=lambda w: spreads[w].median, default=(None, None))[1]
    row['best_peer'] = (placed.quickest(place, is_peer) or (None,))[0]

    row['target_raw'], row['target_ahead'] = given_target or target.raw, target.ahead
    row['to_raw'] = row['ahead'] = None
    judged, short = [], 0.0
    short = max(short, compare(row, 'to_raw', placed.ratios(is_ours, is_raw), row['target_raw'], judged, upwards=False))
    restate(row, target, row['to_raw'], placed.ratios(is_peer, is_raw))
    reference, ahead = placed.compared(is_peer, is_ours)
    short = max(short, compare(row, 'ahead', ahead, row['target_ahead'], judged, upwards=True))
    if row['ahead']:
        row['ahead']['beside'] = reference
    row['short'] = short
    row['verdict'] = ('' if not judged else 'BEHIND' if 'BEHIND' in judged else 'noise' if '?' in judged else 'ok')
    row['reason'] = notebook.why_untargeted(row, name_of(row))
    return row


def compare(row, field, placed, target, judged, upwards):
    """Writes a ratio into the row, judges it if it has a target, and returns the factor by which it misses
    that. `placed`: [(placement, ratio)]."""
    if not placed:
        return 0.0
    said, where, values = verdict_of(placed, target, upwards)
    ratio = spread.interval(values)
    if upwards and target and is_too_early(ratio, target):
        said = '?'
    row[field] = {'ratio': ratio.middle, 'low': ratio.low, 'high': ratio.high, 'rounds': ratio.count, 'where': where,
                  'verdict': 'noise' if said == '?' else said}
    if not target:
        return 0.0
    judged.append(said)
    return target / ratio.middle if upwards else ratio.middle / target


def is_too_early(ratio, target):
    """True if a verdict on two programs needs more pairs. Ways of one program take turns, and each of its rounds is a
    median of many. But each run of a program has pages and neighbours of its own, which change its time by a fifth,
    and one in ten by more. Of two ratios the lower one is above the median once in four times, and of five once in 32
    times. Nor do two say that ours is far behind: a program that others disturb can take twice its time."""
    return ratio.count < suites.SURE_PAIRS and ratio.middle < target * suites.CLOSE


def verdict_of(placed, target, upwards):
    """(the verdict on a ratio, the placement that decides if it is one alone, the ratios that say so). All pairs count
    together. But the more frequent placement hides no loss in the other: where that one alone is behind, it decides,
    and where its median is, there is no verdict."""
    values = [value for _, value in placed]
    if not target:
        return '', '', values

    def say(some):
        ratio = spread.interval(some)
        if upwards:  # at least n times quicker is the same as at most 1/n of the time
            ratio = spread.Interval(1 / ratio.middle, 1 / ratio.high, 1 / ratio.low if ratio.low else float('inf'), ratio.count)
        limit = 1 / target if upwards else target
        return spread.verdict(ratio, limit, suites.SAME), ratio.middle > limit * suites.SAME

    places = defaultdict(list)
    for place, value in placed:
        places[place].append(value)
    each = {place: say(some) for place, some in places.items() if len(some) >= suites.ENOUGH} if len(places) > 1 else {}
    said = say(values)[0]
    behind = [place for place, (verdict, _) in each.items() if verdict == 'BEHIND']
    if said != 'BEHIND' and behind:
        return 'BEHIND', behind[0], places[behind[0]]
    if said == 'ok' and any(over for _, over in each.values()):
        return '?', '', values
    return said, '', values


def decided_as_a_whole(row, side):
    """True if the interval of a ratio lies on one side of its target, so that only a placement keeps it open."""
    limit = row['target_raw'] * suites.SAME if side == 'to_raw' else row['target_ahead'] / suites.SAME
    return not row[side]['low'] <= limit < row[side]['high']


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
    beside = min((s['beside'] for s in row['peers'].values() if 'beside' in s), default=0)
    return {name for name, s in row['peers'].items() if s[by] <= near * best or s.get('beside', math.inf) <= near * beside} | \
        set(row.get('elsewhere', ()))


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
    by_hand = spread.median([value for _, value in peer_to_raw])
    most = by_hand / row['target_raw']
    if most >= targets.ahead:
        return
    row['target_ahead'] = max(1.0, most)
    row['restated'] = (f"Restated: {targets.ahead:g} times ahead cannot be reached, since the code by hand is "
                       f"{by_hand:.3g} times ahead itself. At {row['target_raw']:.3g} of that code ours is "
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
