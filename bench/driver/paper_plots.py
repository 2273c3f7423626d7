# SPDX-License-Identifier: BSL-1.0
"""The papers' figures redrawn: lines and bars are ours, crosses the paper's. On the page one key serves all
panels of a figure; each PNG has its own."""

import os

import plots
import words

COLOURS = ('#1f5fd0', '#d1662a', '#2f9e77', '#8e5bb5', '#c2335f', '#e0a030', '#7a7a2a', '#3aa6b9', '#555555', '#b08968')

MODEL = ', model'  # ends the name of a series that is no run: its curve is dashed


def points(result, quantity):
    """series -> (ours, the paper's), each [(x, value)]."""
    found = {}
    for (series, x, q), value in result.values.items():
        if q == quantity:
            found.setdefault(series, ([], []))[0].append((x, value))
    for c in result.compared:
        x, drawn = result.figure.place_of(c.printed.x, c.printed.quantity)
        if drawn == quantity:
            found.setdefault(c.printed.series, ([], []))[1].append((x, c.printed.value))
    return {series: (sorted(ours, key=str_last), sorted(theirs, key=str_last)) for series, (ours, theirs) in found.items()}


def str_last(point):
    return (isinstance(point[0], str), point[0])


def colours(result):
    """series -> its colour, the same in all panels of a figure. The model of a series has the same colour."""
    all_of_them = {series for quantity in result.figure.draws for series in points(result, quantity)}
    names = sorted({series.removesuffix(MODEL) for series in all_of_them})
    return {series: COLOURS[names.index(series.removesuffix(MODEL)) % len(COLOURS)] for series in sorted(all_of_them)}


def curve(number, series, pair, colour):
    """The data of one series, and how it is drawn."""
    ours, theirs = pair
    script, lines = '', []
    wide = 3 if series.startswith('ours') else 2
    if ours:
        script += plots.block(f'o{number}', ours)
        style = 'lines dashtype 2 linewidth 1.5' if series.endswith(MODEL) else f'linespoints linewidth {wide} pointtype 7 pointsize 0.5'
        lines.append(f'$o{number} using 1:2 with {style} linecolor rgb "{colour}" title {plots.quoted(series)}')
    if theirs:
        script += plots.block(f'p{number}', theirs)
        lines.append(f'$p{number} using 1:2 with points pointtype 2 pointsize cross linewidth 2.5 linecolor rgb "{colour}" '
                     f'{"notitle" if ours else "title " + plots.quoted(series)}')
    return script, lines


def group_of_bars(number, series, pair, colour, width):
    """The same as bars of this width; a bar's number is its place in each group."""
    ours, theirs = pair
    script, lines = '', []
    if ours:
        script += plots.block(f'o{number}', ours)
        lines.append(f'$o{number} using 1:2:({width * 0.9}) with boxes fillstyle solid 0.75 linecolor rgb "{colour}" title {plots.quoted(series)}')
    if theirs:
        script += plots.block(f'p{number}', theirs)
        lines.append(f'$p{number} using 1:2 with points pointtype 2 pointsize cross linewidth 2.5 linecolor rgb "#111111" '
                     f'{"notitle" if ours else "title " + plots.quoted(series)}')
    return script, lines


def on_top_of_each_other(found):
    """Each bar up to the end of its part, the highest first: later bars hide the lower part."""
    tops, parts = {}, []
    for series, (ours, _) in found.items():
        for x, y in ours:
            tops[x] = tops.get(x, 0) + y
        parts.append((series, ([(x, tops[x]) for x, _ in ours], [])))
    return dict(reversed(parts))


def logarithmic(xs, label):
    """The range of a logarithmic axis, and those of its values by name that are four times the one before."""
    named = xs[:1]
    for x in xs:
        if x >= 4 * named[-1]:
            named.append(x)
    names = ', '.join(f'"{words.size(x) if label == "bytes" else x}" {x}' for x in named)
    return f'set xrange [{xs[0] / 1.3}:{xs[-1] * 1.3}]\nset xtics ({names})'


def draw_panel(result, quantity, path, size):
    figure = result.figure
    found = points(result, quantity)
    xs = sorted({x for pair in found.values() for side in pair for x, _ in side}, key=lambda x: str_last((x,)))
    if not xs:
        return False
    at = {x: i for i, x in enumerate(xs)} if figure.bars else {x: x for x in xs}
    colour_of = colours(result)
    script, lines = '', []
    if figure.stacked:
        found, beside = on_top_of_each_other(found), 1
    else:
        found, beside = dict(sorted(found.items())), len(found)
    width = 0.8 / beside
    for number, series in enumerate(found):
        shift = (number % beside - (beside - 1) / 2) * width if figure.bars else 0
        pair = [[(at[x] + shift, y) for x, y in side] for side in found[series]]
        more, drawn = group_of_bars(number, series, pair, colour_of[series], width) if figure.bars else \
            curve(number, series, pair, colour_of[series])
        script += more
        lines += drawn
    names = [figure.name_of(x) for x in xs] if figure.bars else []
    ticks = 'set xtics (' + ', '.join(f'{plots.quoted(n)} {i}' for i, n in enumerate(names)) + ')' + \
        (f' rotate by {-25 if len(names) < 12 else -50}' if max(map(len, names)) > 8 else '') if names else ''
    script += f'''on_page = GPVAL_TERM eq "svg"
cross = on_page ? 1.2 : 2.4
set title (on_page ? {plots.quoted(quantity)} : {plots.quoted(figure.title + ': ' + quantity)})
{f'set logscale {figure.log}' if figure.log else 'set yrange [0:*]'}
{'set format y "%g"' if 'y' in figure.log else 'set offsets 0, 0, graph 0.05, 0'}
{f'set xrange [-0.6:{len(xs) - 0.4}]' if figure.bars else logarithmic(xs, figure.xlabel) if 'x' in figure.log else ''}
{ticks}
set xlabel {plots.quoted(figure.xlabel)}
set ylabel {plots.quoted(result.units.get(quantity, ''))}
set grid ytics xtics linecolor rgb "#d4d8de"
set border 3 linecolor rgb "#777777"
set tics nomirror
set key outside right top
if (on_page) unset key
plot {', '.join(lines)}
'''
    plots.gnuplot(script, path, *size, png=(1520, 760))
    return True


def panel_name(figure, quantity):
    words = ''.join(c if c.isalnum() else '_' for c in quantity)
    return f'paper_{figure.name}_{words}'


def draw(results, directory):
    """(figure name, quantity) -> file name without its suffix, of the pictures that could be drawn."""
    drawn = {}
    for result in results:
        size = (600, 360) if len(result.figure.draws) == 1 else (430, 300)
        for quantity in result.figure.draws:
            name = panel_name(result.figure, quantity)
            if draw_panel(result, quantity, os.path.join(directory, name), size):
                drawn[result.figure.name, quantity] = name
    return drawn
