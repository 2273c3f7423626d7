# SPDX-License-Identifier: BSL-1.0
"""The table of the suite `maps`: ours beside each other table, and beside memory accesses by hand."""

import words

ROWS = [('ycsb_a', 'YCSB A: half of the steps update'), ('ycsb_b', 'YCSB B: 5 % update'), ('ycsb_c', 'YCSB C: lookups'),
        ('ycsb_f', 'YCSB F: half read and update'), ('map_lookup', 'lookup of a key at random'), ('map_lookup_64', 'of 64 at once'),
        ('map_accumulate', 'insert_or_accumulate at random'), ('map_accumulate_64', 'of 64 at once'),
        ('map_contains', 'contains, in a map with twice the room'), ('map_insert', 'insert there'), ('map_memory', 'memory')]


def is_there(rows):
    return any(row['suite'] == 'maps' for row in rows)


def times_of(other, row):
    """Another way's number, as a multiple of ours."""
    return words.digits(other['median'] / row['ours']['median'])


def lines(rows):
    own = {(row['row'], row['bytes'], row['ranks']): row for row in rows if row['suite'] == 'maps' and row['ours']}
    for ranks in sorted({key[2] for key in own}):
        here = [row for key, row in own.items() if key[2] == ranks]
        peers = sorted({name for row in here for name in row['peers']})
        yield ''
        yield ' | '.join([f'| {ranks} ranks', 'value', 'ours', 'by hand', *peers]) + ' |'
        yield '|---' * (len(peers) + 4) + '|'
        for name, title in ROWS:
            for size in sorted({key[1] for key in own if key[0] == name and key[2] == ranks}):
                row = own[name, size, ranks]
                time = words.amount(row['ours']['median'], row)
                time = f'**{time}**' if row['verdict'] == 'BEHIND' else time
                by_hand = ', '.join(f'{times_of(other, row)} {way}' for way, other in row['raw'].items())
                cells = [times_of(row['peers'][peer], row) if peer in row['peers'] else '' for peer in peers]
                yield ' | '.join([f'| {title}', words.size(size), time, by_hand, *cells]) + ' |'
