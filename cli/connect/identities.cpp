#include "connect/identities.hpp"

#include <colock/log.hpp>

#include "connect/server_options.hpp"
#include "ensemble/access.hpp"
#include "program/failure.hpp"

#include <algorithm>

namespace colock::cli {

namespace {

acl_entry parse(const std::string& text, std::int32_t permissions)
{
    const auto colon = text.find(':');
    if (colon == 0 || colon == text.npos || colon + 1 == text.size()) {
        throw failure{usage, "\"" + printable(text) +
                                 "\" is no identity; write SCHEME:ID, such as "
                                 "x509:CN=orders,O=shop"};
    }
    acl_entry e{permissions, text.substr(0, colon), text.substr(colon + 1)};
    if (e.scheme == "world" && permissions == permission_all) {
        throw failure{usage, "--allow " + printable(text) +
                                 " lets everybody in; a root is for those who show who they are. "
                                 "--allow-read lets everybody look"};
    }
    if (e.scheme == "digest" && std::ranges::count(e.id, ':') != 1) {
        throw failure{usage, "digest:" + printable(e.id.substr(0, e.id.find(':'))) +
                                 " lacks the hash of the password; give --allow-auth the file that "
                                 "has name and password"};
    }
    return e;
}

} // namespace

access_control_list entries_of(const allowed& those)
{
    access_control_list list;
    for (const auto& text : those.all) {
        list.push_back(parse(text, permission_all));
    }
    for (const auto& file : those.all_files) {
        for (const auto& c : credentials_in(file, "--allow-auth")) {
            if (c.scheme != "digest" || c.secret.find(':') == c.secret.npos) {
                throw failure{usage, printable(file) + " has an identity of the scheme " +
                                         printable(c.scheme) +
                                         ", whose name in lists only the servers know; write that "
                                         "with --allow"};
            }
            list.push_back({permission_all, c.scheme, simulated::digest_of(c.secret)});
        }
    }
    for (const auto& text : those.readers) {
        list.push_back(parse(text, permission_read));
    }
    return list;
}

std::string name_of(const acl_entry& e)
{
    const auto id = e.scheme == "digest" ? e.id.substr(0, e.id.find(':')) : e.id;
    return e.scheme + ':' + id;
}

} // namespace colock::cli
