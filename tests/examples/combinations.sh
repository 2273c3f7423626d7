#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Checks that an example prints a line that matches EXPECTED on each backend, with each bundle of its protocols_list, on one
# rank and on several: combinations.sh EXPECTED PROGRAM ARGS...
set -eu
expected=$1
shift
names() { "$1" --pgas-help | tr ';' '\n' | sed -n "s/^.*--pgas-$2: //p"; }
combinations=0
for backend in $(names "$1" backend); do
  for sync in $(names "$1" sync); do
    for ranks in 1 4; do
      out=$("$@" --pgas-backend "$backend" --pgas-sync "$sync" --pgas-ranks $ranks 2>&1) || { echo "$backend, $sync: $out"; exit 1; }
      echo "$out" | grep -Eq -e "$expected" || { echo "$backend, $sync, $ranks ranks: prints no line that matches: $expected"; exit 1; }
      combinations=$((combinations + 1))
    done
  done
done
[ $combinations -gt 2 ] || { echo 'found no names of backends and protocols_list in --pgas-help'; exit 1; }
echo "covered: $combinations combinations"
