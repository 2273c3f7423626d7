# SPDX-License-Identifier: BSL-1.0
"""Writes one page: each figure of the papers redrawn, the paper's text, our result, and every number."""

import base64
import collections
import html
import os
import string
import sys

import page
import paper_judge
import paper_model
import paper_plots
import papers

STYLE = page.STYLE + '''
html { scroll-behavior: smooth; } h2 { scroll-margin-top: 1rem; }
a { color: var(--ours); text-decoration: none; } a:hover { text-decoration: underline; }
.paper { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 1.8rem; align-items: start; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(300px, 100%), 1fr)); gap: .8rem; }
.panels figure { margin: 0; border: 1px solid var(--line); border-radius: 10px; padding: .5rem; }
.panels svg, .panels img { width: 100%; height: auto; display: block; }
.maps { grid-template-columns: repeat(auto-fit, minmax(min(560px, 100%), 1fr)); margin-top: .8rem; }
.key { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; margin: 0 0 .7rem; padding: 0; font-size: .86rem; }
.key i { display: inline-block; width: 1.1rem; height: .32rem; border-radius: 2px; margin-right: .4rem; vertical-align: middle; }
.missed { color: var(--bad); }
.words p { margin: 0 0 .7rem; } .words ul { margin: 0 0 .8rem; padding-left: 1.1rem; } .words li { margin: .15rem 0; }
.causes { font-size: .86rem; color: var(--soft); list-style: none; padding: 0; } .causes b { color: var(--ink); }
td.miss { color: var(--bad); font-weight: 600; } td.hold { color: var(--good); font-weight: 600; }
sup { line-height: 0; }
td.text { white-space: normal; } .card.plain b { color: var(--soft); } table.claims { margin-top: 1.2rem; } table.claims td.text { width: 100%; } table.all td { vertical-align: middle; }
.count { display: inline-block; min-width: 4.4rem; }
.bar { display: inline-block; width: 4.5rem; height: .5rem; border-radius: 3px; background: #f0d3dc; vertical-align: middle; }
.bar i { display: block; height: 100%; border-radius: 3px; background: var(--good); }
@media (max-width: 900px) { .paper { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 640px) { body { padding: 1.2rem .8rem; } td { padding: .35rem .4rem; } .card { flex-basis: 11rem; } .bar, .source { display: none; } }
'''


def digits(value):
    return f'{value:.2f}' if value < 0 else f'{value:.3g}' if value < 1000 else f'{value:.0f}'


def share(part, whole):
    """'3 of 4', with a bar."""
    return f'<span class="count">{part} of {whole}</span><span class="bar"><i style="width:{100 * part / whole:.0f}%"></i></span>' if whole else ''


def times(low, high):
    low, high = f'{low:.2g}', f'{high:.2g}'
    return f'{low} times' if low == high else f'{low} to {high} times'


class Causes:
    """The suspected causes that a figure's tables refer to: each has a letter and is printed once."""

    def __init__(self):
        self.letters = {}

    def cell(self, text, kind, why):
        """A verdict, and the letter of its cause."""
        letter = self.letters.setdefault(why, string.ascii_lowercase[len(self.letters)]) if why else ''
        return f'<td class="{kind}">{text}{f" <sup>{letter}</sup>" if letter else ""}</td>'

    def text(self):
        if not self.letters:
            return ''
        return '<p><b>Suspected causes</b></p><ul class="causes">' + ''.join(
            f'<li><b>{letter}</b>&ensp;{html.escape(why)}</li>' for why, letter in self.letters.items()) + '</ul>'


# Our result in words: all numbers are those of the run, and each line is part of a page

def named(series):
    return f'<b>{html.escape(series)}</b>'


def of_series(result):
    """For each series with predicted numbers, how near ours are; one line if all are near."""
    found = {}
    for c in result.counted('prediction'):
        if c.ours is not None:
            found.setdefault(c.printed.series, []).append(c)
    ratios = [c.ratio() for all_of_it in found.values() for c in all_of_it]
    if len(found) > 1 and all(c.holds() for c in result.counted('prediction')):
        yield f'all predictions: ours {times(min(ratios), max(ratios))} the paper\'s'
        return
    for series, all_of_it in found.items():
        ratios = [c.ratio() for c in all_of_it]
        yield f'{named(series)}: {sum(c.holds() for c in all_of_it)} of {len(all_of_it)} within {papers.WITHIN:.0%}, ours ' \
              f'{times(min(ratios), max(ratios))} the paper\'s'


def farthest(result):
    """The prediction with the largest miss."""
    missed = [c for c in result.counted('prediction') if not c.holds() and c.ours]
    if missed:
        c = max(missed, key=lambda c: max(c.ratio(), 1 / c.ratio()))
        yield f'farthest off: {named(c.printed.series)}, {place(result.figure, c.printed.x, result.figure.printed_over())}, {html.escape(c.printed.quantity)}: ' \
              f'{digits(c.ours)} {c.printed.unit} for {digits(c.printed.value)} {c.printed.unit}'


def at_the_end(result):
    """For each panel, the order of the curves at its right end."""
    for quantity in result.figure.draws:
        curves = {series: ours for series, (ours, _) in paper_plots.points(result, quantity).items() if ours}
        if not curves:
            continue
        last = max((ours[-1][0] for ours in curves.values()), key=lambda x: (isinstance(x, str), x))
        if isinstance(last, str):  # names have no end
            yield from where_least(quantity, curves)
            continue
        there = sorted((dict(ours)[last], series) for series, ours in curves.items() if last in dict(ours))
        yield f'{html.escape(quantity)}, {place(result.figure, last, result.figure.xlabel)}: ' + \
            ', '.join(f'{named(series)} {digits(value)}' for value, series in there) + f' {result.units.get(quantity, "")}'


def where_least(quantity, curves):
    """For each curve, the number of x at which it has the least value."""
    by_x = {}
    for series, ours in curves.items():
        for x, value in ours:
            by_x.setdefault(x, []).append((value, series))
    least = collections.Counter(min(values)[1] for values in by_x.values())
    yield f'{html.escape(quantity)}, the least of all: ' + \
        ', '.join(f'{named(series)} at {count} of {len(by_x)}' for series, count in least.most_common())


NAMES = ('tile column', 'class')  # of x that is no quantity


def place(figure, x, label):
    """47 targets; 11 near readers; tile column 5; but: put."""
    name = figure.name_of(x)
    if label and not isinstance(x, str):
        name = f'{label} {name}' if label in NAMES else f'{name} {label}'
    return html.escape(name)


def words(result):
    lines = [*of_series(result), *farthest(result), *at_the_end(result)]
    missed = ''.join(f'<li class="missed">{html.escape(paper_judge.told_plainly(e))}</li>' for e in result.missed_headlines())
    return (f'<p><b>Missed by ours, of what the paper argues first:</b></p><ul>{missed}</ul>' if missed else '') + \
        f'<p><b>Ours:</b> {html.escape(result.text())}</p>' + \
        ('<ul>' + ''.join(f'<li>{line}</li>' for line in lines) + '</ul>' if lines else '')


# Tables

RANKS = (*papers.CLASSES_OF_VALUES, 'other source', 'other machine')


def values_table(result, causes):
    """All values, the predictions first, and of each class the misses first."""
    def line(c):
        p = c.printed
        kind = ('within 25 %', 'hold') if c.holds() and p.kind != 'other machine' else \
            ('miss', 'miss') if c.counts() or p.kind == 'other source' else ('', '')
        return '<tr>' + page.cell(p.kind, small=p.basis) + page.cell(p.series, 'name') + page.cell(result.figure.name_of(p.x)) + page.cell(p.quantity) + \
            page.cell(digits(c.ours) if c.ours is not None else '-', 'ours') + page.cell(digits(p.value)) + page.cell(p.unit) + \
            page.cell(f'{c.ratio():.2f}' if c.ours is not None else '-') + causes.cell(*kind, c.cause) + '</tr>'
    if not result.compared:
        return ''
    missed = sum(not c.holds() for c in result.counted())
    ordered = sorted(result.compared, key=lambda c: (RANKS.index(c.printed.kind), c.holds()))
    head = ''.join(f'<th>{h}</th>' for h in ('class', 'series', result.figure.printed_over(), 'quantity', 'ours', 'paper', '', 'ratio', ''))
    return f'<details><summary>Every printed number: {len(result.compared)}{f", of which {missed} are missed" if missed else ""}</summary>' \
           f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>' + '\n'.join(map(line, ordered)) + \
           '</tbody></table></div></details>'


def claims_table(result, causes):
    def line(t):
        mark, kind = ('holds', 'hold') if t.holds else ('not tried', '') if t.holds is None else ('does not hold', 'miss')
        why = t.why if t.holds is False else f'missing: {t.missing}' if t.missing else ''
        return '<tr>' + causes.cell(mark, kind, why) + page.cell(t.kind(), small=t.claim.basis) + page.cell(t.claim.text, 'text') + '</tr>'
    return '<table class="claims"><tbody>' + '\n'.join(map(line, result.claims)) + '</tbody></table>' if result.claims else ''


def effects_table(result, causes):
    def line(e):
        mark, kind = ('as strong', 'hold') if e.holds() else ('not tried', '') if e.ours is None else ('not so', 'miss')
        why = f'missing: {e.missing}' if e.missing else e.why
        theirs, ours = e.in_words()
        strength = e.strength()
        return '<tr>' + causes.cell(mark, kind, why) + page.cell(e.kind(), small=e.effect.basis) + page.cell(e.effect.text, 'text') + \
            page.cell(theirs) + page.cell(ours, 'ours') + page.cell('' if strength is None else f'{strength:.0%}') + '</tr>'
    if not result.effects:
        return ''
    head = ''.join(f'<th>{h}</th>' for h in ('', 'class', 'effect', 'paper', 'ours', 'of the effect'))
    return f'<table class="claims"><thead><tr>{head}</tr></thead><tbody>' + '\n'.join(map(line, result.effects)) + '</tbody></table>'


def readings_table(result):
    """Each reading of an unclear text; the one in use is the first of its series."""
    if not result.readings:
        return ''
    seen = set()

    def line(s):
        used = s.reading.of not in seen
        seen.add(s.reading.of)
        return '<tr>' + page.cell(s.reading.of, 'name') + page.cell(s.reading.what + (' (in use)' if used else ''), 'text') + \
            f'<td>{share(s.within, s.of)}</td></tr>'
    return '<table class="claims"><thead><tr><th>series</th><th>reading of the text</th><th>printed values of all classes within ' \
           f'{papers.WITHIN:.0%}</th></tr></thead><tbody>' + '\n'.join(map(line, result.readings)) + '</tbody></table>'


def key(result):
    """One for all panels."""
    colours = paper_plots.colours(result)
    has_crosses = any(theirs for quantity in result.figure.draws for _, theirs in paper_plots.points(result, quantity).values())
    ours = {series for series, _, quantity in result.values if quantity in result.figure.draws}
    items = [f'<li><i style="background:{colour}"></i>{html.escape(series)}</li>' for series, colour in colours.items()
             if series in ours or not result.figure.bars]  # with bars all crosses are black
    return '<ul class="key">' + ''.join(items) + ('<li>&times; the paper\'s</li>' if has_crosses else '') + '</ul>'


def keep(said, directory):
    """Writes the pictures that programs drew, and shows them as images, since each has its own style
    sheet."""
    shown = ''
    for line in said:
        name = f"paper_{line['figure']}_{line['name']}.svg"
        with open(os.path.join(directory, name), 'w', encoding='utf-8') as out:
            out.write(line['svg'])
        whole = base64.b64encode(line['svg'].encode()).decode()
        shown += f'<figure><a href="{name}"><img src="data:image/svg+xml;base64,{whole}" alt="{html.escape(line["name"])}"></a></figure>'
    return f'<div class="panels maps">{shown}</div>' if shown else ''


def section(result, drawn, directory, said=()):
    figure = result.figure
    pictures = ''.join(page.picture(directory, drawn[figure.name, q]) for q in figure.draws if (figure.name, q) in drawn)
    curves = f'{key(result)}<div class="panels">{pictures}</div>' if pictures else ''
    others = keep([line for line in said if line['figure'] == figure.name], directory)
    causes = Causes()
    tables = effects_table(result, causes) + claims_table(result, causes) + readings_table(result)
    values = values_table(result, causes)
    return f'''<h2 id="{figure.name}">{html.escape(figure.title)}</h2>
<p class="soft">{html.escape(figure.source)} &middot; {html.escape(', '.join(result.parameters))}</p>
<div class="paper"><div>{curves}</div><div class="words">
<p><b>The paper:</b> {html.escape(figure.says)}</p>
{words(result)}</div></div>
{others}
{tables}
{values}
{causes.text()}'''


def contents(results):
    """A line for each figure: its predictions, and the consequences and calibrations apart."""
    def line(r):
        values, effects, claims = paper_judge.total([r], 'prediction')
        consequences = [f'{done} of {all_of_it} {name}' for (done, all_of_it), name in
                        zip(paper_judge.total([r], 'consequence'), ('values', 'effects', 'claims')) if all_of_it]
        return f'<tr><td class="name text"><a href="#{r.figure.name}">{html.escape(r.figure.title)}</a></td>' \
               f'<td class="source text soft">{html.escape(r.figure.source)}</td>' \
               f'<td>{share(*values)}</td><td>{share(*effects)}</td><td>{share(*claims)}</td>' \
               f'<td class="soft">{", ".join(consequences)}</td><td class="soft">{len(r.counted("calibration")) or ""}</td></tr>'
    return '<table class="all"><thead><tr><th></th><th class="source"></th><th>predictions: values</th><th>effects</th><th>claims</th>' \
           '<th>consequences</th><th>calibrations</th></tr></thead><tbody>' + '\n'.join(map(line, results)) + '</tbody></table>'


def set_by(choice, results):
    """The values, effects and claims that have a choice as their basis."""
    values = [c.printed for r in results for c in r.compared if c.printed.basis == choice.name]
    calibrations = sum(p.kind == 'calibration' for p in values)
    others = len(values) - calibrations
    effects = sum(e.effect.basis == choice.name for r in results for e in r.effects)
    claims = sum(t.claim.basis == choice.name for r in results for t in r.claims)
    parts = [f'{n} {one if n == 1 else many}' for n, one, many in (
        (calibrations, 'calibration', 'calibrations'), (others, 'value that follows', 'values that follow'),
        (effects, 'effect', 'effects'), (claims, 'claim', 'claims')) if n]
    return choice.set_by + (f': {", ".join(parts)}' if parts else '')


def choices_table(results):
    head = ''.join(f'<th>{h}</th>' for h in ('', 'constant or choice', 'value', 'source', 'set by', 'moves'))
    return f'<h2 id="choices">Constants and choices</h2><div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>' + '\n'.join(
        '<tr>' + page.cell(c.name, 'name') + ''.join(page.cell(text, 'text') for text in (
            c.what, c.value, c.source, set_by(c, results), ', '.join(c.moves))) + '</tr>'
        for c in paper_model.CHOICES) + '</tbody></table></div>'


def list_table():
    def line(item):
        ours = f'<a href="#{item.figure}">{item.figure}</a>' if item.figure else ''
        return '<tr>' + page.cell(item.paper, 'text') + page.cell(item.item, 'name text') + page.cell(item.what, 'text') + \
            f'<td>{ours}</td>' + page.cell(item.why, 'text') + '</tr>'
    head = ''.join(f'<th>{h}</th>' for h in ('', '', 'contents', 'reproduced', 'why not'))
    return '<h2 id="list">All figures and tables of the five papers</h2><p class="soft">As far as the papers\' texts name them.</p>' \
        '<div class="scroll"><table><thead><tr>' + head + \
        '</tr></thead><tbody>' + '\n'.join(map(line, paper_model.LIST)) + '</tbody></table></div>'


def cards(results):
    """The predictions; then, apart and plain, the other classes and the sixth source."""
    (near, values), (strong, effects), (hold, claims) = paper_judge.total(results, 'prediction')
    follow, lost, stay = paper_judge.total(results, 'consequence')
    sixth, fitted, other = paper_judge.sixth(results)
    return ''.join(f'<div class="card"><b>{count}</b>{text}</div>' for count, text in (
        (f'{near} of {values}', f'predicted values lie within {papers.WITHIN:.0%}'),
        (f'{strong} of {effects}', 'predicted effects are as strong as the paper\'s'),
        (f'{hold} of {claims}', 'predicted orderings, crossings and shapes hold'))) + \
        '</div><div class="cards">' + ''.join(f'<div class="card plain"><b>{count}</b>{text}</div>' for count, text in (
            (f'{follow[0]} of {follow[1]}', 'values that follow from a calibration or a choice lie within ' + f'{papers.WITHIN:.0%}'),
            (f'{lost[0]} of {lost[1]}, {stay[0]} of {stay[1]}', 'effects are as strong and claims hold that follow from one'),
            (paper_judge.total(results, 'calibration')[0][1], 'values set a constant, and prove nothing'),
            (f'{fitted}, {other} of {sixth}', 'values of a sixth source lie within 25% by the parameters fitted to it, and by those of '
                                              'all other figures')))


def headlines(results):
    """The missed effects of the papers' summaries, beside our own headline."""
    missed = [(r, e) for r in results for e in r.missed_headlines()]
    return '<p></p>' if not missed else '<p><b>Ours misses these effects, which the papers argue first:</b></p><ul>' + ''.join(
        f'<li class="missed"><a href="#{r.figure.name}">{html.escape(r.figure.title)}</a>: {html.escape(paper_judge.told_plainly(e))}</li>'
        for r, e in missed) + '</ul>'


def write(results, machine, directory, said=()):
    """papers.html and its pictures; `said`: those that programs drew."""
    try:
        drawn = paper_plots.draw(results, directory)
    except (OSError, RuntimeError) as problem:
        print(f'tools/bench: no pictures: {problem}', file=sys.stderr)
        drawn = {}
    sections = '\n'.join(section(r, drawn, directory, said) for r in results)
    text = f'''<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>The papers, reproduced</title><style>{STYLE}</style>
<h1>The papers, reproduced</h1>
<p class="soft">Virtual time of the emulated chip, but for foMPI's functions; commit {html.escape(str(machine.get('commit')))} &middot;
{html.escape(str(machine.get('date')))}. Lines and bars are ours, crosses what the paper prints; series named &ldquo;ours&rdquo; are
protocols that the papers do not have. A <b>prediction</b> is a value, an effect or a claim by which no constant and no choice
of ours was set. A <b>consequence</b> follows from one that was. A <b>calibration</b> set it. The three are never added. An effect is
as strong if ours has 75 % to 125 % of the paper&rsquo;s change. <a href="#choices">Constants and choices</a>,
<a href="#list">all figures and tables of the papers</a>.</p>
<div class="cards">{cards(results)}</div>
{headlines(results)}
{contents(results)}
{sections}
{choices_table(results)}
{list_table()}
</html>
'''
    with open(os.path.join(directory, 'papers.html'), 'w', encoding='utf-8') as out:
        out.write(text)
