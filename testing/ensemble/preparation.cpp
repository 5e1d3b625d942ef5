#include "preparation.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace colock::simulated {

namespace {

using colock::zookeeper_errc;

// Java's servers allow no control characters, and none that UTF-8 writes with four bytes. Bytes that are no UTF-8 are
// U+FFFD there, which is not allowed either.
bool has_allowed_characters(std::string_view name)
{
    while (!name.empty()) {
        const std::uint32_t lead = static_cast<unsigned char>(name[0]);
        const std::size_t bytes = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : 0;
        if (bytes == 0 || bytes > name.size()) {
            return false;
        }
        auto code = bytes == 1 ? lead : lead & (0x3fU >> (bytes - 1));
        for (std::size_t i = 1; i != bytes; ++i) {
            const std::uint32_t next = static_cast<unsigned char>(name[i]);
            if (next >> 6 != 2) {
                return false;
            }
            code = code << 6 | (next & 0x3fU);
        }
        const std::uint32_t least = bytes == 1 ? 0x20 : bytes == 2 ? 0xa0 : 0x800;
        if (code < least || code == 0x7f || (code >= 0xd800 && code <= 0xf8ff) || code >= 0xfff0) {
            return false;
        }
        name.remove_prefix(bytes);
    }
    return true;
}

// A client has checked most of this.
bool is_valid(const std::string& path)
{
    if (path.empty() || path.front() != '/' || (path.size() > 1 && path.back() == '/')) {
        return false;
    }
    for (std::size_t begin = 1; begin < path.size();) {
        const auto end = std::min(path.find('/', begin), path.size());
        const auto name = std::string_view{path}.substr(begin, end - begin);
        if (name.empty() || name == "." || name == ".." || !has_allowed_characters(name)) {
            return false;
        }
        begin = end + 1;
    }
    return true;
}

bool is_special(const std::string& path)
{
    return path == "/" || path == "/zookeeper" || path == "/zookeeper/quota" ||
           path == "/zookeeper/config";
}

std::string parent_of(const std::string& path)
{
    return path.substr(0, path.rfind('/'));
}

bool is_ephemeral(colock::create_mode mode)
{
    return mode == colock::create_mode::ephemeral ||
           mode == colock::create_mode::ephemeral_sequential;
}

bool is_sequential(colock::create_mode mode)
{
    return mode == colock::create_mode::ephemeral_sequential ||
           mode == colock::create_mode::persistent_sequential ||
           mode == colock::create_mode::persistent_sequential_with_ttl;
}

bool has_ttl(colock::create_mode mode)
{
    return mode == colock::create_mode::persistent_with_ttl ||
           mode == colock::create_mode::persistent_sequential_with_ttl;
}

bool is_other_version(std::int32_t is, std::int32_t expected)
{
    return expected != colock::any_version && expected != is;
}

// Java's int.
std::int32_t successor(std::int32_t n)
{
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(n) + 1);
}

} // namespace

transaction preparation::prepare(const submitted& request, std::int64_t zxid, std::int64_t time,
                                 status session_error)
{
    transaction t;
    t.zxid = zxid;
    t.time = time;
    t.session = request.session;
    t.origin = request.origin;
    t.what = transaction::kind::single;
    static const identities nobody;
    const auto& who = request.who ? *request.who : nobody;
    const auto& c = request.call;
    journal_.clear();
    bytes_ = 0;
    status error;
    switch (request.what) {
    case submitted::kind::open_session:
        t.what = transaction::kind::open_session;
        t.timeout = request.timeout;
        break;
    case submitted::kind::close_session:
        t.what = transaction::kind::close_session;
        t.expired = request.expired;
        close(t);
        break;
    case submitted::kind::tidy: error = tidy(c.path, t); break;
    case submitted::kind::ping: break;
    case submitted::kind::by_hand:
    case submitted::kind::call:
        if (c.op == opcode::multi) {
            t.what = transaction::kind::multi;
            multi(c, who, session_error, t);
            break;
        }
        switch (c.op) {
        case opcode::create:
            // The server looks at the mode before it looks at the session.
            error = fault_in(c.mode, c.ttl);
            if (!error) {
                error = session_error ? session_error
                                      : create(c.path, c.data, c.mode, c.ttl, c.acl, who, t);
            }
            break;
        case opcode::remove:
            error = session_error ? session_error : remove(c.path, c.version, who, t);
            break;
        case opcode::check:
            error = session_error ? session_error : check(c.path, c.version, who, t);
            break;
        case opcode::set_acl:
            error = session_error ? session_error : set_acl(c.path, c.acl, c.version, who, t);
            break;
        default:
            error = session_error ? session_error : set(c.path, c.data, c.version, who, t);
            break;
        }
        break;
    }
    if (error) {
        t.what = transaction::kind::refused;
        t.error = error;
        t.changes.clear();
    }
    return t;
}

std::optional<preparation::record> preparation::find(const std::string& path) const
{
    if (const auto at = records_.find(path); at != records_.end()) {
        return at->second.exists ? std::optional{at->second} : std::nullopt;
    }
    const auto* n = tree_.find(path);
    if (n == nullptr) {
        return {};
    }
    return record{.zxid = -1,
                  .exists = true,
                  .version = n->version,
                  .acl_version = n->aversion,
                  .counter = n->counter,
                  .owner = n->owner,
                  .children = static_cast<std::int64_t>(n->children.size()),
                  .acl = n->acl};
}

void preparation::put(const std::string& path, const record& r)
{
    const auto [at, is_new] = records_.try_emplace(path);
    journal_.push_back({path, is_new ? std::nullopt : std::optional{at->second}});
    at->second = r;
    outstanding_.push_back({r.zxid, path, r.exists, r.owner});
}

void preparation::roll_back(std::int64_t zxid)
{
    while (!outstanding_.empty() && outstanding_.back().zxid == zxid) {
        outstanding_.pop_back();
    }
    for (; !journal_.empty(); journal_.pop_back()) {
        if (auto& last = journal_.back(); last.before) {
            records_[last.path] = *last.before;
        } else {
            records_.erase(last.path);
        }
    }
}

void preparation::applied(std::int64_t zxid)
{
    for (; !outstanding_.empty() && outstanding_.front().zxid <= zxid; outstanding_.pop_front()) {
        const auto at = records_.find(outstanding_.front().path);
        if (at != records_.end() && at->second.zxid <= zxid) {
            records_.erase(at);
        }
    }
}

status preparation::fault_in(colock::create_mode mode, std::chrono::milliseconds ttl) const
{
    constexpr std::int64_t longest = 0xff'ffff'ffff;
    return !has_ttl(mode)                              ? status{}
           : !extended_types_                          ? zookeeper_errc::unimplemented
           : ttl.count() <= 0 || ttl.count() > longest ? zookeeper_errc::bad_arguments
                                                       : status{};
}

status preparation::create(const std::string& path, const std::string& data,
                           colock::create_mode mode, std::chrono::milliseconds ttl,
                           const colock::access_control_list& acl, const identities& who,
                           transaction& t)
{
    if (path.rfind('/') == std::string::npos) {
        return zookeeper_errc::bad_arguments;
    }
    const auto resolved = resolve(acl, who, knows_certificates_);
    if (!resolved) {
        return zookeeper_errc::invalid_acl;
    }
    const auto parent_path = parent_of(path);
    auto parent = find(parent_path);
    if (!parent) {
        return zookeeper_errc::no_node;
    }
    if (!may(colock::permission_create, *parent->acl, who)) {
        return zookeeper_errc::no_auth;
    }
    auto full = path;
    if (is_sequential(mode)) {
        char digits[16];
        std::snprintf(digits, sizeof digits, "%010d", parent->counter);
        full += digits;
    }
    if (!is_valid(full)) {
        return zookeeper_errc::bad_arguments;
    }
    if (find(full)) {
        return zookeeper_errc::node_exists;
    }
    if (ephemeral_owner::type_of(parent->owner) == ephemeral_owner::type::session) {
        return zookeeper_errc::no_children_for_ephemerals;
    }
    if (!takes(t.changes.size() + 1, full.size() + data.size() + size_of(*resolved))) {
        return zookeeper_errc::quota_exceeded;
    }
    const auto counter = successor(parent->counter);
    const auto owner = mode == colock::create_mode::container ? ephemeral_owner::of_container
                       : has_ttl(mode)      ? ephemeral_owner::of_ttl | ttl.count()
                       : is_ephemeral(mode) ? t.session
                                            : 0;
    t.changes.push_back({.what = change::kind::create,
                         .path = full,
                         .data = data,
                         .acl = resolved,
                         .owner = owner,
                         .parent_version = counter});
    parent->zxid = t.zxid;
    parent->counter = counter;
    ++parent->children;
    put(parent_path, *parent);
    put(full, {.zxid = t.zxid, .exists = true, .owner = owner, .acl = resolved});
    return {};
}

status preparation::remove(const std::string& path, std::int32_t version, const identities& who,
                           transaction& t)
{
    if (path.rfind('/') == std::string::npos || is_special(path)) {
        return zookeeper_errc::bad_arguments;
    }
    const auto parent_path = parent_of(path);
    auto parent = find(parent_path);
    if (!parent) {
        return zookeeper_errc::no_node;
    }
    if (!may(colock::permission_delete, *parent->acl, who)) {
        return zookeeper_errc::no_auth;
    }
    const auto node = find(path);
    if (!node) {
        return zookeeper_errc::no_node;
    }
    if (is_other_version(node->version, version)) {
        return zookeeper_errc::bad_version;
    }
    if (node->children > 0) {
        return zookeeper_errc::not_empty;
    }
    t.changes.push_back({.what = change::kind::remove, .path = path});
    parent->zxid = t.zxid;
    --parent->children;
    put(parent_path, *parent);
    put(path, {.zxid = t.zxid});
    return {};
}

status preparation::tidy(const std::string& path, transaction& t)
{
    const auto node = find(path);
    if (!node) {
        return zookeeper_errc::no_node;
    }
    if (node->children > 0) {
        return zookeeper_errc::not_empty;
    }
    if (ephemeral_owner::type_of(node->owner) == ephemeral_owner::type::session) {
        return zookeeper_errc::bad_version;
    }
    return remove(path, colock::any_version, {{"super", ""}}, t);
}

status preparation::set(const std::string& path, const std::string& data, std::int32_t version,
                        const identities& who, transaction& t)
{
    if (!is_valid(path)) {
        return zookeeper_errc::bad_arguments;
    }
    auto node = find(path);
    if (!node) {
        return zookeeper_errc::no_node;
    }
    if (!may(colock::permission_write, *node->acl, who)) {
        return zookeeper_errc::no_auth;
    }
    if (is_other_version(node->version, version)) {
        return zookeeper_errc::bad_version;
    }
    if (!takes(0, data.size())) {
        return zookeeper_errc::quota_exceeded;
    }
    node->zxid = t.zxid;
    node->version = successor(node->version);
    t.changes.push_back(
        {.what = change::kind::set, .path = path, .data = data, .version = node->version});
    put(path, *node);
    return {};
}

// As in the server, what is prepared before this is carried out is held against the list before.
status preparation::set_acl(const std::string& path, const colock::access_control_list& acl,
                            std::int32_t version, const identities& who, transaction& t)
{
    if (!is_valid(path)) {
        return zookeeper_errc::bad_arguments;
    }
    const auto resolved = resolve(acl, who, knows_certificates_);
    if (!resolved) {
        return zookeeper_errc::invalid_acl;
    }
    auto node = find(path);
    if (!node) {
        return zookeeper_errc::no_node;
    }
    if (!may(colock::permission_admin, *node->acl, who)) {
        return zookeeper_errc::no_auth;
    }
    if (is_other_version(node->acl_version, version)) {
        return zookeeper_errc::bad_version;
    }
    if (!takes(0, size_of(*resolved))) {
        return zookeeper_errc::quota_exceeded;
    }
    node->zxid = t.zxid;
    node->acl_version = successor(node->acl_version);
    t.changes.push_back({.what = change::kind::set_acl,
                         .path = path,
                         .acl = resolved,
                         .version = node->acl_version});
    put(path, *node);
    return {};
}

status preparation::check(const std::string& path, std::int32_t version, const identities& who,
                          transaction& t)
{
    if (!is_valid(path)) {
        return zookeeper_errc::bad_arguments;
    }
    const auto node = find(path);
    if (!node) {
        return zookeeper_errc::no_node;
    }
    if (!may(colock::permission_read, *node->acl, who)) {
        return zookeeper_errc::no_auth;
    }
    if (is_other_version(node->version, version)) {
        return zookeeper_errc::bad_version;
    }
    t.changes.push_back({.what = change::kind::check, .path = path});
    return {};
}

void preparation::multi(const operation& c, const identities& who, status session_error,
                        transaction& t)
{
    using kind = colock::transaction_op::kind;
    for (std::size_t i = 0; i != c.ops.size(); ++i) {
        const auto& op = c.ops[i];
        auto error = op.type == kind::create ? fault_in(op.create.mode, op.create.ttl) : status{};
        if (!error) {
            error = session_error;
        }
        if (!error) {
            switch (op.type) {
            case kind::check: error = check(op.path, op.version, who, t); break;
            case kind::create:
                error = create(op.path, op.data, op.create.mode, op.create.ttl,
                               op.create.acl ? *op.create.acl : c.acl, who, t);
                break;
            case kind::set: error = set(op.path, op.data, op.version, who, t); break;
            case kind::remove: error = remove(op.path, op.version, who, t); break;
            }
        }
        if (error) {
            roll_back(t.zxid);
            t.changes.clear();
            t.error = error;
            t.refusals.resize(c.ops.size());
            t.refusals[i] = error;
            std::fill(t.refusals.begin() + static_cast<std::ptrdiff_t>(i) + 1, t.refusals.end(),
                      status{zookeeper_errc::runtime_inconsistency});
            return;
        }
    }
}

// All that the session owns, also what is still being decided.
void preparation::close(transaction& t)
{
    auto own = tree_.ephemerals(t.session);
    for (const auto& c : outstanding_) {
        if (!c.exists) {
            std::erase(own, c.path);
        } else if (c.owner == t.session && std::ranges::find(own, c.path) == own.end()) {
            own.push_back(c.path);
        }
    }
    for (auto& path : own) {
        put(path, {.zxid = t.zxid});
        t.changes.push_back({.what = change::kind::remove, .path = std::move(path)});
    }
}

} // namespace colock::simulated
