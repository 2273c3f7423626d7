# SPDX-License-Identifier: BSL-1.0
"""Draws SVG and PNG pictures by gnuplot: over size or number of ranks, and each row's distance from its
limit."""


import os
import subprocess


import words

# One colour for each contender, in all pictures. Peers that are not named here take the remaining ones in
# turn.
OURS = '#1f5fd0'
COLOURS = {'pgas': OURS, 'mpich': '#d1662a', 'openmpi': '#8e5bb5', 'openmpi-sm': '#c2335f', 'oshmem': '#2f9e77',
           'mpich-2sided': '#e0a030', 'openmpi-2sided': '#7a7a2a', 'openmpi-basic': '#7a7a2a'}
GREYS = ['#555555', '#8a8a8a', '#b0b0b0', '#707070', '#9c9c9c']

# name, title, row, mode, x axis
CURVES = [
    ('put_latency', 'Put and flush', 'put_latency', 'flush', 'bytes'),
    ('get_latency', 'Get', 'get_latency', 'flush', 'bytes'),
    ('put_bw', 'Put bandwidth, 64 in flight', 'put_bw', 'flush', 'bytes'),
    ('get_bw', 'Get bandwidth, 64 in flight', 'get_bw', 'flush', 'bytes'),
    ('put_bibw', 'Put bandwidth, both ways at once', 'put_bibw', 'flush', 'bytes'),
    ('pingpong', 'Bytes and a flag, one way', 'pingpong', '', 'bytes'),
    ('barrier', 'Barrier', 'barrier', '', 'ranks'),
    ('fence', 'Fence', 'fence', '', 'ranks'),
    ('pscw', 'Post, start, put, complete, wait', 'pscw', '', 'ranks'),
    *((name, f'{name}, 2 ranks', name, '', 'bytes') for name in
      ('bcast', 'reduce', 'allreduce', 'scatter', 'gather', 'allgather', 'alltoall', 'reduce_scatter_block', 'scan', 'exscan')),
    *((f'{name}_ranks', f'{name}, shortest', name, '', 'ranks') for name in ('bcast', 'allreduce', 'allgather', 'alltoall')),
]
# The picture of distances shows at most so many rows: those with a target.
MANY = 150


def gnuplot(script, path, width, height, png=None):
    """Draws one picture in both formats; `png`: its size, if not twice that of the SVG."""
    png_width, png_height = png or (2 * width, 2 * height)
    for kind, terminal in (('svg', f'svg size {width},{height} font "sans-serif,13" background "white"'),
                           ('png', f'pngcairo size {png_width},{png_height} fontscale 1.9 linewidth 2')):
        text = f'set terminal {terminal} noenhanced\nset output "{path}.{kind}"\n' + script
        done = subprocess.run(['gnuplot', '-'], input=text, text=True, capture_output=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f'gnuplot: {done.stderr.strip()}')


def quoted(text):
    return '"' + text.replace('\\', '/').replace('"', "'") + '"'


def block(name, table):
    return f'${name} << EOD\n' + ''.join(' '.join(f'{v:.6g}' for v in line) + '\n' for line in table) + 'EOD\n'


def series_of(rows, axis):
    """(name, is raw) -> [(x, middle, low, high)] in the rows' unit."""
    found = {}
    for row in rows:
        entries = [(('pgas', False), row['ours'])] if row['ours'] else []
        entries += [((name, False), s) for name, s in row['peers'].items()]
        entries += [((name, True), s) for name, s in row['raw'].items()]
        for who, s in entries:
            if row['unit'] == 'B/s':
                values = [row['bytes'] / s[k] * 1e-9 for k in ('median', 'p75', 'p25')]
            else:
                values = [s[k] * 1e9 for k in ('median', 'p25', 'p75')]
            found.setdefault(who, []).append((row[axis], *values))
    return found


def ticks(rows, axis):
    at = sorted({row[axis] for row in rows})
    if axis == 'bytes' and len(at) > 9:
        at = at[::2]
    names = [words.size(x) if axis == 'bytes' else str(x) for x in at]
    return ', '.join(f'"{name}" {x}' for name, x in zip(names, at))


def levels(unit):
    """Names of the powers of ten."""
    if unit == 'GB/s':
        return ', '.join(f'"{10.0 ** p:g}" {10.0 ** p:g}' for p in range(-3, 4))
    return ', '.join(f'"{words.seconds(10.0 ** p * 1e-9).replace(".00", "").replace(".0", "")}" {10.0 ** p:g}' for p in range(-2, 10))


def curve(rows, title, axis, path):
    rows = sorted(rows, key=lambda r: r[axis])
    found = series_of(rows, axis)
    greys = iter(GREYS * 4)
    order = sorted(found, key=lambda who: (who != ('pgas', False), who[1], who[0]))
    script, bands, lines = '', [], []
    for number, who in enumerate(order):
        name, raw = who
        colour = next(greys) if raw else COLOURS.get(name, '#000000')
        script += block(f'd{number}', found[who])
        bands.append(f'$d{number} using 1:3:4 with filledcurves fillcolor rgb "{colour}" fillstyle transparent solid 0.15 notitle')
        style = f'dashtype 2 linewidth 1.5 pointtype 6 pointsize 0.4' if raw else \
            f'linewidth {3 if name == "pgas" else 1.6} pointtype 7 pointsize {0.6 if name == "pgas" else 0.4}'
        lines.append(f'$d{number} using 1:2 with linespoints linecolor rgb "{colour}" {style} title {quoted(name)}')
    unit = 'GB/s' if rows[0]['unit'] == 'B/s' else 'ns'
    script += f'''set title {quoted(title)}
set logscale xy
set xrange [{rows[0][axis] / 1.5}:{rows[-1][axis] * 1.5}]
set ytics ({levels(unit)})
set xlabel "{'bytes' if axis == 'bytes' else 'ranks'}"
{'set ylabel "GB/s"' if unit == 'GB/s' else ''}
set xtics ({ticks(rows, axis)}) {'rotate by -35' if axis == 'bytes' else ''}
set grid ytics xtics linecolor rgb "#d4d8de"
set border 3 linecolor rgb "#777777"
set tics nomirror
set key outside right top
plot {', '.join(bands + lines)}
'''
    gnuplot(script, path, 720, 420)


def distance(rows, path):
    """Draws each row's multiple of its limit, the worst at the top, with a tick at its target."""
    shown = sorted((r for r in rows if r['to_raw']), key=lambda r: r['to_raw']['ratio'])
    if len(shown) > MANY:
        shown = [r for r in shown if r['target_raw']]
    if not shown:
        return False
    colours = {'ok': '#2f9e77', 'BEHIND': '#c2335f', 'noise': '#c9a227', '': '#8a8a8a'}
    script, parts = '', []
    titles = [quoted(f"{words.title(r)} ({r['ranks']})") for r in shown]
    names = ', '.join(f'{title} {i}' for i, title in enumerate(titles))
    for verdict, colour in colours.items():
        table = [(1, i, 1, r['to_raw']['ratio'], i - 0.36, i + 0.36) for i, r in enumerate(shown) if r['to_raw']['verdict'] == verdict]
        if table:
            script += block(f'b{len(parts)}', table)
            parts.append(f'$b{len(parts)} using 1:2:3:4:5:6 with boxxyerror fillcolor rgb "{colour}" '
                         f'fillstyle solid noborder title {quoted(words.VERDICTS[verdict] or "no target")}')
    spreads = [(r['to_raw']['ratio'], i, max(r['to_raw']['low'], 0.3), min(r['to_raw']['high'], 100)) for i, r in enumerate(shown)]
    script += block('e', spreads)
    parts.append('$e using 1:2:3:4 with xerrorbars linecolor rgb "#444444" linewidth 1 pointtype 0 notitle')
    targets = [(r['target_raw'], i) for i, r in enumerate(shown) if r['target_raw']]
    if targets:
        script += block('t', targets)
        parts.append('$t using 1:2 with points pointtype 2 pointsize 0.8 linewidth 1.5 linecolor rgb "#111111" title "target"')
    most = max(2.0, max(r['to_raw']['ratio'] for r in shown) * 1.2)
    script += f'''set title "Times the machine's own time (1: as quick as by hand)"
set logscale x
set xrange [0.5:{most}]
set xtics (0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50)
set yrange [-0.7:{len(shown) - 0.3}]
set ytics ({names}) font ",10"
set grid xtics linecolor rgb "#d4d8de"
set arrow from 1, graph 0 to 1, graph 1 nohead linecolor rgb "#777777"
set border 3 linecolor rgb "#777777"
set tics nomirror
set key outside bottom center horizontal
plot {', '.join(parts)}
'''
    gnuplot(script, path, 900, 90 + 17 * len(shown))
    return True


def rows_of(rows, row, mode, axis):
    """The rows of a picture, of one suite and in the order of the axis: two ranks over bytes, or the shortest
    over ranks."""
    named = [r for r in rows if (r['row'], r['mode']) == (row, mode) and (r['ours'] or r['peers'])]
    named = [r for r in named if r['suite'] == named[0]['suite']]
    if axis == 'bytes':
        named = [r for r in named if r['ranks'] == 2]
    else:
        named = [r for r in named if r['bytes'] == min(other['bytes'] for other in named)]
    return sorted(named, key=lambda r: r[axis])


def draw(results, directory):
    """Draws all pictures that have rows; returns [(file name without its suffix, title)]."""
    drawn = []
    if distance(results.rows, os.path.join(directory, 'distance')):
        drawn.append(('distance', 'Distance from the limit'))
    for name, title, row, mode, axis in CURVES:
        rows = rows_of(results.rows, row, mode, axis)
        if len({r[axis] for r in rows}) > 1:
            curve(rows, title, axis, os.path.join(directory, name))
            drawn.append((name, title))
    return drawn
