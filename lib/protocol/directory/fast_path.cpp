#include "fast_path.hpp"

#include "protocol/planted.hpp"

#include <utility>

namespace colock::protocol {

command create_and_count(directory_memory& m, node_name prefix)
{
    if (!planted("fast path tried twice")) {
        m.tried();
    }
    return {.type = command::kind::create_and_count,
            .name = std::move(prefix),
            .number = planted("any version replaced") ? -1 : m.version()};
}

void signature_answered(directory_memory& m, const error_code& ec,
                        const directory_write& w) noexcept
{
    if (!ec) {
        m.wrote_signature(w.now.czxid, w.now.version);
    } else if (!outcome_unknown(ec)) {
        m.refused();
        if (w.error == zookeeper_errc::no_auth && !planted("refused for good, and tried again")) {
            m.forbidden();
        }
    }
}

void prepare_fast_path(const directory_memory& m, const node_name& own_name, commands& out)
{
    if (m.is_worth_reading()) {
        out.push_back({command::kind::identify_directory});
    } else if (m.is_worth_signing()) {
        out.push_back(
            {.type = command::kind::sign_directory, .name = own_name, .number = m.version()});
    }
}

} // namespace colock::protocol
