#include "tree.hpp"

#include "access.hpp"

#include <algorithm>
#include <utility>

namespace colock::simulated {

std::string_view tree::node::name() const noexcept
{
    return std::string_view{path}.substr(path.rfind('/') + 1);
}

colock::node_stat tree::node::stat() const noexcept
{
    const auto count = static_cast<std::int32_t>(children.size());
    // The server counts what was created. Clients are told of the removals, too.
    const auto changes =
        static_cast<std::uint32_t>(counter) * 2 - static_cast<std::uint32_t>(count);
    const bool of_session = ephemeral_owner::type_of(owner) == ephemeral_owner::type::session;
    return {.czxid = czxid,
            .mzxid = mzxid,
            .ctime = ctime,
            .mtime = mtime,
            .version = version,
            .cversion = static_cast<std::int32_t>(changes),
            .aversion = aversion,
            .ephemeral_owner = of_session ? owner : 0,
            .data_length = static_cast<std::int32_t>(data.size()),
            .num_children = count,
            .pzxid = pzxid};
}

// As an empty server has it.
tree::tree()
{
    const auto add = [this](std::string path, node* parent, shared_acl acl, std::int32_t aversion) {
        auto made = std::make_unique<node>();
        made->path = path;
        made->acl = std::move(acl);
        bytes_ += size_of(*made->acl);
        made->aversion = aversion;
        made->parent = parent;
        if (parent != nullptr) {
            made->place = parent->children.size();
            parent->children.push_back(made.get());
        }
        auto* at = made.get();
        nodes_.emplace(std::move(path), std::move(made));
        return at;
    };
    root_ = add("", nullptr, the_open_one(), 0);
    auto* own = add("/zookeeper", root_, the_open_one(), 0);
    add("/zookeeper/quota", own, the_open_one(), 0);
    add("/zookeeper/config", own,
        std::make_shared<const colock::access_control_list>(colock::read_only_acl()), -1);
}

tree::tree(const tree& other)
    : last_zxid_{other.last_zxid_}, bytes_{other.bytes_}, sessions_{other.sessions_},
      ephemerals_{other.ephemerals_}, containers_{other.containers_}, with_ttl_{other.with_ttl_}
{
    // From the root down, so that the order of the table does not matter.
    nodes_.reserve(other.nodes_.size());
    const auto copy = [this](const auto& self, const node& from, node* parent) -> node* {
        auto made = std::make_unique<node>(from);
        auto* at = made.get();
        at->parent = parent;
        nodes_.emplace(at->path, std::move(made));
        for (auto& child : at->children) {
            child = self(self, *child, at);
        }
        return at;
    };
    root_ = copy(copy, *other.root_, nullptr);
}

tree& tree::operator=(const tree& other)
{
    if (this != &other) {
        *this = tree{other};
    }
    return *this;
}

const tree::node* tree::find(std::string_view path) const
{
    if (path == "/") {
        return root_;
    }
    const auto at = nodes_.find(path);
    return at == nodes_.end() ? nullptr : at->second.get();
}

std::vector<std::string> tree::children(std::string_view path) const
{
    std::vector<std::string> names;
    if (const auto* parent = find(path); parent != nullptr) {
        for (const auto* child : parent->children) {
            names.emplace_back(child->name());
        }
    }
    std::ranges::sort(names);
    return names;
}

void tree::apply(const transaction& t, witness* told, std::vector<result>* results)
{
    last_zxid_ = std::max(last_zxid_, t.zxid);
    if (!t.is_carried_out()) {
        return;
    }
    if (t.what == transaction::kind::open_session) {
        sessions_[t.session] = t.timeout;
        return;
    }
    for (const auto& c : t.changes) {
        const node* at = nullptr;
        switch (c.what) {
        case change::kind::create:
            create(c, t);
            at = find(c.path);
            if (told != nullptr) {
                told->created(c.path, at->acl, at->parent->acl);
            }
            break;
        case change::kind::remove:
            if (const auto* gone = find(c.path); gone != nullptr) {
                const auto own = gone->acl;
                const auto parent = gone->parent->acl;
                remove(c.path, t.zxid);
                if (told != nullptr) {
                    told->removed(c.path, own, parent);
                }
            }
            break;
        case change::kind::set: {
            auto* n = const_cast<node*>(find(c.path));
            bytes_ += c.data.size() - n->data.size();
            n->data = c.data;
            n->mtime = t.time;
            n->mzxid = t.zxid;
            n->version = c.version;
            if (told != nullptr) {
                told->changed(c.path, n->acl);
            }
            at = n;
            break;
        }
        case change::kind::set_acl: { // which no watch hears of
            auto* n = const_cast<node*>(find(c.path));
            bytes_ += size_of(*c.acl) - size_of(*n->acl);
            n->acl = c.acl;
            n->aversion = c.version;
            at = n;
            break;
        }
        case change::kind::check: break;
        }
        if (results != nullptr) {
            results->push_back({c.path, at != nullptr ? at->stat() : colock::node_stat{}});
        }
    }
    if (t.what == transaction::kind::close_session) {
        sessions_.erase(t.session);
        ephemerals_.erase(t.session);
    }
}

void tree::create(const change& c, const transaction& t)
{
    auto* parent = const_cast<node*>(find(std::string_view{c.path}.substr(0, c.path.rfind('/'))));
    // So the counter stands still behind its overflow, and the next child has the number of the last one.
    if (c.parent_version > parent->counter) {
        parent->counter = c.parent_version;
        parent->pzxid = t.zxid;
    }
    auto made = std::make_unique<node>();
    made->path = c.path;
    made->data = c.data;
    made->acl = c.acl;
    made->czxid = made->mzxid = made->pzxid = t.zxid;
    made->ctime = made->mtime = t.time;
    made->owner = c.owner;
    made->parent = parent;
    made->place = parent->children.size();
    parent->children.push_back(made.get());
    nodes_.emplace(c.path, std::move(made));
    bytes_ += c.path.size() + c.data.size() + size_of(*c.acl);
    switch (ephemeral_owner::type_of(c.owner)) {
    case ephemeral_owner::type::none: break;
    case ephemeral_owner::type::session: ephemerals_[c.owner].insert(c.path); break;
    case ephemeral_owner::type::container: containers_.insert(c.path); break;
    case ephemeral_owner::type::ttl: with_ttl_.insert(c.path); break;
    }
}

void tree::remove(const std::string& path, std::int64_t zxid)
{
    const auto at = nodes_.find(path);
    const auto& gone = *at->second;
    auto& siblings = gone.parent->children;
    siblings[gone.place] = siblings.back();
    siblings[gone.place]->place = gone.place;
    siblings.pop_back();
    gone.parent->pzxid = std::max(gone.parent->pzxid, zxid);
    bytes_ -= path.size() + gone.data.size() + size_of(*gone.acl);
    switch (ephemeral_owner::type_of(gone.owner)) {
    case ephemeral_owner::type::none: break;
    case ephemeral_owner::type::session:
        if (const auto own = ephemerals_.find(gone.owner); own != ephemerals_.end()) {
            own->second.erase(path);
            if (own->second.empty()) {
                ephemerals_.erase(own);
            }
        }
        break;
    case ephemeral_owner::type::container: containers_.erase(path); break;
    case ephemeral_owner::type::ttl: with_ttl_.erase(path); break;
    }
    nodes_.erase(at);
}

std::vector<std::string> tree::ephemerals(std::int64_t session) const
{
    const auto at = ephemerals_.find(session);
    return at == ephemerals_.end() ? std::vector<std::string>{}
                                   : std::vector<std::string>{at->second.begin(), at->second.end()};
}

void tree::set_counter(std::string_view path, std::int32_t next)
{
    if (auto* n = const_cast<node*>(find(path)); n != nullptr) {
        n->counter = next;
    }
}

} // namespace colock::simulated
