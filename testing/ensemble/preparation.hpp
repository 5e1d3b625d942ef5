// The leader makes transactions from requests, on top of those that are still being decided.
#pragma once

#include "ensemble.hpp"
#include "submitted.hpp"
#include "tree.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace colock::simulated {

class preparation {
public:
    // `applied`: as far as the leader has carried out transactions; it has to live as long.
    preparation(const tree& applied, bool extended_types, const actual_server& of)
        : tree_{applied}, extended_types_{extended_types}, most_{of.most},
          knows_certificates_{of.knows_certificates}
    {
    }

    // The request of a session that may ask: an error of the session is for the caller to find, and is passed in.
    [[nodiscard]] transaction prepare(const submitted& request, std::int64_t zxid,
                                      std::int64_t time, status session_error);

    // The tree contains it now.
    void applied(std::int64_t zxid);

private:
    // A node as it will be.
    struct record {
        std::int64_t zxid = 0;
        bool exists = false;
        std::int32_t version = 0;
        std::int32_t acl_version = 0;
        std::int32_t counter = 0;
        std::int64_t owner = 0;
        std::int64_t children = 0;
        shared_acl acl = {};
    };
    struct replaced {
        std::string path;
        std::optional<record> before;
    };

    // For one change more. Then its bytes count.
    [[nodiscard]] bool takes(std::size_t nodes, std::size_t bytes) noexcept
    {
        bytes_ += bytes;
        return tree_.size() + nodes <= most_.nodes && bytes_ <= most_.bytes &&
               tree_.bytes() <= most_.bytes - bytes_;
    }
    [[nodiscard]] std::optional<record> find(const std::string& path) const;
    void put(const std::string& path, const record& r);
    void roll_back(std::int64_t zxid);

    // In what a create asks for, whatever the tree is like.
    [[nodiscard]] status fault_in(colock::create_mode mode, std::chrono::milliseconds ttl) const;
    status create(const std::string& path, const std::string& data, colock::create_mode mode,
                  std::chrono::milliseconds ttl, const colock::access_control_list& acl,
                  const identities& who, transaction& t);
    status remove(const std::string& path, std::int32_t version, const identities& who,
                  transaction& t);
    status set(const std::string& path, const std::string& data, std::int32_t version,
               const identities& who, transaction& t);
    status set_acl(const std::string& path, const colock::access_control_list& acl,
                   std::int32_t version, const identities& who, transaction& t);
    status check(const std::string& path, std::int32_t version, const identities& who,
                 transaction& t);
    status tidy(const std::string& path, transaction& t);
    void multi(const operation& c, const identities& who, status session_error, transaction& t);
    void close(transaction& t);

    const tree& tree_;
    bool extended_types_;
    const tree_limits& most_;
    bool knows_certificates_;
    std::unordered_map<std::string, record> records_;
    struct entry {
        std::int64_t zxid;
        std::string path;
        bool exists;
        std::int64_t owner;
    };
    std::deque<entry> outstanding_; // in the order of the changes
    std::vector<replaced> journal_; // of the transaction that is being prepared
    std::size_t bytes_ = 0;         // that it brings
};

} // namespace colock::simulated
