# SPDX-License-Identifier: BSL-1.0
"""A row of the page, and what it folds out to: picture, history, how it is measured, and its limit."""

import html
import math
import shlex

import history
import judge
import methods
import notebook
import words

COLOURS = {'ours': 'var(--ours)', 'hand': '#8a8a8a', 'peer': '#d1662a'}
WIDE, LINE = 340, 22  # of a picture, in its own units; the page scales it
LABEL = 120


def value(text, kind='', label='', small=''):
    """A cell. Narrow pages show its label."""
    inside = html.escape(text) + (f'<small>{html.escape(small)}</small>' if small else '')
    return f'<span class="{kind}" data-label="{label}">{inside}</span>'


def range_of(item):
    if item is None or item['rounds'] < 2:
        return ''
    return f"{words.digits(item['low'])} to {words.digits(item['high'])}" + (f", {item['where']}" if item.get('where') else '')


def beside(item, time, who):
    """A time beside ours: the ratio, the time with its name, and the interval of the ratio."""
    if item is None:
        return (time or '-', who)
    return f"{words.digits(item['ratio'])}", '; '.join(w for w in (f'{time} {who}', range_of(item), words.beside(item)) if w)


def summary(row):
    raw, peer, ours = row['best_raw'], row['best_peer'], row['ours']
    place = row['placement'] if row['placement'] in ('near', 'far') else ''
    ends = ('p75', 'p25') if row['unit'] in ('B/s', 'op/s') else ('p25', 'p75')  # the smaller number first
    quarters = ' to '.join(words.amount(ours[end], row) for end in ends) if ours else ''
    by_hand = beside(row['to_raw'], words.amount(row['raw'][raw]['median'], row) if raw else '', raw or '')
    by_peer = beside(row['ahead'], words.amount(row['peers'][peer]['median'], row) if peer else '', peer or '')
    cells = [
        value(words.title(row), 'name', 'row', ', '.join(w for w in (row['suite'], f"{row['ranks']} ranks", place) if w)),
        value(words.amount(ours['median'], row) if ours else 'not there yet', 'ours' if ours else '', 'pgas', quarters),
        value(by_hand[0], '', 'times by hand', by_hand[1]),
        value(by_peer[0], 'peer', 'times ahead', '; '.join(w for w in (by_peer[1], words.missing(row)) if w)),
        value(words.asked(row), 'asked', 'target'),
        value(words.VERDICTS[row['verdict']], f"verdict {row['verdict']}", 'verdict', f'others {words.busy(row)}'),
    ]
    return ''.join(cells)


def bars(row):
    """All times of a row as bars with their quarters: a picture of its own, drawn without gnuplot. Short is
    good. The axis is logarithmic where the times differ by more than ten times."""
    all_of = [('pgas', 'ours', row['ours'])] if row['ours'] else []
    all_of += [(name, 'hand', s) for name, s in row['raw'].items()] + [(name, 'peer', s) for name, s in row['peers'].items()]
    if not all_of:
        return ''
    most = max(s['p75'] for _, _, s in all_of) or 1
    least = min(s['p25'] for _, _, s in all_of)
    logarithmic = least > 0 and most / least > 10
    span = math.log(most / least * 1.5) if logarithmic else most

    def at(time):
        share = math.log(max(time, least) / least * 1.5) / span if logarithmic else time / span
        return LABEL + share * (WIDE - LABEL - 70)

    lines = []
    for number, (name, kind, s) in enumerate(sorted(all_of, key=lambda item: item[2]['median'])):
        y = number * LINE
        lines.append(f'<text x="{LABEL - 6}" y="{y + 15}" text-anchor="end">{html.escape(name[:18])}</text>'
                     f'<rect x="{LABEL}" y="{y + 4}" width="{at(s["median"]) - LABEL:.1f}" height="{LINE - 8}" fill="{COLOURS[kind]}"/>'
                     f'<line x1="{at(s["p25"]):.1f}" x2="{at(s["p75"]):.1f}" y1="{y + LINE / 2}" y2="{y + LINE / 2}"/>'
                     f'<text x="{at(s["p75"]) + 5:.1f}" y="{y + 15}">{html.escape(words.amount(s["median"], row))}</text>')
    return f'<svg class="bars" viewBox="0 0 {WIDE} {len(all_of) * LINE}" role="img">{"".join(lines)}</svg>' + \
        ('<small>logarithmic axis</small>' if logarithmic else '')


def past(row, runs):
    """The history of a row: a line for each run."""
    told = history.of(row, runs)
    if len(told) < 2:
        return '<p>This is the first run with this row. Later runs into the same directory add lines here.</p>'
    lines = ''.join(f'<li>{html.escape(str(date))}, {html.escape(str(commit))}: {words.amount(median, row)}'
                    f"{f', cores {place}' if place else ''}"
                    f"{f', {words.digits(by_hand)} times by hand' if by_hand else ''}"
                    f"{f', {words.digits(ahead)} times ahead' if ahead else ''}"
                    f"{f', {words.VERDICTS[verdict]}' if verdict else ''}</li>"
                    for date, commit, place, median, by_hand, ahead, verdict in reversed(told))
    same = [median for _, _, place, median, *_ in told if not place]
    return (spark(same) if len(same) > 1 else '') + f'<ol reversed>{lines}</ol>'


def spark(values):
    """A line through the values of all runs, from the oldest to the newest."""
    low, high = min(values), max(values)
    step = (WIDE - 20) / (len(values) - 1)
    points = ' '.join(f'{10 + i * step:.1f},{10 + 40 * (1 - (v - low) / ((high - low) or 1)):.1f}' for i, v in enumerate(values))
    return f'<svg class="spark" viewBox="0 0 {WIDE} 60" role="img"><polyline points="{points}"/></svg>'


def with_counts(rows):
    """Gives each timed row the counts of the same operation: instructions, system calls, lines of the chip."""
    counts = {}
    for row in rows:
        if row['suite'] == 'counts' and row['ours']:
            counts.setdefault((row['row'], row['bytes']), []).append(row)
    for row in rows:
        if row['suite'] != 'counts' and row['mode'] in ('', 'flush'):
            row['counts'] = [said for of in counts.get((row['row'], row['bytes']), []) for said in counted(of)]
    return rows


def counted(row):
    """A count of ours and the one by hand, in words."""
    by_hand = f", {row['raw'][row['best_raw']]['median']:g} by hand" if row['best_raw'] else ''
    yield f"{row['mode']}: {row['ours']['median']:g}{by_hand}"


def details(row, runs, pictures):
    """What a row folds out to."""
    name = judge.name_of(row)
    curve = next((picture for picture, about in pictures if about == row['row']), None)
    limit, *tried = notebook.limit_of(name) or ['Nobody has said what the limit is.']
    parts = [
        ('Picture', bars(row) + (f'<p><a href="#{curve}">Over all sizes or ranks</a></p>' if curve else '')),
        ('History', past(row, runs)),
        ('How it is measured', f'<p>{html.escape(methods.method_of(name) + methods.PAIRS * bool(row["raw"] or row["peers"]))}</p>'
         f'<p>Rounds: {row["rounds"]}. <code>tools/bench --why {html.escape(shlex.quote(name))}</code> shows the instructions of its inner loop.</p>'),
        *([('Counted', '<br>'.join(map(html.escape, row['counts'])))] if row.get('counts') else []),
        ('Its limit', f'<p>{html.escape(limit)}</p>' + because(row)),
        *([('Tried', '<ul>' + ''.join(f'<li>{html.escape(text)}</li>' for text in tried) + '</ul>')] if tried else []),
    ]
    return ''.join(f'<section><h4>{title}</h4>{text}</section>' for title, text in parts)


def because(row):
    """Why the target is as it is, or why there is none."""
    said = [row.get('restated') or row.get('reason'), 'Not decided: ' + words.why_open(row) + '.' if row['verdict'] == 'noise' else '']
    return ''.join(f'<p>{html.escape(text)}</p>' for text in said if text)


def fold(row, runs, pictures):
    return f'<details class="row"><summary>{summary(row)}</summary><div class="inside">{details(row, runs, pictures)}</div></details>'


def opening(text, row, runs, pictures):
    """One of the rows with which the page opens, in words."""
    said = []
    if row['to_raw']:
        said.append(f"{words.digits(row['to_raw']['ratio'])} times the code by hand ({row['best_raw']})")
    if row['ahead']:
        ratio = row['ahead']['ratio']
        said.append(f"{words.digits(ratio if ratio >= 1 else 1 / ratio)} times {'quicker' if ratio >= 1 else 'slower'} than {row['best_peer']}")
    verdict = words.VERDICTS[row['verdict']]
    return f'<details class="open"><summary><span class="what">{html.escape(text)}</span>' \
        f'<span class="ours">{words.amount(row["ours"]["median"], row)}</span>' \
        f'<span class="said">{html.escape("; ".join(said))}</span>' \
        f'<span class="verdict {row["verdict"]}">{verdict}</span></summary>' \
        f'<div class="inside">{details(row, runs, pictures)}</div></details>'
