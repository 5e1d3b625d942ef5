// The entries of access control lists that the command line names.
#pragma once

#include <colock/node.hpp>

#include <string>
#include <vector>

namespace colock::cli {

// Entries that an administrator gives to others.
struct allowed {
    std::vector<std::string> all; // may do everything: SCHEME:ID
    std::vector<std::string>
        all_files;                    // the same: the identities in these files, as --auth has them
    std::vector<std::string> readers; // may only read: SCHEME:ID
};

// Throws failure for what is no identity, and for a file of which the servers alone know what it stands for.
[[nodiscard]] access_control_list entries_of(const allowed& those);

// "digest:orders", "x509:CN=orders": without the hash of a password, which is nobody's business.
[[nodiscard]] std::string name_of(const acl_entry& e);

} // namespace colock::cli
