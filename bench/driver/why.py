# SPDX-License-Identifier: BSL-1.0
"""Lists the instructions in which a row spends its time: `tools/bench --why ROW`.

Linux's perf samples the program while it measures that row alone, by the processor's clock where cycles cannot be
counted. Functions of the meter and of the kernel are left out. Of each function that is left, the instructions
around those with samples are listed, ours and the code by hand one after the other.
"""

import os
import re
import shutil
import subprocess
import tempfile

import launch
import suites

FUNCTIONS = 4  # at most
AROUND = 4  # instructions before and after one with samples
LEAST = 1.0  # percent of a function's samples that an instruction needs to be shown
SMALLEST = 0.01  # share of all samples that a function needs
SECONDS = 1.0
METER = re.compile(r'^(bench::(meter|raw)|std::chrono|__vdso|main$)')


def programs():
    """[(program, ranks, arguments)] of ours that measure rows by name."""
    found = []
    for _, part in suites.parts_of(suites.SUITES, quick=False):
        if part.style == 'meter' and 'ours' in part.programs and '--only' not in part.arguments:
            entry = (part.programs['ours'], part.ranks[0], part.arguments)
            if entry not in found:
                found.append(entry)
    return found


def program_of(name, build):
    """The program that has the row, and its arguments: the first one that says that it begins it."""
    for program, ranks, more in programs():
        path = os.path.join(build, 'bench', program)
        if not os.path.exists(path):
            continue
        command = [path, '--ranks', str(ranks), *more, '--only', name]
        outcome = launch.run([*command, '--row-seconds', '0.001'], 60)
        if any(line['type'] == 'begin' for line in outcome.lines):
            return command
    raise ValueError(f"no program that is built has a row '{name}'; tools/bench builds them, and table.md lists the rows")


def functions(annotated):
    """[(samples, name, [(percent, text of the instruction)])] of perf annotate's output, the hottest first."""
    found, samples = [], 0
    for line in annotated.splitlines():
        if head := re.search(r'Disassembly of .*\((\d+) samples', line):
            samples = int(head[1])
        elif name := re.search(r':\s+\d*\s*[0-9a-f]{8,} <(.*)>:$', line):
            found.append((samples, name[1], []))
        elif (code := re.match(r'\s*(\d+\.\d+)\s+:\s+([0-9a-f]+:\s.*)$', line)) and found:
            found[-1][2].append((float(code[1]), code[2]))
    return sorted((f for f in found if f[2]), key=lambda f: -f[0])


def loop_of(instructions):
    """The instructions with samples and those around them; None where some are left out."""
    hot = [i for i, (percent, _) in enumerate(instructions) if percent >= LEAST]
    shown = sorted({j for i in hot for j in range(max(0, i - AROUND), min(len(instructions), i + AROUND + 1))})
    lines, before = [], None
    for i in shown:
        if before is not None and i != before + 1:
            lines.append(None)
        lines.append(instructions[i])
        before = i
    return lines


def short(name):
    """A name without the arguments of its templates. A way of a row is named by the function that has it."""
    if ways := re.findall(r'(\w+)\([^(){}]*\)(?: const)?::\{lambda\([^{}]*?\)#(\d+)\}', name):
        return f'way {ways[-1][1]} in {ways[-1][0]}()'
    return plain(name)


def plain(name):
    """Text without whatever stands in angle brackets."""
    while (shorter := re.sub(r'<[^<>]*>', '', name)) != name:
        name = shorter
    return name


def listing(annotated):
    """The inner loops in words."""
    all_of = functions(annotated)
    total = sum(samples for samples, _, _ in all_of) or 1
    ours = [f for f in all_of if not METER.match(f[1]) and f[0] >= SMALLEST * total][:FUNCTIONS]
    for samples, name, instructions in ours:
        yield ''
        yield f'{samples / total:.0%} of the samples: {short(name)}'
        for line in loop_of(instructions):
            yield '       ...' if line is None else f'{line[0]:6.1f} %  {plain(line[1]).rstrip()}'
    if not ours:
        yield 'No function but the meter has samples; the row may have no work of its own.'


def lines(name, build):
    """The listing of one row."""
    if not shutil.which('perf'):
        raise ValueError("--why needs Linux's perf (the package linux-perf)")
    command = program_of(name, build)
    with tempfile.TemporaryDirectory(prefix='pgas-bench-') as place:
        data = os.path.join(place, 'perf.data')
        record = ['perf', 'record', '-q', '-e', 'cpu-clock:u', '-F', '10000', '-o', data, *command, '--row-seconds', str(SECONDS)]
        done = subprocess.run(record, capture_output=True, text=True, check=False, env={**os.environ, **suites.ENVIRONMENT})
        if not os.path.exists(data):
            raise ValueError(f'perf recorded nothing: {done.stderr.strip()[-200:]}')
        told = subprocess.run(['perf', 'annotate', '-i', data, '--stdio', '--no-source'], capture_output=True, text=True, check=False)
    yield f'{os.path.basename(command[0])}, {name}: all ranks, where ours and the code by hand take turns'
    yield from listing(told.stdout)
