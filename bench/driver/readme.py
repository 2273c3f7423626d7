# SPDX-License-Identifier: BSL-1.0
"""The README's section about performance, from a run: no number in it is typed by hand."""

import judge
import words

BEGIN = '<!-- performance: written by tools/bench --readme -->'
END = '<!-- end of performance -->'

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
    """Rows that fall short of their target first, then those that a reader asks for."""
    machine = results.machine
    yield BEGIN
    yield '| | pgas | by hand | best peer | short of its target by |'
    yield '|---|---|---|---|---|'
    titles = {(name, ranks): title for name, ranks, title in SHOWN}
    rows = {(judge.name_of(r), r['ranks']): r for r in results.rows if r['ours']}
    behind = [key for key, row in rows.items() if row['verdict'] == 'BEHIND']
    for key in behind + [key for key in titles if key in rows and key not in behind]:
        yield line(rows[key], titles.get(key) or words.full_name(rows[key]).partition(': ')[2])
    yield ''
    peers = '; '.join(f"{c['name']}: {c['version']}" for c in results.contenders if c['kind'] == 'peer' and c['version'])
    yield f"Medians on {machine['processor']}, {machine['cores']} cores, {machine['compiler']}, {machine['date']}, " \
          f"commit {machine['commit']}. Peers: {peers}. `tools/bench` makes this table and a page of all rows, those " \
          'that fall short first.'
    yield END


def rewrite(text, results):
    """`text` with its section replaced; ValueError where it has none."""
    start, end = text.find(BEGIN), text.find(END)
    if start < 0 or end < start:
        raise ValueError(f'no section between "{BEGIN}" and "{END}"')
    return text[:start] + '\n'.join(section(results)) + text[end + len(END):]
