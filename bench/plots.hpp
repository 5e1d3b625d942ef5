// The figures as pictures, drawn by gnuplot.
#pragma once

#include "outputs.hpp"
#include "report.hpp"

namespace bench {

// One SVG for each comparison of several systems: lines over the number of clients where that varies, else bars.
// Remarks in the report when there is no gnuplot.
void draw_plots(report& r, outputs& files);

} // namespace bench
