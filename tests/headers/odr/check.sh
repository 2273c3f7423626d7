#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Two units that include everything link; two units at different assertion levels do not: check.sh INCLUDE_DIR
# COMPILER...
# The two have the level light, since tests/headers compiles each header at level normal. A third unit has that
# level, and the one header that all share.
set -eu
include=$1
shift
system=$(pkg-config --cflags hdf5-serial 2>/dev/null || pkg-config --cflags hdf5)  # not where compilers look
mpi=mpich
pkg-config --exists $mpi || mpi=ompi-c
system="-DMPICH_SKIP_MPICXX -DOMPI_SKIP_MPICXX $system $(pkg-config --cflags-only-I $mpi)"
# shellcheck disable=SC2086 # a list of words
set -- "$@" -std=c++20 -O0 -I"$include" $system
libraries="-pthread $(pkg-config --libs $mpi)"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
(cd "$include" && find pgas -name '*.hpp' | sort) | sed 's/.*/#include <&>/' >all.hpp
echo '#include "all.hpp"
pgas::rank_t other(pgas::global_ptr<int> p) { return p.rank; }' >a.cpp
echo '#include <pgas/vocabulary/global_ptr.hpp>
pgas::rank_t other(pgas::global_ptr<int> p) { return p.rank; }' >normal.cpp
echo '#include "all.hpp"
pgas::rank_t other(pgas::global_ptr<int> p); int main() { return other({}) == -1 ? 0 : 1; }' >b.cpp
# The two units share one reading of the headers. Each still defines whatever the headers define.
case $("$@" --version) in
  *clang*) precompiled=all.hpp.pch instantiate=-fpch-instantiate-templates ;;
  *) precompiled=all.hpp.gch instantiate= ;;
esac
light=-DPGAS_ASSERTIONS=light
# shellcheck disable=SC2086 # a word or none
"$@" $light $instantiate -x c++-header all.hpp -o $precompiled
"$@" $light -include all.hpp -c a.cpp -o a.o
"$@" $light -include all.hpp -c b.cpp -o b.o
# shellcheck disable=SC2086 # a list of words
"$@" a.o b.o $libraries -o both
./both
"$@" -c normal.cpp -o normal.o
# shellcheck disable=SC2086 # a list of words
if "$@" normal.o b.o $libraries -o mixed 2>mixed.log; then
  echo 'units of different assertion levels link: each would trust the checks of the other'
  exit 1
fi
grep -q 'undefined reference\|undefined symbol' mixed.log
echo 'two units link, mixed assertion levels do not'
