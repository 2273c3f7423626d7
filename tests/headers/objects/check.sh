#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# check.sh INCLUDE COMPILER...
# A program and its shared libraries work as one, with visible and with hidden symbols, linked and loaded.
set -eu
include=$1
shift
source=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
set -- "$@" -std=c++20 -O0 -fPIC -pthread -I"$include" -I"$source"
for visibility in default hidden; do
  mkdir $visibility
  "$@" -fvisibility=$visibility -c "$source/library.cpp" -o $visibility.o
  for library in first:1 second:2 third:3; do
    name=${library%:*}
    echo "struct library;
      [[gnu::visibility(\"hidden\")]] int library_number() { return ${library#*:}; }
      [[gnu::visibility(\"hidden\")]] extern library const all_of_library;
      extern \"C\" library const* $name() { return &all_of_library; }" >$name.cpp
    "$@" -shared $name.cpp $visibility.o -o $visibility/lib$name.so
  done
done
"$@" -c "$source/program.cpp" -o program.o
for visibility in default hidden; do
  "$@" program.o $visibility/libfirst.so $visibility/libsecond.so -Wl,-rpath,"$work/$visibility" -ldl \
    -o $visibility/linked
done
"$@" program.o -ldl -o plain
"$@" -rdynamic program.o -ldl -o exporting
failed=0
for visibility in default hidden; do
  for program in $visibility/linked plain exporting; do
    for what in calls waits codes objects unknown 'any order'; do
      PGAS_TIMEOUT=20 ./$program "$what" $visibility/libfirst.so $visibility/libsecond.so $visibility/libthird.so || {
        echo "$program, $visibility symbols: $what: exit code $?"
        failed=1
      }
    done
  done
done
exit $failed
