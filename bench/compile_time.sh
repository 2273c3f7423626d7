#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Compares the time to compile a header, pgas/pgas.hpp unless --header names another, with that of the headers of other
# libraries that it includes. COUNT=n is the number of repetitions; JSON=file appends the row to a file.
# usage: compile_time.sh [--header NAME] [--target RATIO] INCLUDE_DIR COMPILER [ARGUMENT...]
set -eu

header=pgas/pgas.hpp
target=0
while [ $# -gt 0 ]; do
  case $1 in
    --header) header=$2 ;;
    --target) target=$2 ;;
    *) break ;;
  esac
  shift 2
done
[ $# -ge 2 ] || { sed -n '3,5p' "$0" >&2; exit 2; }
include=$1
shift
count=${COUNT:-9}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "#include <$header>" >"$work/ours.cpp"
# The baseline has every header of another library that a file of pgas names, for all files that the header brings in.
"$@" -std=c++20 -I"$include" -MM "$work/ours.cpp" | tr ' \\' '\n\n' | grep '/pgas/.*\.hpp$' >"$work/files"
xargs sed -n 's/^ *# *include *\(<[^>]*>\).*/#include \1/p' <"$work/files" | grep -v '<pgas[/-]' | sort -u >"$work/baseline.cpp"

# Prints the processor time of a command, user and system: waiting for other programs does not count.
once() {
  # `times` prints the shell's own time first and that of its children second.
  sh -c '"$@"; times' sh "$@" | awk '
    NR == 2 { split($0, t, /[ms ]+/); print t[1] * 60 + t[2] + t[3] * 60 + t[4] }'
}
i=0
while [ "$i" -lt "$count" ]; do
  for unit in ours baseline; do
    once "$@" -std=c++20 -O0 -I"$include" -fsyntax-only "$work/$unit.cpp" >>"$work/$unit.s"
  done
  i=$((i + 1))
done

"$@" --version | head -n 1
compiler=${1##*/}
compiler=${compiler%%-[0-9]*}  # clang++-16 and its successor measure one row
paste "$work/ours.s" "$work/baseline.s" | awk -v name="${header#pgas/}, $compiler" -v target="$target" -v headers="$(wc -l <"$work/baseline.cpp")" -v json="${JSON:-}" '
  function sorted(a, n,   i, j, t) { for (i = 2; i <= n; ++i) for (j = i; j > 1 && a[j] < a[j - 1]; --j) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t } }
  { ours[NR] = $1; base[NR] = $2; ratio[NR] = $1 / $2 }
  END {
    sorted(ours, NR); sorted(base, NR); sorted(ratio, NR); m = int((NR + 1) / 2)
    printf "include %s: %.2f s [%.2f..%.2f]; the %d headers of others: %.2f s [%.2f..%.2f]; ratio %.2f [%.2f..%.2f]%s\n",
      name, ours[m], ours[1], ours[NR], headers, base[m], base[1], base[NR], ratio[m], ratio[1], ratio[NR],
      target == 0 ? "" : sprintf(", target %.1f: %s", target, ratio[m] <= target ? "ok" : "BEHIND")
    if (json != "")
      printf "{\"type\":\"row\",\"program\":\"compile_time\",\"row\":\"include %s\",\"ours_s\":{\"median\":%g},\"baselines\":{\"headers of others\":{\"median\":%g}},\"ratio\":{\"median\":%g},\"target\":%g}\n", name, ours[m], base[m], ratio[m], target >>json
  }'
