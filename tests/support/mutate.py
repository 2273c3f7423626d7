#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Writes wrong variants of product headers, for tests that must find each of them.

usage: mutate.py INCLUDE NAME.mutants NAME_mutants.hpp DEPFILE

A file of mutants names headers, and what tests take out of them: types, class templates and, behind
`export function`, function templates. Mutants share the definitions that `skip` names by their first line.

    header pgas/detail/containers/ticket_ring.hpp
    export detail::ticket_ring <class Control, class Memory, takers Takers>

    no_arrival: a cell is marked full while its element may be under way
    -    arrive(first, values.size());

    full_before_put: ...
    -    lines that the headers have in exactly one place; comments do not count
    +    the lines that take their place

A mutant is a copy of all these headers in namespaces beside the product's: pgas::NAME_mutants::MUTANT,
pgas::detail::NAME_mutants::MUTANT and so on. What they do not define is the product's. Tests take the exports
as members of the type pgas_test::NAME_mutants::MUTANT, or of `none` for those of the product.
"""
import pathlib
import re
import sys


class mutant:
    def __init__(self, name):
        self.name = name
        self.changes = []  # pairs of old and new lines


def read_mutants(path):
    headers, exports, skipped, mutants = [], [], [], []
    last = ''
    for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), 1):
        sign = line[:1]
        if sign in ('-', '+') and mutants:
            if sign == '-' and last != '-':
                mutants[-1].changes.append(([], []))
            mutants[-1].changes[-1][sign == '+'].append(code_of(line[1:]))
        elif match := re.match(r'(\w+): ', line):
            mutants.append(mutant(match[1]))
        elif line.startswith('header '):
            headers.append(line.split()[1])
        elif line.startswith('skip '):
            skipped.append(line[len('skip '):])
        elif match := re.match(r'export (function )?([\w:]+)(?: <(.*)>)?$', line):
            exports.append((match[2], match[3], match[1]))
        elif line and sign != '#':
            sys.exit(f'{path}:{number}: no change and no name of a mutant: {line}')
        last = sign
    return headers, exports, skipped, mutants


def without(skipped, lines):
    """The lines without the definitions that begin by some of them."""
    is_skipped = False
    for line in lines:
        is_skipped = is_skipped or line in skipped
        if not is_skipped:
            yield line
        is_skipped = is_skipped and line != '};'


def code_of(line):
    return re.sub(r'//.*', '', line).strip()


def changed(texts, changes, where):
    """The lines of headers with each change made in the one place that has its old lines. Comments do not count."""
    codes = [[(at, code_of(line)) for at, line in enumerate(lines) if code_of(line)] for lines in texts]
    found = []
    for old, new in changes:
        places = [(text, [at for at, _ in code[first:first + len(old)]])
                  for text, code in enumerate(codes) for first in range(len(code))
                  if [line for _, line in code[first:first + len(old)]] == old]
        if len(places) != 1:
            sys.exit(f'{where}: the headers have these lines in {len(places)} places, not in one:\n'
                     + '\n'.join(old))
        text, lines = places[0]
        found.append((text, lines[0], lines[-1] + 1, new))
    texts = [list(lines) for lines in texts]
    for text, first, end, new in sorted(found, reverse=True):
        texts[text][first:end] = new
    return texts


def paths_and_lines(lines):
    """For each line of a header, the namespace that it is in, or None, and the line; None for a directive."""
    opened = []
    for line in lines:
        if match := re.match(r'namespace (?:PGAS_NAMESPACE)?((?:::)?[\w:]*) {$', line):
            inner = match[1].lstrip(':')
            opened.append('::'.join(filter(None, [*opened[-1:], inner])))
        elif line.startswith('}  // namespace'):
            opened.pop()
        elif not line.startswith('#'):
            yield opened[-1] if opened else None, line


def within(path, *rest):
    return '::'.join(filter(None, ['pgas', path, *rest]))


def opening(*path):
    return f'namespace {within(*path)} {{'.replace('pgas::', 'PGAS_NAMESPACE::', 1)


def copied(texts, group, name):
    """A mutant: in each namespace N, its copies are in N::group::name, so that they see what N has.

    Qualified names lead to the copies by aliases, and else on to N.
    """
    placed = [pair for lines in texts for pair in paths_and_lines(lines)]
    paths = sorted({path for path, _ in placed if path is not None})
    for path in paths:
        yield f'{opening(path, group, name)} using namespace {within(path)}; }}'
    for path in paths:
        for other in paths:
            parent, _, last = other.rpartition('::')
            if last and f'::{path}::'.startswith(f'::{parent}::' if parent else '::'):
                yield f'{opening(path, group, name)} namespace {last} = {within(other, group, name)}; }}'
    now = None
    for path, line in placed:
        if path != now:
            if now is not None:
                yield '}'
            if path is not None:
                yield opening(path, group, name)
            now = path
        if path is None:  # a specialization for a type of a copy
            line = re.sub(r'\bpgas((?:::[a-z_]+)*)::(\w+)', rf'pgas\1::{group}::{name}::\2', line)
        yield line
    if now is not None:
        yield '}'


def struct(group, name, exports):
    """A type whose members are the exports of a mutant, or of the product."""
    yield f'struct {name} {{'
    for full_name, head, is_function in exports:
        path, _, last = full_name.rpartition('::')
        wanted = within(path, last) if name == 'none' else within(path, group, name, last)
        if head is not None:
            parameters = [re.sub(r'.*?(\.\.\.)? *(\w+)$', r'\2\1', part.split('=')[0].strip())
                          for part in head.split(',')]
            yield f'template <{head}>'
            wanted += f'<{", ".join(parameters)}>'
        if is_function:
            yield f'static decltype(auto) {last}(auto&&... with) {{'
            yield f'return {wanted}(std::forward<decltype(with)>(with)...);'
            yield '}'
        else:
            yield f'using {last} = {wanted};'
    yield '};'


def main(include, source, output, depfile):
    group = source.stem + '_mutants'
    headers, exports, skipped, mutants = read_mutants(source)
    paths = [include / header for header in headers]
    texts = [list(without(skipped, path.read_text(encoding='utf-8').splitlines())) for path in paths]
    out = ['// Written by tests/support/mutate.py.', '#pragma once', '#pragma GCC system_header  // wrong code has warnings', *(f'#include <{h}>' for h in headers)]
    structs = [*struct(group, 'none', exports)]
    for one in mutants:
        out += copied(changed(texts, one.changes, f'{source}: {one.name}'), group, one.name)
        structs += struct(group, one.name, exports)
    out += [f'namespace pgas_test::{group} {{', 'using namespace pgas;', *structs, '}']
    output.write_text('\n'.join(out) + '\n', encoding='utf-8')
    depfile.write_text(f'{output}: ' + ' '.join(map(str, [source, pathlib.Path(__file__), *paths])) + '\n',
                       encoding='utf-8')


if __name__ == '__main__':
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*map(pathlib.Path, sys.argv[1:]))
