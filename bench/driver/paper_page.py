# SPDX-License-Identifier: BSL-1.0
"""The papers' figures redrawn, each beside what the paper says and what we got, and every number: one page."""

import html
import os
import sys

import page
import paper_judge
import papers
import plots

COLOURS = ('#1f5fd0', '#d1662a', '#2f9e77', '#8e5bb5', '#c2335f', '#e0a030', '#7a7a2a', '#3aa6b9', '#555555')
STYLE = page.STYLE + '''
.paper { display: grid; grid-template-columns: minmax(420px, 3fr) 2fr; gap: 1.4rem; align-items: start; }
.paper figure { margin: 0 0 .8rem; border: 1px solid var(--line); border-radius: 10px; padding: .6rem; }
.paper svg { width: 100%; height: auto; display: block; }
td.miss { color: var(--bad); font-weight: 600; } td.hold { color: var(--good); font-weight: 600; }
td.why { white-space: normal; }
@media (max-width: 900px) { .paper { grid-template-columns: 1fr; } }
'''


def panel_name(figure, quantity):
    words = ''.join(c if c.isalnum() else '_' for c in quantity)
    return f'paper_{figure.name}_{words}'


def points(result, quantity):
    """series -> (ours, the paper's), each [(x, value)]."""
    found = {}
    for (series, x, q), value in result.values.items():
        if q == quantity:
            found.setdefault(series, ([], []))[0].append((x, value))
    for c in result.compared:
        if c.printed.quantity == quantity:
            found.setdefault(c.printed.series, ([], []))[1].append((c.printed.x, c.printed.value))
    return {series: (sorted(ours, key=str_last), sorted(theirs, key=str_last)) for series, (ours, theirs) in found.items()}


def str_last(point):
    return (isinstance(point[0], str), point[0])


def draw_panel(result, quantity, path):
    """Lines are ours, crosses the paper's; bars where x has names."""
    figure = result.figure
    found = points(result, quantity)
    xs = sorted({x for pair in found.values() for side in pair for x, _ in side}, key=lambda x: (isinstance(x, str), x))
    if not xs:
        return False
    by_name = figure.bars
    at = {x: i for i, x in enumerate(xs)} if by_name else {x: x for x in xs}
    script, lines = '', []
    width = 0.8 / max(1, len(found))
    for number, (series, (ours, theirs)) in enumerate(sorted(found.items())):
        colour = COLOURS[number % len(COLOURS)]
        title = plots.quoted(series)
        shift = (number - (len(found) - 1) / 2) * width if by_name else 0
        if ours:
            script += plots.block(f'o{number}', [(at[x] + shift, y) for x, y in ours])
            lines.append(f'$o{number} using 1:2:({width * 0.9}) with boxes fillstyle solid 0.75 linecolor rgb "{colour}" title {title}'
                         if by_name else
                         f'$o{number} using 1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.5 linecolor rgb "{colour}" title {title}')
        if theirs:
            script += plots.block(f'p{number}', [(at[x] + shift, y) for x, y in theirs])
            lines.append(f'$p{number} using 1:2 with points pointtype 2 pointsize 1.3 linewidth 2.5 linecolor rgb "{"#111111" if by_name else colour}" notitle')
    names = {}
    if by_name:
        names = {i: figure.name_of(x) for x, i in at.items()}
    ticks = 'set xtics (' + ', '.join(f'{plots.quoted(n)} {i}' for i, n in names.items()) + ')' + \
        (' rotate by -25' if max(map(len, names.values())) > 8 else '') + '\n' if names else ''
    low, high = min(at.values()), max(at.values())
    script += f'''set title {plots.quoted(figure.title + ': ' + quantity)}
{f'set logscale {figure.log}' if figure.log else 'set yrange [0:*]'}
{f'set xrange [{low - 0.6}:{high + 0.6}]' if by_name else ''}
{ticks}set xlabel {plots.quoted(figure.xlabel)}
set ylabel {plots.quoted(result.units.get(quantity, ''))}
set grid ytics xtics linecolor rgb "#d4d8de"
set border 3 linecolor rgb "#777777"
set tics nomirror
set key outside right top
plot {', '.join(lines)}
'''
    plots.gnuplot(script, path, 760, 380)
    return True


def draw(results, directory):
    """(figure name, quantity) -> file name without its end, of the pictures that could be drawn."""
    drawn = {}
    for result in results:
        for quantity in result.figure.draws:
            name = panel_name(result.figure, quantity)
            if draw_panel(result, quantity, os.path.join(directory, name)):
                drawn[result.figure.name, quantity] = name
    return drawn


def digits(value):
    return f'{value:.4g}' if value < 10000 else f'{value:.0f}'


def values_table(result):
    if not result.compared:
        return ''
    body = []
    for c in result.compared:
        p = c.printed
        kind = {'printed': ('within 25 %', 'hold') if c.holds() else ('miss', 'miss')}.get(p.kind, (p.kind, ''))
        body.append('<tr>' + page.cell(p.series, 'name') + page.cell(result.figure.name_of(p.x)) + page.cell(p.quantity) +
                    page.cell(digits(c.ours) if c.ours is not None else '-', 'ours') + page.cell(digits(p.value)) + page.cell(p.unit) +
                    page.cell(f'{c.ratio():.2f}' if c.ours is not None else '-') + page.cell(kind[0], kind[1]) +
                    page.cell(c.cause, 'why') + '</tr>')
    head = ''.join(f'<th>{h}</th>' for h in ('', result.figure.xlabel, '', 'ours', 'paper', '', 'ratio', '', 'suspected cause'))
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>' + '\n'.join(body) + '</tbody></table></div>'


def claims_list(result):
    def line(t):
        mark, kind = ('holds', 'hold') if t.holds else ('not tried', '') if t.holds is None else ('does not hold', 'miss')
        why = t.claim.why if t.holds is False else f'missing: {t.missing}' if t.missing else ''
        return '<tr>' + page.cell(t.claim.text, 'why', why) + page.cell(t.claim.kind) + page.cell(mark, kind) + '</tr>'
    return '<table><tbody>' + '\n'.join(map(line, result.claims)) + '</tbody></table>' if result.claims else ''


def keep(said, directory):
    """Writes the pictures that programs drew: files of their own, since each has a style sheet. Returns them as HTML."""
    shown = ''
    for line in said:
        name = f"paper_{line['figure']}_{line['name']}.svg"
        with open(os.path.join(directory, name), 'w', encoding='utf-8') as out:
            out.write(line['svg'])
        shown += f'<figure><img src="{name}" alt="{html.escape(line["name"])}" style="width:100%"></figure>'
    return shown


def section(result, drawn, directory, said=()):
    figure = result.figure
    pictures = ''.join(page.picture(directory, drawn[figure.name, q]) for q in figure.draws if (figure.name, q) in drawn)
    pictures += keep([line for line in said if line['figure'] == figure.name], directory)
    parameters = ', '.join(result.parameters)
    return f'''<h2>{html.escape(figure.title)}</h2><p class="soft">{html.escape(figure.source)} &middot; {html.escape(parameters)}</p>
<div class="paper"><div>{pictures}</div><div>
<p><b>The paper:</b> {html.escape(figure.says)}</p>
<p><b>Ours:</b> {html.escape(result.text())}</p>
{claims_list(result)}</div></div>
<details><summary>Every printed number</summary>{values_table(result)}</details>'''


def write(results, machine, directory, said=()):
    """papers.html and its pictures; `said`: those that programs drew."""
    try:
        drawn = draw(results, directory)
    except (OSError, RuntimeError) as problem:
        print(f'tools/bench: no pictures: {problem}', file=sys.stderr)
        drawn = {}
    counted = [c for r in results for c in r.counted()]
    tried = [t for r in results for t in r.claims]
    cards = ''.join(f'<div class="card {kind}"><b>{count}</b>{text}</div>' for count, kind, text in (
        (f'{sum(c.holds() for c in counted)} of {len(counted)}', 'ok', f'printed values within {papers.WITHIN:.0%}'),
        (f'{sum(bool(t.holds) for t in tried)} of {len(tried)}', 'ok', 'orderings, crossings and shapes hold'),
        (sum(not c.holds() for c in counted), 'BEHIND', 'values are missed'),
        (sum(not t.holds for t in tried), 'BEHIND', 'claims do not hold, or could not be tried')))
    sections = '\n'.join(section(r, drawn, directory, said) for r in results)
    text = f'''<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>The papers, reproduced</title><style>{STYLE}</style>
<h1>The papers, reproduced</h1>
<p class="soft">Virtual time of the emulated chip, but for foMPI's functions; commit {html.escape(str(machine.get('commit')))} &middot;
{html.escape(str(machine.get('date')))}. Lines and bars are ours, crosses what the paper prints.</p>
<div class="cards">{cards}</div>
{sections}
</html>
'''
    with open(os.path.join(directory, 'papers.html'), 'w', encoding='utf-8') as out:
        out.write(text)
