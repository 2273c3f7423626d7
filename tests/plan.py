#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Says what a build compiles and runs of the files NAME_test.cpp below tests/: plan.py gcc|clang none|address|thread
all|rest|telling grouped|single. README.md explains the line `// test: WORD, WORD...` of such a file.

Each line begins with what it is; meson.build says what follows. A program of the plan is one file, or with `grouped` all
files of a unit, so that the compiler meets each template once. The plan also has the runs of the examples
(examples/runs.txt) and the programs that must not compile (compile_fail/).
"""
import pathlib
import re
import shlex
import sys

HERE = pathlib.Path(__file__).parent
WORDS = {'addresses', 'threads', 'only addresses', 'optimized', 'lines', 'plain lines', 'no lines', 'alone', 'sleeps', 'early',
         'mpirun', 'addresses in full', 'threads in full', 'each way', 'every model'}
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


class File:
    def __init__(self, path):
        text = path.read_text()
        self.path = path
        self.name = path.name.removesuffix('_test.cpp')
        self.suites = path.relative_to(HERE).parts[:-1]
        said = [word.strip() for line in re.findall(r'^// test: (.*)$', text, re.MULTILINE) for word in line.split(',')]
        self.unit = next((word.removeprefix('unit ') for word in said if word.startswith('unit ')), self.name)
        # A macro for headers of the library or of tests changes them, so no other file shares them.
        self.changes_headers = re.findall(r'^#define (PGAS_\w+)', text, re.MULTILINE)
        if self.changes_headers:
            self.unit = self.name
        self.words = {word for word in said if not word.startswith('unit ')}
        if unknown := self.words - WORDS:
            sys.exit(f'{path}: no such word after "// test:": {", ".join(unknown)}; these are: {", ".join(sorted(WORDS))}')
        self.sources = [f'*/{source.relative_to(HERE)}' for source in [path, *included(path, text, set())]
                        if 'TEST_CASE' in source.read_text()]

    def is_in(self, words):
        return bool(self.words & set(words))


def included(path, text, seen):
    """The files of tests/ that a file includes, directly or not."""
    for name in INCLUDE.findall(text):
        for file in (path.parent / name, HERE / name):
            if file.is_file() and HERE in file.resolve().parents and file.resolve() not in seen:
                seen.add(file.resolve())
                included(file, file.read_text(), seen)
                break
    return sorted(seen)


def main(compiler, sanitizer, models, how):
    gcc, grouped = compiler == 'gcc', how == 'grouped'

    def is_built(file):
        if 'mpirun' in file.words:
            return False
        if sanitizer == 'address':
            return file.is_in(['addresses', 'only addresses']) or (models == 'all' and 'addresses in full' in file.words)
        if sanitizer == 'thread':
            return 'threads' in file.words or (models == 'all' and 'threads in full' in file.words)
        if models == 'rest':
            return gcc == ('optimized' in file.words) and 'only addresses' not in file.words
        return True

    def models_of(said):
        if sanitizer != 'none':
            return 'threads_and_copies' if models == 'all' else 'threads_alone'
        if models == 'all' or (models == 'rest' and 'every model' in said):
            return 'every_model'
        return 'each_way' if models == 'rest' and 'each way' in said else 'telling_models'

    units = {}
    for path in sorted(HERE.rglob('*_test.cpp')):
        file = File(path)
        if is_built(file):
            program = f'{file.unit}_tests' if grouped else f'{file.name}_test'
            units.setdefault(program, []).append(file)
    # What a build leaves out by doctest's suites.
    omitted = ['long'] * (models == 'telling') + ['serial'] * (sanitizer == 'thread')
    for path in sorted(HERE.rglob('*.mutants')):
        say('mutants', path.relative_to(HERE))
    for program, files in units.items():
        said = set().union(*(file.words for file in files))
        models_list = models_of(said)
        lines = 'lines' in said or ('plain lines' in said and sanitizer == 'none') or not (grouped or 'no lines' in said)
        optimization = '1' if gcc and models != 'telling' and 'optimized' in said else '0'
        shares = not any('PGAS_ASSERTIONS' in file.changes_headers for file in files)
        say('unit', program, models_list, optimization, 'lines' if lines else 'none', 'shares' if shares else 'alone',
            [file.path.relative_to(HERE) for file in files])
        for file in files:
            sleeps = 'sleeps' in file.words
            say('test', file.name, program, [*file.suites, *(['sleeping'] if sleeps and grouped else [])],
                'alone' if 'alone' in file.words or (sleeps and not grouped) else 'beside',
                2 if 'alone' in file.words else int('early' in file.words),
                ['--source-file=' + ','.join(file.sources), *(['--test-suite-exclude=' + ','.join(omitted)] if omitted else [])])
    if sanitizer == 'none':
        plan_examples(models)
        for path in sorted(HERE.glob('compile_fail/*.cpp')):
            say('wrong', path.stem)
    say('end')


def plan_examples(models):
    units = {}
    for line in (HERE / 'examples/runs.txt').read_text().splitlines():
        if line.startswith('#'):
            continue
        name, program, where, expected, files, arguments = (part.strip() for part in line.split('|'))
        where = where.split()
        arguments = shlex.split(arguments.replace('DATA', str(HERE.parent / 'examples/data')))
        variables = [word for word in where if '=' in word]
        for place in where:
            if place in ('same', 'mpi'):
                for unit in ['compared'] if place == 'same' else ['mpich', 'openmpi']:
                    units.setdefault(unit, {})[program] = None
            elif place == 'plain':
                if program not in ('layout', 'own_backend'):  # their mains return nothing
                    units.setdefault('first' if program < 'h' else 'second', {})[program] = None
                if models != 'telling' or 'slow' not in where:
                    say('example', 'plain', name, program, variables, expected, files, arguments)
            elif place == 'checked':
                units.setdefault('checked', {})[program] = None
                say('example', 'checked', name + '_checked', program, variables, expected, '', [*arguments, '--pgas-check'])
            elif place not in ('slow', *variables):
                say('example', 'plain', f'{name}_on_{place}', program, variables, expected, '', [*arguments, '--pgas-backend', place])
    for unit, programs in units.items():
        say('example_unit', unit, sorted(programs))


def say(*parts):
    print(*(';'.join(map(str, part)) if isinstance(part, list) else part for part in parts), sep='\t')


if __name__ == '__main__':
    main(*sys.argv[1:])
