# SPDX-License-Identifier: BSL-1.0
"""Writes one page that contains everything and opens without a network."""

import html
import os
import re

import words

STYLE = '''
:root { --ink: #1d2430; --soft: #5d6675; --line: #e2e5ea; --good: #1f7a58; --bad: #b3264f; --dim: #8a6d00; --ours: #1f5fd0; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1320px; padding: 2.2rem 1.6rem 4rem; color: var(--ink); background: #fff;
       font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.9rem; margin: 0 0 .3rem; } h2 { font-size: 1.25rem; margin: 2.6rem 0 .8rem; }
p.soft, .soft { color: var(--soft); }
.cards { display: flex; gap: .9rem; flex-wrap: wrap; margin: 1.5rem 0 0; }
.card { flex: 1 1 9rem; border: 1px solid var(--line); border-radius: 10px; padding: .8rem 1rem; }
.card b { display: block; font-size: 1.9rem; line-height: 1.15; font-variant-numeric: tabular-nums; }
.BEHIND b, td.BEHIND { color: var(--bad); } .ok b, td.ok { color: var(--good); } .noise b, td.noise { color: var(--dim); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .86rem; font-variant-numeric: tabular-nums; }
th { text-align: left; color: var(--soft); font-weight: 600; border-bottom: 2px solid var(--line); padding: .4rem .6rem; white-space: nowrap; }
td { border-bottom: 1px solid var(--line); padding: .35rem .6rem; vertical-align: top; white-space: nowrap; }
td.asked, td.peer, td.verdict { white-space: normal; min-width: 6.5rem; }
td.name { font-weight: 600; } td.ours { color: var(--ours); font-weight: 600; } td.verdict { font-weight: 600; } td.verdict small { font-weight: 400; }
td small { color: var(--soft); display: block; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(540px, 1fr)); gap: 1.2rem; }
.plots figure { margin: 0; border: 1px solid var(--line); border-radius: 10px; padding: .6rem; overflow: hidden; }
.plots figure.wide { grid-column: 1 / -1; }
.plots svg { width: 100%; height: auto; display: block; }
details { margin: 1rem 0; } summary { cursor: pointer; font-weight: 600; }
@media (max-width: 640px) { .plots { grid-template-columns: 1fr; } }
'''

HEAD = ['row', 'ranks', 'pgas', 'by hand', 'times by hand', 'best peer', 'times ahead', 'target', '']


def cell(text, kind='', small=''):
    inside = html.escape(text) + (f'<small>{html.escape(small)}</small>' if small else '')
    return f'<td class="{kind}">{inside}</td>' if kind else f'<td>{inside}</td>'


def range_of(item):
    return '' if item is None or item['rounds'] < 2 else f"{words.digits(item['low'])} to {words.digits(item['high'])}"


def middle_of(item):
    return '-' if item is None else words.digits(item['ratio'])


def line_of(row):
    raw, peer = row['best_raw'], row['best_peer']
    ours = row['ours']
    ends = ('p75', 'p25') if row['unit'] in ('B/s', 'op/s') else ('p25', 'p75')  # the smaller number first
    quarters = ' to '.join(words.amount(ours[end], row) for end in ends) if ours else ''
    place = row['placement'] if row['placement'] in ('near', 'far') else ''
    cells = [
        cell(words.title(row), 'name', ', '.join(w for w in (row['suite'], place) if w)),
        cell(str(row['ranks'])),
        cell(words.amount(ours['median'], row) if ours else 'not there yet', 'ours' if ours else '', quarters),
        cell(words.amount(row['raw'][raw]['median'], row), '', raw) if raw else cell('-'),
        cell(middle_of(row['to_raw']), '', range_of(row['to_raw'])),
        cell(words.amount(row['peers'][peer]['median'], row) if peer else '-', 'peer',
             '; '.join(w for w in (peer, words.missing(row)) if w)),
        cell(middle_of(row['ahead']), '', range_of(row['ahead'])),
        cell(words.asked(row), 'asked'),
        cell(words.VERDICTS[row['verdict']], f"verdict {row['verdict']}", f'others {words.busy(row)}'),
    ]
    return '<tr>' + ''.join(cells) + '</tr>'


def rows_table(rows):
    head = ''.join(f'<th>{html.escape(name)}</th>' for name in HEAD)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>' + '\n'.join(map(line_of, rows)) + \
        '</tbody></table></div>'


def everybody_table(rows):
    """Each contender's median in each row."""
    names = sorted({name for row in rows for name in row['peers']})
    head = ''.join(f'<th>{html.escape(n)}</th>' for n in ['row', 'ranks', 'pgas', *names])
    body = []
    for row in sorted(rows, key=lambda r: (r['suite'], r['row'], r['mode'], r['ranks'], r['bytes'])):
        if not row['peers']:
            continue
        values = [words.amount(row['peers'][n]['median'], row) if n in row['peers'] else '-' for n in names]
        ours = words.amount(row['ours']['median'], row) if row['ours'] else '-'
        body.append('<tr>' + cell(words.title(row), 'name') + cell(str(row['ranks'])) + cell(ours, 'ours') +
                    ''.join(map(cell, values)) + '</tr>')
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>' + '\n'.join(body) + '</tbody></table></div>'


def picture(directory, name):
    """An SVG as part of the page. Its ids get a prefix of their own, since all pictures share the page."""
    with open(os.path.join(directory, name + '.svg'), encoding='utf-8') as file:
        text = file.read()
    text = text[text.index('<svg'):]
    text = re.sub(r'\bid=(["\'])', rf'id=\1{name}-', text)
    text = re.sub(r'(xlink:href=["\']|href=["\']|url\()#', rf'\1#{name}-', text)
    kind = ' class="wide"' if name == 'distance' else ''
    return f'<figure{kind}>{text}</figure>'


def write(results, pictures, directory):
    machine = results.machine
    count = {v: sum(r['verdict'] == v for r in results.rows) for v in words.VERDICTS}
    cards = ''.join(f'<div class="card {kind}"><b>{count[kind]}</b>{text}</div>' for kind, text in (
        ('BEHIND', 'rows behind their target'), ('noise', 'rows not judged: noise is larger than the difference'),
        ('ok', 'rows that reach their target'), ('', 'rows without a target')))
    short = [r for r in results.rows if r['verdict'] == 'BEHIND']
    rest = [r for r in results.rows if r['verdict'] != 'BEHIND']
    who = ''.join(f"<li><b>{html.escape(c['name'])}</b>: {html.escape(c['setting'])}"
                  f" <span class=soft>{html.escape(c['version'])}</span></li>" for c in results.contenders)
    notes = ''.join(f'<li>{html.escape(who)}, {ranks} ranks: {html.escape(what)}: {html.escape(why)}</li>'
                    for _, who, ranks, what, why in words.gathered(results.notes))
    facts = f"{machine.get('processor')}, {machine.get('cores')} cores &middot; {machine.get('system')} &middot; " \
            f"{machine.get('compiler')} &middot; commit {machine.get('commit')} &middot; {machine.get('date')}"
    figures = ''.join(picture(directory, name) for name, _ in pictures)
    text = f'''<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>pgas beside its peers</title><style>{STYLE}</style>
<h1>pgas beside its peers</h1>
<p class="soft">{facts}</p>
<div class="cards">{cards}</div>
<h2>Rows that fall short</h2>
{rows_table(short) if short else '<p>None.</p>'}
<h2>Pictures</h2>
<p class="soft">Lines are medians, bands the quarters around them. Dashed grey lines are hand-written code without a library.</p>
<div class="plots">{figures}</div>
<h2>All other rows</h2>
{rows_table(rest)}
<p class="soft">A ratio is the median over rounds, above its 90 % confidence interval. Rows of two ranks are compared in one
placement of the two cores, near or far; the time of a line between them is measured before and after each sample. Below a
verdict is the share of the cores that other programs used. {html.escape(words.QUIET)}</p>
<details><summary>Every peer's time in every row</summary>{everybody_table(results.rows)}</details>
<h2>Contenders</h2><ul>{who}</ul>
{f'<h2>Missing</h2><ul>{notes}</ul>' if notes else ''}
</html>
'''
    with open(os.path.join(directory, 'index.html'), 'w', encoding='utf-8') as out:
        out.write(text)
