# SPDX-License-Identifier: BSL-1.0
"""The limit of each row in words, and the reason of each row without a target: all of it is data, here.

A row's limit is the hand-written code beside it, and LIMITS says why no code can be quicker. A row that has no
entry in TARGETS of suites.py has one in REASONS. A row without either counts as unexplained.
"""

import re

import suites

# The first pattern that fits the whole of row/mode/bytes counts.
LIMITS = [
    (r'.* in a body, .*', 'The same loop in a program without the library, built by the same compiler with the same options.'),
    (r'checked_memory/.*', 'The bytes of the windows themselves.'),
    (r'checked_.*', 'The same program without the checker. A check looks at the shadow of each byte, which is as large again.'),
    (r'.*/SCC, lines/\d+', 'The fewest lines that must move over the mesh, counted on paper.'),
    (r'.*/SCC, drops/\d+', 'One drop for each part that another rank may have written, counted on paper. '
     'tests/coherence/counts_test.cpp and tests/array/halo/halo_test.cpp hold it.'),
    (r'.*/SCC, flushes of a cache/\d+', 'None: writes go past the caches, so no cache is flushed. tests/coherence/counts_test.cpp holds it.'),
    (r'fence/instructions', 'The flags of two ranks by hand, 13 instructions. Of our 21, 5 find the epoch and look whether it is open, 2 look '
     'which fence the window has, 5 count this fence and add to the sum, 3 look whether a rank sleeps on the word, and 4 compare and return. 2 '
     'more are addresses for calls out of line. Experiment: 27 with a call that wakes a sleeper before the comparison, since six save '
     'registers for that call. 21 with the comparison in that call, too, and the sum\'s address read twice. '
     '19 with one call for a sleeper and for the wait, which then looks for a sleeper again.'),
    (r'lock_exclusive/instructions', 'A compare-exchange and a store by hand. Experiment: of 31 instructions in place of 94, 9 are the '
     'protocol\'s accesses with the values that it expects and stores, and with the look at the bell of the word that is released, by which ranks '
     'sleep, 10 the two looks for an exception, other locks and a kept error, with the number of the open lock, 4 the addresses, 4 the bias, 2 the '
     'check of the rank, and 2 the loop. It was 33 with two looks at the end, one for an exception and one for other locks. The word of a free lock names '
     'a rank, so that lock_hand_over takes 0.82 in place of 1.01 of a lock by hand. It was 41 with a count of '
     'the window\'s users (3), and with looks of their own at a kept error (3), the bias (2) and an exception '
     '(2). A look at the bell of the word that is taken took 3 more.'),
    (r'.*/(system calls|instructions)(/\d+)?', 'The same work by hand, counted in the same way.'),
    (r'.*/(put_get|user_memory)', 'The same stores, loads and copies by hand, by pointer or by the system\'s copy between processes.'),
    (r'.*/scc|simulat.*|.*(private|words)', 'A size or a speed of ours alone: fewer bytes and more events a second are better, without a bound.'),
    (r'(put|get)_latency/flush/8', 'One store or load of the other rank\'s memory. A flush orders own stores only, which the '
     'processor does by itself, so it costs no instruction.'),
    (r'(put|get)_latency/flush/\d{6,}', 'The quicker of memcpy and stores past the caches. One core can copy no faster. Experiment, 2 MiB again '
     'and again: 58 us through the third level and 84 past it. 62 and 87 from another place of the page, so equal places cost nothing. '
     'A memcpy beside copies past the caches takes 57, so the ways of a row leave each other alone. Neighbours of the machine that use its '
     'third level slow a memcpy of 8 MiB from 300 to 490 us, and copies past the caches from 345 to 360: those are the two modes. On an Emerald '
     'Rapids, whose third level is far, 2 MiB take 165 us through it and 118 past it. 512 KiB take 12.5 to 13.7 us by five ways through the '
     'second level, and 26 past it. 30 programs in turns: ours take 0.94 (put of 1 MiB), 1.01 (put of 512 KiB) and 1.00 (get of 256 KiB) of the time '
     'of Open MPI with shared memory, and one program varies by 20 to 40 %. Small and huge pages on either side take as long. 64 lines '
     'of one colour in huge pages take 8 ns each, and lines of 8 MiB 111: there huge pages do not choose the sets of the second level.'),
    (r'(put|get)_latency/.*', 'The quicker of memcpy and stores past the caches. One core can copy no faster. Experiment: 256 bytes between '
     'equal places of two pages take 5.4 ns by memcpy, and 3.4 between others. There a load waits for the store before it. On an Emerald '
     'Rapids 512 bytes took 1.5 to 1.6 of a memcpy in registers of 32 bytes, and 1.20 in registers of 64, since a jump and a vzeroupper '
     'made 12 cycles of 10. Without both they take 0.95 to 1.06. Where all copies take 1.5 times as long, as beside a second thread of the core, they '
     'take 1.15: the checks of the range count there. Inlined they take 1.00 to 1.06, but 64 and 128 bytes then take 1.1 to 1.2. 32 KiB take 0.73 to 0.87 '
     'with a prefetch for writing 16 lines ahead, which gains nothing at 8, 16, 64 and 256 KiB.'),
    (r'(put|get)_(bw|bibw)/.*|put_overlap/.*', 'Copies by one core at the bandwidth of memory or of the cache that holds the bytes. Experiment, '
     '64 bytes each: four stores of 16 bytes take 1.07 of a memcpy, and two of 32 bytes 1.02, since half as many wait in the queue of stores. A put is as ordered as a memcpy, so a fence ends each put past the '
     'caches. On an Emerald Rapids pieces of 4 KiB take 14 to 15 GB/s without it, 8.9 with it, and 11 to 12 through the caches. Walks of 4 KiB take '
     '0.92 to 0.95 of a memcpy by hand with a prefetch for writing, and 0.98 to 1.05 by puts. Walks of 16 KiB take 0.98 to 1.03 of copies past '
     'the caches by hand, and 1.03 to 1.10 while the early reading of the clock counted as the pause of a reader.'),
    (r'acc_latency/flush/\d{4,}', 'A loop that loads both blocks and stores one. Experiment on an Emerald Rapids: registers of 64 bytes take 0.95 to '
     '1.00 of those of 32, and a prefetch for writing as long. A prefetch of the source past the caches takes 1.7 to 1.8. The plain '
     'loop takes 45 to 48 us or 58 to 80, for some milliseconds each, in small and in huge pages and at distances of 0, 64 and 2048 bytes. '
     'Loops in registers of 32 and 64 bytes take 42 to 50 meanwhile. So a ratio to the plain loop is 0.75 or 0.97, as the machine is at the time. '
     'Open MPI takes 41 to 48 us in such registers, and ours 40 to 48: source and target fill the second level, and both are at its limit.'),
    (r'put_mr/.*', 'Independent stores. A core retires one a cycle, until its store buffer is full.'),
    (r'(fop|cas|acc)_latency/lock_shared/8', 'The shared lock and one locked instruction: the announcement of single elements stays from '
     'one lock to the next.'),
    (r'(fop|cas|acc)_latency/.*', 'One locked instruction. It empties the store buffer, so it takes about 20 cycles on any '
     'processor of its kind, and nothing above it can be quicker. Experiment: a load of a flag before it takes 1.2 cycles more.'),
    (r'(put_)?get_chain/.*', 'Loads that depend on each other: the latency of the cache that holds the words.'),
    (r'put_block/.*|get_box/.*', 'A memcpy for each row of the block. Rows are short, so calls and partial lines count.'),
    (r'flag|pingpong/.*|signal/.*', 'One line goes from core to core, once each way. The cache protocol sets that time. Experiment on an Emerald '
     'Rapids, one way: 155 to 168 ns, 214 to 254 with a bell on the line of the word at which the storer looks, and 154 to 165 with the bell '
     'on the next line.'),
    (r'barrier_late', 'A rank that sleeps on a futex, and the kernel\'s time to wake it. Experiment: six runs had 30 to 60 us for ours and 50 '
     'to 75 us for the futex, with single turns of 100 us to 3 ms in both.'),
    (r'pscw/mailed_posts', 'Flags by hand. A message has a ring, a number, a line of the office and a receiver to call. Experiment: 1.8 of '
     'the flags with a message in three stores to its line, which the receiver may take between two of them. 1.2 with a message in one store, a '
     'look at the partner\'s ring alone, and the next line asked for during the wait. On far cores 992 ns with 200 such looks, and 473 with '
     '2000, where the flags take 480 to 540. On near cores both take 170, and the flags 145.'),
    (r'fence/guarded_counter', 'The protocol\'s own accesses by hand: a guard in bit 0 of the counter\'s word. Each rank changes the line twice. '
     'Experiment on an Emerald Rapids: 149 to 163 ns by a compare-exchange with or without an early request for the line, by an exchange, '
     'and by a guessed value. A counter without a guard, which is `central_counter`, takes 86 to 97, and ours 181 to 187. Ours took 276 with '
     'guard and counter on two lines, and takes 2.0 in place of 1.91 of the counter with a pause after each failed attempt.'),
    (r'fence/(central_counter|by_size)', 'The addition and the looks at the sum, by hand. Experiment on an Emerald Rapids: by hand they take as '
     'long with a look at a bell on the second line, with pauses after 32 or 100 looks, and with looks through a call (90 to 96 ns for 93). Ours takes '
     '1.16 to 1.27. In one set it took 1.23 as it is, 1.19 with an endless loop in place of the wait, and 1.20 with 1000 looks first. Four loads '
     'that depend on each other, before the addition by hand, take a third of the difference. The rest are other instructions between two '
     'locked ones, which do not overlap.'),
    (r'pscw(_each)?(/.*)?', 'Flags by hand: each rank writes one line for each partner and reads one. With more ranks than cores each '
     'step takes a switch of 1.5 to 3 us. Experiment: on 4 and 8 ranks, 400 looks before each switch take 1.19 and 1.24 of the flags, and '
     'none 1.07 and 1.13, since a rank cannot know whether its partner runs. On 16 ranks, a yield through the C library takes 1.06 to 1.09, '
     'and one whose system call stands in the wait 0.90 to 0.94: it touches three pages less after each switch. On 2 ranks, lines asked '
     'for early save a quarter. On an Emerald Rapids, 8 ranks make 1.26 to 1.28 switches a step by ours and by the flags. Ours takes 591 '
     'instructions on 43 lines of code, and the flags 274 on 14. It took 1.04 to 1.07 with 755 on 60, and takes 1.03. By hand, the '
     'read-modify-writes and bells take 0.95 to 1.01. One look before each yield takes 1.05, and epoch code on fewer pages 1.02 on 8 ranks and 1.04 on '
     '16. A word that tells whether a rank runs takes 0.9 by hand on 4 and 8 ranks and 1.02 on 16, and in the library as long as without. On 16 ranks ours touches 12 small '
     'pages a step and the flags 10 (pscw_each: 13 to 17 and 9). A removal from a group without a call of memmove takes 1.04 in place of 1.06 on 16 ranks, and as '
     'long on 8. With the first turns of the last wait in its caller, and the bits of 64 targets beside the counters, 4 to 16 ranks take 1.00 to 1.01 in '
     'place of 1.02 to 1.05, and 64 take 1.02 to 1.07 in place of 1.06. With 60 looks before each yield, 8 and 16 ranks take as long and 64 take 1.05, and '
     'with 250 all take 1.10 to 1.17. First turns also in the wait for a post take as long.'),
    (r'(barrier|fence)(/.*)?', 'Flags by hand: each rank writes one line for each partner and reads one. With more ranks than cores each '
     'rank needs its core once, a switch of 1.5 to 3 us. Experiment: on 4 ranks the last one on each core keeps it, which takes 0.75 of '
     'the counter by hand, and 1.05 without. On 8 it takes 0.95. With more on a core the looks cost what they save. On 16 ranks, both ways '
     'take 0.95 to 1.1 switches a rank, each of 2.5 us. A yield through the C library takes 1.04 to 1.06 of the counter (barrier) and 1.03 to '
     '1.08 (fence), and one whose system call stands in the wait 1.03 and 0.95 to 0.99. The barrier takes 0.97 to 1.01 if a rank asks '
     'for the sum only when it adds to it. A second word for the end of a fence takes as long. On an Emerald Rapids a switch takes 0.75 us with 2 '
     'ranks on a core, 1.25 with 4 and 2.0 with 8: Linux numbers the addresses of six processes a core. With the first turns in the caller\'s code '
     'ours takes 0.96 to 1.01 on 16 to 64 ranks, in place of 0.98 to 1.08. On 8 ranks a count of arrivals on each core tells the last one there to keep '
     'it: 0.96 in place of 1.01 to 1.08. With 8 ranks on a core that count takes 1.03. By hand, a counter for each core and one above them take 0.94 to '
     '0.99, and 0.84 to 0.97 if the last rank keeps its core.'),
    (r'lock_(contended|mixed|unfairness|hand_over).*', 'A lock that changes its rank moves its line and the data\'s. A lock that '
     'one rank keeps moves neither, and starves the others. Experiment on an Emerald Rapids, lock_contended: the first of the queue pauses before it '
     'looks, so the holder comes back up to most_passes times, which takes 45 to 55 ns in place of 119 to 137. 16 passes take 92, and 32 take 90. Where ranks '
     'share cores such a pause takes 2 us a lock. In lock_hand_over the lock is free whenever a rank tries it: of 138000 attempts 10 failed at most. So '
     'only lines move. By hand, in turns, a compare-exchange takes 294, 292 and 286 ns with a plain release, 293, 292 and 292 with a locked one, and 241, 246 '
     'and 230 with a plain one and cldemote of the lock\'s line. A free lock that always does so takes 117 to 144 ns in place of 12. With a word that names the '
     'last holder, so that a rank does so for another rank alone, it takes 243, 248 and 233. Ours names the last holder in the free word. A rank that '
     'finds other names twice in a row hands the line '
     'on, and expects that name: 231 ns, 0.82 of a test and set by hand, where it took 271 and 1.01. Ranks that compute for 2 us between their locks wait '
     '130 ns for one in place of 147. A locked instruction behind the hint takes 0.58 in this row, but 248 ns where ranks compute. The same hint for '
     'the line of the data took 156 ns in one run and 248 in another; that line belongs to the program, and no lock knows it.'),
    (r'lock_exclusive', 'The locked instruction and the store that take and release the lock\'s own word, without an epoch around them: 2.4 '
     'to 2.7 ns. Experiment: an epoch took 11 ns, 6.2 with its words found once and one number for the open locks, and 3.8 without a look '
     'at sleepers when the word is taken. It takes 3.0 to 3.1 (1.26) without a count of the window\'s users, and with one comparison for '
     'other epochs, a kept error and an exception in flight. Without its look for a passing exception at the end it takes 2.85 (1.19). That '
     'look has to stay: a destructor must not wait for other ranks during an exception. While another program, or the other rank, uses the '
     'second thread of the core, the 22 instructions beside the lock are half as quick: 4.3 ns (1.7) in place of 5.7 (2.1), and 4.2 '
     'without that look. The lock by hand takes 2.5 to 2.7 there, since it waits.'),
    (r'lock_shared', 'Two locked instructions on one word, done by hand without an epoch around them: 4.4 ns. The checks of an epoch '
     'of 4.5 ns overlap with them.'),
    (r'lock_(exclusive|shared|all)/two_level.*', 'The protocol\'s own accesses, counted and done by hand without an epoch around them. '
     'Experiment: with accesses that are inlined whatever else the program has, and requests that look for no sleeper, a shared lock takes '
     '5.9 ns in place of 9.0, and 5.0 without a count of the window\'s users, where those by hand take 5.1. Calls kept the address in '
     'memory, and each locked instruction waited for that store. An exclusive lock takes 12.6 in place of 13.2 (11.1), and lock_all 5.8 in '
     'place of 6.8 (5.3). On an Emerald Rapids a shared lock takes 1.18 in place of 1.48 without a store between its two locked instructions.'),
    (r'lock_(exclusive|shared|all)/mailed_locks', 'Three stores to lines at which the other rank looks: request, answer and release. '
     'Experiment by hand: without the release they take as long, 122 ns on near cores and 520 on far ones, so only request and answer count. '
     'Ours, with each message in its own line, takes 205 and 690 to 820. The owner got the request 50 ns after the release, since it missed one line '
     'after the other. A prefetch of the next line with each look takes 198 and 610 to 690. Both messages in one line take 174 to 191 '
     'and 562 to 635: 1.28 to 1.4 and 1.17 to 1.28 of the three stores. Without asking for the line of the release early, 8 ns less: the owner looks at it. With 30 or 100 looks in a row at the '
     'last sender, nothing less. The rest is work between messages: with a clock read at each, the owner handles a request in 20 to 33 ns, and '
     'the asking rank takes 15 to 27 ns from the answer to its next request.'),
    (r'lock_(exclusive|shared|all)/.*', 'The protocol\'s own accesses, counted and done by hand without an epoch around them. Experiment: an '
     'epoch whose words are found once, and whose waits are out of line, takes half of the time of one that asks the control for each '
     'word: 7.3 ns in place of 14.7 (queued), 9.9 of 27.6 (mcs), 12.5 of 23.4 (bakery), 8.7 of 15.5 (shared, two_level). On an Emerald Rapids a '
     'locked instruction waits for the stores before it: two locked additions take 36 cycles, 48 with one store between them, and 43 or 50 with 30 or '
     '40 instructions in each gap. Where the second thread of the core seems to be busy, a store takes 2 cycles, so the accesses by hand seemed to have two '
     'speeds. Without a store between them a shared lock takes 1.00 in place of 1.27 (queued). Bakery takes 1.40, with 33 instructions between its two '
     'exchanges, and 1.42 with two loops that do not look at the own rank. With members kept in registers lock_all takes 1.12 in place of 1.15 (mcs_wp), and 1.23 to 1.24 in '
     'place of 1.24 to 1.28 (bakery), where lock_exclusive then takes 1.18 in place of 1.15. A predicted branch in place of its maximum takes '
     '1.25, and no look at the bell after the choice 1.245. '
     'With its addresses found before the first exchange, and two loops in place of one, it takes 1.17 to 1.46 in turns with 1.10 to 1.40.'),
    (r'transpose_array/.*', 'A copy of as many bytes past the caches. Experiment: 30 transposes by hand, with registers of 32 bytes, '
     'blocks of 8 to 128 rows, prefetches and stores past the caches, in turns on one memory, five times. The best takes 1.16 to 1.41 '
     'times the copy at 4096 x 4096, and 1.22 to 1.63 into tiles. At 1024 x 1024 it takes 1.5 to 1.9 times where the copy finds its '
     'source in the caches, and 1.03 to 1.18 where it does not. Registers stored straight to their places, without a block in the first '
     'cache, take 1.5 to 2 times the copy, and stores through the caches 1.5 to 2.6. Experiment, 60 by hand on two ranks in two runs: at '
     '4096 x 4096 our blocks take 1.30 of the copy, 1.86 without their prefetch, and 1.28 where 512 x 512 cells come before the next, so '
     'that each page is entered once: addresses of pages are not the limit. Panels of 64 x 64 to 128 x 128 cells that are loaded while '
     'the one before is stored take 1.46 to 1.81, blocks of other shapes 1.43 to 2.5, and a prefetch into the first cache or two '
     'blocks ahead 1.6. At 1024 x 1024 our blocks take 1.78, and squares stored straight through the caches 1.42 to 1.67. '
     'Experiment in huge pages, by hand on two ranks, 4096 x 4096: loads alone take 0.71 of the copy in sequence, 0.63 from strips of '
     '8 rows and 1.03 from blocks of 64. Stores alone take 0.35. In the same three runs panels of 32 x 512 that are loaded while the one '
     'before is stored take 1.22 to 1.32, and our blocks 1.36 to 1.55. Strips of 16 rows, stored from registers, take 1.14 to 1.52 '
     'where our blocks take 1.35 to 1.67. Experiment in this row, seven runs in turns: such strips in '
     'place of blocks take 1.85 of the copy for 1.77, and 1.57 into tiles as the blocks do. At 1024 x 1024, nine runs, blocks stored '
     'through the caches take 423 us for 375, and into tiles 415 for 379. Five runs: strips through the caches take 391 for 380, and '
     '464 for 377; five others 292 for 367, and 320 for 352. Experiment on an Emerald Rapids, 40 by hand on two ranks, 1024 x 1024: loads alone '
     'take 0.53 of the copy, stores of two lines side by side 0.81, and of single lines 1.49. Two squares that wait in registers and leave '
     'as pairs of lines take 1.04 to 1.09, and 1.07 to 1.14 into tiles. Squares stored one by one take 1.17 to 1.21, and 1.23 to 1.25. Four '
     'squares at a time take 1.11 and 1.26, since they do not fit the registers. A prefetch makes it 1.18 to 1.28, panels of 32 x 512 take '
     '1.75, and columns of squares 1.36 to 1.70.'),
    (r'redistribute/.*', 'A copy of as many bytes: each byte is read once and written once. Experiment, one core, 4 MiB into '
     'tiles of 64 rows of 512 bytes: 1.03 to 1.06 of a copy past the caches, with a prefetch of no, 4 or 8 rows, and tile by tile or row '
     'by row. Experiment, two ranks, parts of 4 MiB in huge pages, nine runs in turns: through the caches a copy takes 200 to 221 us, past '
     'them 347 to 353. A memcpy takes 199 to 239, and a copy of one run past the caches 334 to 339. Where a sweep of 48 MiB precedes each '
     'copy, it takes 635 to 760 us through the caches and 535 to 725 past them; a loop that reads the result makes these equal. All that is '
     'on two threads of one core. On two cores a copy of one run past the caches takes 177 to 220 us, tiles through the caches 200 to 390, and '
     'past them 246 to 295; rows to columns take 222 to 237 and 226 to 260. On an Emerald Rapids all three take 367 to 401 us through the caches, '
     'and 271 to 321 past them.'),
    (r'own_cells/.*', 'A loop over a pointer, as the compiler makes it.'),
    (r'halo/.*', 'The same halo by `exchange_halo`, which is what a put of each side and a synchronization cost.'),
    (r'fields/[124] .* by local view', 'The loop over pointers that may overlap, row by row. Other pointers may reach a part, too, so '
     'the compiler compares addresses before each row. By itself g++ gives up after ten; meson.build lets it compare 60. In 2-D two fields '
     'need 13 comparisons and four 54, in 3-D four need 86. Rows of a pitch that is known at run time share none. Experiment: with 60 g++ '
     'reaches 0.94 of the pointers with two fields in 2-D (1.38 with ten) and 1.00 with four (1.11). In 3-D rows of 40 cells pay for '
     'the comparisons: 1.09 with two fields (1.22). '
     'With 100 four fields take 1.41 in 3-D (1.17), and 1.45 on an Emerald Rapids (1.28), as well as 1.11 in 2-D (1.07). With one field in 3-D, g++ compares '
     'five times: 1.03 on an idle core, and 1.11 beside a busy one. The same views in for_each_cell need no comparison: 1.01 and 1.04. '
     'Staged cells need no other loop: the row by view. All that is beside pointers that are told not to overlap. On an Emerald Rapids those that '
     'may overlap take 1.06, 1.09 and 1.02 of these with one, two and four fields in 3-D, and 1.06 with four in 2-D. Four fields in 3-D, 1.26: each '
     'view has pitches of its own, so g++ keeps 16 distances of rows, nine of them in memory. By hand one pitch serves all fields, '
     'and four distances stay in registers. A loop by hand over i, j and k takes 1.19 where each field has pitches of its own that g++ cannot compare, and the '
     'views take 1.18 in the same eight programs: both have 66 instructions, twelve of them on the stack. With one pitch for all, that loop takes 1.01, with 55 '
     'instructions and none on the stack. By clang++ these views take 1.00, and with the pragma 1.02 by g++.'),
    (r'fields/. of 3-D/.* by numbered range-v3 rows', 'The loop over pointers. Each number is divided by the rows of a plane, once for all '
     'boxes that have the same way to their rows. About 30 instructions find eight rows, where 80 did. Experiment on an Emerald Rapids, in '
     'turns: 1.02, 1.02 and 0.81 with one, two and four fields, in place of 1.26, 1.23 and 0.97. In other runs one field takes up to 1.06, and the '
     'same rows one after the other 1.00 to 1.05. The way is a chain of two multiplications and three additions behind the end of each row of 40 '
     'cells. One more shift in it takes 1.05 in place of 1.02. Five runs in turns of the programs of three commits take 1.06, 1.06 and 1.08 to 1.09 with one field: '
     'the views are the same, but g++ makes 628 instructions of the function in the last one, and 650 before. In 20 programs one field takes 1.05 of the pointers '
     'and 0.98 of pointers that may overlap, since the loop compares addresses before each row. Rows found by hand take 1.11 with the same multiplication, and '
     '1.20 with a division. So the way to a row by its number costs that time.'),
    (r'fields/[124] .* by local view, told not to overlap', 'The loop over pointers, with the same pragma.'),
    (r'fields/1 of 3-D/.* by (u\(i, j\)|at\(i, j\)|view|stencil)', 'The loop over pointers: 20 instructions for two cells, as by hand. '
     'Experiment: the loop of view began 48 bytes behind a line. Moved to a line in the same assembler file, it takes 1.01 in place of '
     '1.09 of the pointers beside a busy core, and 0.93 in place of 0.94 on an idle one; stencil takes 0.99 in place of 1.09, and 0.98 in place '
     'of 1.01. The loop of u(i, j) loads a pointer and its end from the stack: 1.01 on an idle core, and 1.08 beside a busy one. '
     'at(i, j) did so, too, and takes 0.98 (1.02) since it loads no pointer. A loop that keeps no cell in a register for the next, by '
     '-fno-predictive-commoning, takes 1.01 to 1.08.'),
    (r'heat3d/.*', 'The serial loop over pointers with flags by hand. Experiment: its time is that of the arithmetic. With results that '
     'pass the caches a step takes 204 us in place of 153 at 64^3, and 5.2 ms in place of 5.1 at 192^3. Rows that are 66, 72 or 80 '
     'cells apart, and arrays that lie 64 B to 3 KiB past a page, take 151 to 157 us. At 192^3, parts in huge pages take 0.78 of the time '
     'of those in small pages. On an Emerald Rapids ten runs in one process take 0.99 of the loop by hand, and that loop without any '
     'exchange 0.98. From process to process OpenMP takes 116 to 210 us, and ours 142 to 211. 25 programs for each kind of memory: the loop '
     'alone takes 153 to 161 us in small pages, huge pages, a file in memory or private memory, and 106 at best in each. Within one program it '
     'changes between 106 and 150 to 200 for milliseconds. 40 programs in turns take 86.8 ps a cell, by hand 84.8, and Open MPI\'s 78.5 to 79.7. The '
     'code of the loop, its pitch and its alignment are theirs. Huge pages for small parts take as long (86.0), and so do arrays at other '
     'distances (80.3 for 80.2). Without exchanges theirs take 72.1, and ours 76.5; the cause is not known. `stencil` chooses registers of 32 bytes at '
     'run time, and the loop by hand has those of the compiler\'s default: 16 programs in turns take 57.8 ps in place of 79.3, by hand 78.3, and Open MPI\'s '
     '73.6. Planes that go back and forth take as long.'),
    (r'(heat|heat3d|stencil|fields|(heat|stencil) by u\(i, j\))/.*', 'The serial loop over pointers with flags by hand. It runs at the bandwidth of the cache or '
     'memory that holds both grids. Experiment on an Emerald Rapids, stencil of 512 x 512 in eight programs of each in turns: ours takes 15,900 to '
     '23,900 Mop/s (median 20,400), MPICH 14,400 to 20,100 (18,300), its messages of two sides 14,100 to 21,500 (19,500), and flags by hand 1.00 of ours. '
     'So a peer that is ahead in a run of five rounds has had the better programs.'),
    (r'fft3d/.*', 'FFTW on as many threads of one process, which share all memory and move nothing twice. Experiment on an Emerald Rapids, 128 x '
     '256 x 256 in seven programs of each in turns: ours takes 43 to 66 ms, and FFTW on Open MPI 94 to 144, 1.95 by the medians. Five '
     'rounds of a whole run have five such programs of each, and their ratio was 1.31 to 1.94 in five quiet runs.'),
    (r'gups/.*', 'A loop of atomic additions at random: a miss of the cache and of the address table each, as many under way as the '
     'core has buffers. Experiment: 1.55 times that time without a prefetch of the words that come 32 later, and 0.97 with it.'),
    (r'(nstream|transpose|matmul|matvec|cg)/.*', 'The same kernel by hand in shared memory, without a library.'),
    (r'program 1 .*', 'The headers of other libraries that it needs, compiled alone. Experiment, the least of 4 runs by g++ and by clang++ on a busy machine (they differ by a fifth): those that are '
     'included take 0.9 and 1.0 s, and with ours and an empty main 1.9 and 2.4 s. A start of ranks that do nothing makes it 2.8 and '
     '3.1 s, a window 3.6 and 3.5 s, and the fence, the put and the sum 3.9 and 3.5 s. So g++ takes as long for what the start and the '
     'window call (processes, waits, deadlocks, errors) as for all headers. Of 2307 functions that it writes, 1502 are the standard library\'s: 138 for vectors of ranks, '
     '105 for those of words, 129 for spans, 140 for five types of shared pointers. Plain lists in place of vectors, and no std::optional of a rank, took '
     'away 530 functions and a tenth of the time. More of both, and two small owners in place of std::shared_ptr and std::unique_ptr, leave 1952 functions and '
     'take 9.25 in place of 9.72 G instructions, of which 3.2 are for the headers of others. A keeper of our own leaves <memory> out, which takes clang++ '
     '6.71 in place of 7.17. g++ spends 1.4 of 3.5 s on parsing, 0.4 on instantiation, and 1.6 on code.'),
    (r'program 2 .*', 'The headers of other libraries that it needs, compiled alone. Experiment, the least of 2 to 4 runs by g++ and by clang++ on a busy machine (they differ by a fifth): with an empty main all '
     'headers take 1.9 and 2.5 s. A start of ranks that do nothing makes it 4.4 and 4.4 s, an array with a halo 7.6 and 6.5 s, and the '
     'rest 8.7 and 6.7 s. Told to optimize less (-O1), g++ still takes 0.73 of the time. Its code is 312 '
     'functions of 0.5 KB on average, and the largest has 2.5 % of it. One run each took 4.3 s without optimization, 5.3 s by -O1, 6.1 s for size '
     'by -Os, and 8.0 s by -O2. What runs once a job is compiled for size, which saves 5 %. Plain lists in place of vectors, and halo plans without '
     'a sort, saved an eighth, and small owners a twentieth. Another 14 KB of code for size saved nothing.'),
    (r'include core.hpp, .*', 'The headers of other libraries that it needs, compiled alone. Experiment: clang++ instantiates 6764 classes, '
     'and 3020 of the headers alone. It was 9600, and 1.71 in place of 1.41, with traits of the standard in our concepts and with vectors of 15 '
     'types. Without <memory> clang++ takes 4.02 in place of 4.41 G instructions, and 3.18 in place of 3.36 for the headers of others. The largest that '
     'are left come of the first span of each kind of bytes (340) and '
     'of std::optional of a segment (78).'),
    (r'include .*', 'The headers of other libraries that it needs, compiled alone.'),
    (r'i.*', 'The blocking form of the same collective.'),
    (r'.*(bcast|reduce|scatter|gather|alltoall|scan).*', 'Short ones: a barrier by hand, the least in which all can know of all. Long '
     'ones: copies by hand of the bytes that must move.'),
    (r'(far|near|node)_.*', 'The same accesses by MPI\'s calls in the same processes.'),
    (r'map_memory.*', 'The bytes of keys and values alone.'),
    (r'win_create/.*', 'The system maps the pages and clears each of them. Experiment: 1 GiB takes 0.88 s in pages of 4 KiB, and 0.12 s in '
     'pages of 2 MiB, which parts of 2 MiB and more have.'),
    (r'put_target_busy/.*', 'A put by the own core, which does not need the target: the time of put_latency.'),
    (r'map_accumulate/8', 'An atomic addition to a known word. An addition by key first looks for the key in the line. Experiment: the '
     'way "load and atomic" does no more than that.'),
    (r'map_(lookup|contains|insert|accumulate|grow).*|ycsb_.*', 'A key at random misses the caches: one line for its bucket and one for its '
     'value, each about 100 ns, as many under way as the loop allows.'),
    (r'(counter|striped_counter|inbox|queue|vector|task)_.*', 'The same by hand: an atomic addition, a ring, or an index.'),
    (r'call.*', 'A line goes to the other core and one comes back.'),
    (r'(await|token)_.*', 'The call itself, without a coroutine or a completion.'),
    (r'lattice.*', 'The same sweep with flags by hand.'),
    (r'dsde|flood.*', 'The same messages on the same simulated network without a bound of memory.'),
    (r'job', 'The system starts the processes and ends them.'),
]

# Suite, row/mode/bytes, ranks from and to, and the reason. The first one that fits counts. None: any suite.
REASONS = [
    (None, r'fft3d/.*', 1, 1, 'One rank has no peer; beside two ranks it shows the gain of the second core.'),
    (None, r'put_overlap/.*', 2, 2, 'A put by the own core hides nothing; the row shows what a library with a helper thread would.'),
    (None, r'own_cells/at\(i, j\)/8', 1, 64, 'Nobody writes the arithmetic of a global index by hand.'),
    (None, r'halo/.*', 1, 64, 'Large halos take the time of their copies; the row shows where notified puts stop to gain.'),
    (None, r'(lock_contended|lock_mixed)/.*', 1, 64, 'A contended lock is as quick as it is unfair, so only the default has a target; '
     'lock_unfairness stands beside.'),
    (None, r'lock_unfairness/.*', 1, 64, 'A share of luck, not a time; it is there to read lock_contended by.'),
    (None, r'lock_hand_over/.*', 1, 64, 'Only the default protocol has a target; the others are there to choose from.'),
    (None, r'(fence|pscw|lock_exclusive|lock_shared|lock_all)/\w+', 3, 64, 'Ranks share cores, so the scheduler\'s time hides the '
     'protocol\'s; the default has a target in the rows without a protocol\'s name.'),
    (None, r'.*/put_get', 1, 64, 'An epoch\'s own call, beside a window\'s, which has the target.'),
    (None, r'put 1024 rows of .*', 1, 64, 'The kernel copies each row; by hand it would, too.'),
    (None, r'.*/user_memory', 1, 64, 'Its program has the target, beside the system\'s own copy.'),
    (None, r'.*/scc', 1, 64, 'A speed of the emulator, which no other program has.'),
    ('counts', r'.*/instructions(/\d+)?', 1, 64, 'A count is held by tests/coherence/counts_test.cpp, which fails when it grows; times have the '
     'targets.'),
    (None, r'include .*', 1, 64, 'Only the two entrances, pgas.hpp and core.hpp, have a bar; the others are parts of them.'),
    ('async', r'await_put/8', 1, 64, 'A put without a wait is one store, so any coroutine around it is a multiple; await_get has '
     'the bar.'),
    ('async', r'token_get/8', 1, 64, 'By hand nothing keeps the callbacks; the row shows what keeping them costs.'),
    ('async', r'call_(64|one_way_shared|update|span)/\d+', 1, 64, 'Forms of `call` and `call_one_way`, which have the targets.'),
    ('async', r'dsde', 1, 63, 'Message forms win on few nodes; the paper\'s claim, and the target, is for 64.'),
    ('scale', r'.*', 1, 1 << 20, 'Its growth counts, not its height: the table of growth has the exponent.'),
    ('maps', r'map_memory.*', 1, 64, 'A map with more room has shorter searches, so no number is the best.'),
    ('maps', r'(counter|striped_counter|inbox|queue|vector|task)_.*', 1, 64, 'By hand nothing grows or ends; the row shows '
     'what that costs beside the least that works.'),
    ('collectives', r'[a-z_]+/[a-z_<>0-9, ]*[a-z][a-z_<>0-9, ]*/\d+', 1, 64, 'An algorithm by name, to choose from; the team\'s own choice '
     'has the target.'),
    ('nodes', r'.*', 1, 64, 'There is one machine: what carries an access here says little of a network, so only rows of equal calls '
     'have targets.'),
    ('papers', r'.*', 1, 64, 'The papers\' own number is the reference, in papers.html.'),
]


def limit_of(name):
    """The limit of rows of that name in words, or nothing."""
    return next((text for names, text in LIMITS if re.fullmatch(names, name)), '')


def reason_of(suite, name, ranks):
    """The reason why rows of that name have no target, or nothing."""
    return next((why for of, names, least, most, why in REASONS
                 if of in (None, suite) and least <= ranks <= most and re.fullmatch(names, name)), '')


def why_untargeted(row, name):
    """The reason why this row is not judged, or nothing if it is, or if nobody knows."""
    judged = (row['to_raw'] and row['target_raw']) or (row['ahead'] and row['target_ahead'])
    if judged:
        return ''
    if row['ours'] is None:
        return 'Ours took no part in this run, so there is nothing to judge.'
    target = suites.target_of(name, row['ranks'])
    apart = 'Its target is beside {}, which never ran in the same round and placement of the cores.'
    if target.raw or target.ahead:
        if target.ahead and row['peers']:
            return apart.format('other libraries')
        if target.raw and row['raw']:
            return apart.format('code by hand')
        return f"Its target is beside {'other libraries' if target.ahead else 'code by hand'}, and none of that ran this row."
    return reason_of(row['suite'], name, row['ranks'])
