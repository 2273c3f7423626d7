#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# How long a header takes to compile, pgas/pgas.hpp unless told, against the headers of others it stands on, alone.
# usage: compile_time.sh [--header NAME] INCLUDE_DIR COMPILER [ARGUMENT...]   (COUNT=n repetitions, JSON=file: a line is appended)
set -eu

header=pgas/pgas.hpp
if [ "${1:-}" = --header ]; then
  header=$2
  shift 2
fi
[ $# -ge 2 ] || { sed -n '3,4p' "$0" >&2; exit 2; }
include=$1
shift
count=${COUNT:-9}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "#include <$header>" >"$work/ours.cpp"
# The headers that ours name themselves, in the files of ours that it includes.
"$@" -std=c++20 -I"$include" -MM "$work/ours.cpp" | tr ' \\' '\n\n' | grep '/pgas/.*\.hpp$' >"$work/files"
xargs sed -n 's/^ *# *include *\(<[^>]*>\).*/#include \1/p' <"$work/files" | grep -v '<pgas/' | sort -u >"$work/baseline.cpp"

# User and system seconds: waiting for other programs does not count.
once() {
  # The shell's own line of `times` is first, its children's second.
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
target=0
[ "$header" != pgas/pgas.hpp ] || target=1.5
paste "$work/ours.s" "$work/baseline.s" | awk -v name="${header#pgas/}" -v target="$target" -v headers="$(wc -l <"$work/baseline.cpp")" -v json="${JSON:-}" '
  function sorted(a, n,   i, j, t) { for (i = 2; i <= n; ++i) for (j = i; j > 1 && a[j] < a[j - 1]; --j) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t } }
  { ours[NR] = $1; base[NR] = $2; ratio[NR] = $1 / $2 }
  END {
    sorted(ours, NR); sorted(base, NR); sorted(ratio, NR); m = int((NR + 1) / 2)
    printf "include %s: %.2f s [%.2f..%.2f]; the %d headers of others: %.2f s [%.2f..%.2f]; ratio %.2f [%.2f..%.2f]%s\n",
      name, ours[m], ours[1], ours[NR], headers, base[m], base[1], base[NR], ratio[m], ratio[1], ratio[NR],
      target == 0 ? "" : ratio[m] <= target ? ", target 1.5: ok" : ", target 1.5: BEHIND"
    if (json != "")
      printf "{\"type\":\"row\",\"program\":\"compile_time\",\"row\":\"include %s\",\"ours_s\":{\"median\":%g},\"baselines\":{\"headers of others\":{\"median\":%g}},\"ratio\":{\"median\":%g},\"target\":%g}\n", name, ours[m], base[m], ratio[m], target >>json
  }'
