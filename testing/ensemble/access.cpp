#include "access.hpp"

#include "sha1.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
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

// A list is compared with all that a client is, at each request about its node. Real servers have no bound of their own.
constexpr std::size_t most_entries = 1'000;

bool is_open(const colock::acl_entry& entry)
{
    return entry.scheme == "world" && entry.id == "anyone";
}

// Addresses with the same first bits.
struct subnet {
    std::uint32_t address = 0;
    std::uint32_t bits = 32;

    [[nodiscard]] bool contains(std::uint32_t other) const
    {
        return bits == 0 || (address ^ other) >> (32 - bits) == 0;
    }
};

// Four numbers, and perhaps how many bits of them count. As in ZooKeeper, IPv6 has none.
std::optional<subnet> subnet_in(const std::string& id)
{
    subnet found;
    const auto* at = id.data();
    const auto* const end = at + id.size();
    const auto read = [&](std::uint32_t& number, std::uint32_t most) {
        const auto [rest, ec] = std::from_chars(at, end, number);
        at = rest;
        return ec == std::errc{} && number <= most;
    };
    for (int i = 0; i != 4; ++i) {
        std::uint32_t part = 0;
        if ((i != 0 && (at == end || *at++ != '.')) || !read(part, 255)) {
            return std::nullopt;
        }
        found.address = found.address << 8 | part;
    }
    if (at != end && (*at++ != '/' || !read(found.bits, 32))) {
        return std::nullopt;
    }
    return at == end ? std::optional{found} : std::nullopt;
}

bool is_of(const identity& who, const colock::acl_entry& entry)
{
    if (who.scheme != entry.scheme) {
        return false;
    }
    if (who.scheme != "ip" || who.id == entry.id) {
        return who.id == entry.id;
    }
    const auto own = subnet_in(who.id);
    const auto whole = subnet_in(entry.id);
    return own && whole && whole->contains(own->address);
}

// As Java splits it: what is empty at the end does not count.
bool is_digest(std::string_view id)
{
    id = id.substr(0, id.find_last_not_of(':') + 1);
    return std::ranges::count(id, ':') == 1;
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

const shared_acl& the_open_one()
{
    static const auto open =
        std::make_shared<const colock::access_control_list>(colock::open_acl());
    return open;
}

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

std::size_t size_of(const colock::access_control_list& acl)
{
    std::size_t size = 0;
    if (acl != *the_open_one()) {
        for (const auto& entry : acl) {
            size += sizeof entry + entry.scheme.size() + entry.id.size();
        }
    }
    return size;
}

bool may(std::int32_t permission, const colock::access_control_list& acl, const identities& who)
{
    if (std::ranges::find(who, std::string{"super"}, &identity::scheme) != who.end()) {
        return true;
    }
    return acl.empty() || std::ranges::any_of(acl, [&](const colock::acl_entry& entry) {
               return (entry.permissions & permission) != 0 &&
                      (is_open(entry) || std::ranges::any_of(who, [&](const identity& own) {
                           return is_of(own, entry);
                       }));
           });
}

shared_acl resolve(const colock::access_control_list& acl, const identities& who,
                   bool knows_certificates)
{
    if (acl == *the_open_one()) {
        return the_open_one();
    }
    colock::access_control_list resolved;
    std::set<std::tuple<std::int32_t, std::string_view, std::string_view>> known;
    for (const auto& entry : acl) {
        if (!known.emplace(entry.permissions, entry.scheme, entry.id).second) {
            continue;
        }
        if (is_open(entry)) { // NOLINT(bugprone-branch-clone): the order counts
            resolved.push_back(entry);
        } else if (entry.scheme == "auth") {
            bool any = false;
            for (const auto& own : who) {
                if (own.scheme != "ip") { // everybody has an address
                    resolved.push_back({entry.permissions, own.scheme, own.id});
                    any = true;
                }
            }
            if (!any) {
                return {};
            }
        } else if ((entry.scheme == "digest" && is_digest(entry.id)) ||
                   (entry.scheme == "ip" && subnet_in(entry.id)) ||
                   (entry.scheme == "x509" && knows_certificates &&
                    is_distinguished_name(entry.id))) {
            resolved.push_back(entry);
        } else {
            return {};
        }
        if (resolved.size() > most_entries) {
            return {};
        }
    }
    return resolved.empty()
               ? shared_acl{}
               : std::make_shared<const colock::access_control_list>(std::move(resolved));
}

} // namespace colock::simulated
