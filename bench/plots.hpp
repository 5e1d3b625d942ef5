// The figures as pictures, drawn by gnuplot.
#pragma once

#include "report.hpp"

#include <string>

namespace bench {

// One SVG in the directory for each comparison of several systems: lines over the number of clients
// where that varies, else bars. Remarks in the report when there is no gnuplot.
void draw_plots(report& r, const std::string& directory);

// Those that an earlier run drew there.
void remove_plots(const std::string& directory);

} // namespace bench
