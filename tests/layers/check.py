#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Includes point down only: layers.py INCLUDE_DIR. The table below is the one in README.md."""
import pathlib
import re
import sys

LAYERS = [
    (0, r'detail/.*'),
    (1, r'(rank|rank_set|error|request|op|hints|transportable|block_shape|box|address_cache|wait_policy)\.hpp'),
    (2, r'(backend|segment|control|recording_control|mailbox|boundary|distribution|grid|layout|bootstrap|coherence/policy|sync/policy)\.hpp'),
    (3, r'(backends|coherence|sync|distributions|layouts)/.*'),
    (4, r'(team|grid_team|window|user_window|window_state|window_boundary|element_lock|element_modes|element_operations|epoch|fence|access|exposure|lock|lock_all|stage|local_view|opened_target|'
        r'global_ptr|global_ref|run|choices|signals|model|collectives/.*)\.?(hpp)?'),
    (5, r'(algorithm/.*|aligned|global_array|array_offer|array_shape|array_stage|box_blocks|box_view|matrix_view|halo|halo_accumulate|halo_line|halo_plan|halo_together|part_box|redistribute|scattered|stencil|streamed_copy|tiles|transformed_array|visit_box|views|directory|heap|describe|save|files/.*)\.hpp'),
    (6, r'pgas\.hpp'),
]
# Ends of the leaves' world: what models may share, and which model is built on which. coherence/processor is no policy
# but the instructions: a segment whose copies are a real processor's offers them as its clean and drop.
SHARED = {'backends/job', 'sync/lanes', 'sync/completion_counter', 'sync/arrival_counter'}
ALLOWED = {('backends', 'coherence/' + name + '.hpp') for name in ('coherent', 'separate', 'write_back', 'write_through', 'processor')}
HEAVY = {'boost/asio': r'backends/loopback(/.*|\.hpp)', 'boost/context': r'backends/scc/fiber\.hpp', 'range/v3': r'views\.hpp', 'hdf5.h': r'files/hdf5\.hpp', 'iostream': r'$^'}


def layer(name):
    return next((number for number, pattern in LAYERS if re.fullmatch(pattern, name)), None)


def model(name):
    """The leaf a header of layer 3 belongs to: backends/scc/cache.hpp is part of backends/scc."""
    parts = name.split('/')
    return '/'.join(parts[:2]).removesuffix('.hpp')


root = pathlib.Path(sys.argv[1])
wrong = []
headers = sorted(root.glob('pgas/**/*.hpp'))
for path in headers:
    name = str(path.relative_to(root / 'pgas'))
    mine = layer(name)
    if mine is None:
        wrong.append(f'{name}: belongs to no layer; add it to the table in tests/layers/check.py and README.md')
        continue
    text = path.read_text()
    for quoted in re.findall(r'#\s*include\s*"([^"]+)"', text):
        wrong.append(f'{name} includes "{quoted}": write <pgas/...>, which this test can place')
    for included in re.findall(r'#\s*include\s*<([^>]+)>', text):
        for heavy, where in HEAVY.items():
            if included.startswith(heavy) and not re.fullmatch(where, name):
                wrong.append(f'{name} includes {included}, and only headers that match {where} may')
        if not included.startswith('pgas/'):
            continue
        target = included.removeprefix('pgas/')
        theirs = layer(target)
        if theirs is None or theirs > mine:
            wrong.append(f'{name} (layer {mine}) includes {target} (layer {theirs}): includes point down only')
        if mine == 3 and theirs == 3 and model(name) != model(target) and model(target) not in SHARED:
            same_folder = name.split('/')[0] == target.split('/')[0]
            derived = name.startswith('coherence/') and target == 'coherence/write_back.hpp'
            if not derived and (same_folder or (name.split('/')[0], target) not in ALLOWED):
                wrong.append(f'{name} includes {target}: models are leaves, unaware of each other')
if len(headers) < 30:
    wrong.append(f'only {len(headers)} headers found in {root}')
print('\n'.join(wrong) or f'{len(headers)} headers, every include points down')
sys.exit(bool(wrong))
