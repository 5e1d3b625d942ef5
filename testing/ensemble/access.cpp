#include "access.hpp"

#include "sha1.hpp"

#include <algorithm>
#include <utility>

namespace colock::simulated {

namespace {

std::string base64(const std::string& bytes)
{
    static constexpr char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        std::uint32_t three = 0;
        for (std::size_t i = 0; i != 3; ++i) {
            three = three << 8 |
                    (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0u);
        }
        for (std::size_t i = 0; i != 4; ++i) {
            text += at + i > bytes.size() ? '=' : digits[three >> (18 - 6 * i) & 63u];
        }
    }
    return text;
}

bool is_open(const colock::acl_entry& entry)
{
    return entry.scheme == "world" && entry.id == "anyone";
}

// Four numbers, and perhaps how many bits of them count.
bool is_address(const std::string& id)
{
    return std::ranges::count(id, '.') == 3 &&
           id.find_first_not_of("0123456789./") == std::string::npos;
}

// Such as "CN=orders,O=shop". ZooKeeper's server reads more closely which types of names there are.
bool is_distinguished_name(const std::string& id)
{
    bool has_type = id.empty();
    for (std::size_t at = 0; at < id.size(); ++at) {
        if (id[at] == '\\') {
            ++at;
        } else if (id[at] == '=') {
            has_type = at != 0;
        } else if (id[at] == ',' || id[at] == '+') {
            if (!std::exchange(has_type, false)) {
                return false;
            }
        }
    }
    return has_type;
}

} // namespace

std::string digest_of(const std::string& secret)
{
    return secret.substr(0, secret.find(':')) + ':' + base64(sha1_of(secret));
}

bool authenticate(const claim& c, const std::string& address, identities& to)
{
    identity known;
    if (c.scheme == "digest") {
        known = {"digest", digest_of(c.secret)};
    } else if (c.scheme == "ip") {
        known = {"ip", address};
    } else if (c.scheme == "x509") { // what its certificate has said
        return std::ranges::find(to, c.scheme, &identity::scheme) != to.end();
    } else {
        return false;
    }
    if (std::ranges::find(to, known) == to.end()) {
        to.push_back(std::move(known));
    }
    return true;
}

bool may(std::int32_t permission, const colock::access_control_list& acl, const identities& who)
{
    if (std::ranges::find(who, std::string{"super"}, &identity::scheme) != who.end()) {
        return true;
    }
    return acl.empty() || std::ranges::any_of(acl, [&](const colock::acl_entry& entry) {
               return (entry.permissions & permission) != 0 &&
                      (is_open(entry) ||
                       (entry.scheme != "world" &&
                        std::ranges::find(who, identity{entry.scheme, entry.id}) != who.end()));
           });
}

shared_acl resolve(const colock::access_control_list& acl, const identities& who,
                   bool knows_certificates)
{
    static const auto open =
        std::make_shared<const colock::access_control_list>(colock::open_acl());
    if (acl == *open) {
        return open;
    }
    colock::access_control_list resolved;
    for (auto entry = acl.begin(); entry != acl.end(); ++entry) {
        if (std::find(acl.begin(), entry, *entry) != entry) {
            continue;
        }
        if (is_open(*entry)) {
            resolved.push_back(*entry);
        } else if (entry->scheme == "auth") {
            bool any = false;
            for (const auto& own : who) {
                if (own.scheme != "ip") { // everybody has an address
                    resolved.push_back({entry->permissions, own.scheme, own.id});
                    any = true;
                }
            }
            if (!any) {
                return {};
            }
        } else if ((entry->scheme == "digest" && std::ranges::count(entry->id, ':') == 1) ||
                   (entry->scheme == "ip" && is_address(entry->id)) ||
                   (entry->scheme == "x509" && knows_certificates &&
                    is_distinguished_name(entry->id))) {
            resolved.push_back(*entry);
        } else {
            return {};
        }
    }
    return resolved.empty()
               ? shared_acl{}
               : std::make_shared<const colock::access_control_list>(std::move(resolved));
}

} // namespace colock::simulated
