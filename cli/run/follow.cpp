#include "run/follow.hpp"

#include <colock/election.hpp>
#include <colock/log.hpp>
#include <colock/queue_view.hpp>

#include "connect/run_client.hpp"
#include "program/exit_status.hpp"
#include "program/failure.hpp"
#include "run/once_per.hpp"

#include <boost/asio/use_awaitable.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <chrono>
#include <iostream>
#include <optional>

namespace colock::cli {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

std::string words_for_leader(const std::optional<std::string>& leader)
{
    if (!leader) {
        return "nobody";
    }
    const auto owner = parse_owner(*leader);
    constexpr std::size_t longest = 240;
    return printable(owner.host && owner.pid && owner.program
                         ? *owner.host + ':' + std::to_string(*owner.pid) + " (" + *owner.program +
                               ')'
                         : *leader,
                     longest);
}

std::string line_for_leader(const std::string& path, const std::optional<std::string>& leader,
                            bool as_json)
{
    const auto now = text_of(
        std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now()));
    if (!as_json) {
        return now + ' ' + words_for_leader(leader);
    }
    return json::serialize(
        json::object{{"event", "leader"},
                     {"time", now},
                     {"path", printable(path)},
                     {"leader", leader ? json::value(printable(*leader)) : json::value()}});
}

asio::awaitable<int> show_leaders(client& zk, std::string path, bool as_json)
{
    election of{zk, path, "follows"}; // and does not stand
    for (auto leader = co_await of.async_leader(asio::use_awaitable);;) {
        std::cout << line_for_leader(path, leader, as_json) << '\n' << std::flush;
        if (!std::cout) {
            throw failure{usage, "the standard output cannot be written"};
        }
        leader = co_await of.async_wait_change(leader, asio::use_awaitable);
    }
}

} // namespace

int follow_leaders(const server_options& servers, const std::string& path, bool as_json)
{
    return run_client(to_client_options(servers),
                      [&](client& zk) { return show_leaders(zk, path, as_json); });
}

} // namespace colock::cli
