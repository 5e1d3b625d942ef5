// The node beside a lock that remembers the runs of a job.
#pragma once

#include <colock/client.hpp>

#include "names/job_record.hpp"
#include "run/holding.hpp"
#include "run/once_per.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace colock::cli {

class record_node {
public:
    // Of the lock at this path.
    record_node(client& zk, const std::string& path) : zk_{zk}, path_{job_record_of(path)} {}

    struct started { // and written down
        std::string warning;
    };
    struct held_back { // by --hold-at-least of the last run
        std::chrono::milliseconds time;
    };
    struct lost {}; // the lock, before anything was written
    using verdict = std::variant<started, has_run, held_back, lost>;

    // The list of the node when it is created; else that of the client.
    void give(access_control_list list) { list_ = std::move(list); }

    // A holder that is deposed writes nothing. Throws failure. With servers that are silent it takes as long as they are.
    boost::asio::awaitable<verdict> begin(const holding& held, const job_terms& terms);
    // Of what begin() has written. False when the run has no end, because the lock is lost, or the node is gone or another's.
    boost::asio::awaitable<bool> end(const holding& held, bool success);

    // The place in the queue is lost, so long after it was taken; the run counts from there on all the same.
    void lost_place(std::chrono::nanoseconds waited) noexcept { waited_before_ += waited; }
    // Of the run that begin() has written down. Before that, the next begin() takes the place of a run that was begun, even if
    // its lock was lost, or no server has said that it is written down.
    void command_started() noexcept { not_started_.clear(); }
    // A run may be written down whose command has not started.
    [[nodiscard]] bool is_undecided() const noexcept { return !not_started_.empty(); }

private:
    struct found {
        std::optional<run_record> record;
        std::optional<std::int32_t> version; // of a node that is there
        std::string text;
        servers_time changed{};
    };
    boost::asio::awaitable<std::optional<node_stat>> own_node(const holding& held);
    boost::asio::awaitable<found> read();
    boost::asio::awaitable<std::optional<node_stat>> write(const holding& held, const found& over,
                                                           std::string text);

    client& zk_;
    const std::string path_;
    std::optional<servers_time> joined_; // the queue, for the first time
    std::chrono::nanoseconds waited_before_{0};
    std::optional<access_control_list> list_;
    run_record written_;
    std::set<std::string> not_started_; // tokens of the runs that may be written down
    bool has_end_ = false;              // --hold-at-least alone leaves what is known of a period
};

} // namespace colock::cli
