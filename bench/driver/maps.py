# SPDX-License-Identifier: BSL-1.0
"""The table of the suite `maps`: ours beside each other table, and beside memory accesses by hand."""

import words

ROWS = [('ycsb_a', 'YCSB A: half of the steps update'), ('ycsb_b', 'YCSB B: 5 % update'), ('ycsb_c', 'YCSB C: lookups'),
        ('ycsb_f', 'YCSB F: half read and update'), ('map_lookup', 'lookup of a key at random'), ('map_lookup_64', 'of 64 at once'),
        ('map_accumulate', 'insert_or_accumulate at random')]


def is_there(rows):
    return any(row['suite'] == 'maps' for row in rows)


def cell(row, source, name):
    """Another way's time, as a multiple of ours."""
    other = row[source].get(name)
    return words.digits(other['median'] / row['ours']['median']) if other else ''


def lines(rows):
    own = {(row['row'], row['bytes'], row['ranks']): row for row in rows if row['suite'] == 'maps' and row['ours']}
    others = [(source, name) for source in ('raw', 'peers') for name in dict.fromkeys(n for row in own.values() for n in row[source] or {})]
    for ranks in sorted({key[2] for key in own}):
        yield ''
        yield f'| {ranks} ranks: a step of each, and the times of others over ours | value | ours | ' + ' | '.join(n for _, n in others) + ' |'
        yield '|---' * (len(others) + 3) + '|'
        for name, title in ROWS:
            for size in sorted({key[1] for key in own if key[0] == name and key[2] == ranks}):
                row = own[name, size, ranks]
                time = words.amount(row['ours']['median'], row)
                time = f'**{time}**' if row['verdict'] == 'BEHIND' else time
                yield f'| {title} | {words.size(size)} | {time} | ' + ' | '.join(cell(row, *other) for other in others) + ' |'
