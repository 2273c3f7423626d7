#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Explores litmus tests of the chip's memory, independently of the emulator: explore.py PROGRAMS [EMULATOR].

Prints the outcomes of each test. EMULATOR is a program that prints the emulator's outcomes; with it, compares the two sets.
The explorer shares only the table of page types with the emulator. Its states are values, and it visits all of them."""
import subprocess
import sys


def parse(path):
    tests, test = [], None
    for line in open(path):
        line = line.strip()
        if not line or line.startswith('#'):
            continue
        word, _, rest = line.partition(' ')
        if word == 'test':
            test = {'name': rest, 'cores': [], 'claims': []}
            tests.append(test)
        elif word in ('never', 'finds'):
            test['claims'].append((word, rest))
        else:
            test['cores'].append([tuple(op.split()) for op in line.split(';')])
    return tests


def replaced(values, at, value):
    return values[:at] + (value,) + values[at + 1:]


class Machine:
    """A state: for each core its next operation, its copies {line: (tagged, modified, words)}, its buffer (line, words),
    the registers, memory {line: words}, the flags. Words of a line are numbered 0 and 1."""

    def __init__(self, cores):
        self.cores = cores
        self.lines = sorted({op[1][0] for core in cores for op in core if op[0] in 'WRwr'})

    def start(self):
        count = len(self.cores)
        return ((0,) * count, (frozenset(),) * count, (None,) * count, frozenset(), frozenset(), frozenset())

    @staticmethod
    def words(memory, line):
        return dict(memory).get(line, (0, 0))

    @staticmethod
    def changed(mapping, key, value):
        d = dict(mapping)
        d[key] = value
        return frozenset(d.items())

    def push(self, state, core):
        """Writes the buffer's words, and no others, to memory."""
        at, copies, buffers, registers, memory, flags = state
        line, kept = buffers[core]
        words = tuple(k if k is not None else m for k, m in zip(kept, self.words(memory, line)))
        return (at, copies, replaced(buffers, core, None), registers, self.changed(memory, line, words), flags)

    def step(self, state, core):
        """The state after one step of a core, or None if the core cannot go on."""
        at, copies, buffers, registers, memory, flags = state
        if at[core] == len(self.cores[core]):
            return None
        op = self.cores[core][at[core]]
        kind = op[0]
        on = replaced(at, core, at[core] + 1)
        held = dict(copies[core])
        buffer = buffers[core]
        if kind == 'D':
            return (on,) + (self.push(state, core) if buffer else state)[1:]
        if kind == 'I':
            left = frozenset((l, c) for l, c in held.items() if not c[0])
            return (on, replaced(copies, core, left), buffers, registers, memory, flags)
        if kind == 'F':
            for line, (tagged, modified, words) in held.items():
                if not tagged and modified:
                    memory = self.changed(memory, line, words)
            left = frozenset((l, c) for l, c in held.items() if c[0])
            return (on, replaced(copies, core, left), buffers, registers, memory, flags)
        if kind in 'SLA':
            flag = op[1]
            now = dict(flags).get(flag, 0)
            if kind == 'S':
                return (on, copies, buffers, registers, memory, self.changed(flags, flag, int(op[2])))
            if kind == 'L':
                return (on, copies, buffers, self.changed(registers, op[2], now), memory, flags)
            return (on,) + state[1:] if now >= int(op[2]) else None
        line, word = op[1][0], int(op[1][1])
        tagged = kind in 'WR'
        if kind in 'Rr':
            if line not in held:
                if buffer and buffer[0] == line:
                    return self.push(state, core)  # a step of its own: others may go between
                held[line] = (tagged, False, self.words(memory, line))
            value = held[line][2][word]
            return (on, replaced(copies, core, frozenset(held.items())), buffers,
                    self.changed(registers, op[2], value), memory, flags)
        value = int(op[2])
        if line in held:
            kept_tag, modified, words = held[line]
            held[line] = (kept_tag, modified or not tagged, replaced(words, word, value))
        if tagged:
            if buffer and buffer[0] != line:
                return self.push(state, core)
            kept = replaced(buffer[1] if buffer else (None, None), word, value)
            return (on, replaced(copies, core, frozenset(held.items())), replaced(buffers, core, (line, kept)),
                    registers, memory, flags)
        if line not in held:  # a store that misses goes around
            memory = self.changed(memory, line, replaced(self.words(memory, line), word, value))
        return (on, replaced(copies, core, frozenset(held.items())), buffers, registers, memory, flags)

    def outcomes(self):
        todo, seen, found = [self.start()], set(), set()
        while todo:
            state = todo.pop()
            if state in seen:
                continue
            seen.add(state)
            after = [s for s in (self.step(state, c) for c in range(len(self.cores))) if s is not None]
            todo += after
            if not after:
                found.add(self.text(state))
        return found, len(seen)

    def text(self, state):
        at, _, _, registers, memory, _ = state
        if any(a < len(c) for a, c in zip(at, self.cores)):
            return 'deadlock'
        values = ' '.join(f'{r}={v}' for r, v in sorted(registers))
        words = ' '.join(f'{l}{i}={v}' for l in self.lines for i, v in enumerate(self.words(memory, l)))
        return f'{values} |{words}'


def has(outcome, claim):
    """Whether an outcome has all values of a claim: of registers, or of memory if the claim begins with a bar."""
    registers, _, memory = outcome.partition(' |')
    part = memory if claim.startswith('|') else registers
    return all(piece in part.split() for piece in claim.lstrip('|').split())


def main():
    tests = parse(sys.argv[1])
    emulated = None
    if len(sys.argv) > 2:
        emulated, name = {}, None
        for line in subprocess.run(sys.argv[2:] + [sys.argv[1]], check=True, capture_output=True, text=True).stdout.splitlines():
            if line.startswith('test '):
                name = line[5:]
                emulated[name] = set()
            else:
                emulated[name].add(line)
    wrong = 0
    states = outcomes = 0
    for test in tests:
        found, seen = Machine(test['cores']).outcomes()
        states += seen
        outcomes += len(found)
        if emulated is None:
            print('test', test['name'])
            print('\n'.join(sorted(found)))
        elif emulated.get(test['name']) != found:
            wrong += 1
            theirs = emulated.get(test['name'], set())
            print(f"{test['name']}: only the explorer: {sorted(found - theirs)}, only the emulator: {sorted(theirs - found)}")
        for word, claim in test['claims']:
            if any(has(o, claim) for o in found) != (word == 'finds'):
                wrong += 1
                print(f"{test['name']}: the claim '{word} {claim}' is false; the outcomes are {sorted(found)}")
    print(f'covered: {len(tests)} litmus tests, {states} states, {outcomes} outcomes, {wrong} disagreements', file=sys.stdout)
    sys.exit(wrong != 0)


main()
