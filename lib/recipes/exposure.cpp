#include "recipes/exposure.hpp"

#include "names/shown.hpp"
#include "session/missing_permission.hpp"

#include <algorithm>

namespace colock::protocol {

namespace {

constexpr std::int32_t harmless = permission_read;

std::int32_t harm_of(const acl_entry& e) noexcept
{
    return e.permissions & permission_all & ~harmless;
}

} // namespace

std::optional<acl_entry> entry_for_everybody(const access_control_list& acl)
{
    const auto at = std::ranges::find_if(acl, [](const acl_entry& e) {
        const bool everybody = e.scheme == "world" || // its only identity is "anyone"
                               (e.scheme == "ip" && e.id.ends_with("/0"));
        return everybody && harm_of(e) != 0;
    });
    return at == acl.end() ? std::nullopt : std::optional{*at};
}

bool is_masked(const acl_entry& e)
{
    return e.scheme == "digest" && e.id.ends_with(":x"); // no hash is that short
}

std::optional<acl_entry> entry_for_others(const access_control_list& acl,
                                          const access_control_list& own)
{
    for (const auto& e : acl) {
        auto left = harm_of(e);
        for (const auto& mine : own) {
            if (mine.scheme == e.scheme && mine.id == e.id && !is_masked(e)) {
                left &= ~mine.permissions;
            }
        }
        if (left != 0) {
            return e;
        }
    }
    return {};
}

std::string entry_words(const acl_entry& e)
{
    constexpr std::size_t most = 200;
    const bool hashed =
        e.scheme == "digest"; // who knows the hash of a password can try passwords in peace
    const auto id = hashed ? e.id.substr(0, e.id.find(':')) : e.id;
    return shown(e.scheme, most) + ':' + shown(id, most) + " may " +
           permission_words(e.permissions, ", ");
}

} // namespace colock::protocol
