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
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
awk -v folder="$folder" '
  /^```cpp$/           { file = sprintf("%s/%02d.cpp", folder, ++count); next }
  /^```text$/ && count { file = sprintf("%s/%02d.text", folder, count); next }
  /^```/               { file = ""; next }
  file                 { print > file }' "$page"
for link in $(grep -o '](\([^):# ]*\))' "$page" | sed 's/^](//; s/)$//'); do
  [ -e "$(dirname "$page")/$link" ] || { echo "$page links to $link, which does not exist"; exit 1; }
done
# Reading the library takes half of a program's time, so the compiler reads it once for all. A program must still
# include what it uses.
for source in "$folder"/*.cpp; do
  if grep -q 'int main' "$source" && grep -q 'pgas::' "$source" && ! grep -q '^#include <pgas/' "$source"; then
    cat "$source"
    echo 'the program above uses the library without including it'
    exit 1
  fi
done
flags='-std=c++20 -O0 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -pthread'
echo '#include <pgas/pgas.hpp>' >"$folder/library.hpp"
# shellcheck disable=SC2086 # a list of words
"$@" $flags -I"$include" -x c++-header "$folder/library.hpp" -o "$folder/library.hpp.gch"
# One program a core is compiled at a time.
# shellcheck disable=SC2086
grep -l 'int main' "$folder"/*.cpp | xargs -P "$(nproc)" -I{} "$@" $flags -I"$include" -include "$folder/library.hpp" {} -o {}.run
programs=0
for source in "$folder"/*.cpp; do
  grep -q 'int main' "$source" || continue
  name=${source%.cpp}
  mkdir "$name"
  (cd "$name" && "$source.run") >"$name.out" || { cat "$source" "$name.out"; echo "the program above fails"; exit 1; }
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
