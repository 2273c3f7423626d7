#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Checks that the compiler's first error is the message in a program's first line: check.sh INCLUDE_DIR PRECOMPILED SOURCE COMPILER...
# `// standard: NAME`, `// errors at most: N` and `// lines before at most: N` may follow the first line. PRECOMPILED is
# pgas.hpp, which the compiler reads in a tenth of the time; it has the usual standard. The compiler stops at its first
# error, unless the errors are counted. The last line of a chain of includes is that of PRECOMPILED, and does not count.
set -u
include=$1
precompiled=$2
source=$3
shift 3
expected=''
standard=''
most=''
before=''
# The shell reads the lines itself, since each process costs as much as a short compiler run.
while read -r line; do
  case "$line" in
    '// expects: '*) expected=${line#// expects: } ;;
    '// standard: '*) standard=${line#// standard: } ;;
    '// errors at most: '*) most=${line#// errors at most: } ;;
    '// lines before at most: '*) before=${line#// lines before at most: } ;;
    *) break ;;
  esac
done <"$source"
[ -n "$expected" ] || { echo "$source: its first line must be '// expects: EXPRESSION'"; exit 1; }
case "$standard:$precompiled" in
  :*.pch) set -- "$@" -include-pch "$precompiled" ;;
  :*.gch) set -- "$@" -include "${precompiled%.gch}" ;;
esac
[ -n "$most" ] || set -- "$@" -Wfatal-errors
if output=$("$@" -std="${standard:-c++20}" -fsyntax-only -I"$include" -I"${source%/*}/.." "$source" 2>&1); then
  [ "$expected" = 'success' ] && exit 0
  echo "$source: compiles, and should not"
  exit 1
fi
if [ -n "$most" ]; then
  errors=$(echo "$output" | grep -c 'error: ')
  if [ "$errors" -gt "$most" ]; then
    echo "$source: $errors errors, and $most are enough"
    exit 1
  fi
fi
if [ -n "$before" ]; then
  lines=$(echo "$output" | grep -v '^ *\(In file included \)\?from .*precompiled\.hpp' | grep -n -m 1 'error: ')
  lines=$((${lines%%:*} - 1))
  if [ "$lines" -gt "$before" ]; then
    echo "$source: $lines lines stand before the first error, and $before are enough"
    echo "$output" | head -20
    exit 1
  fi
fi
echo "$output" | grep -m 1 'error: ' | grep -Eq -e "$expected" && exit 0
echo "$source: refused, but its first error is not: $expected"
echo "$output" | grep -E 'error' | head -10
exit 1
