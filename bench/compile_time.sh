#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Compares the time to compile a header, pgas/pgas.hpp unless --header names another, with that of the headers of other
# libraries that it includes. With --program it compiles, to code at --level, the N-th program in the README instead, and
# the target is in seconds. COUNT=n is the number of repetitions; JSON=file appends the row to a file.
# usage: compile_time.sh [--header NAME|--program N] [--level -O0] [--target NUMBER] INCLUDE_DIR COMPILER [ARGUMENT...]
set -eu

header=pgas/pgas.hpp
program=
level=-O0
target=0
while [ $# -gt 0 ]; do
  case $1 in
    --header) header=$2 ;;
    --program) program=$2 ;;
    --level) level=$2 ;;
    --target) target=$2 ;;
    *) break ;;
  esac
  shift 2
done
[ $# -ge 2 ] || { sed -n '3,6p' "$0" >&2; exit 2; }
include=$1
shift
count=${COUNT:-9}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -n "$program" ]; then
  awk -v wanted="$program" '/^```cpp/ { ++n; next } /^```/ && n == wanted { exit } n == wanted' \
    "$include/../README.md" >"$work/ours.cpp"
  name="program $program of the README $level"
  how="$level -c -o $work/unit.o"
else
  echo "#include <$header>" >"$work/ours.cpp"
  name="include ${header#pgas/}"
  how="-O0 -fsyntax-only"
fi
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
    # shellcheck disable=SC2086 # a list of words
    once "$@" -std=c++20 $how -I"$include" "$work/$unit.cpp" >>"$work/$unit.s"
  done
  i=$((i + 1))
done

"$@" --version | head -n 1
compiler=${1##*/}
compiler=${compiler%%-[0-9]*}  # clang++-16 and its successor measure one row
paste "$work/ours.s" "$work/baseline.s" | awk -v name="$name, $compiler" -v target="$target" -v seconds="${program:+yes}" -v headers="$(wc -l <"$work/baseline.cpp")" -v json="${JSON:-}" '
  function sorted(a, n,   i, j, t) { for (i = 2; i <= n; ++i) for (j = i; j > 1 && a[j] < a[j - 1]; --j) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t } }
  { ours[NR] = $1; base[NR] = $2; ratio[NR] = $1 / $2 }
  END {
    sorted(ours, NR); sorted(base, NR); sorted(ratio, NR); m = int((NR + 1) / 2)
    beside = sprintf("the %d headers of others: %.2f s [%.2f..%.2f]", headers, base[m], base[1], base[NR])
    baselines = sprintf("\"headers of others\":{\"median\":%g}", base[m])
    if (seconds) {  # the judge compares by ratios, so the target is a baseline too
      value = ours[m]; bound = 1; shown = sprintf("%.1f s", target)
      baselines = sprintf("%s,\"the target\":{\"median\":%g}", baselines, target)
    } else {
      value = ratio[m]; bound = target; shown = sprintf("%.1f", target)
      beside = sprintf("%s; ratio %.2f [%.2f..%.2f]", beside, ratio[m], ratio[1], ratio[NR])
    }
    verdict = target == 0 ? "" : sprintf(", target %s: %s", shown, value <= target ? "ok" : "BEHIND")
    printf "%s: %.2f s [%.2f..%.2f]; %s%s\n", name, ours[m], ours[1], ours[NR], beside, verdict
    if (json != "")
      printf "{\"type\":\"row\",\"program\":\"compile_time\",\"row\":\"%s\",\"ours_s\":{\"median\":%g},\"baselines\":{%s},\"ratio\":{\"median\":%g},\"target\":%g}\n", name, ours[m], baselines, ratio[m], bound >>json
  }'
