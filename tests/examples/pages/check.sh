#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# The programs of a page compile without a warning and run, and its links to files are right:
# check.sh PAGE INCLUDE_DIR COMPILER...
# A ```text block after a program is what it prints. Programs that print one line and have no such block are the steps
# of one kernel: all of them print the same.
set -eu
page=$1
include=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
awk -v folder="$folder" '
  /^```cpp$/           { file = sprintf("%s/program_%02d.cpp", folder, ++count); next }
  /^```text$/ && count { file = sprintf("%s/program_%02d.text", folder, count); next }
  /^```/               { file = ""; next }
  file                 { print > file }' "$page"
for link in $(grep -o '](\([^):# ]*\))' "$page" | sed 's/^](//; s/)$//'); do
  [ -e "$(dirname "$page")/$link" ] || { echo "$page links to $link, which does not exist"; exit 1; }
done
# One unit holds all programs, so that the compiler reads the library once and meets each of its templates once.
# Alone stay programs that define what no namespace can hold.
together=
alone=
for source in $(grep -l 'int main' "$folder"/*.cpp); do
  if grep -qE '^ *#define|operator (new|delete)|extern "C"' "$source"; then
    alone="$alone $source"
  else
    together="$together $source"
  fi
done
set -- "$@" -std=c++20 -O0 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -pthread -I"$include"
# shellcheck disable=SC2086 # lists of words
"$here/includes.py" $together $alone -- "$@"
# shellcheck disable=SC2086
if [ -n "$together" ]; then
  python3 "$here/../one_unit.py" "$folder/unit.cpp" $together
  "$@" "$folder/unit.cpp" -o "$folder/unit"
fi
for source in $together; do ln "$folder/unit" "${source%.cpp}.run"; done
for source in $alone; do "$@" "$source" -o "${source%.cpp}.run"; done
programs=0
for source in $together $alone; do
  name=${source%.cpp}
  mkdir "$name"
  (cd "$name" && exec "$name.run") >"$name.out" || { cat "$source" "$name.out"; echo "the program above fails"; exit 1; }
  if [ -f "$name.text" ]; then
    diff "$name.text" "$name.out" || { cat "$source"; echo "the page says that the program above prints something else"; exit 1; }
  elif [ "$(wc -l <"$name.out")" -eq 1 ]; then
    cat "$name.out" >>"$folder/printed"
  fi
  programs=$((programs + 1))
done
[ "$programs" -gt 0 ]
if [ -f "$folder/printed" ] && [ "$(sort -u "$folder/printed" | wc -l)" -ne 1 ]; then
  cat "$folder/printed"
  echo 'the steps of the kernel do not all print the same'
  exit 1
fi
echo "$programs programs of $page compile and run"
