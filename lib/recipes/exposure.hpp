// Whether an access control list protects a node from others.
#pragma once

#include <colock/node.hpp>

#include <optional>
#include <string>

namespace colock::protocol {

// The first entry that gives everybody more than to read. None: the list protects, as far as its text tells.
[[nodiscard]] std::optional<acl_entry> entry_for_everybody(const access_control_list& acl);

// Whether the servers show "x" in place of the hash, as they do to a client without ADMIN: then nobody knows whose it is.
[[nodiscard]] bool is_masked(const acl_entry& e);

// The first entry that gives somebody more than to read who does not have it in `own`. Both lists are as the servers show
// them, with identities in place of "auth". An entry that is masked is somebody else's.
[[nodiscard]] std::optional<acl_entry> entry_for_others(const access_control_list& acl,
                                                        const access_control_list& own);

// "digest:orders may READ, WRITE": one line, whatever the servers say, and no hash of a secret.
[[nodiscard]] std::string entry_words(const acl_entry& e);

} // namespace colock::protocol
