// A journal as a picture: one lane for each machine, holds as bars, faults as marks.
#pragma once

#include "journal.hpp"

#include <iosfwd>

namespace world::check {

// SVG.
void draw(std::ostream& out, const journal& notes);

} // namespace world::check
