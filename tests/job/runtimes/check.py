#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""What a program's other runtimes do around run: check.py INCLUDE PGAS_RUN COMPILER...

Ranks are forked and end without the program's exit handlers. What they have printed must be there once, gcov and LLVM
must have their counts, and OpenMP must work before, in and after ranks. Jobs may start while static objects are made
and destroyed. A rank that leaves its stack says so. PGAS_TEST_KINDS chooses functions of this file.
"""
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile

INCLUDE, LAUNCHER, *COMPILER = sys.argv[1:]
SOURCE = os.path.dirname(os.path.abspath(__file__))
IS_CLANG = "clang" in subprocess.run([*COMPILER, "--version"], capture_output=True, text=True).stdout
failed = []


def build(source, out, *flags, needed=True):
    command = [*COMPILER, "-std=c++20", "-O0", "-pthread", "-I" + INCLUDE, os.path.join(SOURCE, source), *flags, "-ldl",
               "-o", out]
    if needed:
        subprocess.run(command, check=True)
    return subprocess.run(command, capture_output=True).returncode == 0 if not needed else True


def run(*command, code=0, stdout=subprocess.PIPE, **extra):
    """Runs a command, and returns its outputs."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PGAS_", "LLVM_"))}
    env.update(PGAS_TIMEOUT="20", **extra)
    try:
        done = subprocess.run(command, env=env, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        expect(False, f"{command} hangs")
        return "", ""
    expect(done.returncode == code, f"{command} ends with {done.returncode}, not {code}: {done.stderr[:500]}")
    return done.stdout or "", done.stderr


def expect(holds, promise):
    if not holds:
        failed.append(promise)
        print("broken:", promise)


def standard_streams():
    build("streams.cpp", "streams")
    log = ["log before"] + [f"log of rank {r}" for r in range(3)]
    text = ["C before"] + [f"C of rank {r}" for r in range(3)] + ["after", "before"] + [f"rank {r}" for r in range(3)]
    for how in ([], ["unsynced"]):
        out, err = run("./streams", *how)
        expect(sorted(out.splitlines()) == sorted(text), f"each line of {how} is printed once: {out!r}")
        expect(sorted(err.splitlines()) == sorted(log), f"each line of the log is printed once: {err!r}")
        out, err = run("./streams", "fails", *how, code=3)
        expect({f"rank {r}" for r in range(3)} <= set(out.splitlines()), f"a rank that fails has printed: {out!r}")
        with open("/dev/full", "w") as full:
            _, err = run("./streams", *how, code=3, stdout=full)
        expect("cannot write its standard output" in err, f"lost output is a failure: {err!r}")
    out, _ = run("./streams", "silent")
    expect("C of rank 2" in out and "before" not in out.splitlines(), f"a silent stream is no failure: {out!r}")
    build("wide.cpp", "wide")
    out, err = run("./wide")
    expect(out.split() == ["before", "rank", "rank"], f"each wide line is printed once: {out!r}")
    expect(sorted(err.splitlines()) == ["log before", "log of rank", "log of rank"], f"each wide line is logged: {err!r}")


def has(folder, ending, count):
    """Returns whether a file of counts has this one."""
    files = [name for name in os.listdir(folder) if name.endswith(ending)]
    return any(struct.pack("<Q", count) in open(os.path.join(folder, name), "rb").read() for name in files)


def counts():
    kinds = {"--coverage": ".gcda", "-fprofile-generate": ".profraw" if IS_CLANG else ".gcda"}
    if IS_CLANG:
        kinds["-fprofile-instr-generate"] = ".profraw"
    for flag, ending in kinds.items():
        with tempfile.TemporaryDirectory(dir=".") as folder:
            home = os.getcwd()
            os.chdir(folder)
            level = "-O1" if flag == "-fprofile-generate" else "-O0"
            build("counted.cpp", "counted", flag, level)
            for pattern in [None, "all-%2m.profraw"] if ending == ".profraw" else [None]:
                for old in os.listdir("."):
                    if old.endswith(".profraw"):
                        os.remove(old)
                run("./counted", **({"LLVM_PROFILE_FILE": pattern} if pattern else {}))
                what = f"{flag} with {pattern or 'no pattern'}"
                if pattern != "all-%2m.profraw":
                    expect(has(".", ending, 3 * 1237), f"{what} counts a loop in three ranks")
                expect(not has(".", ending, 4 * 1151), f"{what} counts a loop before run once")
                expect(has(".", ending, 1151), f"{what} counts a loop before run")
                expect(has(".", ending, 1237) or has(".", ending, 2 * 1237) or has(".", ending, 3 * 1237),
                       f"{what} counts a loop in ranks")
            if flag == "-fprofile-generate" and not IS_CLANG:
                build("counted.cpp", "counted", level, "-fprofile-use", "-c")
                symbols = subprocess.run(["objdump", "-t", "counted"], capture_output=True, text=True).stdout
                place = re.search(r"(\S+)\s+\S+\s+count_in_rank$", symbols, re.MULTILINE)
                expect(place and "unlikely" not in place[1], f"a rank's code is no code that never runs: {place}")
            os.chdir(home)


def openmp():
    if not build("regions.cpp", "regions", "-fopenmp", needed=False):
        print("without OpenMP, which this compiler has not")
        return
    run("./regions", PGAS_RANKS="3")
    if LAUNCHER:
        run(LAUNCHER, "-n", "3", "./regions")
    build("library_of_regions.cpp", "libregions.so", "-fopenmp", "-fPIC", "-shared")
    build("regions.cpp", "loading")
    run("./loading", "./libregions.so", PGAS_RANKS="3")


def static_objects():
    # The address sanitizer finds what was destroyed before. Some systems have no Boost.Context.
    build("static_objects.cpp", "static_objects", "-fsanitize=address", "-lboost_context", needed=False) or \
        build("static_objects.cpp", "static_objects", "-fsanitize=address")
    line = "{}: 40, rank 1 threw: of its own: a rank failed (pgas, a rank failed)"
    for arguments in ([], ["main"]):
        out, _ = run("./static_objects", *arguments)
        expect(set(out.splitlines()) == {line.format(when) for when in ["constructor", *arguments, "atexit", "destructor"]},
               f"static objects may run jobs: {out}")


def stacks():
    if not build("stacks.cpp", "stacks", "-lboost_context", needed=False):
        print("without fibers, since Boost.Context is not there")
        return
    for backend, usual in (("scc", 1 << 20), ("tile", 1 << 20), ("simulated", 1 << 18)):
        out, _ = run("./stacks", backend, str(usual // 2))
        expect(out == "sum 1\n", f"half of a stack is usable on {backend}")
        for taken in (usual + 1000, 8 << 20):
            _, err = run("./stacks", backend, str(taken), code=-signal.SIGSEGV)
            expect(f"pgas: rank 1 has left its stack of {usual} bytes" in err and "PGAS_STACK_BYTES" in err,
                   f"the end names the rank and the stack of {backend}: {err!r}")
            out, _ = run("./stacks", backend, str(taken), PGAS_STACK_BYTES=str(10 << 20))
            expect(out == "sum 1\n", f"a larger stack is usable on {backend}")
    _, err = run("./stacks", "scc", "1", code=1, PGAS_STACK_BYTES="1k")
    expect("PGAS_STACK_BYTES takes a number of bytes from 32768 to 1073741824, not '1k'" in err, f"wrong bytes: {err!r}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for kind in (standard_streams, counts, openmp, static_objects, stacks):
        if kind.__name__ in os.environ.get("PGAS_TEST_KINDS", kind.__name__):
            kind()
    os.chdir("/")
sys.exit(1 if failed else 0)
