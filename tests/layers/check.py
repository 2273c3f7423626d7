#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Includes point down only, and no function but one that throws is cold: check.py INCLUDE_DIR. The list of layers is
the one in include/pgas/README.md, under "## Layers"."""
import pathlib
import re
import sys

# Libraries that only these headers may include: they cost compile time, or another package.
HEAVY = {'boost/asio': r'((detail/)?backends/loopback(/.*|\.hpp)|async/asio\.hpp)',
         'boost/context': r'detail/process/fiber\.hpp', 'range/v3': r'(detail/views/.*|views\.hpp)',
         'hdf5.h': r'files/hdf5\.hpp', 'iostream': r'$^',
         'mpi.h': r'(detail/mpi/.*|(detail/)?backends/(mpi|cluster)(/.*|\.hpp)|mpi\.hpp)'}

root = pathlib.Path(sys.argv[1])
page = (root / 'pgas/README.md').read_text()
listing = re.search(r'^## Layers$.*?^```$\n(.*?)^```$', page, re.MULTILINE | re.DOTALL).group(1)
LINES = [line for line in reversed(listing.splitlines()) if line.strip()]
LEVELS, LAYERS = {}, {}  # folder -> number of its line; folder -> the layer of which it is a part
for number, line in enumerate(LINES):
    named = [word.removesuffix('/') for word in line.split() if word.endswith('/') or word == '*.hpp']
    for each in named:
        LEVELS[each] = number
        LAYERS[each] = named[0] if '(one layer)' in line else each
MODELS = {each for each, number in LEVELS.items() if '(models)' in LINES[number]}


def folder(name):
    """The layer of a header: detail/maps is part of maps, if there is such a folder."""
    if '/' not in name:
        return '*.hpp'
    parts = name.split('/')
    if parts[0] == 'detail':
        parts = parts[1:] if parts[1] in LEVELS else ['/'.join(parts[:2])]
    return LAYERS.get(parts[0], parts[0])


def model(name):
    """The model of which a header is part, if it is: detail/backends/scc/cache.hpp is part of backends/scc."""
    parts = name.removesuffix('.hpp').removeprefix('detail/').split('/')
    shared = name.startswith('detail/') and len(parts) < 3
    return None if shared or folder(name) not in MODELS else '/'.join(parts[:2])


# Models of which another one consists.
PARTS = {'backends/cluster': 'backends/process_map'}  # a node of a cluster


def derives(text, name):
    """True if a class in `text` is derived from the class after which header `name` is named."""
    return re.search(r'(struct|class) \w+ : (public )?' + model(name).split('/')[1] + r'\b', text) is not None


wrong = []
includes = {}
headers = sorted(root.glob('pgas/**/*.hpp'))
for path in headers:
    name = str(path.relative_to(root / 'pgas'))
    if folder(name) not in LEVELS:
        wrong.append(f'{name}: its folder is no layer; add it to the list under "Layers" in include/pgas/README.md')
        continue
    mine = LEVELS[folder(name)]
    text = path.read_text()
    for quoted in re.findall(r'#\s*include\s*"([^"]+)"', text):
        wrong.append(f'{name} includes "{quoted}": write <pgas/...>, which this test can place')
    if name != 'detail/process/setting.hpp' and 'getenv("PGAS_' in text:
        wrong.append(f'{name} calls getenv: read the variable by detail::setting, which refuses bad values in one form')
    # g++ takes for cold what only cold functions call: so a program's own body was compiled for size.
    for line in re.findall(r'^.*gnu::(?:cold|hot)\b.*$', text, re.MULTILINE):
        if 'noreturn' not in line:
            wrong.append(f'{name} has gnu::cold or gnu::hot on a function that returns; only one that throws is cold')
    includes[name] = []
    if 'PGAS_NAMESPACE' in text and not re.search(r'#\s*(include\s*<pgas/|define PGAS_NAMESPACE)', text):
        wrong.append(f'{name} uses PGAS_NAMESPACE and includes no header of pgas; include <pgas/vocabulary/expects.hpp>')
    if re.search(r'^\s*namespace pgas\b', text, re.MULTILINE):
        wrong.append(f'{name} opens pgas; open PGAS_NAMESPACE, which keeps units of different assertion levels apart')
    for included in re.findall(r'#\s*include\s*<([^>]+)>', text):
        for heavy, where in HEAVY.items():
            if included.startswith(heavy) and not re.fullmatch(where, name):
                wrong.append(f'{name} includes {included}, and only headers that match {where} may')
        if not included.startswith('pgas/'):
            continue
        target = included.removeprefix('pgas/')
        includes[name].append(target)
        if folder(target) == 'detail/views' and name != 'views.hpp' and folder(name) != 'detail/views':
            wrong.append(f'{name} includes {target}, which brings range-v3: only views.hpp may')
        theirs = LEVELS.get(folder(target))
        if theirs is None or theirs > mine:
            wrong.append(f'{name} includes {target}, which lies higher: includes point down only')
        elif theirs == mine and folder(name) != folder(target):
            wrong.append(f'{name} includes {target}: folders of one layer do not know each other')
        elif model(name) and model(target) and folder(name) == folder(target) and model(name) != model(target):
            if PARTS.get(model(name)) != model(target) and not derives(text, target):
                wrong.append(f'{name} includes {target}: models do not know each other, unless one derives from the other')

# A folder's headers may include each other, but not in a cycle.
done = set()


def visit(name, way):
    if name in way:
        wrong.append('includes form a cycle: ' + ' -> '.join(way[way.index(name):] + [name]))
    elif name not in done:
        for target in includes.get(name, []):
            visit(target, way + [name])
        done.add(name)


for name in includes:
    visit(name, [])

flat = sum(folder(name) == '*.hpp' for name in includes)
if flat > 31:
    wrong.append(f'{flat} headers lie flat: only what a program includes does, 31 at most')
if len(headers) < 30:
    wrong.append(f'only {len(headers)} headers found in {root}')
print('\n'.join(wrong) or f'{len(headers)} headers in {len(LINES)} layers, {flat} of them flat; every include points down')
sys.exit(bool(wrong))
