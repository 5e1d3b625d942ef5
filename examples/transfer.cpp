// Moves money between two accounts under both locks, in one transaction. Processes that move money the other way at the
// same time cannot block each other for good, whatever order they name the accounts in: multi_lock takes its locks
// in one order. The transaction fails if one of the locks is not held any more, and then no money moves. When its answer is
// lost, the money may have moved: the program says so, and does not try again.
//
//     transfer FROM TO AMOUNT [HOST:PORT]      accounts are nodes below /accounts; a missing one is opened with 100
//
#include <colock/colock.hpp>
#include <colock/fence/fenced.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;

asio::awaitable<int> balance(colock::client& zk, const std::string& account)
{
    if (!co_await zk.async_exists(account)) {
        const colock::create_options with_parents{.parents = true};
        co_await zk.async_create(account, "100", with_parents);
    }
    co_return std::stoi((co_await zk.async_get(account)).data);
}

asio::awaitable<void> transfer(colock::client& zk, std::string from, std::string to, int amount,
                               int& status)
{
    co_await zk.async_connect();
    colock::mutex giver{zk, "/locks/accounts/" + from};
    colock::mutex taker{zk, "/locks/accounts/" + to};
    colock::multi_lock both{giver, taker};
    co_await both.async_with_lock([&](const colock::multi_guard& held) -> asio::awaitable<void> {
        const int left = co_await balance(zk, "/accounts/" + from) - amount;
        const int now = co_await balance(zk, "/accounts/" + to) + amount;
        if (left < 0) {
            throw std::runtime_error{from + " has only " + std::to_string(left + amount)};
        }
        const auto steps = held.guarded(colock::set_op("/accounts/" + from, std::to_string(left)),
                                        colock::set_op("/accounts/" + to, std::to_string(now)));
        const auto [ec, results] =
            co_await zk.async_multi(steps, asio::as_tuple(asio::use_awaitable));
        if (ec) { // aborted: a lock was lost meanwhile
            const bool unknown =
                colock::outcome_unknown(ec) || ec == asio::error::operation_aborted;
            throw std::runtime_error{unknown ? "the money may have moved: look at both accounts"
                                             : colock::fence::code_of(ec, results, 2).message()};
        }
        status = 0; // whatever becomes of the locks now
        std::cout << from << " has " << left << ", " << to << " has " << now << std::endl;
    });
}

int main(int argc, char** argv)
{
    const long amount = argc > 3 ? std::strtol(argv[3], nullptr, 10) : 0;
    if (amount < 1 || amount > 1'000'000) {
        std::cerr << "usage: transfer FROM TO AMOUNT [HOST:PORT]\n";
        return 2;
    }
    asio::io_context context;
    colock::client zk{context, {.hosts = argc > 4 ? argv[4] : "localhost:2181"}};
    int status = 1;
    asio::co_spawn(context, transfer(zk, argv[1], argv[2], static_cast<int>(amount), status),
                   [&](std::exception_ptr e) {
                       try {
                           if (e) {
                               std::rethrow_exception(e);
                           }
                       } catch (const std::exception& failure) {
                           std::cerr << failure.what() << '\n';
                       }
                       zk.async_close(asio::detached); // gives both locks back after a failure, too
                   });
    context.run();
    return status;
}
