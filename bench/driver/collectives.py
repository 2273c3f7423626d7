# SPDX-License-Identifier: BSL-1.0
"""Tables of the suite `collectives`: ours beside the quickest peer, started forms, and each algorithm."""

import words

# In the order of the tables.
NAMES = ['bcast', 'reduce', 'allreduce', 'scan', 'exscan', 'scatter', 'gather', 'allgather', 'alltoall', 'reduce_scatter_block',
         'scatterv', 'gatherv', 'allgatherv', 'alltoallv', 'reduce_scatter']
EXPOSED = '_exposed'
TOUCHED = '_touched'
SYMMETRIC = '_symmetric'


def is_there(rows):
    return any(row['suite'] == 'collectives' for row in rows)


def found_in(rows):
    """(row, mode, ranks) -> {bytes: row} of the suite."""
    found = {}
    for row in rows:
        if row['suite'] == 'collectives' and row['ours']:
            found.setdefault((row['row'], row['mode'], row['ranks']), {})[row['bytes']] = row
    return found


def marked(text, is_behind):
    return f'**{text}**' if is_behind else text


def beside_peer(row):
    """Our time, and the number of times that we are ahead of the quickest peer: bold if we are behind."""
    text = words.amount(row['ours']['median'], row)
    if row['ahead']:
        text += f" ({words.digits(row['ahead']['ratio'])} {row['best_peer']})"
    return marked(text, row['ahead'] and row['ahead']['ratio'] < 1)


def beside_hand(row):
    """The multiple of the hand-written time: bold if it is above its target."""
    if not row['to_raw']:
        return ''
    text = words.digits(row['to_raw']['ratio'])
    return marked(text, row['target_raw'] and row['to_raw']['ratio'] > row['target_raw'])


def hidden(row):
    """IMB's overlap in percent, and the one of the best peer."""
    text = f"{100 - row['ours']['median']:.0f} %"
    if row['best_peer']:
        text += f" ({100 - row['peers'][row['best_peer']]['median']:.0f} % {row['best_peer']})"
    return text


def table(title, lines, cell):
    """A line for each (name, {bytes: row}), a column for each size."""
    sizes = sorted({size for _, rows in lines for size in rows})
    if not sizes:
        return
    yield ''
    yield f'| {title} | ' + ' | '.join(words.size(size) if size else '' for size in sizes) + ' |'
    yield '|---' * (len(sizes) + 1) + '|'
    for name, rows in lines:
        yield f'| {name} | ' + ' | '.join(cell(rows[size]) if size in rows else '' for size in sizes) + ' |'


def chosen(found, ranks, prefix='', suffix='', field=None):
    """[(name, rows)] of one number of ranks; `field`: only rows that have it."""
    lines = []
    for name in NAMES:
        rows = found.get((prefix + name + suffix, '', ranks), {})
        rows = {size: row for size, row in rows.items() if field is None or row[field]}
        if rows:
            lines.append((prefix + name, rows))
    return lines


def beside_peers(rows, most_ranks=1024):
    found = found_in(rows)
    for ranks in sorted({ranks for _, mode, ranks in found if mode == '' and ranks <= most_ranks}):
        yield from table(f'{ranks} ranks: time (times ahead of the quickest peer)', chosen(found, ranks), beside_peer)
        yield from table(f'{ranks} ranks: with elements written before, and results read after', chosen(found, ranks, '', TOUCHED), beside_peer)
        yield from table(f'{ranks} ranks: in windows and in symmetric memory', chosen(found, ranks, '', SYMMETRIC), beside_peer)
        yield from table(f'{ranks} ranks: started and waited for', chosen(found, ranks, 'i'), beside_peer)
        yield from table(f'{ranks} ranks: started, times the blocking form', chosen(found, ranks, 'i', '', 'to_raw'), beside_hand)
        yield from table(f'{ranks} ranks: overlap with computation', chosen(found, ranks, 'i', EXPOSED), hidden)
    short = [(name, {size: row for size, row in rows.items() if row['to_raw'] and row['best_raw'] != 'blocking'})
             for name, rows in chosen(found, 2)]
    yield from table('2 ranks: times a barrier by hand (short), copies by hand (long)', [line for line in short if line[1]], beside_hand)


def by_algorithm(rows):
    """The times of all algorithms of a collective: the quickest one of each column is bold."""
    found = found_in(rows)
    several = sorted({ranks for _, mode, ranks in found if mode})
    sizes = sorted({size for (_, mode, _), rows_of in found.items() if mode for size in rows_of})
    columns = [(ranks, size) for ranks in several for size in sizes]
    if not columns:
        return
    yield ''
    yield '| collective | algorithm | ' + ' | '.join(f'{words.size(size)}, {ranks} ranks' for ranks, size in columns) + ' |'
    yield '|---' * (len(columns) + 2) + '|'
    for name in NAMES:
        modes = list(dict.fromkeys(mode for row, mode, _ in found if row == name and mode))
        times = {(mode, *column): found[name, mode, column[0]][column[1]]['ours']['median'] for mode in modes for column in columns
                 if column[1] in found.get((name, mode, column[0]), {})}
        for mode in sorted(modes, key=lambda m: times.get((m, *columns[0]), 0)):
            cells = []
            for column in columns:
                mine = times.get((mode, *column))
                best = min((times[m, *column] for m in modes if (m, *column) in times), default=None)
                cells.append('' if mine is None else marked(words.seconds(mine), mine == best))
            yield f'| {name} | `{mode}` | ' + ' | '.join(cells) + ' |'


def lines(rows):
    yield from beside_peers(rows)
    yield from by_algorithm(rows)
