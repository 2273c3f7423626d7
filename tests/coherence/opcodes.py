#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Each cache primitive is the right instruction on the right operand, at every level of optimization.

usage: opcodes.py INCLUDE_DIR COMPILER [ARGUMENT...]

For x86-64 the value in the operand's register is followed from the function's argument on. The code for other
processors is assembled by clang, if there is one, and its instructions are looked for. Accesses on coherent
memory must contain none of them.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LEVELS = ("-O0", "-O1", "-O2", "-O3")

# Function: its instruction, and whether the instruction has an operand.
X86_64 = {"clwb": ("clwb", True), "clflushopt": ("clflushopt", True), "clflush": ("clflush", True),
          "put_8": ("movntiq", True), "put_4": ("movntil", True), "put_masked": ("maskmovdqu", True),
          "drain_stores": ("sfence", False), "drain_all": ("mfence", False)}
MAINTENANCE = {i for i, _ in X86_64.values()} | {"lfence"}
OTHERS = {
    "aarch64-linux-gnu": {"dc_cvac": r"dc\s+cvac, x1", "dc_civac": r"dc\s+civac, x1", "drain_stores": r"dsb\s+sy",
                          "drain_all": r"dsb\s+sy"},
    "riscv64-linux-gnu": {"cbo_clean": r"\.insn i\s+(0x0f|15), 2, (x0|zero), a1, 1",
                          "cbo_flush": r"\.insn i\s+(0x0f|15), 2, (x0|zero), a1, 2",
                          "drain_stores": r"fence\s+rw, w$", "drain_all": r"fence\s+rw, rw$"},
}
# Declarations that these targets' standard headers would have, in case the headers are not installed.
HEADERS = {
    "cstddef": "#pragma once\n#include <stddef.h>\nnamespace std { using ::size_t; enum class byte : unsigned char {}; }\n",
    "version": "",
    "cstdint": "#pragma once\n#include <stdint.h>\nnamespace std { using ::uint64_t; using ::uint32_t; using ::uintptr_t; }\n",
}


def assembly(command):
    done = subprocess.run([*command, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-S", "-o", "-",
                           "-fno-asynchronous-unwind-tables"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def functions(text):
    """Name -> its instructions, as lines."""
    found, current = {}, None
    for line in text.splitlines():
        line = re.split(r"\s*(?:#|//)", line, maxsplit=1)[0].rstrip()
        if match := re.match(r"([A-Za-z]\w*):", line):
            current = found.setdefault(match[1], [])
        elif line.strip().startswith(".size"):
            current = None
        elif current is not None and re.match(r"\s+(\.insn|[a-z])", line):
            current.append(line.strip())
    return found


def full(register):
    """The 64-bit name of a general register, so that %esi is %rsi."""
    return re.sub(r"^%e(..)$", r"%r\1", register)


def operands(text):
    return [o.strip() for o in re.split(r",(?![^(]*\))", text)] if text else []


def x86_problem(body, wanted, has_operand):
    """The error of a function that should be `wanted` on the target of its second argument, or None."""
    holds = {"%rdi": "first", "%rsi": "second"}
    seen = []
    for line in body:
        mnemonic, _, rest = line.partition("\t" if "\t" in line else " ")
        args = operands(rest.strip())
        if mnemonic == "movnti":  # which one, its source says
            mnemonic += "q" if re.match(r"%r([a-z][a-z]|\d+)$", args[0]) else "l"
        if mnemonic in MAINTENANCE:
            seen.append(mnemonic)
            if has_operand:
                place = "(%rdi)" if mnemonic == "maskmovdqu" else args[-1]
                if not re.fullmatch(r"\(%\w+\)", place) or holds.get(place[1:-1]) != "second":
                    return f"{line} is not on the second argument ({holds})"
        elif mnemonic in ("movq", "mov") and len(args) == 2:
            holds[full(args[1])] = holds.get(full(args[0]), "something")
        elif args:
            holds.pop(full(args[-1]), None)
    return None if seen == [wanted] else f"{seen} instead of {wanted}"


def check_x86(include, compiler):
    for level in LEVELS:
        text = assembly([*compiler, level, f"-I{include}", "-fcf-protection=none", os.path.join(HERE, "primitives.cpp")])
        found = functions(text)
        for name, (wanted, has_operand) in X86_64.items():
            if problem := x86_problem(found[name], wanted, has_operand):
                yield f"{level}: {name}: {problem}\n" + "\n".join(found[name])
        # The mutants: an instruction on another register, and another instruction.
        body = "\n".join(found["clflushopt"])
        wrong = [re.sub(r"(clflushopt\s+)\(%\w+\)", r"\1(%rdi)", body), body.replace("clflushopt", "clwb"),
                 re.sub(r"clflushopt.*", "nop", body)]
        if not all(x86_problem(w.splitlines(), "clflushopt", True) for w in wrong):
            yield f"{level}: a wrong clflushopt was not noticed"
    # codegen/check.py looks for them at -O2 and -O3.
    text = assembly([*compiler, "-O0", f"-I{include}", os.path.join(HERE, "..", "codegen", "loops.cpp")])
    if found := re.findall(r"\b(?:clwb|clflush\w*)\b", text):
        yield f"-O0: {found} for memory that is coherent"


def check_others(include, clang):
    with tempfile.TemporaryDirectory() as stubs:
        for name, text in HEADERS.items():
            with open(os.path.join(stubs, name), "w") as file:
                file.write(text)
        for target, wanted in OTHERS.items():
            for level in LEVELS:
                text = assembly([clang, f"--target={target}", "-ffreestanding", "-nostdinc++", f"-isystem{stubs}", level,
                                 f"-I{include}", os.path.join(HERE, "primitives.cpp")])
                found = functions(text)
                for name, pattern in wanted.items():
                    # At -O0 arguments are spilled first, so their register is another one.
                    expected = re.sub(r"\b[xa]1\b", r"\\w+", pattern) if level == "-O0" else pattern
                    if sum(bool(re.match(expected, line)) for line in found[name]) != 1:
                        yield f"{target} {level}: {name}: no {pattern} in\n" + "\n".join(found[name])


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    include, compiler = sys.argv[1], sys.argv[2:]
    target = subprocess.run([*compiler, "-dumpmachine"], capture_output=True, text=True).stdout
    wrong = []
    if target.startswith("x86_64"):
        wrong += check_x86(include, compiler)
    clang = next((c for c in map(shutil.which, ("clang++-16", "clang++")) if c), None)
    if clang:
        wrong += check_others(include, clang)
    else:
        print("no clang: the code for other processors was not looked at")
    print("\n".join(wrong) or f"{len(X86_64)} primitives at {len(LEVELS)} levels are what their names say")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
