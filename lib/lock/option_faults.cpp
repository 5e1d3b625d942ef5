#include "lock/option_faults.hpp"

#include "names/contender_name.hpp"
#include "names/revocation.hpp"
#include "names/shown.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace colock::detail {

namespace {

bool is_a_time(std::chrono::milliseconds t) noexcept
{
    return t >= t.zero() && t <= longest_time;
}

std::string shown(std::chrono::milliseconds t)
{
    return std::to_string(t.count()) + " ms";
}

std::string shown(std::uint64_t number)
{
    return std::to_string(number);
}

std::string shown(bool b)
{
    return b ? "true" : "false";
}

std::string shown(const std::string& text)
{
    constexpr std::size_t most = 100;
    return '"' + protocol::shown(text, most) + '"';
}

std::string shown(const std::optional<std::string>& text)
{
    return text ? shown(*text) : "the default";
}

std::string shown(const std::optional<std::chrono::milliseconds>& time)
{
    return time ? shown(*time) : "no limit";
}

std::string shown(const access_control_list& acl)
{
    std::string all;
    for (const auto& entry : acl) {
        all += (all.empty() ? "" : ", ") + entry.scheme + ':' + entry.id + ':' +
               std::to_string(entry.permissions);
    }
    return shown(all);
}

std::string shown(const std::optional<access_control_list>& acl)
{
    return acl ? shown(*acl) : "the client's";
}

std::string there_and_here(const std::string& what, const std::string& there,
                           const std::string& here)
{
    return what + " is " + there + " there and " + here + " here";
}

} // namespace

lock_options with_default_layout(lock_options o, const lock_kind& kind)
{
    if (!o.layout && kind.takes_layout) {
        o.layout = kind.names();
    }
    return o;
}

std::string fault_of(const lock_options& o, const lock_kind& kind)
{
    const lock_options unset;
    const char* const refused =
        !kind.takes_layout && o.layout                           ? "layout"
        : !kind.takes_layout && o.linger != unset.linger         ? "linger"
        : !kind.takes_layout && o.max_linger != unset.max_linger ? "max_linger"
        : !kind.takes_revocation && o.cancel_when_revoked        ? "cancel_when_revoked"
                                                                 : nullptr;
    if (refused != nullptr) {
        return std::string{kind.name} + " cannot honour the option " + refused + "; leave it out";
    }
    if (const auto what = o.layout ? protocol::layout_fault(*o.layout) : ""; !what.empty()) {
        return "the layout " + what;
    }
    if (kind.has_readers && o.layout->shared_marker.empty()) {
        return "the layout has no marker for readers; see curator_shared_layout";
    }
    const std::pair<const char*, std::chrono::milliseconds> times[] = {
        {"safety_margin", o.safety_margin},
        {"body_grace", o.body_grace},
        {"max_local_time", o.max_local_time},
        {"linger", o.linger},
        {"max_linger", o.max_linger}};
    for (const auto& [name, time] : times) {
        if (!is_a_time(time)) {
            return std::string{name} + " is " + std::to_string(time.count()) +
                   " ms; it must not be negative, and be below 25 days";
        }
    }
    if (o.max_hold && (*o.max_hold == o.max_hold->zero() || !is_a_time(*o.max_hold))) {
        return "max_hold must be positive, and below 25 days";
    }
    if (o.owner_data && protocol::was_asked_for(*o.owner_data)) {
        return "owner_data is the text that asks for the lock to be released; use another one";
    }
    if (o.linger > o.max_linger) {
        return "linger is longer than max_linger";
    }
    if (o.linger > o.linger.zero() && o.max_local_grants == 0) {
        return "a node that lingers is for local grants, which max_local_grants = 0 forbids";
    }
    return {};
}

fault fault_of_guard(const lock_options& o)
{
    return o.max_hold ? fault{errc::invalid_option,
                              "max_hold ends bodies, and nothing can end what a guard "
                              "protects; run a body, such as that of async_with_lock, or "
                              "leave the option out"}
                      : fault{};
}

namespace {

std::string difference(const lock_options& there, const lock_options& here, const lock_kind& kind)
{
    const bool same_identity = !kind.owner_data_is_identity || there.owner_data == here.owner_data;
    std::string found;
    const auto compare = [&](const char* name, const auto& of_there, const auto& of_here) {
        if (found.empty() && of_there != of_here) {
            found = there_and_here(name, shown(of_there), shown(of_here));
        }
    };
    if (there.layout && here.layout) {
        const auto &a = *there.layout, &b = *here.layout;
        compare("layout.prefix", a.prefix, b.prefix);
        compare("layout.marker", a.marker, b.marker);
        compare("layout.shared_marker", a.shared_marker, b.shared_marker);
        compare("layout.separator", a.separator, b.separator);
        compare("layout.dashed_guid", a.dashed_guid, b.dashed_guid);
        compare("layout.required_prefix", a.required_prefix, b.required_prefix);
    }
    compare("acl", there.acl, here.acl);
    if (!same_identity) {
        compare("the identity", there.owner_data, here.owner_data);
    }
    compare("rejoin_on_expiry", there.rejoin_on_expiry, here.rejoin_on_expiry);
    compare("safety_margin", there.safety_margin, here.safety_margin);
    compare("body_grace", there.body_grace, here.body_grace);
    compare("cancel_when_revoked", there.cancel_when_revoked, here.cancel_when_revoked);
    compare("max_hold", there.max_hold, here.max_hold);
    compare("max_local_grants", there.max_local_grants, here.max_local_grants);
    compare("max_local_time", there.max_local_time, here.max_local_time);
    compare("linger", there.linger, here.linger);
    compare("max_linger", there.max_linger, here.max_linger);
    return found;
}

} // namespace

fault conflict(const path_entry& there, const lock_options& here, const lock_kind& kind,
               std::string differs)
{
    if (&there.kind() != &kind) {
        differs = there_and_here("it", std::string{there.kind().name}, std::string{kind.name});
    } else if (differs.empty()) {
        differs = difference(there.options(), here, kind);
    }
    const error_code conflicts = errc::conflicting_use;
    return differs.empty() ? fault{} : fault{conflicts, conflicts.message() + ": " + differs};
}

} // namespace colock::detail
