#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Names the tests of a build folder that something has changed for since they passed.

usage: changed_tests.py names BUILD    prints a name a line, between the build and the tests
       changed_tests.py record BUILD   notes the results of the tests that have run since

A test depends on its program, the programs that it needs, each file and folder that its command names, and
the folder of its script.
"""
import json
import os
import pathlib
import subprocess
import sys
import time


def introspect(build, what):
    return json.loads(subprocess.check_output(['meson', 'introspect', '--' + what, build]))


def newest(path):
    """The time of the last change of a file, or of any file in a folder."""
    if path.is_dir():
        return max((file.stat().st_mtime for file in path.rglob('*') if file.is_file()), default=0)
    return path.stat().st_mtime if path.exists() else 0


def last_change(test, outputs, build):
    paths = set()
    for word in [*test['cmd'], *test['env'].values()]:
        path = pathlib.Path(os.path.normpath(build / word))
        if not word or not path.exists():
            continue
        paths.add(path)
        if path.suffix in ('.py', '.sh') and path.is_file():
            paths.update(file for file in path.parent.iterdir() if file.is_file())
    for target in test['depends']:
        paths.update(outputs.get(target, []))
    return max(map(newest, paths))


def main(action, build):
    record = build / 'passed_tests.json'
    known = json.loads(record.read_text()) if record.exists() else {'begun': 0, 'passed': {}}
    if action == 'names':
        outputs = {target['id']: [pathlib.Path(name) for name in target['filename']]
                   for target in introspect(build, 'targets')}
        known['begun'] = time.time()
        names = {test['name'] for test in introspect(build, 'tests')
                 if last_change(test, outputs, build) >= known['passed'].get(test['name'], 0)}
        print(*sorted(names), sep='\n')
    else:
        log_file = build / 'meson-logs/testlog.json'
        if not log_file.exists():  # Meson itself has failed, and tools/test says so
            return
        with open(log_file, encoding='utf-8') as log:
            results = [json.loads(line) for line in log]
        failed = set()
        for result in results:
            # A result has the names of project and suites before that of the test.
            name = result['name'].rsplit(' / ', 1)[-1]
            known['passed'][name] = known['begun']
            if result['result'] not in ('OK', 'EXPECTEDFAIL'):
                failed.add(name)
        for name in failed:
            del known['passed'][name]
    record.write_text(json.dumps(known))


if __name__ == '__main__':
    if len(sys.argv) != 3 or sys.argv[1] not in ('names', 'record'):
        sys.exit(__doc__)
    main(sys.argv[1], pathlib.Path(sys.argv[2]).resolve())
