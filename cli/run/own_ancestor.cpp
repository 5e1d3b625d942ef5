#include "run/own_ancestor.hpp"

#include "connect/awaiting.hpp"
#include "program/failure.hpp"
#include "run/outer_locks.hpp"

#include <boost/system/system_error.hpp>

#include <chrono>
#include <variant>

namespace colock::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> refuse_own_ancestor(client& zk, const lock_choice& wanted,
                                          const std::vector<std::string>& outer,
                                          std::optional<std::int64_t> own_session)
{
    for (const auto& one : each_of(wanted)) {
        if (!may_wait_for_itself(one, outer)) {
            continue;
        }
        queue_view queue;
        try {
            queue = co_await view(zk, one, {});
        } catch (const boost::system::system_error&) {
            co_return; // the acquisition itself tells what is wrong
        }
        if (waits_for_itself(one, queue, outer, own_session)) {
            throw failure{usage, one.path + " is held by a colock run around this command, which "
                                            "would wait for itself; take another path, or leave "
                                            "the inner lock out"};
        }
    }
}

asio::awaitable<void> watch_own_ancestor(client& zk, const lock_choice& wanted,
                                         const std::vector<std::string>& outer)
{
    bool may = false;
    for (const auto& one : each_of(wanted)) {
        may = may || may_wait_for_itself(one, outer);
    }
    while (may && std::holds_alternative<as_reader>(wanted.kind)) {
        co_await pause(1s);
        co_await refuse_own_ancestor(zk, wanted, outer, zk.session_id());
    }
    co_await wait_for_ever();
}

} // namespace colock::cli
