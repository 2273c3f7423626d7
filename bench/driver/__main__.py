# SPDX-License-Identifier: BSL-1.0
"""Measures pgas beside other libraries and beside hand-written code, and writes a report."""

import argparse
import os
import subprocess
import sys
import time

import asynchronous
import collectives
import compare
import growth
import history
import judge
import machine
import maps
import nodes
import page
import paper_judge
import paper_page
import plots
import readme
import runner
import scale
import suites
import table
import why
import words
from progress import Progress
from results import Results

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCUMENTS = [os.path.join(ROOT, 'README.md'), os.path.join(ROOT, 'include', 'pgas', 'sync', 'README.md'),
             os.path.join(ROOT, 'include', 'pgas', 'backends', 'README.md'),
             os.path.join(ROOT, 'include', 'pgas', 'collectives', 'README.md'),
             os.path.join(ROOT, 'include', 'pgas', 'containers', 'README.md'),
             os.path.join(ROOT, 'include', 'pgas', 'async', 'README.md')]
REFERENCE = os.path.join(ROOT, 'bench', 'papers', 'reference')
BUILD = os.path.join(ROOT, 'build-bench')
PICTURES = 12  # seconds


def arguments():
    parser = argparse.ArgumentParser(prog='tools/bench', description=__doc__)
    parser.add_argument('--quick', action='store_true', help='fewer sizes and rounds, less than 5 minutes')
    parser.add_argument('--suite', default=','.join(suites.USUAL), metavar='NAME[,NAME]',
                        help=f"these suites, of {', '.join(suites.SUITES)} (all but papers, scale, nodes, collectives, maps and async)")
    parser.add_argument('--minutes', type=float, metavar='M', help='measure for at most M minutes')
    parser.add_argument('--out', default=os.path.join(ROOT, 'bench-results'), metavar='DIRECTORY',
                        help='the directory of results (bench-results)')
    parser.add_argument('--compare', nargs='+', metavar='RUN',
                        help='list the changes beyond noise from run to run (directories or rows.jsonl, the oldest first); 1 if '
                             'something became slower')
    parser.add_argument('--history', nargs='*', default=[], metavar='RUN',
                        help='take these runs, too, into the history of the page')
    parser.add_argument('--why', metavar='ROW',
                        help='list the instructions in which a row spends its time, like put_latency/flush/8')
    parser.add_argument('--readme', nargs='*', metavar='FILE',
                        help='rewrite the performance sections of these files (README.md, and those in include/pgas/sync, backends, '
                             'collectives, containers and async) from the results in --out')
    parser.add_argument('--again', action='store_true',
                        help='judge and draw the samples in --out again, and measure nothing')
    parser.add_argument('--list', action='store_true', help='list suites, programs and contenders, and measure nothing')
    parser.add_argument('--no-install', action='store_true', help='use the installed libraries only')
    given = parser.parse_args()
    given.suites = given.suite.split(',')
    if given.compare and len(given.compare) < 2:
        parser.error('--compare needs two runs or more')
    for name in given.suites:
        if name not in suites.SUITES:
            parser.error(f"there is no suite '{name}'; there are {', '.join(suites.SUITES)}")
    return given


def show_list():
    for name, parts in suites.SUITES.items():
        print(name)
        for part in parts:
            ranks = ', '.join(map(str, part.ranks))
            names = [' '.join((p, *part.arguments)) if part.style == 'paper' else p for p in part.programs.values()]
            print(f"  {', '.join(names)}; {ranks} ranks{'; not with --quick' if part.full_only else ''}")
    print('contenders')
    for contender in suites.CONTENDERS:
        print(f'  {contender.name}: {contender.setting}')


def build(given):
    """Configures, and builds the programs of the suites, without those of libraries that are not
    installed."""
    if not given.no_install:
        subprocess.run([os.path.join(ROOT, 'tools', 'setup'), 'bench'], check=True)
    configured = os.path.exists(os.path.join(BUILD, 'build.ninja'))
    setup = ['meson', 'setup', BUILD, ROOT, '--buildtype=release', '-Dassertions=light', '-Dbench=enabled',
             '-Dtests=disabled', '-Dexamples=disabled', '-Dtools=disabled', '-Dloopback=disabled', '-Dscc=auto',
             '-Dviews=disabled']
    log = BUILD + '.log'
    with open(log, 'w', encoding='utf-8') as out:
        logged(setup + ['--reconfigure'] * configured, out)
        if wanted := targets(given):  # without a name, ninja builds everything
            logged(['ninja', '-k', '0', '-j', '2', '-C', BUILD, *wanted], out)
    os.remove(log)


def logged(command, out):
    if subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False).returncode != 0:
        sys.exit(f'tools/bench: the build failed, see {out.name}')


def targets(given):
    """The programs that this run needs and that can be built."""
    listed = subprocess.run(['ninja', '-C', BUILD, '-t', 'targets', 'all'], capture_output=True, text=True, check=True)
    there = {line.split(':')[0] for line in listed.stdout.splitlines()}
    return sorted(there & {f'bench/{name}' for name in suites.programs_of(given.suites, given.quick)})


def measure(given):
    effort = suites.QUICK if given.quick else suites.FULL
    started = time.monotonic()
    print('building ...', file=sys.stderr)
    build(given)
    print(f'built in {time.monotonic() - started:.0f} s', file=sys.stderr)
    compiler = os.environ.get('CXX', 'g++')
    facts = machine.describe(ROOT, compiler)
    facts['quick'] = given.quick

    left = max(effort.least, effort.seconds - PICTURES - (time.monotonic() - started))
    left += effort.papers if 'papers' in given.suites else 0
    progress = Progress(given.minutes * 60 if given.minutes else left)
    run = runner.Runner(BUILD, ROOT, effort, given.suites, progress)
    samples = run.run()
    progress.say(f'measured for {progress.elapsed():.0f} s, {run.quiet.waited:.0f} s of it waiting for quiet; '
                 f'longest: {run.longest(6)}')
    notes = list(run.notes.values())
    return Results(facts, list(runner.contenders_line(given.suites)), notes, samples, judge.judge(samples, notes), run.values)


def report(results, directory):
    os.makedirs(directory, exist_ok=True)
    results.write(os.path.join(directory, 'rows.jsonl'))
    table.write(results, os.path.join(directory, 'table.md'))
    try:
        pictures = plots.draw(results, directory)
    except (OSError, RuntimeError) as problem:
        print(f'tools/bench: no pictures: {problem}', file=sys.stderr)
        pictures = []
    page.write(results, pictures, directory, history.add(results, directory))
    print(words.counts(results.rows))
    for row in [r for r in results.rows if r['verdict'] == 'BEHIND'][:10]:
        print(f"  BEHIND by {row['short']:.2f}: {words.full_name(row)}")
    for row in results.rows:
        if row['verdict'] == 'noise':
            print(f'  not decided: {words.full_name(row)}: {words.why_open(row)}')
        if not row['verdict'] and not row['reason']:
            print(f'  without a target or a reason: {words.full_name(row)}')
    for name in ('table.md', 'index.html'):
        print(os.path.join(directory, name))
    print('\n'.join(growth.lines(results.rows)))
    if scale.is_there(results.rows):
        print('\n'.join(scale.lines(results.rows)))
    if nodes.is_there(results.rows):
        print('\n'.join(nodes.lines(results, quartiles=True)))
    if collectives.is_there(results.rows):
        print('\n'.join(collectives.lines(results.rows)))
    if maps.is_there(results.rows):
        print('\n'.join([*maps.lines(results.rows), *maps.lines_of_others(results.rows)]))
    if asynchronous.is_there(results.rows):
        print('\n'.join(asynchronous.lines(results.rows)))
    if results.values:
        said = [line for line in results.values if line['type'] == 'value']
        reproduced = paper_judge.reproduce_all(REFERENCE, [*said, *paper_judge.values_of_rows(results.rows)])
        paper_page.write(reproduced, results.machine, directory, [line for line in results.values if line['type'] == 'picture'])
        print('\n'.join(paper_judge.summary(reproduced)))
        print(os.path.join(directory, 'papers.html'))


def rewrite(path, results):
    with open(path, encoding='utf-8') as file:
        text = readme.rewrite(file.read(), results)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


def documents_for(results):
    """The documents whose sections can be written from these results."""
    there = {row['suite'] for row in results.rows}
    special = {'backends': {'scale', 'nodes'}, 'collectives': {'collectives'}, 'containers': {'maps'}, 'async': {'async'}}
    usual = there.difference(*special.values())
    return [path for path in DOCUMENTS if there & special.get(os.path.basename(os.path.dirname(path)), usual)]


def main():
    given = arguments()
    if given.list:
        return show_list()
    for path in given.history:
        os.makedirs(given.out, exist_ok=True)
        history.add(Results.read(path), given.out)
    if given.why:
        print('\n'.join(why.lines(given.why, BUILD)))
    elif given.compare:
        runs = [Results.read(path) for path in given.compare]
        print('\n'.join(compare.over(runs)))
        return int(compare.is_slower(runs))
    elif given.readme is not None:
        results = Results.read(given.out)
        for path in given.readme or documents_for(results):
            rewrite(path, results)
    elif given.again:
        results = Results.read(given.out)
        results.rows = judge.judge(results.samples, results.notes)
        report(results, given.out)
    else:
        report(measure(given), given.out)
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except (OSError, ValueError) as problem:
        sys.exit(f'tools/bench: {problem}')
