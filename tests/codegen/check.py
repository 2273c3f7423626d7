#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compares the machine code of accesses through a target_view with that of a plain pointer.

usage: check.py INCLUDE_DIR COMPILER [ARGUMENT...]

At assertion level light, each ours_X of loops.cpp must have the loops of raw_X, instruction for instruction
by name, no call that raw_X has not, and as many instructions in all; each nothing_X must be a bare return. At
level normal the same comparison must fail, or it would find nothing. At both levels no instruction maintains a
cache, since the memory is coherent.

Each epoch_X of loops.cpp puts through the epoch, which looks up the target for each element. Its loop must
have no call and at most so many instructions an element as EPOCH_PUT says. Its mutant, mutant_X, which reads
again what the epoch knows, must be noticed.

Each ours_X of stencil.cpp must have the arithmetic of raw_X in its vector loop, and no more instructions
there; nowhere a division or a call. Its mutant, mutant_X, which divides, must be noticed.

Each await_X of awaits.cpp must have no call where plain_X has none, and at most AWAIT_MORE instructions more.
Its mutant, mutant_X, which awaits a request whose end compilers cannot foresee, must be noticed.
"""

import functools
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SLACK = 2  # instructions outside loops: registers may be chosen otherwise
# Instructions for each element put through an epoch, by compiler and assertion level. A store through a plain
# pointer takes 4. GCC 12 does not move a load out of a loop unless each iteration reaches it, so it looks up
# the part each time.
EPOCH_PUT = {"gcc": {"light": 10, "normal": 16}, "clang": {"light": 4, "normal": 9}}
# Under lock_all with the default protocols the loop has a call for the case that a part has to be taken. The call keeps
# compilers from moving loads out of the loop, and leaves one test of one variable on the way that is taken.
EPOCH_PUT_LOCKS = {"gcc": {"light": 12, "normal": 16}, "clang": {"light": 9, "normal": 11.5}}
# Instructions that `co_await` adds to an access to direct memory: the load of an operand from the coroutine's frame. GCC 12 and
# clang 16 need 1 and 0.
AWAIT_MORE = 1


# At level light one unit holds all sources, since most of the time of each alone would be the library's.
SOURCES = {"light": ("loops.cpp", "stencil.cpp", "awaits.cpp"), "normal": ("loops.cpp",)}


def unit_of(sources):
    """The text of a unit of these sources, each in a namespace of its own behind the headers of all."""
    headers, spaces = {}, []
    for source in sources:
        with open(os.path.join(HERE, source), encoding="utf-8") as file:
            for header in re.findall(r'^#include ([<"].*[>"])', file.read(), re.MULTILINE):
                headers[header.replace('"', f'"{HERE}/', 1)] = None
        spaces += [f"namespace of_{source[:-4]} {{", f'#include "{os.path.join(HERE, source)}"', "}"]
    return "\n".join([*(f"#include {header}" for header in headers), *spaces, ""])


def run(command, **options):
    done = subprocess.run(command, capture_output=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr if options.get('text') else done.stderr.decode()}")
    return done.stdout


@functools.lru_cache(maxsize=None)
def is_clang(compiler):
    return "clang" in run([*compiler, "--version"], text=True)


OUTPUT = ("-fno-asynchronous-unwind-tables", "-fcf-protection=none", "-o", "-")


@functools.lru_cache(maxsize=None)
def bitcode(include, compiler, level):
    """What clang's optimizer gets, which is the same at -O2 and at -O3."""
    return run([*compiler, "-std=c++20", "-O2", f"-DPGAS_ASSERTIONS={level}", f"-I{include}", "-c", "-emit-llvm",
                "-Xclang", "-disable-llvm-passes", *OUTPUT, "-x", "c++", "-"],
               input=unit_of(SOURCES[level]).encode())


@functools.lru_cache(maxsize=None)
def assembly(include, compiler, optimization, level):
    if is_clang(compiler):
        text = run([*compiler, optimization, "-S", *OUTPUT, "-x", "ir", "-"],
                   input=bitcode(include, compiler, level))
    else:
        text = run([*compiler, "-std=c++20", optimization, f"-DPGAS_ASSERTIONS={level}", f"-I{include}", "-S",
                    *OUTPUT, "-x", "c++", "-"], input=unit_of(SOURCES[level]).encode())
    return text.decode()


@functools.lru_cache(maxsize=None)
def names_in(source):
    with open(os.path.join(HERE, source), encoding="utf-8") as file:
        return set(re.findall(r"\b(?:ours|raw|nothing|epoch|mutant)_\w+", file.read()))


def functions(text, source="loops.cpp"):
    """Name of the source's function -> ('label', name) and ('instruction', mnemonic, operands), in order."""
    found, current = {}, None
    for line in text.splitlines():
        line = line.split("#")[0].rstrip()
        if (match := re.match(r"(\w+):", line)) and match[1] in names_in(source):
            current = found.setdefault(match[1], [])
        elif line.strip().startswith(".size") or re.match(r"\s*\.(section|text)\b", line):
            current = None
        elif current is not None:
            if match := re.match(r"(\.?\w+):", line):
                current.append(("label", match[1]))
            elif match := re.match(r"\s+([a-z]\w*)\s*(.*)", line):
                current.append(("instruction", match[1], match[2]))
    return found


def mutants_of(found, kind):
    """The same functions with each mutant_X in the place of kind_X."""
    return found | {kind + name[6:]: body for name, body in found.items() if name.startswith("mutant_")}


def instructions(body):
    # Padding is no instruction; prologues of empty frames cost clang nothing in a loop.
    return [i for i in body if i[0] == "instruction" and not i[1].startswith(("nop", "data16"))]


def innermost(body):
    """The place of each innermost loop: from a label to a jump back to it, with no other such jump between."""
    spans = []
    at = {item[1]: k for k, item in enumerate(body) if item[0] == "label"}
    for k, item in enumerate(body):
        if item[0] == "instruction" and item[1].startswith("j") and at.get(item[2], k) < k:
            spans.append((at[item[2]], k))
    return [s for s in spans if not any(o != s and s[0] <= o[0] and o[1] <= s[1] for o in spans)]


def loops(body):
    """The mnemonics of each innermost loop."""
    return sorted(sorted(i[1] for i in instructions(body[a:b + 1])) for a, b in innermost(body))


def calls(body):
    return sorted(i[2] for i in body if i[0] == "instruction" and (i[1].startswith("call") or
                  (i[1] == "jmp" and not i[2].startswith("."))))


def differences(found):
    for name in sorted(n for n in found if n.startswith("ours_")):
        ours, raw = found[name], found["raw_" + name[5:]]
        count, expected = len(instructions(ours)), len(instructions(raw))
        if calls(ours) != calls(raw):
            yield f"{name}: calls {calls(ours)}, the plain pointer {calls(raw)}"
        elif loops(ours) != loops(raw):
            yield f"{name}: loops of {loops(ours)}, the plain pointer has {loops(raw)}"
        elif not loops(raw) and not calls(raw):
            yield f"{name}: no loop found"
        elif abs(count - expected) > SLACK:
            yield f"{name}: {count} instructions, the plain pointer {expected}"
    for name in sorted(n for n in found if n.startswith("nothing_")):
        extra = [i[1] for i in instructions(found[name]) if not i[1].startswith("ret")]
        if extra:
            yield f"{name}: {extra} where nothing is to do"


def stores(body):
    """The instructions that move a register to memory at an address that a loop computes."""
    return [i for i in body if i[0] == "instruction" and re.match(r"v?mov", i[1]) and
            re.search(r", *-?\w*\([^()]*\)$", i[2])]


def put_cost(body):
    """Instructions for each element stored, in the loop that stores the most elements; None if there is no
    loop."""
    costs = []
    for a, b in innermost(body):
        if stored := len(stores(body[a:b + 1])):
            costs.append((stored, len(instructions(body[a:b + 1])) / stored))
    return max(costs)[1] if costs else None


def epoch_differences(found, kind, level):
    for name in sorted(n for n in found if n.startswith("epoch_")):
        most = (EPOCH_PUT_LOCKS if name == "epoch_put_locks" else EPOCH_PUT)[kind][level]
        cost = put_cost(found[name])
        if cost is None:
            yield f"{name}: no loop found that stores"
        elif cost > most:
            yield f"{name}: {cost:g} instructions an element, {most} are allowed"


def check_epochs(include, compiler):
    kind = "clang" if is_clang(compiler) else "gcc"
    failed = False
    for optimization in ("-O2", "-O3"):
        for level in EPOCH_PUT[kind]:
            found = functions(assembly(include, compiler, optimization, level))
            names = [n for n in found if n.startswith("epoch_")]
            if len(names) < 3:
                sys.exit(f"functions are missing from the assembly: {sorted(found)}")
            for sentence in epoch_differences(found, kind, level):
                print(f"{optimization} {level}: {sentence}")
                failed = True
            for name in sorted(names):
                print(f"{optimization} {level}: {name}: {put_cost(found[name])} instructions an element")
        light = functions(assembly(include, compiler, optimization, "light"))
        mutant = list(epoch_differences(mutants_of(light, "epoch"), kind, "light"))
        missed = [n for n in names if n != "epoch_put_locks" and not any(m.startswith(n + ":") for m in mutant)]
        if missed:
            print(f"{optimization} light: state that is read again was not noticed in {missed}")
            failed = True
    return failed


def main_loop(body):
    """The loop of most packed arithmetic: that arithmetic, and how many instructions there are beside
    moves."""
    def arithmetic(loop):
        return [m for m in loop if re.fullmatch(r"v?(add|sub|mul)[ps]d", m)]
    def is_packed(loop):
        return sum(m.endswith("pd") for m in arithmetic(loop))
    best = max(loops(body), key=lambda loop: (is_packed(loop), len(arithmetic(loop))), default=[])
    return arithmetic(best), sum("mov" not in m for m in best)


def stencil_differences(found):
    for name in sorted(n for n in found if n.startswith("ours_")):
        ours, raw = found[name], found["raw_" + name[5:]]
        divisions = [i[1] for i in instructions(ours) if re.fullmatch(r"i?div[lqwb]?", i[1])]
        if divisions or calls(ours):
            yield f"{name}: {divisions} and calls of {calls(ours)}, where there is to be neither"
        elif main_loop(ours)[0] != main_loop(raw)[0] or main_loop(ours)[1] > main_loop(raw)[1]:
            yield f"{name}: a loop of {main_loop(ours)}, by hand {main_loop(raw)}"
        elif not main_loop(raw)[0]:
            yield f"{name}: no loop found"


def check_stencils(include, compiler):
    failed = False
    for optimization in ("-O2", "-O3"):
        found = functions(assembly(include, compiler, optimization, "light"), "stencil.cpp")
        names = [n for n in found if n.startswith("ours_")]
        if len(names) < 4:
            sys.exit(f"functions are missing from the assembly: {sorted(found)}")
        for sentence in stencil_differences(found):
            print(f"{optimization} stencil: {sentence}")
            failed = True
        for name in sorted(names):
            arithmetic, count = main_loop(found[name])
            print(f"{optimization} stencil: {name}: {arithmetic}, {count} instructions without moves")
            if optimization == "-O3" and not any(m.endswith("pd") for m in arithmetic):
                print(f"{optimization} stencil: {name} is not a loop of vectors")
                failed = True
        mutant = list(stencil_differences(mutants_of(found, "ours")))
        missed = [n for n in names if not any(m.startswith(n + ":") for m in mutant)]
        if missed:
            print(f"{optimization} stencil: a division for each cell was not noticed in {missed}")
            failed = True
    return failed


def marked(text):
    """Name -> the instructions between the marks of an access, in the order of the text."""
    found, current = {}, None
    for line in text.splitlines():
        if match := re.match(r"\s*#\s*(begin|end) (\w+)", line):
            current = found.setdefault(match[2], []) if match[1] == "begin" else None
        elif current is not None and (match := re.match(r"\s+([a-z]\w*)\s*([^#]*)", line)):
            current.append(("instruction", match[1], match[2].strip()))
    return {name: instructions(body) for name, body in found.items()}


def await_differences(found):
    for name in sorted(n for n in found if n.startswith("await_")):
        awaits, plain = found[name], found["plain_" + name[6:]]
        if any(i[1].startswith("call") for i in awaits) and not any(i[1].startswith("call") for i in plain):
            yield f"{name}: a call, where the plain access has none"
        elif len(awaits) > len(plain) + AWAIT_MORE:
            yield f"{name}: {len(awaits)} instructions, the plain access {len(plain)}"


def check_awaits(include, compiler):
    failed = False
    for optimization in ("-O2", "-O3"):
        found = marked(assembly(include, compiler, optimization, "light"))
        names = [n for n in found if n.startswith("await_")]
        if len(names) < 2 or not all(found["plain_" + n[6:]] for n in names):
            sys.exit(f"marks are missing from the assembly: {sorted(found)}")
        for sentence in await_differences(found):
            print(f"{optimization} light: {sentence}")
            failed = True
        for name in sorted(names):
            print(f"{optimization} light: {name}: {len(found[name])} instructions, the plain access "
                  f"{len(found['plain_' + name[6:]])}")
        mutant = list(await_differences(mutants_of(found, "await")))
        missed = [n for n in names if not any(m.startswith(n + ":") for m in mutant)]
        if missed:
            print(f"{optimization} light: a request that may not have ended was not noticed in {missed}")
            failed = True
    return failed


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    include, compiler = sys.argv[1], tuple(sys.argv[2:])
    target = subprocess.run([*compiler, "-dumpmachine"], capture_output=True, text=True).stdout
    if not target.startswith("x86_64"):
        print(f"only x86_64 assembly is understood, not {target.strip()}")
        return 77
    failed = check_stencils(include, compiler)
    failed = check_epochs(include, compiler) or failed
    failed = check_awaits(include, compiler) or failed
    for optimization in ("-O2", "-O3"):
        found = functions(assembly(include, compiler, optimization, "light"))
        for level in ("light", "normal"):
            text = assembly(include, compiler, optimization, level)
            if maintenance := re.findall(r"\b(?:clwb|clflush\w*)\b", text):
                print(f"{optimization} {level}: {maintenance} for memory that is coherent")
                failed = True
        names = [n for n in found if n.startswith("ours_")]
        if len(names) < 7 or sum(n.startswith("nothing_") for n in found) < 6:
            sys.exit(f"functions are missing from the assembly: {sorted(found)}")
        for sentence in differences(found):
            print(f"{optimization} light: {sentence}")
            failed = True
        for name in sorted(names):
            print(f"{optimization} light: {name}: {len(instructions(found[name]))} instructions, the plain pointer "
                  f"{len(instructions(found['raw_' + name[5:]]))}; in loops {[len(l) for l in loops(found[name])]}")
        # The mutant: with a bound checked at each element every loop must be seen to differ.
        mutant = list(differences(functions(assembly(include, compiler, optimization, "normal"))))
        missed = [n for n in names if not any(m.startswith(n + ":") for m in mutant)]
        if missed:
            print(f"{optimization} normal: the check of each element was not noticed in {missed}")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
