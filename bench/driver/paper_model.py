# SPDX-License-Identifier: BSL-1.0
"""The constants and the choices of our model of the papers' chip and libraries, the readings of unclear texts,
and the list of all figures and tables of the five papers. All of it is data."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """A constant or a structural choice. `code`: a line of file `where` that has its value. `set_by`: in words; the
    values, effects and claims that name it as their basis are listed beside."""

    name: str
    what: str
    value: str
    where: str
    code: str
    source: str
    set_by: str
    moves: tuple = ()  # figures, beside those by which it was set


@dataclass(frozen=True)
class Reading:
    """One of several readings of a text. The printed values of series `of` in `figure` are scored with the values of
    `series`. The first reading of an `of` is the one in use."""

    figure: str
    of: str
    series: str
    what: str


MESSAGES = ('post_start', 'put_latency', 'put_bandwidth', 'automaton', 'fft')
CHIP = 'include/pgas/machines/scc/timing.hpp'
PAPERS = 'bench/papers/'
NOTHING = 'no value of these pages'

CHOICES = (
    # Libraries
    Choice('active', 'MPICH\'s own time of each active-target call', '2.8 us', PAPERS + 'chip.hpp', 'return {2.8};',
           'Christgau 2017, section 4.4.3', 'a one-sided put of one byte takes 9.1 us: three calls, and accesses', MESSAGES),
    Choice('passive', 'the library\'s own time around each read-modify-write and each put with passive target', '1.15 us',
           PAPERS + 'chip.hpp', 'return {1.15};', 'Christgau and Schnor 2019, Table 2',
           'a pair of lock and unlock under GBH with back-off takes 3.35 us if all are shared', ('locks', 'writer')),
    Choice('rckmpi', 'RCKMPI\'s own time of each packet, at either end', '2.87 us', PAPERS + 'messages.hpp',
           'rckmpi_packet_us = 2.87', 'Christgau 2017, section 4.4.3', 'one byte by send and receive takes 6.4 us', MESSAGES),
    Choice('rcce', 'RCCE\'s own time of each put and each get', '0.484 us', PAPERS + 'rcce.hpp', 'rcce_us = 0.484',
           'Shahmirzadi 2014, section 2.5.2', 'a broadcast of a line to 48 cores by a binomial tree takes 21.6 us',
           ('barrier', 'broadcast', 'broadcast_parts')),
    Choice('start', 'the time of start: it looks up ranks', '1.7 us, and 0.089 us for each further target',
           PAPERS + 'post_start.hpp', '(5.8 - 1.7) / (47 - 1)', 'Christgau 2017, Table 3.4', 'start with 1 and with 47 targets',
           ('post_start',)),
    Choice('core_mflops', 'the rate of a core that computes NAS FT with cached transpositions', '22.8 MFLOPS', PAPERS + 'fft.hpp',
           'core_mflops = 22.8', 'Christgau 2017, Table 4.2', 'class B with a cached own part: 663.7 MFLOPS', ('fft', 'fft_parts')),
    Choice('serial', 'the time of a serial run of the automaton; n processes compute an n-th of it', '401.05 s', PAPERS + 'chip.hpp',
           'serial_s = 401.05', 'Christgau 2017, section 4.4.5', 'printed in the text, and used as it is', ('automaton', 'placement')),
    # The chip
    Choice('formulas', 'times of accesses: 45 core cycles to a buffer, 40 core and 46 memory cycles to memory, 4 mesh cycles a hop',
           'formulas-533', CHIP, '{.core = 40, .memory = 46}', 'the Programmer\'s Guide of the chip, as field notes quote it', NOTHING,
           ('all',)),
    Choice('barrelfish', 'a second set of times of accesses', 'barrelfish', CHIP, 't.own_buffer_read = {.core = 20};',
           'Barrelfish technical note 5. The note does not state the clocks. 5.3 core cycles a hop fit cores at 533 and a mesh at 800 '
           'MHz; 800 MHz of the memory is assumed', 'all of its 60 values', ('buffer_access', 'dram_access')),
    Choice('read_hold', 'a read holds a memory controller', '20 memory cycles', CHIP, 'memory_read_holds{.memory = 20}',
           'Christgau and Schnor 2019, Table 3', 'a put of 1024 B beside 11 near readers', ('locks', 'writer', 'post_start', 'placement')),
    Choice('write_hold', 'a write holds a memory controller', '12 memory cycles', CHIP, 'memory_write_holds{.memory = 12}',
           'Christgau 2017, section 3.4.5', 'the speed-up with distributed control words is linear, and with central ones it collapses',
           ('placement', 'writer', 'automaton')),
    Choice('buffer_hold', 'an access holds a buffer or a register', '3.5 mesh cycles', CHIP, 'buffer_holds{.mesh = 3.5}',
           'Shahmirzadi 2014, section 2.4', '24 cores at one buffer do not slow each other down, and 48 do',
           ('barrier', 'contention', 'broadcast', 'locks', 'fft')),
    Choice('arbiter', 'waiting packets fill the routers around a buffer, and each router serves its inputs in turn', '2 routers',
           'include/pgas/machines/scc/mesh.hpp', 'filled_routers = 2', 'Shahmirzadi 2014, section 2.4',
           'with 48 cores at one buffer the slowest get takes more than twice as long as the fastest, and the slowest put more than '
           'four times', ('barrier', 'contention', 'broadcast', 'locks')),
    Choice('caches', 'a word from L1, a line from L2', '1 and 18 core cycles', CHIP, 'l2_line{.core = 18}',
           'Christgau 2017, section 2.2.3', NOTHING, ('memory', 'put_latency', 'put_bandwidth', 'fft')),
    Choice('defect', 'reads of write-through pages are not cached', 'on', PAPERS + 'chip.hpp', 'how.through_pages_cached = false;',
           'Christgau 2017, section 4.4.2', 'the text says so; the emulator has a switch', ('memory', 'fft')),
    Choice('interrupt', 'an interrupt, and the entry into the kernel', '612 and 2000 core cycles', CHIP, 'interrupt{.core = 612}',
           'Barrelfish technical note 5; Christgau 2017, section 4.2.4', NOTHING, ('barrier',)),
    # Structure
    Choice('rounds', 'rounds of post and start follow each other without a barrier', 'a tight loop', PAPERS + 'post_start.hpp',
           'rounds begin = rounds::tight', 'Christgau 2017, section 3.5.3', 'the text says so', ('post_start',)),
    Choice('packets', 'the library works once for each packet', 'each packet', PAPERS + 'messages.hpp', 'work_for::each_packet',
           'Christgau 2017, section 2.3.3: each packet has its own header, count and poll. A message of one byte is one packet, so the '
           'value that set the constant cannot tell',
           'the rates of NAS FT by messages were known when it was chosen, so they are consequences', ('fft', 'automaton')),
    Choice('copies', 'a payload is copied once more if its place is not known when it arrives: handlers of one-sided messages, and '
           'receives that come late', 'receives come early', PAPERS + 'messages.hpp', 'a receive that comes late',
           'Christgau 2017, section 4.1.2', 'one rule for all programs', ('put_latency', 'put_bandwidth', 'automaton', 'fft')),
    Choice('warmth', 'a buffer is in the caches if its program has read it and has not displaced it since; no program prepares a '
           'cache for a measurement', 'as the program leaves it', PAPERS + 'messages.hpp', 'as the program leaves it',
           'Christgau 2017, section 4.4.3: the payload is checked at the target', 'one rule for all programs',
           ('put_latency', 'put_bandwidth', 'automaton', 'fft')),
    Choice('steady', 'the first of many broadcasts has as many lines as L2 and is left out, as the thesis leaves out the first 1000 of '
           '10000', '8192 lines', PAPERS + 'broadcast.hpp', 'lines_before = how == effort::small ? 1 : 8192', 'Shahmirzadi 2014, section 2.5.1',
           NOTHING, ('broadcast', 'broadcast_parts')),
    Choice('cells', 'a core stalls for each store of a cell, so cells take longer on cores far from memory; it reads each line of '
           'cells from memory once', 'stores stall', PAPERS + 'chip.hpp', 'enum class cell_stores { stall, overlap };',
           'Christgau 2017, section 2.2.1: one access may be under way, and the next one stalls; section 4.4.5: cores at different '
           'distances from memory cost the automaton its ideal speed-up',
           'one rule for all programs; the automaton\'s waits were known when it was chosen', ('placement', 'automaton')),
    Choice('columns', 'the stencil has a 32nd of each line, with a 32nd of the caches', '256 of 8192 columns', PAPERS + 'placement.hpp',
           'pitch / 32', 'ours: it shortens the run', NOTHING, ('placement',)),
    Choice('master', 'GBH with back-off also backs off at the register of the central word', 'yes', PAPERS + 'lock_schemes.hpp',
           'at_master::backs_off : at_master::spins', 'Christgau and Schnor 2019, sections 5.5 and 7: it needs a limited rate',
           'times of GBH with back-off in Table 2', ('locks', 'writer')),
    Choice('releases', 'an exclusive unlock of GBH frees the part, and then gives back its count at the master', 'part first',
           PAPERS + 'lock_schemes.hpp', 'enum class unlock_order { part_first, master_first };',
           'Gerstenberger, Besta and Hoefler 2014, section 2.3; Christgau and Schnor 2019 state no order', NOTHING,
           ('locks', 'writer')),
    Choice('readers', 'a reader that meets a writer stays in the count and polls', 'polls', PAPERS + 'lock_schemes.hpp',
           'Waiting = waiting_readers::poll', 'Christgau and Schnor 2019, section 4.2, says that it withdraws; its section 6.4, that '
           'readers hammer the counter', 'times of GBH in Table 3', ('locks', 'writer')),
    Choice('uncached_put', 'a put of the passive-target library copies word by word past the caches', 'uncached', PAPERS + 'writer.hpp',
           'm.copy(page_type::ncm', 'Christgau and Schnor 2019, Table 3', 'the slope of puts without readers: 62 core cycles a word',
           ('writer',)),
    Choice('passes', 'an iteration of NAS FT reads or writes each point 13.5 times', '13.5', PAPERS + 'fft.hpp', 'passes = 3.5 + 3 * 2 + 2 * 2',
           'ours: the least possible for its loops', NOTHING, ('fft',)),
    Choice('pauses', 'pauses at the test-and-set register of a barrier', '8 to 256 turns of 7 core cycles', PAPERS + 'barrier.hpp',
           'turn = 7, shortest = 8, longest = 256', 'iRCCE, a library of the same authors', NOTHING, ('barrier',)),
    Choice('flags', 'RCCE\'s flags are lines', 'lines', PAPERS + 'barrier.hpp', 'measure<rcce<rcce_flags::lines>>(tell, "rcce"',
           'RCCE\'s default build', NOTHING, ('barrier',)),
)

READINGS = (
    Reading('broadcast', 'OC-Bcast, k = 7', 'OC-Bcast, k = 7', 'a put and a get take the time of RCCE\'s'),
    Reading('broadcast', 'OC-Bcast, k = 7', 'OC-Bcast, k = 7, accesses alone', 'a put and a get take the time of their accesses'),
    Reading('post_start', 'match_vector', 'match_vector', 'a tight loop without a barrier, as section 3.5.3 says'),
    Reading('post_start', 'match_vector', 'match_vector, posts together', 'a barrier before each round'),
    Reading('post_start', 'messages', 'messages', 'a tight loop without a barrier, as section 3.5.3 says'),
    Reading('post_start', 'messages', 'messages, posts together', 'a barrier before each round'),
    Reading('barrier', 'rcce', 'rcce', 'flags are lines'),
    Reading('barrier', 'rcce', 'rcce, flags of a bit', 'flags are bits'),
    Reading('locks', 'gbh', 'gbh', 'an unlock frees the part first, as the scheme\'s authors have it'),
    Reading('locks', 'gbh', 'gbh, master first', 'an unlock gives back its count at the master first'),
    Reading('locks', 'gbh_backoff', 'gbh_backoff', 'backs off at the central register, too; an unlock frees the part first'),
    Reading('locks', 'gbh_backoff', 'gbh_backoff, master first', 'backs off there, too; an unlock gives back its count at the master first'),
    Reading('locks', 'gbh_backoff', 'gbh_backoff, spinning at the master', 'backs off after failed attempts alone'),
    Reading('locks', 'gbh_backoff', 'gbh_backoff, bounded', 'backs off at the central register, too, for at most 64 us'),
    Reading('writer', 'gbh_backoff', 'gbh_backoff', 'refused readers poll; backs off at the central register, too; an unlock frees '
            'the part first'),
    Reading('writer', 'gbh_backoff', 'gbh_backoff, master first', 'refused readers poll; backs off there, too; an unlock gives back its '
            'count at the master first'),
    Reading('writer', 'gbh_backoff', 'gbh_backoff, spinning at the master', 'refused readers poll; backs off after failed attempts alone'),
    Reading('writer', 'gbh_backoff', 'gbh_backoff retrying', 'refused readers withdraw and try again, as section 4.2 says'),
    Reading('placement', 'central', 'central', 'a core stalls for the store of a cell'),
    Reading('placement', 'central', 'central, stores overlap', 'a cell\'s store overlaps the next cell'),
    Reading('automaton', 'one_sided', 'one_sided', 'a core stalls for the store of a cell'),
    Reading('automaton', 'one_sided', 'one_sided, stores overlap', 'a cell\'s store overlaps the next cell'),
    Reading('automaton', 'two_sided', 'two_sided', 'the library works for each packet; a core stalls for the store of a cell'),
    Reading('automaton', 'two_sided', 'two_sided, stores overlap', 'the library works for each packet; stores overlap'),
    Reading('automaton', 'two_sided', 'two_sided, work per message', 'the library works for each message; a core stalls'),
    Reading('fft', 'messages', 'messages', 'the library works for each packet'),
    Reading('fft', 'messages', 'messages, work per message', 'the library works for each message'),
    Reading('fft', 'two_sided', 'two_sided', 'the library works for each packet; receives come early'),
    Reading('fft', 'two_sided', 'two_sided, late receives', 'the library works for each packet; receives come late'),
    Reading('fft', 'two_sided', 'two_sided, work per message', 'the library works for each message; receives come early'),
)


@dataclass(frozen=True)
class Item:
    """A figure or a table of a paper. `figure`: ours that reproduces it; else `why` not."""

    paper: str
    item: str
    what: str
    figure: str = ''
    why: str = ''


THESIS, REPORT, MAPS = 'Christgau 2017', 'Christgau and Schnor 2019', 'Shahmirzadi 2014'
FOMPI, UPC = 'Gerstenberger, Besta and Hoefler 2014', 'Ferreras 2008'
DRAWING = 'a drawing or an overview: it has no measurement'
EMULATED = 'a description of the chip: the emulator is built by it, and tests/ hold it'
OTHER_CHIP = 'measured on another machine, of which there is no model here'

# The papers' figures and tables, as far as their texts name them.
LIST = (
    Item(THESIS, 'Figs. 2.2 to 2.5, Table 2.1', 'the chip, its address translation and its types of pages', why=EMULATED),
    Item(THESIS, 'Figs. 2.8, 2.9, 3.1, 4.2, 4.9, 4.10', 'channels, windows, epochs, memory models', why=DRAWING),
    Item(THESIS, 'Figs. 3.12, 3.13', 'the place of control words, with a stencil', 'placement'),
    Item(THESIS, 'Table 3.3', 'the setting of the measurements', why='clocks and sizes are those of our runs'),
    Item(THESIS, 'Figs. 3.15, 3.16, Table 3.4', 'post, start, complete, wait', 'post_start'),
    Item(THESIS, 'Section 3.4.2', 'barriers of the literature', 'barrier'),
    Item(THESIS, 'Fig. 4.5', 'RCKMPI\'s one-sided calls beside send and receive', 'put_latency'),
    Item(THESIS, 'Fig. 4.6', 'the automaton by messages on the chip and on a cluster',
         why='the chip\'s part is a series of our automaton; the numbers of the curve are lost, and the cluster is another machine'),
    Item(THESIS, 'Figs. 4.11 to 4.13', 'bandwidth of loads and stores by types of pages', 'memory'),
    Item(THESIS, 'Fig. 4.14', 'put bandwidth', 'put_bandwidth'),
    Item(THESIS, 'Fig. 4.15', 'put latency', 'put_latency'),
    Item(THESIS, 'Table 4.1', 'classes of NAS FT', why='our runs of NAS FT have these sizes and messages; it has no measurement'),
    Item(THESIS, 'Table 4.2', 'rates of NAS FT', 'fft'),
    Item(THESIS, 'Fig. 4.18', 'parts of the time of NAS FT', 'fft_parts'),
    Item(THESIS, 'Fig. 4.20, Table 4.3', 'the automaton', 'automaton'),
    Item(THESIS, 'Figs. 4.21, 4.22', 'the automaton\'s time core by core', why='its numbers are lost, and the text states none'),
    Item(THESIS, 'Figs. 4.23, 4.24', 'proposals for hardware', why=DRAWING),
    Item(REPORT, 'Figs. 2 to 4, Table 1', 'the hash table, layouts of locks, properties of the schemes', why=DRAWING),
    Item(REPORT, 'Fig. 5', 'the place of control words, from the thesis', 'placement'),
    Item(REPORT, 'Figs. 6 to 8: GBH, MCS-WP', 'lock and unlock over the number of processes', 'locks'),
    Item(REPORT, 'Figs. 6 to 8: RCKMPI', 'locks by messages', why='no program of ours sends them; the numbers of the curves are lost'),
    Item(REPORT, 'Table 2', 'quartiles at 48 processes', 'locks'),
    Item(REPORT, 'Table 3', 'a writer and waiting readers', 'writer'),
    Item(MAPS, 'Tables 1.3, 1.4', 'techniques of other systems', why=DRAWING),
    Item(MAPS, 'Figs. 2.1, 2.2, 2.4, 2.6', 'the chip, trees of a broadcast', why=DRAWING),
    Item(MAPS, 'Fig. 2.3', 'contention at one buffer', 'contention'),
    Item(MAPS, 'Fig. 2.5', 'broadcasts', 'broadcast'),
    Item(MAPS, 'Sections 2.3 to 2.6', 'iRCCE, trees by places, the order of steps: named, not measured', 'broadcast_parts'),
    Item(MAPS, 'Figs. 3.1 to 3.17', 'algorithms of a distributed map', why=DRAWING),
    Item(MAPS, 'Tables 3.1, 3.2, Fig. 3.18', 'costs of messages on the TILE-Gx', why=EMULATED),
    Item(MAPS, 'Fig. 3.19(a)', 'a partitioned map over its number of servers', 'map_servers'),
    Item(MAPS, 'Fig. 3.19(b)', 'six maps over the number of threads', 'map_threads'),
    Item(MAPS, 'Fig. 3.20', 'five maps on three machines', 'map_platforms'),
    Item(MAPS, 'Fig. 3.21', 'costs of computations', 'map_costs'),
    Item(MAPS, 'Fig. 3.22', 'keys that few clients use most', 'map_skew'),
    Item(MAPS, 'Fig. 3.23', 'sequential consistency', 'map_sequential'),
    Item(MAPS, 'Fig. 3.24', 'servers that are clients, too', 'map_colocation'),
    Item(FOMPI, 'Figs. 1 to 3', 'costs as functions, data structures, a schedule of locks', why=DRAWING),
    Item(FOMPI, 'Section 3', 'models of put, get, atomics, fence, post to wait, and locks', 'fompi'),
    Item(FOMPI, 'Figs. 4 to 8', 'latency, overlap, message rate, atomics, synchronization',
         why='a Cray XE6; the numbers of the curves are lost, and the models of section 3 stand for them'),
    Item(FOMPI, 'Figs. 9 and 10', 'hash table, sparse exchange, FFT, MILC on up to 524,288 processes', why=OTHER_CHIP),
    Item(UPC, 'Figs. 1.1, 3.1, 3.2, 3.8 to 3.11, 4.1 to 4.9, 5.1 to 5.6, 6.1 to 6.9, Table 6.1',
         'layers, directories, protocols and caches', why=DRAWING),
    Item(UPC, 'Tables 3.1, 3.2, Figs. 3.3 to 3.7', 'prediction of messages', 'prediction'),
    Item(UPC, 'Figs. 3.12 to 3.16, 4.12', 'NAS with prediction and with flow control', why=OTHER_CHIP),
    Item(UPC, 'Figs. 4.10, 4.11', 'the killer benchmark', 'killer'),
    Item(UPC, 'Tables 5.1 to 5.3', 'random access and STREAM on BlueGene/L', why=OTHER_CHIP + '; examples/gups.cpp and nstream.cpp run them'),
    Item(UPC, 'Table 5.4', 'the cost of an access to a local shared element',
         why=OTHER_CHIP + '; tools/bench --suite arrays measures ours'),
    Item(UPC, 'Figs. 5.7 to 5.17, Table 5.5', 'NAS CG, matrix products, a stencil, Cholesky, HPL', why=OTHER_CHIP),
    Item(UPC, 'Figs. 6.10 to 6.16', 'the cache of remote addresses', why=OTHER_CHIP),
)
