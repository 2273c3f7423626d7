# SPDX-License-Identifier: BSL-1.0
"""Writes the performance sections of documents from a run: no number is typed by hand."""

import textwrap

import asynchronous
import collectives
import judge
import maps
import nodes
import scale
import spread
import suites
import words

BEGIN = '<!-- performance: written by tools/bench --readme -->'
END = '<!-- end of performance -->'
BEGIN_PROTOCOLS = '<!-- protocols: written by tools/bench --readme -->'
END_PROTOCOLS = '<!-- end of protocols -->'
BEGIN_SCALE = '<!-- scale: written by tools/bench --readme -->'
END_SCALE = '<!-- end of scale -->'
BEGIN_NODES = '<!-- nodes: written by tools/bench --readme -->'
END_NODES = '<!-- end of nodes -->'
BEGIN_COLLECTIVES = '<!-- collectives: written by tools/bench --readme -->'
END_COLLECTIVES = '<!-- end of collectives -->'
BEGIN_MAPS = '<!-- maps: written by tools/bench --readme -->'
END_MAPS = '<!-- end of maps -->'
BEGIN_ASYNC = '<!-- async: written by tools/bench --readme -->'
END_ASYNC = '<!-- end of async -->'
BEGIN_CONTAINERS = '<!-- containers: written by tools/bench --readme -->'
END_CONTAINERS = '<!-- end of containers -->'

# The rows that a user asks for first. The page of all rows has the other rows.
SHOWN = [
    ('put_latency/flush/8', 2, 'put 8 B and flush'),
    ('put_bw/flush/1048576', 2, 'put 1 MiB, 64 in flight'),
    ('fop_latency/flush/8', 2, 'fetch_add'),
    ('pscw', 2, 'post, start, put, complete, wait'),
    ('fence', 2, 'fence'),
]


def best(group, row):
    name = row['best_' + group]
    source = row['raw' if group == 'raw' else 'peers']
    return f"{words.amount(source[name]['median'], row)} ({name})" if name else ''


def line(row, title):
    """A row; in bold, and with the factor that it lacks, if it misses its target."""
    ours = words.amount(row['ours']['median'], row)
    if row['verdict'] == 'BEHIND':
        ours = f"**{ours}** (short by {row['short']:.2f} times)"
    elif row['verdict'] == 'noise':
        ours += ' (not decided)'
    return f"| {title} | {ours} | {best('raw', row)} | {best('peer', row)} |"


def section(results):
    """The rows of SHOWN, and the number of rows that miss their targets. Protocols have a table of their
    own."""
    yield '| | pgas | by hand | best peer |'
    yield '|---|---|---|---|'
    rows = {(judge.name_of(r), r['ranks']): r for r in results.rows if r['ours'] and not is_of_protocol(r)}
    shown = [(rows[name, ranks], title) for name, ranks, title in SHOWN if (name, ranks) in rows]
    for row, title in shown:
        yield line(row, title)
    yield ''
    behind, open_ones = (sum(row['verdict'] == verdict for row in results.rows) for verdict in ('BEHIND', 'noise'))
    named = {row['best_peer'] for row, _ in shown}
    peers = '; '.join(f"{c['name']}: {c['version']}" for c in results.contenders if c['name'] in named and c['version'])
    yield from paragraph(f"Medians on {where(results.machine)}. Peers: {peers}. `tools/bench` writes this table and a page of all "
                         f"rows. {behind} rows fall short of their targets; the page lists them first. {open_ones} are not decided.")


def paragraph(text):
    return textwrap.wrap(text, 110, break_long_words=False, break_on_hyphens=False)


def where(machine):
    return f"{machine['processor']}, {machine['cores']} cores, {machine['compiler']}, {machine['date']}, commit {machine['commit']}"


# Tables of protocols: their titles and columns; a column is a row, its number of ranks, and its heading.
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
    """A protocol's time, and its multiple of the time of its accesses by hand: bold if that is too much."""
    if row is None:
        return ''
    text = words.digits(row['ours']['median']) if row['unit'] == 'times' else words.amount(row['ours']['median'], row)
    if row['to_raw'] and row['target_raw']:
        text += f" ({words.digits(row['to_raw']['ratio'])})"
    return f'**{text}**' if row['verdict'] == 'BEHIND' else text


def protocols(results):
    """The time of each synchronization protocol: a line each, a table for each kind."""
    rows = {(r['row'], r['ranks'], r['mode']): r for r in results.rows if is_of_protocol(r) and r['ours']}
    order = list(dict.fromkeys(s['mode'] for s in results.samples))  # in the order of the program
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
    yield from paragraph(
        'In brackets: the multiple of the time that the same accesses to lines take by hand. It is bold if it is above '
        'its target. A lock that two or four ranks want is taken, used and released by all of them all the time. The '
        'least lucky rank gets its fair share divided by the unfairness. '
        f'Medians on {where(results.machine)}; `tools/bench --suite sync` and then '
        f"`tools/bench --readme` make this table.{busy([r['others'] for r in rows.values()])}")


def busy(shares):
    """A sentence if the machine had other work."""
    usual = spread.median(shares or [0])
    return f' Meanwhile others used {usual:.0%} of the cores.' if usual > suites.QUIET else ''


def growing(results):
    """What grows with ranks, on simulated nodes."""
    if not scale.is_there(results.rows):
        raise ValueError('the results have no suite scale; run tools/bench --suite scale')
    yield from scale.lines(results.rows)
    yield ''
    yield from paragraph('Nodes of 16 ranks on the network `infiniband`. Each step is that of the slowest rank. '
                         '`tools/bench --suite scale` and then `tools/bench --readme` make these tables '
                         f"(commit {results.machine['commit']}).")


def between_nodes(results):
    """What carries accesses between nodes, and the library beside it."""
    if not nodes.is_there(results.rows):
        raise ValueError('the results have no suite nodes; run tools/bench --suite nodes')
    yield from nodes.lines(results)
    yield ''
    versions = {c['version'] for c in results.contenders if c['kind'] == 'setting'}
    yield from paragraph(f"Medians on {where(results.machine)}; {'; '.join(sorted(versions))}. `tools/bench --suite nodes` and then "
                         '`tools/bench --readme` make these tables.'
                         f"{busy([r['others'] for r in results.rows if r['suite'] == 'nodes'])}")


def together(results):
    """Each algorithm of each collective, and the collectives beside those of other libraries."""
    if not collectives.is_there(results.rows):
        raise ValueError('the results have no suite collectives; run tools/bench --suite collectives')
    own = [row for row in results.rows if row['suite'] == 'collectives']
    yield from collectives.by_algorithm(own)
    yield from collectives.beside_peers(own, most_ranks=4)
    yield ''
    versions = '; '.join(sorted({f"{c['name']}: {c['version']}" for c in results.contenders if c['version']}))
    yield from paragraph('Names are those of OSU\'s benchmarks; elements are doubles, which reductions add. Bold: the quickest '
                         'algorithm, a row behind a peer, or one that misses its target. Roots go round, and calls follow each other '
                         f'without a barrier. Medians on {where(results.machine)}; {versions}. `tools/bench --suite collectives` and '
                         f"then `tools/bench --readme` make these tables.{busy([r['others'] for r in own])}")


def of_keys(results):
    """Distributed maps beside other tables."""
    if not maps.is_there(results.rows):
        raise ValueError('the results have no suite maps; run tools/bench --suite maps')
    own = [row for row in results.rows if row['suite'] == 'maps' and row['row'] not in dict(maps.OTHERS)]
    yield from maps.lines(own)
    yield ''
    versions = '; '.join(sorted({f"{c['name']}: {c['version']}" for c in results.contenders if c['version']}))
    yield from paragraph('A million keys of 8 bytes; keys of YCSB by Zipf\'s law. Other columns are multiples of ours, so above 1 ours is '
                         'ahead; bold: ours misses its target. Two misses: two dependent loads by hand. Atomic: an atomic addition by '
                         'hand. Load and atomic: the same, where a load of the line names the word, as a bucket names a slot. foMPI\'s '
                         'table and a lock a part: the papers\' tables, which are sets. Room for all: a map made with its full '
                         'capacity; unordered_map: one on each rank, of its keys alone. openmp: std::unordered_map behind a mutex for '
                         'each of 256 shards, by threads. MPI: open addressing in a window. Memory has no target. '
                         f'Medians on {where(results.machine)}; {versions}. `tools/bench --suite maps` and then '
                         f"`tools/bench --readme` make this table.{busy([r['others'] for r in own])}")


def in_flight(results):
    """Coroutines, calls and messages beside the same by hand."""
    if not asynchronous.is_there(results.rows):
        raise ValueError('the results have no suite async; run tools/bench --suite async')
    own = [row for row in results.rows if row['suite'] == 'async']
    yield from asynchronous.lines(own)
    yield ''
    versions = '; '.join(sorted({f"{c['name']}: {c['version']}" for c in results.contenders if c['version']}))
    yield from paragraph('Bold: ours misses its target. Two hand-overs: a line goes to the other core and back, the least that a call '
                         'can cost. Peers receive a function\'s number and an argument in a loop, call it, and send the result. '
                         'Virtual: on simulated nodes. A flood is the killer benchmark at a budget of 250 KB, beside one without a '
                         f'bound. Medians on {where(results.machine)}; {versions}. `tools/bench --suite async` and then '
                         f"`tools/bench --readme` make this table.{busy([r['others'] for r in own])}")


def of_elements(results):
    """Counters, queues, vectors and tasks beside the same by hand."""
    own = [row for row in results.rows if row['suite'] == 'maps' and row['row'] in dict(maps.OTHERS)]
    if not own:
        raise ValueError('the results have no rows of containers; run tools/bench --suite maps')
    yield from maps.lines_of_others(own)
    yield ''
    yield from paragraph('Columns by hand are multiples of ours, so above 1 ours is ahead. The ways by hand are in memory that all ranks '
                         'share; they know neither deadlock nor a rank that dies. A ring of two ends: one rank pushes, one pops (Lamport). '
                         'A ring of cells: Vyukov\'s. A mutex: a ring behind a mutex of processes, since the memory of a std::deque is '
                         'private. A deque: that of Chase and Lev. One rank: it runs all tasks, and the others wait. Medians on '
                         f'{where(results.machine)}. `tools/bench --suite maps` and then `tools/bench --readme` make this table.'
                         f"{busy([r['others'] for r in own])}")


# The suite that a section is made from; none: all others.
SECTIONS = [(BEGIN, section, END, ''), (BEGIN_PROTOCOLS, protocols, END_PROTOCOLS, ''),
            (BEGIN_SCALE, growing, END_SCALE, 'scale'), (BEGIN_NODES, between_nodes, END_NODES, 'nodes'),
            (BEGIN_COLLECTIVES, together, END_COLLECTIVES, 'collectives'), (BEGIN_MAPS, of_keys, END_MAPS, 'maps'),
            (BEGIN_ASYNC, in_flight, END_ASYNC, 'async'),
            (BEGIN_CONTAINERS, of_elements, END_CONTAINERS, 'maps')]


def rewrite(text, results):
    """`text` with its sections replaced; ValueError if it has none. Of several sections only those are replaced
    whose suite has been run."""
    found = False
    there = [entry for entry in SECTIONS if 0 <= text.find(entry[0]) <= text.find(entry[2])]
    suites_there = {row['suite'] for row in results.rows}
    for begin, lines, end, suite in there:
        if len(there) > 1 and suite and suite not in suites_there:
            continue
        first, last = text.find(begin), text.find(end)
        found = True
        text = text[:first] + '\n'.join([begin, *lines(results), end]) + text[last + len(end):]
    if not found:
        raise ValueError('no section between ' + ' or '.join(f'"{begin}" and "{end}"' for begin, _, end in SECTIONS))
    return text
