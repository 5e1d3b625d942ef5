// The nursery: a process that forks a guardian for each shard, because the supervisor has threads by then.
#pragma once

#include "run/guardian.hpp"
#include "run/guardian_socket.hpp"
#include "run/orphans.hpp"

#include <boost/asio/awaitable.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace colock::cli {

struct nursery_task {
    std::vector<std::string> words; // of the command; words_for() makes those of a shard
    bool shell = false;
    ending_terms terms;
    const inherited_signals& signals;
    // As in guardian_task.
    std::span<char> shown;
};

// The words with the shard's number in the place of each "{}".
[[nodiscard]] std::vector<std::string> words_for(std::uint32_t shard,
                                                 std::vector<std::string> words);

// The supervisor's end. A guardian is a child of the nursery; what one that was killed leaves becomes a child of the supervisor.
// When the supervisor has gone, and all guardians have ended in order, the nursery consents to the end of the session.
class nursery {
public:
    // Forks the process; therefore before this one has threads. Throws failure, std::system_error.
    explicit nursery(const nursery_task& task);
    nursery(const nursery&) = delete;
    nursery& operator=(const nursery&) = delete;
    ~nursery();

    // As in guardian_link.
    [[nodiscard]] int consent() const noexcept { return consent_; }

    // A guardian for one run of the shard's command. To be destroyed before this object, and before `bound`.
    [[nodiscard]] std::unique_ptr<guardian_socket> make(std::uint32_t shard, shared_bound& bound);

    // Continues the nursery, should somebody have stopped it, asks it again for what it had no room for, and learns who becomes
    // a child of this process without being a command's. To be called a few times a second: it looks at all guardians, so none
    // of them does this for itself.
    void keep_going();

    // Completes when somebody has killed it: then there are no more guardians.
    boost::asio::awaitable<void> wait_gone();

private:
    class guardian_of_shard;

    [[nodiscard]] std::vector<pid_t> own_processes() const;
    [[nodiscard]] bool is_there() const noexcept;
    boost::asio::awaitable<void> end_what_is_left_of(pid_t guardian,
                                                     std::function<void(int)> refused);

    const std::chrono::nanoseconds patience_;
    orphans orphans_;
    std::vector<guardian_of_shard*> guardians_; // those that were not destroyed
    pid_t process_ = -1;
    int socket_ = -1;
    int consent_ = -1;
};

} // namespace colock::cli
