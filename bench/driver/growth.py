# SPDX-License-Identifier: BSL-1.0
"""Says how each row grows with the number of ranks: the exponent e of ranks^e that fits its times best.

Ranks share the machine's cores, so a synchronization of all of them grows at least as ranks^1: each must run once.
The exponent is that of a line through the logarithms by least squares.
"""

import math
import os

import words

CORES = os.cpu_count() or 1
FEWEST = 3  # numbers of ranks that a row needs


def exponent(values):
    """The slope of log(value) over log(x)."""
    points = [(math.log(x), math.log(v)) for x, v in values.items() if v > 0]
    if len(points) < 2:
        return 0.0
    x, y = (sum(column) / len(points) for column in zip(*points))
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


def series(rows):
    """(suite, row, mode, bytes) -> {ranks: row} of rows that have enough numbers of ranks."""
    found = {}
    for row in rows:
        if row['ours'] and row['unit'] == 's' and row['suite'] != 'scale':
            found.setdefault((row['suite'], row['row'], row['mode'], row['bytes']), {})[row['ranks']] = row
    return {key: of for key, of in found.items() if len(of) >= FEWEST}


def exponents(by_ranks, cores=CORES):
    """The exponent of ours, and that of the hand-written code where each number of ranks has one. Ranks that have
    a core each are left out if enough numbers remain: they spin, and the others call the scheduler."""
    sharing = {ranks: row for ranks, row in by_ranks.items() if ranks > cores}
    by_ranks = sharing if len(sharing) >= FEWEST else by_ranks
    ours = exponent({ranks: row['ours']['median'] for ranks, row in by_ranks.items()})
    by_hand = {ranks: row['raw'][row['best_raw']]['median'] for ranks, row in by_ranks.items() if row['best_raw']}
    return ours, exponent(by_hand) if len(by_hand) == len(by_ranks) else None


def table(rows):
    """[(title, {ranks: time in words}, exponent of ours, exponent by hand or None)], the steepest first."""
    lines = []
    for (_, _, _, _), by_ranks in series(rows).items():
        first = next(iter(by_ranks.values()))
        ours, by_hand = exponents(by_ranks)
        lines.append((words.title(first), {n: words.amount(row['ours']['median'], row) for n, row in sorted(by_ranks.items())}, ours, by_hand))
    return sorted(lines, key=lambda line: -line[2])


def lines(rows):
    """The table in Markdown."""
    of = table(rows)
    if not of:
        return
    ranks = sorted({n for _, times, _, _ in of for n in times})
    yield ''
    yield '| growth with ranks on the same cores | ' + ' | '.join(map(str, ranks)) + ' | grows as ranks to the | by hand |'
    yield '|---' * (len(ranks) + 3) + '|'
    for title, times, ours, by_hand in of:
        cells = [times.get(n, '') for n in ranks]
        yield f'| {title} | ' + ' | '.join(cells) + f" | {ours:.2f} | {'' if by_hand is None else f'{by_hand:.2f}'} |"
