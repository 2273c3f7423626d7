# SPDX-License-Identifier: BSL-1.0
"""How each row is measured, in words, and the rows with which the page opens: all of it is data, here."""

import re

# Of rows of long copies.
BESIDE = 'From 4 KiB on, a memcpy takes turns with the copies of each library too, between the same memory: that of the other rank, as ' \
         'mapped into this one. So each time has a memcpy in its own process beside it.'
# The first pattern that fits the whole of row/mode/bytes counts.
METHODS = [
    (r'.* in a body, .*', 'The loop stands in the body of a rank, as a user writes it, and the rank is alone. The program and a plain one '
     'run in turns; each tells the quickest of its sweeps.'),
    (r'.*/(system calls|instructions)(/\d+)?', 'Counted, not timed: system calls are trapped, and callgrind counts the instructions of '
     'rank 0 while there is nothing to wait for.'),
    (r'.*/SCC, (lines|drops|flushes of a cache)/\d+', 'The emulated chip counts the lines that an epoch moves, and what its core forgets.'),
    (r'(put|get|fop|cas|acc)_latency/(fence|post|lock|lock_shared)/\d+', 'Rank 0 opens the epoch, makes the access, and closes it, again '
     'and again. The time is that of the whole epoch.'),
    (r'(put|get)_latency/flush/\d{4,}', 'Rank 0 makes the access and completes it, again and again, while the other rank waits in the '
     'library\'s barrier. Nobody else touches the data. ' + BESIDE),
    (r'acc_latency/flush/\d{4,}', 'Rank 0 adds a block and completes it, again and again. In programs of other libraries a plain loop '
     'takes turns with it, on the memory that it changes. So each time has a loop in its own process beside it.'),
    (r'(put|get|fop|cas|acc)_latency/.*', 'Rank 0 makes the access and completes it, again and again, while the other rank waits in the '
     'library\'s barrier. Nobody else touches the data, so small ones stay in the caches of rank 0.'),
    (r'(put|get)_(bw|bibw)/.*', '64 operations are begun and then completed together. They walk through 16 MiB. ' + BESIDE),
    (r'(put_(block|overlap|target_busy)|get_box)/.*', 'Rank 0 makes the access and completes it, again and again. In put_overlap it '
     'computes meanwhile, and in put_target_busy the other rank computes.'),
    (r'put_mr/.*', '1,024 puts of 8 B are begun and then completed together. The number is puts a second.'),
    (r'(put_)?get_chain/.*', 'Each operation needs the result of the one before, so only one is under way.'),
    (r'flag|pingpong/.*', 'The ranks send to each other in turn. The time is half of a round trip.'),
    (r'barrier_late', 'One rank comes 2 ms after the other. The time is that from its arrival to the other\'s return.'),
    (r'(barrier|fence|pscw(_each)?)(/.*)?', 'All ranks call it again and again, and nothing else. Where they share '
     'cores, the time runs from the start of the last rank to the end of the last one.'),
    (r'lock_contended.*', 'All ranks want the lock at once. The time is that for which each of them has it.'),
    (r'lock_unfairness.*', 'All ranks take the lock as often as they can. The number is a fair share over the least lucky rank\'s.'),
    (r'lock_hand_over.*', 'The lock goes from one rank to the other, in turn.'),
    (r'lock_.*', 'Rank 0 takes a free lock on the other rank\'s part, makes one operation, and releases it.'),
    (r'fft3d/.*', 'A whole transform of a field that is in place. Plans are made before.'),
    (r'(program|include) .*', 'The compiler runs on the file, again and again. The time is that of the whole run.'),
    (r'.*(bcast|reduce|scatter|gather|alltoall|scan).*', 'Calls follow each other without a barrier, and the root goes round. Each rank '
     'has one buffer for its elements and one for results.'),
    (r'map_.*|ycsb_.*', 'A map with a million keys is in place. Keys are uniform, or follow Zipf\'s law in YCSB\'s mixes.'),
    (r'call.*', 'Rank 0 calls a function on the other rank, which makes progress meanwhile.'),
    (r'dsde|flood.*', 'On simulated nodes, in virtual time: the same in each run.'),
    (r'job', 'The whole process is timed from outside, from its start to its end.'),
]
USUAL = 'All ranks do the work, again and again, until the time of the row is over.'
PAIRS = ' Ours and the code by hand take turns in one process, in an order drawn for each turn. Other libraries run in processes of ' \
        'their own, once a round.'

# The row, and what a user does with it. The page opens with the first ten that a run has.
HEADLINES = [
    (r'put_latency/flush/8', 2, 'Write 8 bytes into the memory of another rank, and wait until they are there'),
    (r'get_latency/flush/8', 2, 'Read 8 bytes of another rank'),
    (r'put_bw/flush/1048576', 2, 'Write many blocks of 1 MiB'),
    (r'fop_latency/flush/8', 2, 'Add to a number of another rank, and get what was there'),
    (r'fence', 2, 'End a step: all ranks wait until all data have arrived'),
    (r'pscw', 2, 'The same with neighbours alone: post, start, put, complete, wait'),
    (r'lock_exclusive', 2, 'Lock a part of another rank that nobody holds, change it, and unlock it'),
    (r'heat/.*', 2, 'A step of the heat equation, with its halo'),
    (r'gups/.*', 2, 'Update a large table at random'),
    (r'fft3d/.*', 2, 'Transform a field of three dimensions'),
    (r'call/8', 2, 'Call a function on another rank and get its value'),
    (r'allreduce/8', 2, 'Sum a number over all ranks'),
    (r'map_lookup/8', 2, 'Look up a key in a table over all ranks'),
    (r'await_get/8', 2, 'Read 8 bytes of another rank in a coroutine'),
    (r'barrier', 2, 'Wait for all ranks'),
    (r'put_latency/flush/4096', 2, 'Write 4 KiB into the memory of another rank'),
    (r'lock_shared', 2, 'Lock a part of another rank for reading'),
    (r'put_block/.*', 2, 'Write a block of a matrix of another rank'),
    (r'own_cells/for_each/8', 2, 'Go over the own cells of an array'),
    (r'lattice/.*', 2, 'A sweep of a lattice of four dimensions, with its halos'),
]
OPENING = 10


def method_of(name):
    """How rows of that name are measured, in words."""
    return next((text for names, text in METHODS if re.fullmatch(names, name)), USUAL)


def chosen(rows, name_of):
    """[(words, row)] of the rows with which the page opens."""
    found = []
    for names, ranks, text in HEADLINES:
        row = next((r for r in rows if r['ranks'] == ranks and r['ours'] and re.fullmatch(names, name_of(r))), None)
        if row:
            found.append((text, row))
    return found[:OPENING]
