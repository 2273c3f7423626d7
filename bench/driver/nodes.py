# SPDX-License-Identifier: BSL-1.0
"""Tables of the suite `nodes`: what carries an access between two nodes, and the library beside it."""

import judge
import spread
import suites
import words

SETTINGS = [name for name, *_ in suites.SETTINGS]
# The rows of the experiment in the table's order: row, mode, bytes, and the words for them.
EXPERIMENT = [(row, f'target {what}', size, f'{title}; target {what}')
              for what in ('waits', 'computes')
              for row, size, title in (('far_put', 8, 'put 8 B'), ('far_get', 8, 'get 8 B'),
                                       ('far_fetch_add', 8, 'fetch_add'), ('far_put', 2**20, 'put 1 MiB'))]
EXPERIMENT += [('far_signal', '', 1024, '1 KiB and its signal'),
               ('far_random_puts', '', 8, 'random puts of 8 B')]
WAYS = ['RMA', 'messages', 'packets of 16 KiB', 'agent, own core', "agent, target's core"]
OURS = [('far_put', 8, 'put 8 B, flush'), ('far_get', 8, 'get 8 B'), ('far_fetch_add', 8, 'fetch_add'),
        ('far_put', 2**20, 'put 1 MiB, flush'), ('far_random_puts', 8, 'random puts of 8 B'),
        ('far_heat', 0, 'a step of heat, 1024 x 1024'), ('far_heat_notified', 0, 'the same, notified halo'),
        ('far_barrier', 0, 'barrier'), ('far_fence', 0, 'fence'),
        ('near_put', 8, 'put 8 B on a node'), ('near_get', 8, 'get 8 B on a node'),
        ('near_fetch_add', 8, 'fetch_add on a node'), ('near_put', 2**20, 'put 1 MiB on a node'),
        ('near_fence', 0, 'fence on a node')]
OURS += [(f'node_{name}', size, f'{name} {text}, nodes of 2') for name in ('bcast', 'allreduce', 'gather', 'allgather')
         for size, text in ((8, '8 B'), (2**10, '1 KiB'), (2**16, '64 KiB'))]
# Where the other is no access.
BESIDE = {'far_barrier': '`MPI_Barrier`', 'far_fence': '`MPI_Win_fence`'}


def is_there(rows):
    return any(row['suite'] == 'nodes' for row in rows)


def series(results):
    """(row, mode, setting, bytes, way, ranks) -> round -> sample."""
    found = {}
    for sample in results.samples:
        if sample['suite'] == 'nodes':
            *mode, setting = sample['mode'].split(', ')
            key = (sample['row'], ', '.join(mode), setting, sample['bytes'], sample['way'], sample['ranks'])
            found.setdefault(key, {})[sample['round']] = sample
    return found


def amount(samples, quartiles):
    """The median of all samples, in quiet rounds if there are enough; with the quarters around it if
    wanted."""
    usable = [s for number in judge.quiet(samples, samples) for s in samples[number]['seconds']]
    row = next(iter(samples.values()))
    said = spread.Spread.of(usable)
    around = f' [{words.amount(said.p25, row)} .. {words.amount(said.p75, row)}]' if quartiles else ''
    return words.amount(said.median, row) + around


def cell(found, row, mode, setting, size, way, quartiles, ranks=2, beside='RMA'):
    """A time, and its ratio to that of another way."""
    own = found.get((row, mode, setting, size, way, ranks))
    if not own:
        return '-'
    other = found.get((row, mode, setting, size, beside, ranks))
    text = amount(own, quartiles)
    if way != beside and other and (values := judge.ratios(own, other)):
        text += f' ({words.digits(spread.median(values))})'
    return text


def lines(results, quartiles=False):
    found = series(results)
    there = [s for s in SETTINGS if any(key[2] == s for key in found)]
    yield '| by hand | by | ' + ' | '.join(there) + ' |'
    yield '|---' * (len(there) + 2) + '|'
    for row, mode, size, title in EXPERIMENT:
        for way in WAYS:
            if any((row, mode, s, size, way, 2) in found for s in there):
                cells = [cell(found, row, mode, s, size, way, quartiles) for s in there]
                yield f"| {title if way == 'RMA' else ''} | {way} | " + ' | '.join(cells) + ' |'
    yield ''
    yield '| backend | beside | ' + ' | '.join(there) + ' |'
    yield '|---' * (len(there) + 2) + '|'
    for backend in dict.fromkeys(key[1] for key in found if key[4] == ''):
        for row, size, title in OURS:
            for ranks in sorted({key[5] for key in found if key[:2] == (row, backend)}):
                for beside in ('RMA', 'RMA, own memory', 'messages', 'loop', 'links', 'MPI'):
                    if any((row, backend, s, size, beside, ranks) in found for s in there):
                        cells = [cell(found, row, backend, s, size, '', quartiles, ranks, beside) for s in there]
                        many = f' of {ranks} ranks' if ranks > 2 else ''
                        yield f'| `{backend}`: {title}{many} | {BESIDE.get(row, beside)} | ' + ' | '.join(cells) + ' |'
