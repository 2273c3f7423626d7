# SPDX-License-Identifier: BSL-1.0
"""Writes the report as a Markdown table."""

import words

HEAD = ['row', 'ranks', 'ours', 'raw', 'ours / raw', 'best peer', 'times ahead', 'target', 'verdict', 'others used']


def cells(row):
    best_raw, best_peer = row['best_raw'], row['best_peer']
    return [
        words.title(row),
        str(row['ranks']),
        words.amount(row['ours']['median'], row) if row['ours'] else 'not there yet',
        f"{words.amount(row['raw'][best_raw]['median'], row)} {best_raw}" if best_raw else '-',
        words.ratio(row['to_raw']),
        words.together(f"{words.amount(row['peers'][best_peer]['median'], row)} {best_peer}" if best_peer else '-',
                       words.missing(row)),
        words.together(words.ratio(row['ahead']), words.beside(row['ahead'])),
        words.asked(row),
        words.VERDICTS[row['verdict']],
        words.busy(row),
    ]


def lines(results):
    machine = results.machine
    yield '# pgas beside its peers'
    yield ''
    yield f"{machine.get('processor')}, {machine.get('cores')} cores; {machine.get('system')}; {machine.get('compiler')}; " \
          f"commit {machine.get('commit')}; {machine.get('date')}."
    yield ''
    yield words.counts(results.rows)
    yield 'A ratio is the median over rounds, with its confidence interval. A pair of times is of one placement of the cores; times are those of the more frequent one.'
    yield words.BESIDE
    yield words.QUIET
    yield ''
    yield '| ' + ' | '.join(HEAD) + ' |'
    yield '|' + '---|' * len(HEAD)
    for row in results.rows:
        yield '| ' + ' | '.join(cells(row)) + ' |'
    yield ''
    yield '## Contenders'
    yield ''
    for contender in results.contenders:
        version = f" ({contender['version']})" if contender['version'] else ''
        yield f"* **{contender['name']}**{version}: {contender['setting']}."
    if results.notes:
        yield ''
        yield '## Missing'
        yield ''
        for suite, who, ranks, what, why in words.gathered(results.notes):
            yield f'* {suite}, {who}, {ranks} ranks: {what}: {why}.'


def write(results, path):
    with open(path, 'w', encoding='utf-8') as out:
        out.writelines(line + '\n' for line in lines(results))
