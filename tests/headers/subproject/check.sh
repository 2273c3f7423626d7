#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# pgas as a Meson subproject: it is found, runs, and gives its user none of our flags: check.sh SOURCE_ROOT
set -eu
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/subprojects" "$folder/subprojects/pgas"
cp -R "$root/include" "$root/cmake" "$root/meson.build" "$root/meson_options.txt" "$folder/subprojects/pgas/"
cat >"$folder/meson.build" <<'EOT'
project('user', 'cpp', default_options: ['cpp_std=c++20'])
executable('user', 'user.cpp', dependencies: dependency('pgas', fallback: 'pgas'))
EOT
cat >"$folder/user.cpp" <<'EOT'
#include <pgas/pgas.hpp>
int main() {
  return pgas::run<pgas::backends::process_map>(2, [](auto& team) { return team.all_reduce(1); }) == 2 ? 0 : 1;
}
EOT
cd "$folder"
meson setup build --wrap-mode=nodownload -Ddebug=false >setup.log || { cat setup.log; exit 1; }
if grep -iE 'dependency .*(boost|range-v3|hdf5|doctest|png).*found' setup.log; then
  echo 'a subproject looks for what only our own programs need'
  exit 1
fi
ninja -C build >build.log || { cat build.log; exit 1; }
./build/user
for flag in -Wconversion -Wshadow -Wno-interference-size -ffp-contract -DPGAS; do
  if grep -q -e "$flag" build/compile_commands.json; then
    echo "a user of the subproject gets our $flag"
    exit 1
  fi
done
if [ -n "$(find build/subprojects -name '*.o' 2>/dev/null)" ]; then
  echo 'a subproject compiles something of its own'
  exit 1
fi

# Another level reaches the user, since it is part of every name.
meson setup light --wrap-mode=nodownload -Dpgas:assertions=light >setup.log || { cat setup.log; exit 1; }
grep -q -e '-DPGAS_ASSERTIONS=light' light/compile_commands.json || { echo 'the assertion level does not reach the user'; exit 1; }

# Installed: headers and a pkg-config file that is enough, moved as packagers do.
meson setup installed "$root" -Dloopback=disabled -Dviews=disabled -Dtests=disabled -Dexamples=disabled -Dbench=disabled -Dtools=disabled \
  --prefix /opt/pgas --libdir lib >setup.log || { cat setup.log; exit 1; }
meson install -C installed --destdir "$folder/stage" >install.log || { cat install.log; exit 1; }
flags=$(PKG_CONFIG_PATH="$folder/stage/opt/pgas/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$folder/stage" pkg-config --cflags --libs pgas)
# The headers are those that the program above was built from, so a small one is enough to try the flags.
diff -r "$root/include/pgas" "$folder/stage/opt/pgas/include/pgas"
cat >installed_user.cpp <<'EOT'
#include <pgas/vocabulary/global_ptr.hpp>
int main() { return pgas::global_ptr<int>{} ? 1 : 0; }
EOT
# shellcheck disable=SC2086 # flags are words
${CXX:-c++} -std=c++20 installed_user.cpp $flags -o installed_user
./installed_user
case $flags in *-pthread*) ;; *) echo "no -pthread in $flags"; exit 1 ;; esac
echo 'usable as a subproject and installed'
