#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# The programs of bench/ and the traced examples compile, and run for at most half a second without a fault:
# check.sh SOURCE_ROOT COMPILER OPTIONS... Two units hold all of them, since most of the time of each alone would be the
# library's. A third holds ring, traced on each backend. The test papers/pinned.py runs the papers' programs.
# tools/bench builds those of other libraries and of MPI (nodes.cpp, node_collectives.cpp).
set -eu
root=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$root"
# The headers of the two ways to measure define the same names, so each way has a unit. The examples share one.
harness='bench/put_get.cpp bench/user_memory.cpp bench/scc.cpp bench/scale.cpp bench/counts_scc.cpp'
meter=$(ls bench/*.cpp bench/bodies/*.cpp | grep -vE '/(counts_scc|put_get|user_memory|scale|scc|nodes|node_collectives)\.cpp$')
traced=$(ls examples/*.cpp | grep -vE '/(own_backend|layout|hello_ranks)\.cpp$')  # these have no traced backend
libraries='-pthread -lboost_context -lpng -lfftw3_threads -lfftw3'
# shellcheck disable=SC2086 # lists of words
{
  python3 tests/examples/one_unit.py "$folder/meter.cpp" $meter
  python3 tests/examples/one_unit.py "$folder/traced.cpp" $harness $traced
  cp examples/ring.cpp "$folder/everywhere.cpp"
}
# Names of one program shadow those of another.
warnings='-Wall -Wextra -Wpedantic -Wconversion -Wno-shadow -Werror'
# shellcheck disable=SC2086
for unit in traced meter everywhere; do
  # tests/bench/support names fewer backends than examples/traced/support.
  # The programs of meter find headers of examples/ as they do for meson, which names no folder.
  case $unit in
    traced) folders='-Itests/bench -Iexamples' ;;
    meter) folders='' ;;
    *) folders='-Iexamples/traced -Iexamples' ;;
  esac
  echo "$folders -o $folder/$unit $folder/$unit.cpp $libraries"
done | xargs -P "$(nproc)" -L 1 "$@" -std=c++20 -O0 $warnings -Iinclude -Ibench

# The loops of bodies.py without the library.
for plain in bench/bodies/plain/*.cpp; do "$1" -std=c++20 -fsyntax-only $warnings -Ibench "$plain"; done

# Runs a program, called NAME, of a unit for at most half a second. It must not fail; its end is not awaited.
run() {
  unit=$1
  name=$2
  shift 2
  ln -sf "$unit" "$folder/$name"
  status=0
  (cd "$folder" && timeout 0.5 "./$name" "$@" >out 2>err) || status=$?
  case $status in 0 | 124) return ;; esac
  cat "$folder/out" "$folder/err"
  echo "$name $* ends with status $status"
  exit 1
}
for program in $harness $meter; do
  name=$(basename "$program" .cpp)
  case " $harness " in *" $program "*) unit=traced ;; *) unit=meter ;; esac
  case $name in
    counts | counts_scc | start_end | plates | loops) run $unit "$name" ;;
    maps) run $unit "$name" --quick --row-seconds 0.001 --keys 1000 ;;
    scale) run $unit "$name" --ranks 20 ;;
    put_get | user_memory | scc) run $unit "$name" --quick ;;
    *) run $unit "$name" --quick --row-seconds 0.001 ;;
  esac
done
data=$root/examples/data
for program in $traced; do
  name=$(basename "$program" .cpp)
  case $name in
    heat) set -- "$data/pgas.png" 4 2 ;;
    life) set -- "$data/pulsar.rle" ;;
    hash_table) set -- atomic "$root/README.md" 300 ;;
    word_count) set -- "$data/ranks.txt" 5 ;;
    concordance) set -- "$data/ranks.txt" ;;
    serve) set -- load 100 2 ;;
    fft_image) set -- "$data/pgas.png" 3 p ;;
    gups) set -- 10 ;;
    dis) set -- field 1024 ;;
    stencil | nstream | transpose | matvec) set -- 2 41 ;;
    heat3d) set -- 2 7 ;;
    matmul) set -- 41 ;;
    *) set -- ;;
  esac
  rm -f "$folder/trace.json"
  case $name in ring) unit=everywhere ;; *) unit=traced ;; esac
  run $unit "$name" "$@" --pgas-ranks 2 --pgas-trace trace.json
  [ $status -ne 0 ] || [ -s "$folder/trace.json" ] || { echo "$name writes no trace"; exit 1; }
done
echo "compiled and ran: $(echo $harness $meter $traced | wc -w) programs"
