#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# pgas in CMake projects, installed and as a subfolder: found, with its components, and its programs run:
# check.sh SOURCE_ROOT COMPILER...
set -eu
root=$1
shift
export CXX="$*"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
quietly() { "$@" >log 2>&1 || { cat log; exit 1; }; }

mkdir user
cat >user/user.cpp <<'EOS'
#include <pgas/core.hpp>
int main() {
  return pgas::run<pgas::backends::process_map>(2, [](auto& team) { return team.all_reduce(1); }) == 2 ? 0 : 1;
}
EOS
cat >user/mpi.cpp <<'EOS'
#include <pgas/detail/mpi/implementation.hpp>
#include <mpi.h>
#include <cstdio>
int main() {
  int is_there = 1;
  MPI_Initialized(&is_there);
#if defined(OPEN_MPI)
  std::puts("openmpi");
#else
  std::puts("mpich");
#endif
  return is_there;
}
EOS
cat >user/small.cpp <<'EOS'
#include <pgas/vocabulary/global_ptr.hpp>
int main() { return pgas::global_ptr<int>{} ? 1 : 0; }
EOS
# The program is built and run once, and a small one where the headers are the same. The others are named, so that
# their flags can be looked at.
cat >user/CMakeLists.txt <<'EOS'
cmake_minimum_required(VERSION 3.24)
project(user CXX)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(folder_of_pgas)
  include(FetchContent)
  FetchContent_Declare(pgas SOURCE_DIR ${folder_of_pgas})
  FetchContent_MakeAvailable(pgas)
else()
  find_package(pgas 0.2 REQUIRED COMPONENTS ${components})
endif()
add_executable(user user.cpp)
target_link_libraries(user PRIVATE pgas::pgas)
add_executable(small small.cpp)
target_link_libraries(small PRIVATE pgas::pgas)
foreach(component loopback scc simulated views hdf5 mpi)
  add_executable(${component} EXCLUDE_FROM_ALL $<IF:$<STREQUAL:${component},mpi>,mpi.cpp,user.cpp>)
  target_link_libraries(${component} PRIVATE pgas::${component})
endforeach()
EOS

has() { grep -q -e "$1" "$2" || { echo "the user's build has no $1: $2"; cat "$2"; exit 1; }; }
flags() {
  if grep -qE -e '-Wconversion|-Wshadow|-ffp-contract|DPGAS_' "$1/compile_commands.json"; then
    echo "a user gets our flags: $1"
    exit 1
  fi
  has hdf5 "$1/compile_commands.json"
  has boost_context "$1/build.ninja"
  has SKIP_MPICXX "$1/compile_commands.json"
}

# Installed, and moved as packagers do: the files name no folder of the machine that they were made on.
quietly meson setup installed "$root" -Dloopback=disabled -Dscc=disabled -Dviews=disabled -Dhdf5=disabled -Dmpi=disabled -Dtests=disabled \
  -Dexamples=disabled -Dbench=disabled -Dtools=disabled --prefix /opt/pgas
quietly meson install -C installed --destdir "$folder/stage"
mv stage/opt/pgas moved
quietly cmake -G Ninja -S user -B found -DCMAKE_PREFIX_PATH="$folder/moved" '-Dcomponents=loopback;scc;simulated;views;hdf5;mpi' \
  -DMPI_EXECUTABLE_SUFFIX=.openmpi
flags found
quietly ninja -C found user mpi
found/user
[ "$(found/mpi)" = openmpi ] || { echo 'the user chose Open MPI, and got the other one'; exit 1; }

# A component that does not exist is named in the error; a version that is too new is refused.
if cmake -G Ninja -S user -B refused -DCMAKE_PREFIX_PATH="$folder/moved" -Dcomponents=shmem >log 2>&1; then
  echo 'a component that does not exist was found'
  exit 1
fi
has 'no library was found for: shmem' log
sed 's/pgas 0.2/pgas 0.3/' user/CMakeLists.txt >newer && mv newer user/CMakeLists.txt
if cmake -G Ninja -S user -B refused -DCMAKE_PREFIX_PATH="$folder/moved" >log 2>&1; then
  echo 'version 0.3 was found'
  exit 1
fi

# pkg-config has a name for each MPI.
PKG_CONFIG_PATH=$(dirname "$(find "$folder/moved" -name pgas-mpich.pc)")
export PKG_CONFIG_PATH
for mpi in mpich openmpi; do
  flags=$(pkg-config --cflags --libs "pgas-$mpi" | sed "s|/opt/pgas|$folder/moved|g")
  # shellcheck disable=SC2086 # lists of words
  $CXX -std=c++20 user/mpi.cpp $flags -o "by_$mpi"
  [ "$("./by_$mpi")" = "$mpi" ] || { echo "pgas-$mpi gives another MPI"; exit 1; }
done

# As a subfolder, without a network; another assertion level reaches the user, since it is part of every name.
quietly cmake -G Ninja -S user -B fetched -Dfolder_of_pgas="$root"
flags fetched
quietly ninja -C fetched small
fetched/small
quietly cmake -G Ninja -S user -B light -Dfolder_of_pgas="$root" -DPGAS_ASSERTIONS=light
has -DPGAS_ASSERTIONS=light light/compile_commands.json

[ "$(sed -n 's/^project(pgas VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")" = \
  "$(sed -n "s/^  version: '\([0-9.]*\)',/\1/p" "$root/meson.build")" ] || { echo 'CMakeLists.txt and meson.build differ in the version'; exit 1; }
echo 'usable with CMake, installed and as a subfolder'
