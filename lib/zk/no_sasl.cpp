// In the place of SASL, where the library was built without Cyrus SASL.
#include "zk/sasl_mechanism.hpp"

namespace colock::zk {

bool speaks_sasl() noexcept
{
    return false;
}

std::shared_ptr<sasl_mechanism> make_sasl_mechanism(sasl_terms)
{
    return nullptr;
}

} // namespace colock::zk
