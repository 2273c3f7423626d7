#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Compiles a program with each of several options, without a warning: check.sh INCLUDE_DIR SOURCE OPTIONS COMPILER...
#
# g++ finds out at each level of optimization anew which always_inline functions it can inline, and refuses those whose
# address goes through a pointer; so it generates code. clang decides before it optimizes, so it only reads the program.
set -eu
include=$1
source=$2
options=$3
shift 3
how='-S -Wall -Wextra -Werror'
case $("$@" --version) in
  *clang*) how='-fsyntax-only -Wall -Wextra -Werror' ;;
esac
for option in $options; do
  # shellcheck disable=SC2086 # a list of words
  "$@" -std=c++20 "$option" $how -I"$include" "$source" -o /dev/null || { echo "$source does not compile with $option"; exit 1; }
done
echo "$source compiles with each of $options"
