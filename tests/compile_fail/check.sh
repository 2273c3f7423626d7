#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Checks that the compiler's first error is the message in a program's first line: check.sh INCLUDE_DIR PRECOMPILED SOURCE COMPILER...
# `// standard: NAME` and `// errors at most: N` may follow the first line. PRECOMPILED is pgas.hpp, which the compiler
# reads in a tenth of the time; it has the usual standard.
set -u
include=$1
precompiled=$2
source=$3
shift 3
expected=$(sed -n '1s|^// expects: ||p' "$source")
[ -n "$expected" ] || { echo "$source: its first line must be '// expects: EXPRESSION'"; exit 1; }
standard=$(sed -n 's|^// standard: ||p' "$source")
most=$(sed -n 's|^// errors at most: ||p' "$source")
case "$standard:$precompiled" in
  :*.pch) set -- "$@" -include-pch "$precompiled" ;;
  :*.gch) set -- "$@" -include "${precompiled%.gch}" ;;
esac
if output=$("$@" -std="${standard:-c++20}" -fsyntax-only -I"$include" -I"$(dirname "$source")/.." "$source" 2>&1); then
  [ "$expected" = 'success' ] && exit 0
  echo "$source: compiles, and should not"
  exit 1
fi
errors=$(echo "$output" | grep -c 'error: ')
if [ -n "$most" ] && [ "$errors" -gt "$most" ]; then
  echo "$source: $errors errors, and $most are enough"
  exit 1
fi
echo "$output" | grep 'error: ' | head -1 | grep -Eq -e "$expected" && exit 0
echo "$source: refused, but its first error is not: $expected"
echo "$output" | grep -E 'error' | head -10
exit 1
