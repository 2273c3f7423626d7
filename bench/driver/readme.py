# SPDX-License-Identifier: BSL-1.0
"""What documents say of performance, from a run: no number in it is typed by hand."""

import judge
import spread
import suites
import words

BEGIN = '<!-- performance: written by tools/bench --readme -->'
END = '<!-- end of performance -->'
BEGIN_PROTOCOLS = '<!-- protocols: written by tools/bench --readme -->'
END_PROTOCOLS = '<!-- end of protocols -->'

# The rows a reader asks for first.
SHOWN = [
    ('put_latency/flush/8', 2, 'put 8 B and flush'),
    ('get_latency/flush/8', 2, 'get 8 B'),
    ('put_latency/flush/4096', 2, 'put 4 KiB and flush'),
    ('put_bw/flush/1048576', 2, 'put 1 MiB, 64 in flight'),
    ('put_mr/flush/8', 2, 'put 8 B, 1024 in flight'),
    ('fop_latency/flush/8', 2, 'fetch_add'),
    ('cas_latency/flush/8', 2, 'compare and swap'),
    ('acc_latency/flush/4096', 2, 'accumulate 4 KiB'),
    ('lock_exclusive', 2, 'an exclusive lock, taken and let go'),
    ('lock_shared', 2, 'a shared lock, taken and let go'),
    ('lock_hand_over', 2, 'a lock, from one rank to the other'),
    ('put_block/flush/2048', 2, 'put a block of 16 x 16 doubles'),
    ('flag', 2, 'a flag, one way'),
    ('pscw', 2, 'post, start, put, complete, wait'),
    ('pscw', 8, 'post, start, put, complete, wait, 8 ranks'),
    ('fence', 2, 'fence'),
    ('barrier', 2, 'barrier'),
    ('barrier', 4, 'barrier, 4 ranks'),
    ('barrier', 8, 'barrier, 8 ranks'),
    ('win_create/20971520', 2, 'a window of 20 MiB, made and touched'),
    ('job', 2, 'a job started and ended'),
]


def best(group, row):
    name = row['best_' + group]
    source = row['raw' if group == 'raw' else 'peers']
    return f"{words.amount(source[name]['median'], row)} ({name})" if name else ''


def line(row, title):
    behind = f"{row['short']:.2f} times" if row['verdict'] == 'BEHIND' else ''
    return f"| {title} | {words.amount(row['ours']['median'], row)} | {best('raw', row)} | {best('peer', row)} | {behind} |"


def section(results):
    """Rows that fall short of their target first, then those that a reader asks for. Protocols have a table of their own."""
    yield '| | pgas | by hand | best peer | short of its target by |'
    yield '|---|---|---|---|---|'
    titles = {(name, ranks): title for name, ranks, title in SHOWN}
    rows = {(judge.name_of(r), r['ranks']): r for r in results.rows if r['ours'] and not is_of_protocol(r)}
    behind = [key for key, row in rows.items() if row['verdict'] == 'BEHIND']
    for key in behind + [key for key in titles if key in rows and key not in behind]:
        yield line(rows[key], titles.get(key) or words.full_name(rows[key]).partition(': ')[2])
    yield ''
    peers = '; '.join(f"{c['name']}: {c['version']}" for c in results.contenders if c['kind'] == 'peer' and c['version'])
    yield f"Medians on {where(results.machine)}. Peers: {peers}. `tools/bench` makes this table and a page of all rows, those " \
          'that fall short first.'


def where(machine):
    return f"{machine['processor']}, {machine['cores']} cores, {machine['compiler']}, {machine['date']}, commit {machine['commit']}"


# Tables of protocols: what they are called, and their columns: a row, the ranks that have it, what a reader asks.
PROTOCOLS = [
    ('fence', [('fence', 2, 'a fence'), ('fence', 4, 'of 4 ranks')]),
    ('post, start, complete, wait', [('pscw', 2, 'a round'), ('pscw', 4, 'of 4 ranks in a ring')]),
    ('lock', [('lock_exclusive', 2, 'exclusive'), ('lock_shared', 2, 'shared'), ('lock_all', 2, '`lock_all`, one part of two'),
              ('lock_hand_over', 2, 'from one rank to the other'), ('lock_contended', 2, 'wanted by two'),
              ('lock_contended', 4, 'by four'), ('lock_mixed', 2, 'shared and exclusive in turn'),
              ('lock_unfairness', 2, 'unfairness'), ('lock_unfairness', 4, 'among four')]),
    ('signal', [('signal', 2, 'a signal')]),
]


def is_of_protocol(row):
    return row['suite'] == 'sync' and row['mode'] != ''


def cell(row):
    """What a protocol takes, and how many times what its accesses take by hand: bold where that is too much."""
    if row is None:
        return ''
    text = words.digits(row['ours']['median']) if row['unit'] == 'times' else words.amount(row['ours']['median'], row)
    if row['to_raw'] and row['target_raw']:
        text += f" ({words.digits(row['to_raw']['ratio'])})"
    return f'**{text}**' if row['verdict'] == 'BEHIND' else text


def protocols(results):
    """What each synchronization protocol takes: a line each, a table for each kind."""
    rows = {(r['row'], r['ranks'], r['mode']): r for r in results.rows if is_of_protocol(r) and r['ours']}
    order = list(dict.fromkeys(s['mode'] for s in results.samples))  # as the program has them
    for kind, columns in PROTOCOLS:
        columns = [c for c in columns if any((row, ranks) == c[:2] for row, ranks, _ in rows)]
        names = [name for name in order if columns and (*columns[0][:2], name) in rows]
        if not names:
            continue
        yield ''
        yield f'| {kind} | ' + ' | '.join(title for _, _, title in columns) + ' |'
        yield '|---' * (len(columns) + 1) + '|'
        for name in names:
            cells = [cell(rows.get((row, ranks, name))) for row, ranks, _ in columns]
            yield f'| `{name}` | ' + ' | '.join(cells) + ' |'
    yield ''
    yield 'In brackets: how many times what the same accesses to lines take by hand; bold where that is above its target. The lock that '\
          'two or four want all the time is taken, used and let go; the least lucky rank gets its fair share divided by the ' \
          f'unfairness. Medians on {where(results.machine)}; `tools/bench --suite sync` and then `tools/bench --readme` make this table.' \
          + busy([r['others'] for r in rows.values()])


def busy(shares):
    """A sentence where the machine had other work."""
    usual = spread.median(shares or [0])
    return f' Meanwhile others used {usual:.0%} of the cores.' if usual > suites.QUIET else ''


SECTIONS = [(BEGIN, section, END), (BEGIN_PROTOCOLS, protocols, END_PROTOCOLS)]


def rewrite(text, results):
    """`text` with its sections replaced; ValueError where it has none."""
    found = False
    for begin, lines, end in SECTIONS:
        first, last = text.find(begin), text.find(end)
        if first < 0 or last < first:
            continue
        found = True
        text = text[:first] + '\n'.join([begin, *lines(results), end]) + text[last + len(end):]
    if not found:
        raise ValueError('no section between ' + ' or '.join(f'"{begin}" and "{end}"' for begin, _, end in SECTIONS))
    return text
