# SPDX-License-Identifier: BSL-1.0
"""Formats numbers and names for readers."""

import judge
import suites

KIB = 1024


def seconds(value):
    for unit, factor in (('ns', 1e9), ('us', 1e6), ('ms', 1e3)):
        if value * factor < 999.95:
            return f'{digits(value * factor)} {unit}'
    return f'{digits(value)} s'


def digits(value):
    """The value with three digits."""
    if value >= 100:
        return f'{value:,.0f}'
    return f'{value:.1f}' if value >= 10 else f'{value:.2f}'


def size(count):
    if count >= KIB * KIB and count % (KIB * KIB) == 0:
        return f'{count // (KIB * KIB)} MiB'
    if count >= KIB and count % KIB == 0:
        return f'{count // KIB} KiB'
    return f'{count} B'


def amount(value, row):
    """A time of one operation in the row's own unit."""
    if row['unit'] == 'B/s':
        return f"{digits(row['bytes'] / value * 1e-9)} GB/s"
    if row['unit'] == 'op/s':
        return f'{digits(1e-6 / value)} Mop/s'
    return seconds(value) if row['unit'] == 's' else f"{round(value, 1):g} {row['unit']}"


def title(row):
    """The title of a row."""
    words = [row['row']]
    if row['mode']:
        words.append(row['mode'])
    if row['bytes']:
        words.append(size(row['bytes']))
    return ', '.join(words)


def ratio(item):
    if item is None:
        return '-'
    if item['rounds'] < 2:
        return f"{digits(item['ratio'])} (once)"
    where = f" {item['where']}" if item.get('where') else ''
    return f"{digits(item['ratio'])} [{digits(item['low'])}..{digits(item['high'])}]{where}"


def beside(item):
    """What stands beside both times of a ratio, in words."""
    return f"each beside a {item['beside']} in its own process" if item and item.get('beside') else ''


BESIDE = 'Where each time stands beside a memcpy or a plain loop in its own process, the ratio is that of the two ratios to it: ' \
         'pages differ from process to process.'


def asked(row):
    """The row's target in words."""
    words = []
    if row['target_raw'] and (row['raw'] or row['to_raw']):
        words.append(f"<= {row['target_raw']:.3g} raw")
    if row['target_ahead'] and (row['peers'] or row['ahead']):
        words.append(f">= {row['target_ahead']:.3g} ahead" if row['target_ahead'] != 1 else 'ahead')
    if row.get('restated'):
        words.append('restated')
    return ', '.join(words) or f"none: {row.get('reason') or 'nobody has said why'}"


def missing(row):
    """The contenders without a time in a row, with the reasons."""
    return '; '.join(f'{who}: {why}' for who, why in sorted(row['missing'].items()) if who not in row['peers'])


def gathered(notes):
    """The notes about rows, a note for each contender and reason: (suite, contender, ranks, what, why)."""
    groups = {}
    for n in notes:
        groups.setdefault((n['suite'], n['contender'], n['ranks'], n['why']), []).append(n['what'])
    for (suite, who, ranks, why), names in groups.items():
        yield suite, who, ranks, names[0] if len(names) == 1 else f'{len(names)} rows, {names[0]} to {names[-1]}', why


def together(text, remark):
    return f'{text} ({remark})' if remark else text


def busy(row):
    """The share of the cores that other programs used during a row, and the number of its samples with too
    much."""
    return f"{row['others']:.0%}" + (f", too much in {row['disturbed']:.0%}" if row['disturbed'] else '')


QUIET = f'A sample is marked as disturbed if others used more than {suites.QUIET:.0%} of the cores while its program ran; ' \
        f'a ratio is formed of rounds without a mark if there are {suites.ENOUGH} of them.'

VERDICTS = {'ok': 'ok', 'BEHIND': 'BEHIND', 'noise': 'not judged (noise)', '': ''}


def counts(rows):
    """The number of rows with each verdict, in one sentence."""
    number = {v: sum(r['verdict'] == v for r in rows) for v in VERDICTS}
    return (f"{number['ok']} rows reach their target, {number['BEHIND']} are behind, {number['noise']} are not judged "
            f"since noise is larger than the difference, {number['']} have no target and say why"
            f"{unexplained(rows)}.")


def unexplained(rows):
    """The number of rows that have neither a target nor a reason, in words."""
    number = sum(not r['verdict'] and not r['reason'] for r in rows)
    return f', {number} of them do not' if number else ''


def why_open(row):
    """Why a row has no verdict: what keeps the interval of a ratio across its target."""
    said = []
    for side, target, of in (('to_raw', row['target_raw'], 'code by hand'), ('ahead', row['target_ahead'], 'the quickest peer')):
        item = row[side]
        if not item or not target or item['verdict'] != 'noise':
            continue
        if item['rounds'] < 2:
            said.append(f'beside {of} there is one pair of rounds')
            continue
        if item['low'] > 0 and judge.decided_as_a_whole(row, side):
            if side == 'ahead' and item['rounds'] < suites.SURE_PAIRS:
                said.append(f"beside {of} there are {item['rounds']} pairs of rounds, and a verdict needs {suites.SURE_PAIRS}")
                continue
            said.append(f'beside {of} the placements of the cores disagree')
            continue
        limit = target * suites.SAME if side == 'to_raw' else target / suites.SAME
        off = item['ratio'] / limit - 1
        said.append(f"beside {of} {item['rounds']} rounds say {item['low']:.3g} to {item['high']:.3g}, and the middle is "
                    f"{abs(off):.1%} {'above' if off > 0 else 'below'} the bound of {limit:.3g}")
    if row['disturbed'] > 0.5:
        said.append(f"others used the cores in {row['disturbed']:.0%} of the samples")
    return '; '.join(said)


def full_name(row):
    return f"{row['suite']}: {judge.name_of(row)}, {row['ranks']} ranks"
