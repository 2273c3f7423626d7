#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Writes one unit of several examples, so that a compiler meets the library once: one_unit.py OUTPUT EXAMPLE.cpp...

The unit includes the headers of all examples, and then each example inside a namespace of its own. The program
runs the example that it is named after: links to it are called NAME, or NAME_on_BACKENDS.
"""
import pathlib
import re
import sys

output, *examples = map(pathlib.Path, sys.argv[1:])
headers = {}
for example in examples:
    for header in re.findall(r'^#include ([<"].*[>"])', example.read_text(), re.MULTILINE):
        headers[header] = None
lines = [f'#include {header}' for header in (*headers, '<string_view>')]
for example in examples:
    lines += [f'namespace {example.stem}_program {{', f'#include "{example.resolve()}"', '}']
lines += ['int main(int argc, char** argv) {', '  std::string_view name(argv[0]);',
          '  name.remove_prefix(name.rfind(\'/\') + 1);', '  name = name.substr(0, name.find("_on_"));']
for example in examples:
    arguments = '' if 'int main()' in example.read_text() else 'argc, argv'
    lines += [f'  if (name == "{example.stem}") return {example.stem}_program::main({arguments});']
lines += ['  return 2;', '}', '']
output.write_text('\n'.join(lines))
