#include "health/scratch.hpp"

#include "connect/awaiting.hpp"
#include "lib/names/node_owner.hpp"

#include <algorithm>
#include <chrono>
#include <random>

namespace colock::cli {

namespace asio = boost::asio;

std::string unique_name(std::string_view beginning)
{
    std::random_device random;
    std::string name{beginning};
    for (int i = 0; i < 16; ++i) {
        name += "0123456789abcdef"[random() % 16];
    }
    return name;
}

asio::awaitable<std::string> place_for_scratch(client& zk, std::string path)
{
    for (;; path = parent_of(path)) {
        const auto [ec, found] = co_await zk.async_children(path, no_throw);
        const bool is_lock =
            std::ranges::any_of(found.names, is_contender_name) ||
            colock::detail::is_of_session(found.stat.ephemeral_owner); // which has no children
        // Perhaps the directory of a free lock, in which other libraries take any node for a contender.
        const bool may_be_lock = is_lock || (!ec && found.names.empty());
        if (path == "/" || (!may_be_lock && ec != zookeeper_errc::no_node)) {
            co_return path;
        }
    }
}

namespace {

// Others may still add nodes: the last requests of a session that is about to end.
asio::awaitable<void> remove_all(client& zk, std::string path)
{
    for (;;) {
        const auto [ec, found] = co_await zk.async_children(path, no_throw);
        if (ec) {
            co_return;
        }
        for (const auto& name : found.names) {
            co_await remove_all(zk, child_of(path, name));
        }
        const auto [refused] = co_await zk.async_remove(path, no_throw);
        if (refused != zookeeper_errc::not_empty && !outcome_unknown(refused)) {
            co_return;
        }
    }
}

} // namespace

asio::awaitable<void> remove_scratch(client& zk, std::string path)
{
    // A session that was not heard of for so long has ended: then the servers remove the nodes.
    constexpr std::chrono::milliseconds longest = std::chrono::seconds{10};
    co_await first_of(remove_all(zk, path), pause(std::min(longest, zk.session_timeout())));
}

} // namespace colock::cli
