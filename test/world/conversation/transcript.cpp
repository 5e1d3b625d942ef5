#include "transcript.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace world::conversation {

namespace {

std::string name_of(colock::zk::opcode op)
{
    constexpr std::array names{
        "create", "remove", "exists",         "get",     "set",    "children",
        "sync",   "multi",  "forget_watches", "get_acl", "set_acl"};
    return names[static_cast<std::size_t>(op)];
}

std::string text_of(const colock::access_control_list& acl)
{
    std::string text;
    for (const auto& e : acl) {
        text += " " + std::to_string(e.permissions) + "=" + e.scheme + ":" + e.id;
    }
    return text;
}

std::string text_of(colock::error_code e)
{
    return e ? std::to_string(e.value()) : "ok";
}

} // namespace

std::string transcript::zxid(std::int64_t z)
{
    if (z == 0) {
        return "0";
    }
    if (!first_) {
        first_ = z;
    }
    return z < *first_ ? "earlier" : "z" + std::to_string(z - *first_);
}

std::string transcript::text_of(const colock::node_stat& s)
{
    if (s == colock::node_stat{}) {
        return "";
    }
    const auto owner = sessions_.find(s.ephemeral_owner);
    return " {c=" + zxid(s.czxid) + " m=" + zxid(s.mzxid) + " p=" + zxid(s.pzxid) +
           " v=" + std::to_string(s.version) + " cv=" + std::to_string(s.cversion) +
           " av=" + std::to_string(s.aversion) + " owner=" +
           (s.ephemeral_owner == 0     ? "0"
            : owner == sessions_.end() ? "?"
                                       : owner->second) +
           " length=" + std::to_string(s.data_length) +
           " children=" + std::to_string(s.num_children) + "}";
}

void transcript::asked(std::size_t session, std::size_t number, const colock::zk::call& c)
{
    auto line = std::to_string(session) + " #" + std::to_string(number) + " " + name_of(c.op) +
                " " + c.path + " '" + c.data + "'" + (c.watch ? " watch" : "") + " version " +
                std::to_string(c.version) + " mode " + std::to_string(static_cast<int>(c.mode)) +
                " ttl " + std::to_string(c.ttl.count()) +
                (c.kind == colock::zk::watch_kind::children ? " children" : "") +
                conversation::text_of(c.acl);
    for (const auto& op : c.ops) {
        line += " [" + std::to_string(static_cast<int>(op.type)) + " " + op.path + " '" + op.data +
                "' version " + std::to_string(op.version) + " mode " +
                std::to_string(static_cast<int>(op.create.mode)) +
                (op.create.acl ? conversation::text_of(*op.create.acl) : "") + "]";
    }
    note(std::move(line));
}

void transcript::opened(std::size_t session, const colock::zk::session_identity& as, bool known)
{
    if (known) {
        const auto [at, is_new] =
            sessions_.try_emplace(as.id, "S" + std::to_string(sessions_.size() + 1));
        note(std::to_string(session) + " is " + at->second);
    } else {
        note(std::to_string(session) + " has no session");
    }
}

void transcript::acl_set(const std::string& path, const colock::access_control_list& acl,
                         std::int32_t version, const colock::zk::reply& r)
{
    note("the list of " + path + " is to be" + conversation::text_of(acl) + ", version " +
         std::to_string(version) + " -> " + conversation::text_of(r.error) + text_of(r.stat));
}

std::string transcript::text_of(const heard& h)
{
    const auto session = std::to_string(h.session);
    if (const auto* e = std::get_if<colock::watch_event>(&h.what)) {
        return session + " event " + std::to_string(static_cast<int>(e->type)) + " " + e->path;
    }
    const auto& a = std::get<answer>(h.what);
    // How a connection is lost is the C client's affair.
    const bool lost = a.body.error == colock::zookeeper_errc::connection_loss ||
                      a.body.error == colock::zookeeper_errc::operation_timeout ||
                      a.body.error == colock::zookeeper_errc::closing ||
                      a.body.error == colock::zookeeper_errc::runtime_inconsistency;
    if (lost) {
        return session + " #" + std::to_string(a.number) + " -> no answer";
    }
    auto line = session + " #" + std::to_string(a.number) + " -> " +
                conversation::text_of(a.body.error) + " '" + a.body.text + "'" +
                text_of(a.body.stat) + conversation::text_of(a.body.acl);
    auto names = a.body.names;
    std::ranges::sort(names);
    for (const auto& name : names) {
        line += " " + name;
    }
    for (const auto& r : a.body.results) {
        line += " [" + conversation::text_of(r.error) + " " + r.path + text_of(r.stat) + "]";
    }
    return line;
}

void transcript::told(std::vector<heard> what, bool in_order)
{
    // What different sessions hear has no order.
    std::ranges::stable_sort(what, {}, &heard::session);
    std::vector<std::string> lines;
    for (const auto& h : what) {
        lines.push_back(text_of(h));
    }
    if (!in_order) {
        std::ranges::sort(lines);
    }
    for (auto& line : lines) {
        note("    " + std::move(line));
    }
}

} // namespace world::conversation
