#ifndef COLOCK_TEST_SUPPORT_TINY_TREE_HPP
#define COLOCK_TEST_SUPPORT_TINY_TREE_HPP

#include "jute.hpp"
#include "opcode.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

/// ZooKeeper's tree of nodes, as far as one server without access control needs it: carries out requests as they come
/// over the wire. Reading beyond the end of one throws `std::runtime_error`.
class tiny_tree {
public:
    struct reply {
        std::int32_t error = 0;
        std::string body;
    };

    /// `path` receives the request's.
    reply serve(opcode kind, jute_reader& in, std::int64_t session, std::uint64_t connection,
                std::string& path);

    void forget_watches(std::uint64_t connection);

    bool exists(std::string const& path) const { return nodes_.contains(path); }
    std::int64_t zxid() const noexcept { return zxid_; }

    /// Events that the last request has caused: connections, and frames without their length.
    std::vector<std::pair<std::uint64_t, std::string>> notices;

private:
    struct node {
        std::string data;
        std::int64_t czxid = 0, mzxid = 0, pzxid = 0, owner = 0;
        std::int32_t version = 0, cversion = 0, children = 0, next = 0;
    };
    using watches = std::map<std::string, std::set<std::uint64_t>>;

    reply create(jute_reader& in, std::int64_t session, bool with_stat, std::string& path);
    reply remove(std::string const& path, std::int32_t version);
    reply set(std::string const& path, std::string data, std::int32_t version);
    reply check(std::string const& path, std::int32_t version) const;
    reply transaction(jute_reader& in, std::int64_t session, std::string& path);
    reply list(std::string const& path, bool with_stat) const;
    void end(std::int64_t session);
    void fire(watches& from, std::int32_t type, std::string const& path);
    static std::string stat_of(node const& n);

    std::map<std::string, node> nodes_{{"/", {}}};
    watches data_watches_, child_watches_;
    std::int64_t zxid_ = 1;
};

} // namespace colock::test

#endif
