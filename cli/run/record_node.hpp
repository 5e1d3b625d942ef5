// The node beside a lock that remembers the runs of a job.
#pragma once

#include <colock/client.hpp>

#include "run/holding.hpp"
#include "run/once_per.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <variant>

namespace colock::cli {

class record_node {
public:
    // Of the lock at this path.
    record_node(client& zk, const std::string& path) : zk_{zk}, path_{path + ".runs"} {}

    struct started { // and written down
        std::string warning;
    };
    struct held_back { // by --hold-at-least of the last run
        std::chrono::milliseconds time;
    };
    struct lost {}; // the lock, before anything was written
    using verdict = std::variant<started, has_run, held_back, lost>;

    // A holder that is deposed writes nothing. Throws failure.
    boost::asio::awaitable<verdict> begin(const holding& held, const job_terms& terms);
    // Does nothing when the lock is lost: then the run has no end.
    boost::asio::awaitable<void> end(const holding& held, bool success);

private:
    struct found {
        std::optional<run_record> record;
        std::optional<std::int32_t> version; // of a node that is there
        std::string text;
    };
    boost::asio::awaitable<std::optional<node_stat>> own_node(const holding& held);
    boost::asio::awaitable<found> read();
    boost::asio::awaitable<std::optional<node_stat>> write(const holding& held, const found& over,
                                                           std::string text);

    client& zk_;
    const std::string path_;
    run_record written_;
};

} // namespace colock::cli
