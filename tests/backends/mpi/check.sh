#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Checks that an example on MPI prints a line that matches EXPECTED: check.sh EXPECTED mpich|openmpi RANKS PROGRAM ARGS...
set -eu
here=$(realpath "$(dirname "$0")")
expected=$1
mpi=$2
ranks=$3
program=$(realpath "$4")
shift 4
command -v "mpirun.$mpi" >/dev/null || { echo "skipped: there is no mpirun.$mpi; tools/setup test installs it"; exit 77; }
exec "$here/../../examples/check.sh" "$expected" '' "$here/run.sh" "$mpi" "$ranks" "$program" "$@"
