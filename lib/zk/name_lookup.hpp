// One host name that the system's resolver is asked for.
#pragma once

#include "zk/blocking_call.hpp"

#include <memory>
#include <string>
#include <vector>

namespace colock::zk {

struct found_addresses {
    error_code error;
    std::vector<std::string> addresses;
};

// The resolver blocks for 10 s and more when name servers are silent: a silent name would hold up all others in Asio's
// thread, run(), and the context's destructor.
using name_lookup = blocking_call<found_addresses>;

[[nodiscard]] std::shared_ptr<name_lookup> look_up(const strand_type& strand, std::string name,
                                                   name_lookup::answer then);

} // namespace colock::zk
