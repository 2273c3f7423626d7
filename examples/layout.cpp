// SPDX-License-Identifier: BSL-1.0
// layout: draws and describes a layout. layout 'tiled(4x4) grid(2x3) 16x24' [FILE], writes layout.svg.
#include <cstdio>
#include <exception>

#include "support/layout_svg.hpp"

int main(int argc, char** argv) {
  try {
    if (argc < 2) throw std::runtime_error("usage: layout 'tiled(4x4) grid(2x3) 16x24' [FILE]");
    auto const layout = example::read_layout(argv[1]);
    char const* const file = argc > 2 ? argv[2] : "layout.svg";
    example::replace_file(file, example::svg(layout));
    std::fputs(layout.description.c_str(), stdout);
    std::printf("layout: see %s\n", file);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "layout: %s\n", e.what());
    return 1;
  }
}
// tools/run layout 'tiled(block, block) grid(2x2) 4x8':
//   extents   4 x 8 on 4 ranks
//   layout    tiled(block, block) on 2 x 2; a grid of 2 x 2 ranks; 4 tiles, the first of 2 x 4
//   rank 0    8 cells, a part of 24 elements
//   ...
//   owners of cells
//     0 0 0 0 1 1 1 1
//     0 0 0 0 1 1 1 1
//     2 2 2 2 3 3 3 3
//     2 2 2 2 3 3 3 3
//   layout: see layout.svg
