#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Checks that an example prints and writes the same bytes on process_map and on a backend of MPI:
# same.sh mpich|openmpi RANKS PROGRAM ON_MPI mpi|cluster ARGS...
set -eu
start=$(realpath "$(dirname "$0")/run.sh")
mpi=$1
ranks=$2
program=$(realpath "$3")
on_mpi=$(realpath "$4")
backend=$5
shift 5
command -v "mpirun.$mpi" >/dev/null || { echo "skipped: there is no mpirun.$mpi; tools/setup test installs it"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
in_folder() {
  mkdir "$1"
  (cd "$1"; shift; "$@" >out 2>err) || { cat "$1/out" "$1/err"; echo "on $1: failed"; exit 1; }
}
in_folder process_map "$program" "$@" --pgas-backend process_map --pgas-ranks "$ranks"
in_folder "$backend" "$start" "$mpi" "$ranks" "$on_mpi" "$@" --pgas-backend "$backend"
diff -r -x err process_map "$backend" || { echo "on $backend: not what process_map gives"; exit 1; }
[ -s process_map/out ]
