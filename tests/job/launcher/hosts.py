# SPDX-License-Identifier: BSL-1.0
"""The cases of `pgas-run --hosts` for launcher_test.py, without an MPI.

Programs are lists of libraries in ELF. Launchers and remote shells are scripts that say how they are started.
"""
import atexit
import os
import shutil
import struct
import tempfile

FAKES = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FAKES, ignore_errors=True)


def fake(name, contents):
    path = os.path.join(FAKES, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(contents if isinstance(contents, bytes) else contents.encode())
    os.chmod(path, 0o755)
    return path


def linked_to(*libraries):
    """A program, as far as the list of its libraries; it cannot run."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in libraries)
    entries = [(1, names.index(name.encode())) for name in libraries]  # DT_NEEDED
    dynamic_at = 64 + 2 * 56
    names_at = dynamic_at + 16 * (len(entries) + 3)
    entries += [(5, 0x1000 + names_at), (10, len(names)), (0, 0)]  # DT_STRTAB, DT_STRSZ, DT_NULL
    dynamic = b"".join(struct.pack("<qQ", *entry) for entry in entries)
    size = names_at + len(names)
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    segments = struct.pack("<IIQQQQQQ", 1, 4, 0, 0x1000, 0x1000, size, size, 4096)  # PT_LOAD
    segments += struct.pack("<IIQQQQQQ", 2, 4, dynamic_at, 0x1000 + dynamic_at, 0, len(dynamic), 0, 8)
    return header + segments + dynamic + names


ON_MPICH = fake("on_mpich", linked_to("libstdc++.so.6", "libmpich.so.12", "libc.so.6"))
ON_INTEL = fake("on_intel", linked_to("libmpifort.so.12", "libmpi.so.12"))
ON_OPEN_MPI = fake("on_open_mpi", linked_to("libmpi.so.40", "libc.so.6"))
ON_NO_MPI = fake("on_no_mpi", linked_to("libmpfr.so.6", "libc.so.6"))
CUT_SHORT = fake("cut_short", linked_to("libmpich.so.12")[:-9])
OF_32_BITS = fake("of_32_bits", b"\x7fELF\x01\x01\x01" + bytes(90))
NO_FORMAT = fake("no_format", bytes(99))

MPIRUN = fake("mpirun", '#!/bin/sh\nprintf "%s\\n" "$@"\n')
SRUN = fake("slurm/srun", '#!/bin/sh\nprintf "srun %s\\n" "$@"\n')
SHELL, SHELL_EXEC, SHELL_OPTIONS = "HYDRA_LAUNCHER", "HYDRA_LAUNCHER_EXEC", "HYDRA_LAUNCHER_EXTRA_ARGS"
TIME = "OMPI_MCA_oob_tcp_keepalive_time"
SHOWN = [SHELL, SHELL_EXEC, SHELL_OPTIONS, TIME, "PGAS_MPI_BEGUN"]
SHOWS = fake("shows", "#!/bin/sh\n" + "".join(f'echo "{name}=${name}"\n' for name in SHOWN))
# Reaches host b as MPICH's launcher does, and with WAITS it waits for ever.
REACHES_B = fake("reaches_b", f'#!/bin/sh\n"${SHELL_EXEC}" -x ${SHELL_OPTIONS} b true\necho $?\n'
                 'while [ "$WAITS" ]; do sleep 0.1; done\nexit 3\n')
for word, code in ("well", 0), ("wrong", 7), ("lost", 255):
    fake(f"ssh_{word}/ssh", f'#!/bin/sh\necho "ssh $*"\nexit {code}\n')

STARTS = "pgas-run: starts the ranks by "
USAGE = r"usage: pgas-run .*\n +pgas-run .*\n"


def path(folder=""):
    return f"{FAKES}/{folder}:/usr/bin:/bin"


def case(words, program, *arguments, launcher=MPIRUN, code=0, out=None, err=rf"{STARTS}.*\n", within=5,
         **extra):
    """A row of the table: `pgas-run --hosts WORDS PROGRAM ARGUMENTS`, with `extra` in the environment."""
    expected = {"code": code, "err": err, "within": within, "extra": {"PGAS_MPIRUN": launcher, **extra}}
    if out is not None:
        expected["out"] = out
    return ["--hosts", *words.split(" "), program, *arguments], expected


def refused(text, words, program=ON_MPICH, code=1, usage="", **more):
    return case(words, program, code=code, err=rf"pgas-run: .*{text}.*\n{usage}", within=1, **more)


def shown(*values):
    """What SHOWS prints: the variables in their order."""
    return [f"{name}={value}" for name, value in zip(SHOWN, [*values, "1"])]


NAMES = "--hosts takes names of hosts as in a,b or a:6,b:2, not"
NUMBER = "takes a number of ranks from 1 to 1000000, not"
WRONG = {
    " -n 1": f"{NAMES} ''", "a, -n 1": f"{NAMES} 'a,'", "a,,b -n 1": f"{NAMES} 'a,,b'",
    ":2 -n 1": f"{NAMES} ':2'", "-x -n 1": f"{NAMES} '-x'", "a;b -n 1": f"{NAMES} 'a;b'",
    "n[1-4] -n 1": rf"{NAMES} 'n\[1-4\]'",
    "a: -n 1": f"--hosts a {NUMBER} ''", "a:0 -n 1": f"--hosts a {NUMBER} '0'",
    "b:2x -n 1": f"--hosts b {NUMBER} '2x'", "a:1:2 -n 1": f"--hosts a {NUMBER} '1:2'",
    "a:2,b -n 1": "--hosts takes a number of ranks for each host, or for none, not 'a:2,b'",
    "a:2,b:1 -n 4": "--hosts has places for 3 ranks, and -n asks for 4; give the hosts more",
    "a": "say how many ranks to run: -n N",
    "a --timeout 3 -n 1": "--timeout is for one machine", "a --grace 3 -n 1": "--grace is for one machine",
    "a --tag-output -n 1": "--tag-output is for one machine",
}
CASES = {
    "MPICH's launcher gets hosts with their ranks": case(
        "a,b -n 8", ON_MPICH, "-n", "x y", out=["-hosts", "a:4,b:4", "-n", "8", ON_MPICH, "-n", "x y"],
        err=rf"{STARTS}{MPIRUN} -hosts a:4,b:4 -n 8 {ON_MPICH} -n x y\n"),
    "a descendant of MPICH is MPICH": case("a -n 2", ON_INTEL, out=["-hosts", "a:2", "-n", "2", ON_INTEL]),
    "Open MPI's launcher also gets our variables": case(
        "node-1.site,b,c -n 8", ON_OPEN_MPI, PGAS_TIMEOUT="9",
        out=["-H", "node-1.site:3,b:3,c:3", "-n", "8", "-x", "PGAS_MPIRUN", "-x", "PGAS_MPI_BEGUN",
             "-x", "PGAS_LAUNCHER_TEST", "-x", "PGAS_TIMEOUT", ON_OPEN_MPI]),
    "the user gives numbers": case("a:6,b:2 -n 7", ON_MPICH, out=["-hosts", "a:6,b:2", "-n", "7", ON_MPICH]),
    "the launcher is found by its name": case(
        "a,b -n 2", ON_MPICH, launcher="", PATH=f"/no/such/folder:{FAKES}",
        out=["-hosts", "a:1,b:1", "-n", "2", ON_MPICH]),
    "srun starts in an allocation of Slurm": case(
        "a,b,c -n 8", ON_MPICH, "x", launcher="", SLURM_JOB_ID="1", PATH=path("slurm"),
        out=["srun --nodelist=a,b,c", "srun --nodes=3", "srun --ntasks-per-node=3", "srun --ntasks=8",
             f"srun {ON_MPICH}", "srun x"]),
    "PGAS_MPIRUN counts in an allocation of Slurm": case(
        "a -n 1", ON_MPICH, SLURM_JOB_ID="1", PATH=path("slurm"), out=["-hosts", "a:1", "-n", "1", ON_MPICH]),
    "srun takes one number": refused(
        "srun gives each host the same number", "a:2,b:1 -n 3", code=2, launcher=SRUN),
    "the program is found in PATH": case(
        "a -n 1", "on_mpich", PATH=path(), out=["-hosts", "a:1", "-n", "1", ON_MPICH]),
    # the remote shell
    "MPICH's launcher gets a remote shell that watches": case(
        "a -n 1", ON_MPICH, launcher=SHOWS,
        out=shown("ssh", "{launcher}",
                  "--remote-shell -o ServerAliveInterval=10 -o ServerAliveCountMax=3", "")),
    "the user's remote shell counts": case(
        "a -n 1", ON_MPICH, launcher=SHOWS, HYDRA_LAUNCHER_EXEC="rsh", out=shown("", "rsh", "", "")),
    "a batch system has its own remote shell": case(
        "a -n 1", ON_MPICH, launcher=SHOWS, PBS_JOBID="7", out=shown("", "", "", "")),
    "Open MPI's launcher looks for its hosts": case(
        "a -n 1", ON_OPEN_MPI, launcher=SHOWS, out=shown("", "", "", "10")),
    "the user's times count": case(
        "a -n 1", ON_OPEN_MPI, launcher=SHOWS, **{TIME: "77"}, out=shown("", "", "", "77")),
    "the remote shell is ssh": case(
        "b -n 1", ON_MPICH, launcher=REACHES_B, PATH=path("ssh_well"), **{SHELL_OPTIONS: "-p 7"}, code=3,
        out=["ssh -x -p 7 b true", "0"]),
    "a remote command fails by itself": case(
        "b -n 1", ON_MPICH, launcher=REACHES_B, PATH=path("ssh_wrong"), **{SHELL_OPTIONS: "-p 7"}, code=3,
        out=["ssh -x -p 7 b true", "7"]),
    "a lost connection ends MPICH's launcher": case(
        "b -n 1", ON_MPICH, launcher=REACHES_B, WAITS="yes", PATH=path("ssh_lost"), code=-15, within=2,
        err=rf"{STARTS}.*\npgas-run: ssh has no connection to a host, .*; ending the job\n"),
    # what cannot start
    **{f"no program on MPI: {name}": refused(
        "is linked to no library of MPI, and only programs on MPI span hosts", "a -n 1", file)
       for name, file in {"another library": ON_NO_MPI, "cut short": CUT_SHORT, "32 bits": OF_32_BITS,
                          "zeros": NO_FORMAT, "a shell": "/bin/sh", "a script": MPIRUN}.items()},
    "no launcher": refused(
        "--hosts needs a launcher of Open MPI, and there is none of these: mpirun.openmpi, orterun, mpirun; "
        "install it, or name it in PGAS_MPIRUN", "a -n 1", ON_OPEN_MPI, launcher="", PATH="/no/such/folder"),
    "no launcher of the user's name": refused(
        "there is none of these: /no/launcher;", "a -n 1", launcher="/no/launcher"),
    "a launcher that cannot run": case(
        "a -n 1", ON_MPICH, launcher=NO_FORMAT, code=1,
        err=rf"{STARTS}.*\npgas-run: .* cannot be started: .*; name another in PGAS_MPIRUN\n"),
    "no program": case(
        "a -n 1", "./no/program", code=127, err=r"pgas-run: cannot run \./no/program: No such file .*\n"),
    "not executable": case(
        "a -n 1", "/dev/null", code=126, err=r"pgas-run: cannot run /dev/null: Permission denied\n"),
    **{f"usage: {words}": refused(text, words, code=2, usage=USAGE) for words, text in WRONG.items()},
}
