#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Checks that an example prints and writes the same bytes on all its backends and on the deliberately incoherent one:
# same.sh PROGRAM ON_INCOHERENT ARGS...
set -eu
program=$(realpath "$1")
on_incoherent=$(realpath "$2")
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
in_folder() {
  mkdir "$1"
  (cd "$1"; shift; "$@" >out 2>err) || { cat "$1/out" "$1/err"; echo "on $1: failed"; exit 1; }
}
for backend in process_map thread_map loopback scc; do
  in_folder $backend "$program" "$@" --pgas-backend $backend
done
in_folder incoherent "$on_incoherent" "$@"
for other in thread_map loopback scc incoherent; do
  diff -r -x err process_map $other || { echo "on $other: not what process_map gives"; exit 1; }
done
[ -s process_map/out ]
