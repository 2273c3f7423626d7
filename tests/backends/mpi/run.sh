#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Starts a program on processes of an MPI: run.sh mpich|openmpi RANKS PROGRAM [ARGS]. Without the launcher of that
# MPI the test is skipped.
set -eu
launcher=mpirun.$1
ranks=$2
shift 2
command -v "$launcher" >/dev/null || { echo "skipped: there is no $launcher; tools/setup test installs it"; exit 77; }
# Tests may run as root, and on fewer cores than there are ranks.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
exec "$launcher" -n "$ranks" "$@"
