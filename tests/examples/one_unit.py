#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Writes one unit of several programs, so that a compiler meets the library once: one_unit.py OUTPUT PROGRAM.cpp...

The unit includes the headers of all programs, and then each program inside a namespace of its own. It runs the
program that it is named after: links to it are called NAME, NAME.run or NAME_on_BACKENDS.
"""
import pathlib
import re
import sys

# A program's main may end without a return. In a namespace main is a function like any other.
MAIN = re.compile(r'^int main\([^\n]*[^}\n]$.*?^\}', re.MULTILINE | re.DOTALL)


def inside(program):
    """What the program's namespace holds: its file, or its text with the return that its main lacks."""
    text = program.read_text()
    main = MAIN.search(text)
    if not main or '\n  return' in main[0]:
        return f'#include "{program.resolve()}"'
    return f'#line 1 "{program.resolve()}"\n{text[:main.end() - 1]}return 0; {text[main.end() - 1:]}'


output, *programs = map(pathlib.Path, sys.argv[1:])
headers = {}
for program in programs:
    for header in re.findall(r'^#include ([<"].*[>"])', program.read_text(), re.MULTILINE):
        headers[header] = None
lines = [f'#include {header}' for header in (*headers, '<algorithm>', '<string_view>')]
for program in programs:
    lines += [f'namespace {program.stem}_program {{', inside(program), '}']
lines += ['int main([[maybe_unused]] int argc, char** argv) {', '  std::string_view name(argv[0]);',
          '  name.remove_prefix(name.rfind(\'/\') + 1);',
          '  name = name.substr(0, std::min(name.find("_on_"), name.find(\'.\')));']
for program in programs:
    arguments = '' if 'int main()' in program.read_text() else 'argc, argv'
    lines += [f'  if (name == "{program.stem}") return {program.stem}_program::main({arguments});']
lines += ['  return 2;', '}', '']
output.write_text('\n'.join(lines))
