# SPDX-License-Identifier: BSL-1.0
"""Says how the rows of bench/scale.cpp grow with the number of ranks, and writes tables of them."""

import math

import words

# The rows of the table, in its order: row, mode, and the words for them.
TIMES = [
    ('fence', 'dissemination', 'fence, `dissemination`'),
    ('fence', 'by_size', 'fence, the default'),
    ('fence', 'central_counter', 'fence, `central_counter`'),
    ('post_start', 'match_list', 'post to wait, k = 4, `match_list`'),
    ('post_start', 'match_vector', 'post to wait, k = 4, the default'),
    ('lock_exclusive', 'two_level', 'a free lock, `two_level<>`'),
    ('lock_exclusive', 'queued', 'a free lock, `queued`'),
    ('lock_all', 'two_level', '`lock_all` by all ranks, `two_level<>`'),
    ('lock_all', 'queued', '`lock_all` by all ranks, `queued`'),
    ('lock_contended', 'queued', 'one lock wanted by all ranks, `queued`'),
    ('window lock, exclusive', '', 'first exclusive lock of a window, default'),
    ('broadcast', '', '`team.broadcast`'),
    ('all_reduce', '', '`team.all_reduce`'),
    ('all_gather', '', '`team.all_gather`'),
    ('split', '', '`team.split`'),
    ('make_window', '', '`make_window`'),
    ('make_array', '', '`make_array`, two dimensions'),
    ('hash table, an insert', '', 'hash table, an insert of each rank'),
    ('exchange_halo', '', '`exchange_halo`, 8 x 8 cells a rank'),
]
BYTES = [
    ('fence private', 'dissemination', 'fence, `dissemination`'),
    ('fence private', 'by_size', 'fence, the default, and so a team'),
    ('post_start private', 'match_list', 'post, `match_list<8>`'),
    ('post_start words', 'match_vector', 'post, the default: its words'),
    ('post_start private', 'match_vector', 'post, the default'),
    ('post_start private', 'post_array', 'post, `post_array`'),
    ('lock private', 'two_level', 'lock, `two_level<>`'),
    ('lock private', 'queued', 'lock, `queued`'),
    ('split private', '', 'a team of half of the ranks'),
    ('make_window words', '', 'a window: its words'),
    ('make_window private', '', 'a window'),
    ('make_array private', '', 'an array'),
]
SPEEDS = [
    ('simulation', 'protocols', 'events a second, protocols alone'),
    ('simulation', 'programs', 'events a second, programs with a team'),
    ('simulated ranks a GiB', 'protocols', 'ranks a GiB, protocols alone'),
    ('simulated ranks a GiB', 'programs', 'ranks a GiB, programs with a team'),
]
# Values that differ by less are the same.
SAME = 0.1
# A line through the values over log2 p explains them if it misses none by more than this share.
MISSES = 0.12


def points(rows):
    """(row, mode) -> {ranks: value} of the suite `scale`."""
    found = {}
    for row in rows:
        if row['suite'] == 'scale' and row['ours']:
            found.setdefault((row['row'], row['mode']), {})[row['ranks']] = row['ours']['median']
    return found


def exponent(values):
    """The power of the number of ranks with which the values grew, between their two largest numbers."""
    (p, a), (q, b) = sorted(values.items())[-2:]
    return math.log(b / a) / math.log(q / p) if a > 0 and b > 0 else 0.0


def follows_logarithm(values):
    """True if the values lie on a line over log2 p."""
    known = [(math.log2(p), v) for p, v in sorted(values.items())]
    x, y = (sum(column) / len(known) for column in zip(*known))
    slope = sum((a - x) * (b - y) for a, b in known) / sum((a - x) ** 2 for a, _ in known)
    return slope > 0 and all(abs(y + slope * (a - x) - b) <= MISSES * b for a, b in known)


def growth(values):
    """The growth of a row in words."""
    if len(values) < 3:
        return '-'
    (_, before), (_, last) = sorted(values.items())[-2:]
    if abs(last - before) <= SAME * max(last, before):
        return 'constant'
    return 'log p' if follows_logarithm(values) else f'p^{exponent(values):.2f}'


def table(found, chosen, amount, title):
    there = [(found[row, mode], title_of) for row, mode, title_of in chosen if (row, mode) in found]
    ranks = sorted({p for values, _ in there for p in values})
    yield f'| {title} | ' + ' | '.join(f'{p:,}' for p in ranks) + ' | grows as |'
    yield '|---' * (len(ranks) + 2) + '|'
    for values, title_of in there:
        cells = [amount(values[p]) if p in values else '' for p in ranks]
        yield f'| {title_of} | ' + ' | '.join(cells) + f' | {growth(values)} |'


def lines(rows):
    """What grows with the ranks, and the speed of the simulation."""
    found = points(rows)
    yield from table(found, TIMES, seconds, 'virtual time, on ranks')
    yield ''
    yield from table(found, BYTES, size, 'bytes a rank, on ranks')
    yield ''
    yield from table(found, SPEEDS, size, 'the simulation itself, on ranks')


def seconds(value):
    return words.seconds(value)


def size(value):
    return f'{value:,.0f}'


def is_there(rows):
    return any(row['suite'] == 'scale' for row in rows)
