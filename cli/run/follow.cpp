#include "run/follow.hpp"

#include <colock/election.hpp>
#include <colock/log.hpp>
#include <colock/queue_view.hpp>

#include "connect/awaiting.hpp"
#include "connect/duration.hpp"
#include "connect/run_client.hpp"
#include "program/exit_status.hpp"
#include "program/failure.hpp"

#include <boost/asio/use_awaitable.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <chrono>
#include <iostream>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

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
    return printable(owner.host ? *owner.host + ':' + std::to_string(*owner.pid) + " (" +
                                      *owner.program + ')'
                                : *leader,
                     longest);
}

class leader_lines {
public:
    leader_lines(std::string path, bool as_json) : path_{std::move(path)}, as_json_{as_json} {}

    void leads(const std::optional<std::string>& leader) const
    {
        write("leader", words_for_leader(leader),
              leader ? json::value(printable(*leader)) : json::value());
    }
    void unknown() const { write("unknown", "unknown: no connection to the servers", {}); }

private:
    void write(std::string_view event, const std::string& words, json::value leader) const
    {
        const auto now = time_words(std::chrono::system_clock::now());
        std::cout << (as_json_ ? json::serialize(json::object{{"event", event},
                                                              {"time", now},
                                                              {"path", printable(path_)},
                                                              {"leader", std::move(leader)}})
                               : now + ' ' + words)
                  << '\n'
                  << std::flush;
        if (!std::cout) {
            throw failure{usage, "the standard output cannot be written"};
        }
    }

    const std::string path_;
    const bool as_json_;
};

asio::awaitable<void> until_connected(client& zk)
{
    for (auto seen = zk.state(); seen != connection_state::connected; seen = zk.state()) {
        if (seen == connection_state::idle) { // a server has refused this client
            co_await connect(zk);
        } else {
            co_await zk.async_wait_state_change(seen, asio::use_awaitable);
        }
    }
}

// Each time that there is a connection again it tells who leads: others may have led meanwhile.
asio::awaitable<int> show_leaders(client& zk, std::string path, bool as_json)
{
    const leader_lines lines{path, as_json};
    election of{zk, path, "follows"}; // and does not stand
    for (;;) {
        auto leader = co_await of.async_leader(asio::use_awaitable);
        for (;;) {
            lines.leads(leader);
            auto first = co_await first_of(
                of.async_wait_change(leader, asio::use_awaitable),
                zk.async_wait_state_change(connection_state::connected, asio::use_awaitable));
            if (first.index() == 1) {
                break;
            }
            leader = std::get<0>(std::move(first));
        }
        lines.unknown();
        co_await until_connected(zk);
    }
}

} // namespace

int follow_leaders(const server_options& servers, const std::string& path, bool as_json)
{
    return run_client(to_client_options(servers),
                      [&](client& zk) { return show_leaders(zk, path, as_json); });
}

} // namespace colock::cli
