#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Checks that the compiler refuses a program with the message in its first line: check.sh INCLUDE_DIR SOURCE COMPILER...
set -u
include=$1
source=$2
shift 2
expected=$(sed -n '1s|^// expects: ||p' "$source")
[ -n "$expected" ] || { echo "$source: its first line must be '// expects: EXPRESSION'"; exit 1; }
if output=$("$@" -std=c++20 -fsyntax-only -I"$include" -I"$(dirname "$source")/.." "$source" 2>&1); then
  [ "$expected" = 'success' ] && exit 0
  echo "$source: compiles, and should not"
  exit 1
fi
echo "$output" | grep -Eq -e "$expected" && exit 0
echo "$source: refused, but not with: $expected"
echo "$output" | grep -E 'error' | head -10
exit 1
