// What is written to ZooKeeper itself needs no token: the transaction has the condition that the lock is held.
//
//     fenced_zookeeper [HOST:PORT]
//
#include "note.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>

#include <string>

namespace asio = boost::asio;

asio::awaitable<void> write(colock::client& zk, const colock::unique_lock& held)
{
    const auto old = co_await zk.async_get("/note");
    const auto text = note::ask("it says '" + old.data + "'; what shall it say?");
    // A loss cancels the body, if this process learns of it in time. Here ZooKeeper shall refuse.
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    colock::error_code unknown;
    for (;;) {
        const auto [ec, results] = co_await zk.async_multi(
            held.guarded(colock::set_op("/note", text)), asio::as_tuple(asio::deferred));
        if (colock::outcome_unknown(ec)) {
            unknown = unknown ? unknown : ec;
            continue; // nobody else has written if the next one succeeds
        }
        if (const auto why = colock::fence::code_of(ec, results)) { // of this attempt
            throw boost::system::system_error{unknown ? unknown : why, held.path()};
        }
        co_return;
    }
}

int main(int argc, char** argv)
{
    return note::under_lock(
        argc > 1 ? argv[1] : "localhost:2181",
        [](colock::client& zk, const colock::unique_lock& held) -> asio::awaitable<void> {
            const auto [ec, path] =
                co_await zk.async_create("/note", "", {}, asio::as_tuple(asio::deferred));
            if (ec && ec != colock::zookeeper_errc::node_exists) {
                throw boost::system::system_error{ec, "/note"};
            }
            co_await write(zk, held);
        });
}
