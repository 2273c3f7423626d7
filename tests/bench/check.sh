#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# The programs of bench/ and the traced examples compile: check.sh SOURCE_ROOT COMPILER...
# Three units hold most of them, since most of the time of each alone would be the library's.
set -eu
root=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$root"
# Lists of programs whose names do not meet in one unit. Those of `alone` meet others', or have a main without arguments.
alone='bench/kernels.cpp bench/start_end.cpp bench/counts_scc.cpp'
harness='bench/put_get.cpp bench/user_memory.cpp bench/scc.cpp'
others=$(ls bench/*.cpp | grep -vE '/(kernels|start_end|counts_scc|put_get|user_memory|scc)\.cpp$')
traced=$(ls examples/*.cpp | grep -vE '/(own_backend|layout)\.cpp$')  # these two have no traced backend
# shellcheck disable=SC2086 # lists of words
{
  cp $alone "$folder"
  python3 tests/examples/one_unit.py "$folder/harness.cpp" $harness
  python3 tests/examples/one_unit.py "$folder/others.cpp" $others
  python3 tests/examples/one_unit.py "$folder/traced.cpp" $traced
}
# A main in a namespace may not end without a value, and does; names of one program shadow those of another.
ls "$folder"/*.cpp | xargs -P "$(nproc)" -I{} "$@" -std=c++20 -fsyntax-only -Iinclude -Iexamples/traced -Iexamples -Ibench \
  -Wall -Wextra -Wpedantic -Wconversion -Wno-shadow -Wno-return-type -Werror {}
echo "compiled: $(echo $alone $harness $others $traced | wc -w) programs"
