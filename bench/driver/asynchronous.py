# SPDX-License-Identifier: BSL-1.0
"""The table of the suite `async`: each row beside the work by hand, and beside the quickest other library."""

import suites
import words

# The rows in the table's order: row, mode, bytes, ranks, and the words for them. None: any.
ROWS = [('await_get', 8, 2, '`co_await rget` of 8 B'), ('await_put', 8, 2, '`co_await rput` of 8 B'),
        ('token_get', 8, 2, '`complete(rget, callback)`, 64 at once'), ('call', 8, 2, 'a call and its value'),
        ('call_64', 8, 2, 'of 64 at once'), ('call_one_way', 8, 2, '`send`, one way'),
        ('call_one_way_shared', 8, 2, '`send` with a shared object'), ('call_update', 8, 2, '`update` of an element'),
        ('call_span', 64, 2, 'a call with 64 B'), ('call_span', 1024, 2, 'with 1 KiB'), ('call_span', 4096, 2, 'with 4 KiB'),
        ('call_span', 65536, 2, 'with 64 KiB'), ('call_span', 262144, 2, 'with 256 KiB'),
        ('lattice', 0, 2, 'an iteration of `lattice`'), ('dsde', 0, 64, '`dsde`, 64 nodes, virtual'),
        ('flood', 1024, 16, '16 ranks flood one, 1 KiB, virtual'), ('flood', 1024, 64, '64 ranks'),
        ('flood', 10240, 16, '16 ranks, 10 KiB'), ('flood', 10240, 64, '64 ranks, 10 KiB')]


def is_there(rows):
    return any(row['suite'] == 'async' for row in rows)


def beside(row):
    """The way by hand that the row is judged by: its name, its time, and our multiple of it."""
    name = row['best_raw']
    if not name or not row['to_raw']:
        return ''
    return f"{words.amount(row['raw'][name]['median'], row)} ({name}): {words.digits(row['to_raw']['ratio'])}"


def target_of(row):
    target = suites.target_of(row['row'] + (f"/{row['mode']}" if row['mode'] else '') + (f"/{row['bytes']}" if row['bytes'] else ''),
                              row['ranks'])
    return words.digits(target.raw) if target.raw else ''


def lines(rows):
    own = {(row['row'], row['bytes'], row['ranks']): row for row in rows if row['suite'] == 'async' and row['ours']}
    yield ''
    yield '| | ours | by hand: ours in multiples | target | best peer |'
    yield '|---|---|---|---|---|'
    for name, size, ranks, title in ROWS:
        row = own.get((name, size, ranks))
        if row is None:
            continue
        time = words.amount(row['ours']['median'], row)
        time = f'**{time}**' if row['verdict'] == 'BEHIND' else time
        peer = row['best_peer']
        other = f"{words.amount(row['peers'][peer]['median'], row)} ({peer})" if peer else ''
        yield f'| {title} | {time} | {beside(row)} | {target_of(row)} | {other} |'
