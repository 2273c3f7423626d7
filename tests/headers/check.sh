#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Each public header compiles alone, without a warning: check.sh INCLUDE_DIR COMPILER...
#
# clang compiles each header as a submodule of one module, so the compiler reads a header once, and a header sees
# only its own includes. That takes seconds; g++ compiles one unit for each header, which takes minutes.
set -eu
include=$(cd "$1" && pwd)
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
system=$(pkg-config --cflags-only-I hdf5-serial 2>/dev/null || pkg-config --cflags-only-I hdf5)  # not where compilers look
mpi=$(pkg-config --cflags-only-I mpich 2>/dev/null || pkg-config --cflags-only-I ompi-c)
system="-DMPICH_SKIP_MPICXX -DOMPI_SKIP_MPICXX $system $mpi"
system=$(echo "$system" | sed 's/-I/-isystem /g')
warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'
headers=$(cd "$include" && find pgas -name '*.hpp' | sort)
standard=$(find "$include/pgas" -name '*.hpp' -exec sed -n 's/^ *# *include <\([a-z_]*\)>.*/\1/p' {} + | sort -u)
case $("$@" --version) in
  *clang*) ;;
  *)
    for header in $headers; do
      source=$folder/$(echo "$header" | tr / _).cpp
      printf '#include <%s>\n#include <%s>\n' "$header" "$header" >"$source"
    done
    # shellcheck disable=SC2086 # lists of words
    find "$folder" -name '*.cpp' | xargs -P "$(nproc)" -I{} "$@" -std=c++20 -fsyntax-only $warnings -I"$include" $system {} || exit 1
    echo "$(echo "$headers" | wc -l) headers compile alone and twice"
    exit 0 ;;
esac

# A module of the standard headers that ours name, without a dot or a slash in their names, and a module of ours.
for name in $standard; do echo "#include <$name>"; done >"$folder/all.cpp"
"$@" -std=c++20 -M "$folder/all.cpp" | tr ' \\' '\n\n' | grep '^/' >"$folder/paths"
{
  echo 'module standard [system] {'
  for name in $standard; do
    echo "  module \"$name\" { header \"$(grep -m 1 "/c++/[^/]*/$name\$" "$folder/paths")\" export * }"
  done
  echo '}'
} >"$folder/standard.map"
{
  echo 'module pgas {'
  for header in $headers; do echo "  module \"$header\" { header \"$include/$header\" export * }"; done
  echo '}'
} >"$folder/pgas.map"
modules='-std=c++20 -fmodules -fno-implicit-module-maps -Xclang -fmodules-local-submodule-visibility -Xclang -emit-module -x c++-header'
# shellcheck disable=SC2086 # lists of words
{
  "$@" $modules -fmodule-name=standard "$folder/standard.map" -o "$folder/standard.pcm"
  # Headers of POSIX are in no module: several of our submodules have their constants.
  "$@" $modules -fmodule-name=pgas -fmodule-map-file="$folder/standard.map" -fmodule-file=standard="$folder/standard.pcm" \
    -I"$include" $system $warnings -Wno-modules-ambiguous-internal-linkage -ferror-limit=0 "$folder/pgas.map" -o "$folder/pgas.pcm"
}
echo "$(echo "$headers" | wc -l) headers compile alone"
