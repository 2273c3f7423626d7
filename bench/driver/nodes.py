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
        ('far_put', 2**20, 'put 1 MiB, flush')]


def is_there(rows):
    return any(row['suite'] == 'nodes' for row in rows)


def series(results):
    """(row, mode, setting, bytes, way) -> round -> sample."""
    found = {}
    for sample in results.samples:
        if sample['suite'] == 'nodes':
            *mode, setting = sample['mode'].split(', ')
            key = (sample['row'], ', '.join(mode), setting, sample['bytes'], sample['way'])
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


def cell(found, row, mode, setting, size, way, quartiles):
    """A time, and its ratio to that of RMA."""
    own = found.get((row, mode, setting, size, way))
    if not own:
        return '-'
    rma = found.get((row, mode, setting, size, 'RMA'))
    text = amount(own, quartiles)
    if way != 'RMA' and rma and (values := judge.ratios(own, rma)):
        text += f' ({words.digits(spread.median(values))})'
    return text


def lines(results, quartiles=False):
    found = series(results)
    there = [s for s in SETTINGS if any(key[2] == s for key in found)]
    yield '| by hand | by | ' + ' | '.join(there) + ' |'
    yield '|---' * (len(there) + 2) + '|'
    for row, mode, size, title in EXPERIMENT:
        for way in WAYS:
            if any((row, mode, s, size, way) in found for s in there):
                cells = [cell(found, row, mode, s, size, way, quartiles) for s in there]
                yield f"| {title if way == 'RMA' else ''} | {way} | " + ' | '.join(cells) + ' |'
    yield ''
    yield '| backend | access | ' + ' | '.join(there) + ' |'
    yield '|---' * (len(there) + 2) + '|'
    backends = dict.fromkeys(key[1] for key in found if key[4] == '')
    for backend in backends:
        for row, size, title in OURS:
            cells = [cell(found, row, backend, s, size, '', quartiles) for s in there]
            yield f'| `{backend}` | {title} | ' + ' | '.join(cells) + ' |'
