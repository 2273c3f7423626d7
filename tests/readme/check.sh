#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# The README's programs compile without a warning, and run; those that print one line, the steps of a kernel, all print
# the same: check.sh README INCLUDE_DIR COMPILER...
set -eu
readme=$1
include=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
awk -v folder="$folder" '
  /^```cpp$/ { file = folder "/" ++count ".cpp"; next }
  /^```$/    { file = ""; next }
  file       { print > file }' "$readme"
programs=0
for source in "$folder"/*.cpp; do
  grep -q 'int main' "$source" || continue
  "$@" -std=c++20 -O1 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -I"$include" "$source" -o "$source.run" -pthread
  (cd "$folder" && "$source.run") >"$source.out"
  [ "$(wc -l <"$source.out")" -ne 1 ] || cat "$source.out" >>"$folder/printed"
  programs=$((programs + 1))
done
[ "$programs" -gt 0 ]
[ "$(wc -l <"$folder/printed")" -gt 1 ] && [ "$(sort -u "$folder/printed" | wc -l)" -eq 1 ] || { cat "$folder/printed"; echo "not all print the same"; exit 1; }
echo "$programs programs of the README compile and run"
