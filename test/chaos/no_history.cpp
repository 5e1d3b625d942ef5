// Without the program `colock`.
#include "history.hpp"

namespace chaos {

history_findings compare_history(const std::vector<journal>&, const std::vector<std::string>&)
{
    return {};
}

} // namespace chaos
