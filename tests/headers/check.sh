#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Every public header compiles alone, and included twice: check.sh INCLUDE_DIR COMPILER...
set -u
include=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
system=$(pkg-config --cflags hdf5-serial 2>/dev/null || pkg-config --cflags hdf5)  # not where compilers look
headers=$(cd "$include" && find pgas -name '*.hpp' | sort)
for header in $headers; do
  source=$folder/$(echo "$header" | tr / _).cpp
  printf '#include <%s>\n#include <%s>\n' "$header" "$header" >"$source"
done
# shellcheck disable=SC2086 # a list of words
find "$folder" -name '*.cpp' | xargs -P "$(nproc)" -I{} "$@" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -I"$include" $system {} || exit 1
echo "$(echo "$headers" | wc -l) headers compile alone and twice"
