# SPDX-License-Identifier: BSL-1.0
"""The tables of the suite `maps`: maps beside other tables and memory accesses by hand, and the other containers beside the same by hand."""

import words

ROWS = [('ycsb_a', 'YCSB A: half of the steps update'), ('ycsb_b', 'YCSB B: 5 % update'), ('ycsb_c', 'YCSB C: lookups'),
        ('ycsb_f', 'YCSB F: half read and update'), ('map_lookup', 'lookup of a key at random'), ('map_lookup_64', 'of 64 at once'),
        ('map_accumulate', 'insert_or_accumulate at random'), ('map_accumulate_64', 'of 64 at once'),
        ('map_contains', 'contains, in a map with twice the room'), ('map_insert', 'insert there'),
        ('map_grow', 'insert into a map that grows sixteenfold'), ('map_memory', 'memory')]

# The containers without keys.
OTHERS = [('counter_fetch_add', 'counter: fetch_add, on all ranks at once'), ('striped_counter_add', 'striped counter: add'),
          ('inbox_one', 'inbox: one rank pushes, the other pops'), ('inbox_many', 'inbox: the other ranks push, one pops'),
          ('queue_one', 'queue: one rank pushes, the other pops'), ('queue_many', 'queue: the other ranks push, one pops'),
          ('queue_each', 'queue: each rank pushes and pops'), ('vector_push_back', 'vector: push_back, on all ranks at once'),
          ('task_own', 'work stealing queue: push and next of an own task'), ('task_run', 'a task of 1 us, of 256 that one rank has')]


def is_there(rows):
    return any(row['suite'] == 'maps' for row in rows)


def times_of(other, row):
    """Another way's number, as a multiple of ours."""
    return words.digits(other['median'] / row['ours']['median'])


def cells_of(row):
    """Our time, bold if it is behind its target, and the ways by hand."""
    time = words.amount(row['ours']['median'], row)
    return (f'**{time}**' if row['verdict'] == 'BEHIND' else time,
            ', '.join(f'{times_of(other, row)} {way}' for way, other in row['raw'].items()))


def lines(rows):
    shown = {name for name, _ in ROWS}
    own = {(row['row'], row['bytes'], row['ranks']): row for row in rows
           if row['suite'] == 'maps' and row['ours'] and row['row'] in shown}
    for ranks in sorted({key[2] for key in own}):
        here = [row for key, row in own.items() if key[2] == ranks]
        peers = sorted({name for row in here for name in row['peers']})
        yield ''
        yield ' | '.join([f'| {ranks} ranks', 'value', 'ours', 'by hand', *peers]) + ' |'
        yield '|---' * (len(peers) + 4) + '|'
        for name, title in ROWS:
            for size in sorted({key[1] for key in own if key[0] == name and key[2] == ranks}):
                row = own[name, size, ranks]
                time, by_hand = cells_of(row)
                cells = [times_of(row['peers'][peer], row) if peer in row['peers'] else '' for peer in peers]
                yield ' | '.join([f'| {title}', words.size(size), time, by_hand, *cells]) + ' |'


def lines_of_others(rows):
    """Counters, queues, vectors and tasks: a line for each, a column for each number of ranks."""
    own = {(row['row'], row['ranks']): row for row in rows if row['suite'] == 'maps' and row['ours']}
    every = sorted({ranks for name, ranks in own if name in dict(OTHERS)})
    if not every:
        return
    yield ''
    yield '| elements of 8 B | ' + ' | '.join(f'{ranks} ranks | by hand' for ranks in every) + ' |'
    yield '|---' * (1 + 2 * len(every)) + '|'
    for name, title in OTHERS:
        cells = [cell for ranks in every for cell in (cells_of(own[name, ranks]) if (name, ranks) in own else ('', ''))]
        if any(cells):
            yield ' | '.join([f'| {title}', *cells]) + ' |'
