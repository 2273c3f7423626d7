#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Looks whether a compiler takes the body of a rank for code that seldom runs.

usage: bodies.py [--lto] INCLUDE_DIR COMPILER [ARGUMENT...]

Each body of bodies.cpp has one loop, the same as in `plain`, a function that main calls. The loop must stand in the
section of ordinary code, and have the instructions of plain's. At -O2 and -O3, and with --lto also after
g++'s link-time optimization. A mutant that is cold must be noticed.
"""

import os
import re
import subprocess
import sys
import tempfile

import check

HERE = os.path.dirname(os.path.abspath(__file__))
BODIES = ["plain", "a function object", "a coroutine", "a lambda with a halo and a collective", "a lambda with an epoch",
          "a function that was sent", "a function that was called", "a body for several backends",
          "a body inside of a program of MPI"]
MPI = 8
MUTANT = 9  # a function that is cold itself, which must be noticed
COLD = re.compile(r"\.text\.(unlikely|split|exit)")


def sweeps(text):
    """Number of a body -> (section, mnemonics of its innermost loops) for each place where it is compiled."""
    found, section, body = {}, "", None
    for line in text.splitlines():
        if match := re.match(r"\s*\.(?:section\s+)?(\.?[\w.]+)", line):
            if line.split()[0] in (".text", ".section"):
                section = match[1] if match[1].startswith(".") else f".{match[1]}"
        if match := re.match(r"\s*#\s*(begin|end) body_(\d+)", line):
            if match[1] == "begin":
                body = []
            elif body is not None:
                found.setdefault(int(match[2]), []).append((section, check.loops(body)))
                body = None
        elif body is not None:
            line = line.split("#")[0].rstrip()
            if match := re.match(r"(\.?\w+):", line):
                body.append(("label", match[1]))
            elif match := re.match(r"\s+([a-z]\w*)\s*(.*)", line):
                body.append(("instruction", match[1], match[2]))
    return found


def differences(found):
    loops = found[0][0][1]
    for number, places in sorted(found.items()):
        if number == MUTANT:
            continue
        for section, its_loops in places:
            if COLD.match(section):
                yield f"{BODIES[number]} is in {section}"
            elif its_loops != loops:
                yield f"{BODIES[number]} has loops of {its_loops}, plain has {loops}"


def has_mpi(compiler):
    return subprocess.run([*compiler, "-E", "-x", "c++", "-"], input=b"#include <mpi.h>", capture_output=True,
                          check=False).returncode == 0


def compile_to(path, include, compiler, *options):
    check.run([*compiler, "-std=c++20", *options, f"-I{include}", *check.OUTPUT[:-1], path,
               os.path.join(HERE, "bodies.cpp")])


def text_of(folder, ending):
    """The text of all files with such names, in order."""
    text = ""
    for name in sorted(name for name in os.listdir(folder) if name.endswith(ending)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text += file.read()
    return text


def assemblies(include, compiler, folder, with_lto):
    """(what, assembly) for each way in which the bodies are compiled."""
    if check.is_clang(compiler):
        path = os.path.join(folder, "bodies.bc")
        compile_to(path, include, compiler, "-O2", "-c", "-emit-llvm", "-Xclang", "-disable-llvm-passes")
        for optimization in ("-O2", "-O3"):
            yield optimization, check.run([*compiler[:1], optimization, "-S", *check.OUTPUT, "-x", "ir", path], text=True)
        return
    for optimization in ("-O2", "-O3"):
        compile_to(os.path.join(folder, "bodies.s"), include, compiler, optimization, "-S")
        yield optimization, text_of(folder, "bodies.s")
    if with_lto:
        # The program is not run, so nothing needs the library of an MPI.
        compile_to(os.path.join(folder, "linked"), include, compiler, "-O2", "-flto", "-save-temps", "-pthread",
                   "-Wl,--unresolved-symbols=ignore-all")
        yield "-O2 -flto", text_of(folder, "ltrans.s")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with_lto = sys.argv[1] == "--lto"
    include, *compiler = sys.argv[2 if with_lto else 1:]
    compiler = tuple(compiler)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for what, text in assemblies(include, compiler, folder, with_lto):
            found = sweeps(text)
            bodies = [number for number in range(len(BODIES)) if number != MPI or has_mpi(compiler)]
            if any(number not in found for number in [*bodies, MUTANT]) or not found[0][0][1]:
                sys.exit(f"{what}: bodies or plain's loop are missing from the assembly: {found}")
            if not list(differences({0: found[0], 1: found[MUTANT]})):
                print(f"{what}: a cold function was not noticed: {found[MUTANT]}")
                failed = True
            for sentence in differences(found):
                print(f"{what}: {sentence}")
                failed = True
            print(f"{what}: {sum(map(len, found.values()))} loops in {len(found)} bodies, each of {found[0][0][1]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
