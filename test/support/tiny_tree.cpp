#include "tiny_tree.hpp"

#include <cstdio>

namespace colock::test {

namespace {

constexpr std::int32_t unimplemented = -6;
constexpr std::int32_t runtime_inconsistency = -2;
constexpr std::int32_t no_node = -101;
constexpr std::int32_t bad_version = -103;
constexpr std::int32_t no_children_for_ephemerals = -108;
constexpr std::int32_t node_exists = -110;
constexpr std::int32_t not_empty = -111;

constexpr std::int32_t created = 1, deleted = 2, changed = 3, children_changed = 4;

std::string parent_of(std::string const& path)
{
    auto const slash = path.rfind('/');
    return slash == 0 || slash == path.npos ? "/" : path.substr(0, slash);
}

std::string result(std::int32_t type, bool done, std::int32_t error)
{
    return jute_writer().integer(type).boolean(done).integer(error).bytes();
}

} // namespace

std::string tiny_tree::stat_of(node const& n)
{
    return jute_writer()
        .longer(n.czxid)
        .longer(n.mzxid)
        .longer(0)
        .longer(0)
        .integer(n.version)
        .integer(n.cversion)
        .integer(0)
        .longer(n.owner)
        .integer(static_cast<std::int32_t>(n.data.size()))
        .integer(n.children)
        .longer(n.pzxid)
        .bytes();
}

tiny_tree::reply tiny_tree::serve(opcode kind, jute_reader& in, std::int64_t session,
                                  std::uint64_t connection, std::string& path)
{
    switch (kind) {
    case opcode::create:
    case opcode::create2:
    case opcode::create_container:
    case opcode::create_ttl: return create(in, session, kind != opcode::create, path);
    case opcode::remove: path = in.text(); return remove(path, in.integer());
    case opcode::set_data: {
        path = in.text();
        auto const data = std::string(in.text());
        return set(path, data, in.integer());
    }
    case opcode::check: path = in.text(); return check(path, in.integer());
    case opcode::exists:
    case opcode::get_data: {
        path = in.text();
        bool const watch = in.boolean();
        auto const at = nodes_.find(path);
        if (watch && (at != nodes_.end() || kind == opcode::exists))
            data_watches_[path].insert(connection);
        if (at == nodes_.end())
            return {no_node, {}};
        auto const stat = stat_of(at->second);
        return {0,
                kind == opcode::exists ? stat : jute_writer().text(at->second.data).bytes() + stat};
    }
    case opcode::get_children:
    case opcode::get_children2: {
        path = in.text();
        bool const watch = in.boolean();
        auto r = list(path, kind == opcode::get_children2);
        if (watch && r.error == 0)
            child_watches_[path].insert(connection);
        return r;
    }
    case opcode::multi: return transaction(in, session, path);
    case opcode::sync: path = in.text(); return {0, jute_writer().text(path).bytes()};
    case opcode::remove_watches:
        path = in.text();
        data_watches_[path].erase(connection);
        child_watches_[path].erase(connection);
        return {};
    case opcode::get_acl: path = in.text(); return {unimplemented, {}};
    case opcode::close: end(session); return {};
    case opcode::ping:
    case opcode::auth: return {};
    default: return {unimplemented, {}};
    }
}

tiny_tree::reply tiny_tree::create(jute_reader& in, std::int64_t session, bool with_stat,
                                   std::string& path)
{
    path = in.text();
    auto const data = std::string(in.text());
    for (auto entries = in.integer(); entries > 0; --entries) {
        in.integer();
        in.text();
        in.text();
    }
    auto const mode = in.integer();
    bool const sequential = mode == 2 || mode == 3 || mode == 6;
    auto const parent = nodes_.find(parent_of(path));
    if (parent == nodes_.end())
        return {no_node, {}};
    if (parent->second.owner != 0)
        return {no_children_for_ephemerals, {}};
    auto made = path;
    if (sequential) {
        char digits[16];
        std::snprintf(digits, sizeof digits, "%010d", parent->second.next);
        made += digits;
    }
    if (nodes_.contains(made))
        return {node_exists, {}};
    node fresh;
    fresh.data = data;
    fresh.czxid = fresh.mzxid = fresh.pzxid = parent->second.pzxid = ++zxid_;
    fresh.owner = mode == 1 || mode == 3 ? session : 0;
    ++parent->second.next;
    ++parent->second.cversion;
    ++parent->second.children;
    nodes_[made] = fresh;
    fire(data_watches_, created, made);
    fire(child_watches_, children_changed, parent->first);
    return {0, jute_writer().text(made).bytes() + (with_stat ? stat_of(fresh) : "")};
}

tiny_tree::reply tiny_tree::remove(std::string const& path, std::int32_t version)
{
    auto const at = nodes_.find(path);
    if (at == nodes_.end())
        return {no_node, {}};
    if (version != -1 && version != at->second.version)
        return {bad_version, {}};
    if (at->second.children != 0)
        return {not_empty, {}};
    nodes_.erase(at);
    auto& parent = nodes_[parent_of(path)];
    --parent.children;
    ++parent.cversion;
    parent.pzxid = ++zxid_;
    fire(data_watches_, deleted, path);
    fire(child_watches_, deleted, path);
    fire(child_watches_, children_changed, parent_of(path));
    return {};
}

tiny_tree::reply tiny_tree::set(std::string const& path, std::string data, std::int32_t version)
{
    auto const at = nodes_.find(path);
    if (at == nodes_.end())
        return {no_node, {}};
    if (version != -1 && version != at->second.version)
        return {bad_version, {}};
    at->second.data = std::move(data);
    at->second.mzxid = ++zxid_;
    ++at->second.version;
    fire(data_watches_, changed, path);
    return {0, stat_of(at->second)};
}

tiny_tree::reply tiny_tree::check(std::string const& path, std::int32_t version) const
{
    auto const at = nodes_.find(path);
    if (at == nodes_.end())
        return {no_node, {}};
    return {version == -1 || version == at->second.version ? 0 : bad_version, {}};
}

tiny_tree::reply tiny_tree::list(std::string const& path, bool with_stat) const
{
    auto const at = nodes_.find(path);
    if (at == nodes_.end())
        return {no_node, {}};
    std::vector<std::string> names;
    auto const below = path == "/" ? path : path + "/";
    for (auto child = nodes_.lower_bound(below);
         child != nodes_.end() && child->first.starts_with(below); ++child)
        if (child->first != "/" && child->first.find('/', below.size()) == std::string::npos)
            names.push_back(child->first.substr(below.size()));
    jute_writer out;
    out.integer(static_cast<std::int32_t>(names.size()));
    for (auto const& name : names)
        out.text(name);
    return {0, out.bytes() + (with_stat ? stat_of(at->second) : "")};
}

// All of it, or nothing.
tiny_tree::reply tiny_tree::transaction(jute_reader& in, std::int64_t session, std::string& path)
{
    auto const before = nodes_;
    auto const notices_before = notices.size();
    std::string results;
    std::vector<std::int32_t> errors;
    bool failed = false;
    for (;;) {
        auto const kind = static_cast<opcode>(in.integer());
        bool const done = in.boolean();
        in.integer();
        if (done)
            break;
        std::string step_path;
        auto const r = serve(kind, in, session, 0, step_path);
        if (errors.empty())
            path = step_path;
        errors.push_back(failed ? runtime_inconsistency : r.error);
        failed = failed || r.error != 0;
        results += result(static_cast<std::int32_t>(kind), false, 0) + r.body;
    }
    if (failed) {
        nodes_ = before;
        notices.resize(notices_before);
        results.clear();
        for (auto const error : errors)
            results += result(-1, false, error) + jute_writer().integer(error).bytes();
    }
    return {0, results + result(-1, true, -1)};
}

void tiny_tree::end(std::int64_t session)
{
    std::vector<std::string> own;
    for (auto const& [path, n] : nodes_)
        if (n.owner == session)
            own.push_back(path);
    for (auto const& path : own)
        remove(path, -1);
}

void tiny_tree::forget_watches(std::uint64_t connection)
{
    for (auto* const all : {&data_watches_, &child_watches_})
        for (auto& [path, who] : *all)
            who.erase(connection);
}

void tiny_tree::fire(watches& from, std::int32_t type, std::string const& path)
{
    auto const at = from.find(path);
    if (at == from.end())
        return;
    for (auto const connection : at->second)
        notices.emplace_back(connection, jute_writer()
                                             .integer(-1)
                                             .longer(-1)
                                             .integer(0)
                                             .integer(type)
                                             .integer(3)
                                             .text(path)
                                             .bytes());
    from.erase(at);
}

} // namespace colock::test
