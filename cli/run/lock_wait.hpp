// The wait for a lock: until the work is switched on, until the lock is granted, or until the time is over.
#pragma once

#include <colock/client.hpp>

#include "run/events.hpp"
#include "run/lock_choice.hpp"
#include "run/record_node.hpp"
#include "run/supervisor.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock::cli {

class lock_wait {
public:
    // `outer`: the nodes of the locks under which this process runs. `record` hears of places in the queue that are lost.
    lock_wait(client& zk, const supervision& what, const std::vector<std::string>& outer,
              record_node& record, events& say)
        : zk_{zk}, what_{what}, outer_{outer}, record_{record}, say_{say}
    {
    }

    // False when the time is over before that.
    boost::asio::awaitable<bool> until_switched_on(std::chrono::steady_clock::time_point began);

    // Gives a lock, or no lock and no error when there was none in time, or the error of a lock that was lost. Nothing when
    // the work was switched off meanwhile.
    boost::asio::awaitable<std::optional<acquired>>
    for_lock(std::chrono::steady_clock::time_point began);

    // No lock was granted in time. Of an election: finds out who leads, if a server tells that at once.
    boost::asio::awaitable<void> name_leader();

    // Why there is none.
    void explain(std::string why) { why_ = std::move(why); }
    // The servers are silent. Of a try, throws failure: nobody need have the lock.
    void explain_silence();
    [[nodiscard]] std::string why_not() const;

private:
    boost::asio::awaitable<void> until_off();
    boost::asio::awaitable<void> show_wait();
    boost::asio::awaitable<void> show_queue();
    boost::asio::awaitable<void> tell_new_places();

    client& zk_;
    const supervision& what_;
    const std::vector<std::string>& outer_;
    record_node& record_;
    events& say_;
    std::string why_;
};

} // namespace colock::cli
