// What ZooKeeper's servers write to their disks, as far as it is about nodes: transaction logs and snapshots. From bytes, which
// may be anybody's. Lists of access control are skipped.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace colock::cli {

struct node_change {
    enum class kind { created, deleted, removed_by_servers };

    kind what = kind::created;
    std::string path;
    std::string data;       // of a node that is created
    bool ephemeral = false; // the same
};

struct transaction {
    std::int64_t zxid = 0;
    std::int64_t time = 0; // the leader's clock, in milliseconds since 1970
    std::int64_t session = 0;
    bool ends_session = false;
    bool by_servers = false;          // nobody has asked for it: a session has expired
    std::vector<node_change> changes; // not of the end of a session: its own nodes go
};

// Says what is wrong with a file; its name comes before.
struct unreadable : std::runtime_error {
    using runtime_error::runtime_error;
};

class log_reader {
public:
    // The stream outlives the reader, which reads no further than what a server has written: a log is 64 MiB long from the
    // beginning. Throws unreadable.
    explicit log_reader(std::istream& from);

    // Nothing at the end, which may be in the middle of an entry: a server is writing it, or has died. Throws unreadable.
    [[nodiscard]] std::optional<transaction> next();

private:
    std::istream& from_;
};

struct snapshot {
    struct node {
        std::string path, data;
        std::int64_t zxid = 0;    // that created it
        std::int64_t created = 0; // milliseconds since 1970
        std::int64_t session = 0; // 0: none
    };
    std::vector<node> nodes;
    std::int64_t last_change = 0;            // the last transaction that any node shows
    std::int64_t newest = 0;                 // the time of the last one whose time a node shows
    std::optional<std::int64_t> oldest_news; // the earliest time of those after `since`
};
// All of a snapshot, but of another file only as much as a snapshot's header takes. Throws unreadable.
[[nodiscard]] std::string bytes_of_snapshot(std::istream& from);
// With those nodes whose path is wanted. A server writes a snapshot while it goes on; what is later than `zxid` is left out.
// `since`: the last transaction that is known from elsewhere. Throws unreadable.
[[nodiscard]] snapshot read_snapshot(std::string_view bytes, std::int64_t since, std::int64_t zxid,
                                     const std::function<bool(std::string_view path)>& is_wanted);

} // namespace colock::cli
