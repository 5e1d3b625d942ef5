#include "run/end_children.hpp"

#include <algorithm>

namespace colock::cli {

round_end end_children(const children_access& of)
{
    if (of.none()) {
        return round_end::over;
    }
    const auto seen = of.look();
    // A look that finds nobody proves something only before a child is reaped, which may bring new ones. Without
    // children that are spared the kernel knows better: a look fails where no file can be opened.
    if (seen.empty() && of.spares) {
        return round_end::over;
    }
    const auto reaped = std::ranges::count_if(seen, of.reap);
    of.kill();
    return reaped == 0 ? round_end::waits : round_end::reaped;
}

} // namespace colock::cli
