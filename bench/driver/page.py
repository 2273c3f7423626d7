# SPDX-License-Identifier: BSL-1.0
"""Writes one page that contains everything and opens without a network."""

import html
import os
import re

import folds
import growth
import judge
import methods
import plots
import words

STYLE = '''
:root { --ink: #1d2430; --soft: #5d6675; --line: #e2e5ea; --good: #1f7a58; --bad: #b3264f; --dim: #8a6d00; --ours: #1f5fd0; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1320px; padding: 2.2rem 1.6rem 4rem; color: var(--ink); background: #fff;
       font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.9rem; margin: 0 0 .3rem; } h2 { font-size: 1.25rem; margin: 2.6rem 0 .8rem; } h4 { margin: 0 0 .3rem; }
p.soft, .soft { color: var(--soft); }
.cards { display: flex; gap: .9rem; flex-wrap: wrap; margin: 1.5rem 0 0; }
.card { flex: 1 1 9rem; border: 1px solid var(--line); border-radius: 10px; padding: .8rem 1rem; }
.card b { display: block; font-size: 1.9rem; line-height: 1.15; font-variant-numeric: tabular-nums; }
.BEHIND b, .verdict.BEHIND, td.BEHIND { color: var(--bad); } .ok b, .verdict.ok, td.ok { color: var(--good); }
.noise b, .verdict.noise, td.noise { color: var(--dim); }
small { color: var(--soft); display: block; font-weight: 400; }
.ours, .name, .verdict { font-weight: 600; } .ours { color: var(--ours); }
summary { cursor: pointer; } .row > summary > .name::before, .what::before { content: '\\25b8  '; color: var(--soft); }
details[open] > summary > .name::before, details[open] > summary > .what::before { content: '\\25be  '; }
.rows { font-size: .86rem; font-variant-numeric: tabular-nums; }
.row > summary, .heads { display: grid; grid-template-columns: 3fr 2fr 2.4fr 2.6fr 2.2fr 1.5fr; gap: .2rem .9rem;
       padding: .4rem .3rem; border-bottom: 1px solid var(--line); list-style: none; }
.row > summary > span, .open > summary > span, section { min-width: 0; }
.heads { color: var(--soft); font-weight: 600; border-bottom-width: 2px; }
.row > summary:hover, .open > summary:hover { background: #f5f7fa; }
.open { border: 1px solid var(--line); border-radius: 10px; margin: .5rem 0; }
.open > summary { display: grid; grid-template-columns: 4fr 1fr 4fr 1.4fr; gap: .2rem .9rem; padding: .6rem .9rem; }
.inside { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 16rem), 1fr)); gap: 1rem; padding: .8rem .9rem 1.2rem;
       background: #f9fafc; }
.inside p, .inside ol { margin: .3rem 0; } .inside ol { padding-left: 1.4rem; max-height: 12rem; overflow-y: auto; }
.inside svg { width: 100%; max-width: 30rem; height: auto; font-size: 11px; } .bars line { stroke: #1d2430; stroke-width: 2; }
.spark polyline { fill: none; stroke: var(--ours); stroke-width: 2; }
td.ours { color: var(--ours); } .wide, .scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; width: 100%; font-size: .86rem; font-variant-numeric: tabular-nums; }
th { text-align: left; color: var(--soft); font-weight: 600; border-bottom: 2px solid var(--line); padding: .4rem .6rem; }
td { border-bottom: 1px solid var(--line); padding: .35rem .6rem; vertical-align: top; overflow-wrap: normal; }
td.name { font-weight: 600; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 33rem), 1fr)); gap: 1.2rem; }
.plots figure { margin: 0; border: 1px solid var(--line); border-radius: 10px; padding: .6rem; overflow: hidden; min-width: 0; }
.plots figure.wide { grid-column: 1 / -1; }
.plots svg { width: 100%; height: auto; display: block; }
details.more { margin: 1rem 0; } .more > summary { font-weight: 600; }
@media (max-width: 760px) {
  body { padding: 1.2rem .8rem 3rem; }
  .heads { display: none; }
  .row > summary, .open > summary { grid-template-columns: 1fr 1fr; padding: .7rem .3rem; }
  .row > summary > .name, .open > summary > .what, .open > summary > .said { grid-column: 1 / -1; }
  .row > summary > span:not(.name)::before { content: attr(data-label); display: block; color: var(--soft); font-weight: 400;
       font-size: .8em; }
}
'''

HEAD = ['row', 'pgas', 'times by hand', 'times ahead of the best peer', 'target', 'verdict']


def cell(text, kind='', small=''):
    inside = html.escape(text) + (f'<small>{html.escape(small)}</small>' if small else '')
    return f'<td class="{kind}">{inside}</td>' if kind else f'<td>{inside}</td>'


def line_of(row, runs=(), pictures=()):
    return folds.fold(row, runs, pictures)


def rows_table(rows, runs, pictures):
    head = ''.join(f'<span>{html.escape(name)}</span>' for name in HEAD)
    return f'<div class="rows"><div class="heads">{head}</div>' + '\n'.join(line_of(r, runs, pictures) for r in rows) + '</div>'


def growth_table(rows):
    """How rows grow with the number of ranks."""
    of = growth.table(rows)
    if not of:
        return ''
    ranks = sorted({n for _, times, _, _ in of for n in times})
    head = ''.join(f'<th>{html.escape(str(name))}</th>' for name in ['row', *(f'{n} ranks' for n in ranks), 'grows as ranks to the', 'by hand'])
    body = ''.join('<tr>' + cell(title, 'name') + ''.join(cell(times.get(n, '')) for n in ranks) + cell(f'{ours:.2f}', 'ours') +
                   cell('' if by_hand is None else f'{by_hand:.2f}') + '</tr>' for title, times, ours, by_hand in of)
    return '<h2>Growth with the number of ranks</h2><p class="soft">All ranks share the cores of this machine, so what all of them must do ' \
        'grows at least as ranks to the 1.</p>' \
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def in_ten(rows, runs, pictures):
    """The rows with which the page opens."""
    return ''.join(folds.opening(text, row, runs, pictures) for text, row in methods.chosen(rows, judge.name_of))


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
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>' + '\n'.join(body) + '</tbody></table></div>'


def picture(directory, name):
    """An SVG as part of the page. Its ids get a prefix of their own, since all pictures share the page."""
    with open(os.path.join(directory, name + '.svg'), encoding='utf-8') as file:
        text = file.read()
    text = text[text.index('<svg'):]
    text = re.sub(r'\bid=(["\'])', rf'id=\1{name}-', text)
    text = re.sub(r'(xlink:href=["\']|href=["\']|url\()#', rf'\1#{name}-', text)
    kind = ' class="wide"' if name == 'distance' else ''
    return f'<figure id="{name}"{kind}>{text}</figure>'


def write(results, pictures, directory, runs=()):
    curves = {name: row for name, _, row, *_ in plots.CURVES}
    folds.with_counts(results.rows)
    about = [(name, curves.get(name)) for name, _ in pictures]
    machine = results.machine
    count = {v: sum(r['verdict'] == v for r in results.rows) for v in words.VERDICTS}
    cards = ''.join(f'<div class="card {kind}"><b>{count[kind]}</b>{text}</div>' for kind, text in (
        ('BEHIND', 'rows behind their target'), ('noise', 'rows not judged: noise is larger than the difference'),
        ('ok', 'rows that reach their target'), ('', 'rows without a target, each with its reason' if not words.unexplained(results.rows) else
         'rows without a target' + words.unexplained(results.rows) + ' say why')))
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
<h2>In ten rows</h2>
<p class="soft">Each row opens: its picture, its history, how it is measured, and what its limit is.</p>
{in_ten(results.rows, runs, about)}
<h2>All rows</h2>
<div class="cards">{cards}</div>
<h2>Rows that fall short</h2>
{rows_table(short, runs, about) if short else '<p>None.</p>'}
<h2>Pictures</h2>
<p class="soft">Lines are medians, bands the quarters around them. Dashed grey lines are hand-written code without a library.</p>
<div class="plots">{figures}</div>
<h2>All other rows</h2>
{rows_table(rest, runs, about)}
<p class="soft">A ratio is the median over pairs of times, above its 90 % confidence interval. Times of two ranks make a pair if they
met one placement of the two cores, near or far; the time of a line between them is measured before and after each sample. If a
placement stands behind a ratio, ours is behind in that one alone. {html.escape(words.BESIDE)} Below a verdict is the share of the cores that other programs used. {html.escape(words.QUIET)}</p>
{growth_table(results.rows)}
<details class="more"><summary>Every peer's time in every row</summary>{everybody_table(results.rows)}</details>
<h2>Contenders</h2><ul>{who}</ul>
{f'<h2>Missing</h2><ul>{notes}</ul>' if notes else ''}
</html>
'''
    with open(os.path.join(directory, 'index.html'), 'w', encoding='utf-8') as out:
        out.write(text)
