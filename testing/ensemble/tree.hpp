// The nodes, as one server has them.
#pragma once

#include <colock/node.hpp>

#include "transaction.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace colock::simulated {

// What the server keeps in place of the session that owns an ephemeral node.
namespace ephemeral_owner {
inline constexpr std::int64_t of_container = std::numeric_limits<std::int64_t>::min();
// With a time to live, in its low 40 bits.
inline constexpr std::int64_t of_ttl = static_cast<std::int64_t>(0xff00000000000000u);

enum class type { none, session, container, ttl };

[[nodiscard]] inline type type_of(std::int64_t owner) noexcept
{
    return owner == 0                   ? type::none
           : owner == of_container      ? type::container
           : (owner & of_ttl) == of_ttl ? type::ttl
                                        : type::session;
}
} // namespace ephemeral_owner

// How much clients may put into it.
struct tree_limits {
    std::size_t nodes = std::numeric_limits<std::size_t>::max();
    std::size_t bytes =
        std::numeric_limits<std::size_t>::max(); // of paths, data and access control lists
};

class tree {
public:
    struct node {
        std::string path; // "" is the root's
        std::string data = {};
        shared_acl acl = {};
        std::int64_t czxid = 0, mzxid = 0, pzxid = 0;
        std::int64_t ctime = 0, mtime = 0;
        std::int32_t version = 0;
        std::int32_t counter = 0; // how often a child was created: the next sequence number
        std::int32_t aversion = 0;
        std::int64_t owner = 0;
        node* parent = nullptr;
        std::size_t place = 0;            // among its parent's children
        std::vector<node*> children = {}; // in no order

        [[nodiscard]] std::string_view name() const noexcept;
        [[nodiscard]] colock::node_stat stat() const noexcept; // as clients see it
    };

    // Told of each change, in its order, when it has been carried out.
    class witness {
    public:
        // With the access control lists of the node and of its parent.
        virtual void created(const std::string& path, const shared_acl& own,
                             const shared_acl& parent) = 0;
        virtual void removed(const std::string& path, const shared_acl& own,
                             const shared_acl& parent) = 0;
        virtual void changed(const std::string& path, const shared_acl& own) = 0;

    protected:
        ~witness() = default;
    };

    // What a request that was carried out is answered with, for each step.
    struct result {
        std::string path = {};
        colock::node_stat stat = {};
    };

    tree();
    tree(const tree& other);
    tree& operator=(const tree& other);
    tree(tree&&) noexcept = default;
    tree& operator=(tree&&) noexcept = default;
    ~tree() = default;

    // `results` may be null.
    void apply(const transaction& t, witness* told = nullptr,
               std::vector<result>* results = nullptr);

    [[nodiscard]] const node* find(std::string_view path) const; // "/" or "" for the root
    // Their names, sorted; none without the node.
    [[nodiscard]] std::vector<std::string> children(std::string_view path) const;
    [[nodiscard]] std::int64_t last_zxid() const noexcept { return last_zxid_; }
    [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); } // with the root

    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; } // as limited

    // The sessions that are open, with the time-out of each.
    [[nodiscard]] const std::map<std::int64_t, std::chrono::milliseconds>& sessions() const noexcept
    {
        return sessions_;
    }
    [[nodiscard]] std::vector<std::string> ephemerals(std::int64_t session) const;
    [[nodiscard]] const std::map<std::int64_t, std::set<std::string>>& ephemerals() const noexcept
    {
        return ephemerals_;
    }
    [[nodiscard]] const std::set<std::string>& containers() const noexcept { return containers_; }
    [[nodiscard]] const std::set<std::string>& with_ttl() const noexcept { return with_ttl_; }

    // The next sequential child gets this number.
    void set_counter(std::string_view path, std::int32_t next);

private:
    struct hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    void create(const change& c, const transaction& t);
    void remove(const std::string& path, std::int64_t zxid);

    // By path. The order of this table must not show.
    std::unordered_map<std::string, std::unique_ptr<node>, hash, std::equal_to<>> nodes_;
    node* root_ = nullptr;
    std::int64_t last_zxid_ = 0;
    std::size_t bytes_ = 0;
    std::map<std::int64_t, std::chrono::milliseconds> sessions_;
    std::map<std::int64_t, std::set<std::string>> ephemerals_;
    std::set<std::string> containers_;
    std::set<std::string> with_ttl_;
};

} // namespace colock::simulated
