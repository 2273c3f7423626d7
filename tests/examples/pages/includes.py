#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Each program itself includes the headers of the names in pgas and std that it uses:
includes.py PROGRAM.cpp... -- COMPILER...

In one unit a program also sees what the other programs include, so the compiler does not notice. A name counts as
declared if it is a word, outside comments, of a file that the program's own headers include.
"""
import functools
import pathlib
import re
import subprocess
import sys


@functools.lru_cache(maxsize=None)
def words(file):
    return set(re.findall(r'\w+', re.sub(r'//.*|/\*.*?\*/', '', pathlib.Path(file).read_text(errors='replace'))))


def problems(program, compiler):
    rule = subprocess.run([*compiler, '-M', program], capture_output=True, text=True, check=True).stdout
    files = [file for file in rule.replace('\\\n', ' ').split()[1:] if file != program]
    text = re.sub(r'//.*', '', pathlib.Path(program).read_text())
    aliases = dict(re.findall(r'namespace (\w+) = ([\w:]+);', text))
    roots = '|'.join(['pgas', 'std', *aliases])
    if 'pgas::' in text and not re.search(r'^#include <pgas/', text, re.MULTILINE):
        yield 'uses the library without including it'
    for name in sorted(set(re.findall(rf'\b(?:{roots})(?:::\w+)+', text))):
        for word in name.split('::')[1:]:
            if not any(word in words(file) for file in files):
                yield f'uses {name} without including its header'
                break


split = sys.argv.index('--')
failed = False
for program in sys.argv[1:split]:
    for problem in problems(program, sys.argv[split + 1:]):
        print(f'{pathlib.Path(program).read_text()}the program above {problem}')
        failed = True
sys.exit(failed)
