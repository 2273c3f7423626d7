#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Checks that an example, run in an empty folder, prints a line that matches EXPECTED and writes FILES (a pattern
# or empty): check.sh EXPECTED FILES PROGRAM ARGS...
set -eu
expected=$1
files=$2
shift 2
case "$1" in /*) ;; *) program=$PWD/$1; shift; set -- "$program" "$@" ;; esac  # the folder will change
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$@" >out 2>err || { status=$?; cat out err; echo "ends with status $status"; exit 1; }
cat out err
grep -Eq -e "$expected" out || { echo "prints no line that matches: $expected"; exit 1; }
[ -z "$files" ] || [ -n "$(find . -name "$files" -size +0)" ] || { echo "writes no $files"; exit 1; }
