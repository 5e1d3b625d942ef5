#include "run/work_switch.hpp"

#include <colock/diagnostics.hpp>
#include <colock/log.hpp>

#include "connect/awaiting.hpp"
#include "program/failure.hpp"

#include <algorithm>
#include <utility>

namespace colock::cli {

namespace asio = boost::asio;

bool says_on(std::string_view text)
{
    constexpr std::string_view blanks = " \t\r\n";
    const auto begin = std::min(text.find_first_not_of(blanks), text.size());
    text.remove_prefix(begin);
    text = text.substr(0, text.find_last_not_of(blanks) + 1);
    std::string word{text.substr(0, 8)};
    std::ranges::transform(word, word.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return word != "off" && word != "false" && word != "no" && word != "0";
}

asio::awaitable<switch_position> look_at_switch(client& zk, std::string path)
{
    for (;;) {
        diagnostics why;
        // A watch for existence hears of changes of the text, too.
        auto [ec, there] = co_await zk.async_watch_exists(path, bind_diagnostics(why, no_throw));
        if (ec) {
            throw failure_of(ec, why.message());
        }
        switch_position now;
        now.changes = std::move(there.changes);
        if (!there.value) {
            now.why = printable(path) + " does not exist";
            co_return now;
        }
        const auto [unread, found] = co_await zk.async_get(path, bind_diagnostics(why, no_throw));
        if (unread == zookeeper_errc::no_node) {
            continue;
        }
        if (unread) {
            throw failure_of(unread, why.message());
        }
        constexpr std::size_t longest = 40;
        now.on = says_on(found.data);
        now.why = now.on ? "" : printable(path) + " is \"" + printable(found.data, longest) + '"';
        co_return now;
    }
}

namespace {

// A watch that the servers have refused to set again is looked after by reading anew, which tells why.
asio::awaitable<void> change_of(client& zk, switch_position& position)
{
    const auto [ec, event] = co_await position.changes.async_wait(no_throw);
    if (ec == errc::client_closed || ec == asio::error::operation_aborted) {
        co_await wait_for_ever(); // this process is about to end
    }
    if (ec == zookeeper_errc::auth_failed ||
        ec == zookeeper_errc::session_closed_require_sasl_auth) { // of the client, not of the watch
        throw failure_of(ec, zk.last_error_detail());
    }
}

} // namespace

asio::awaitable<std::string> wait_until_off(client& zk, std::string path)
{
    for (;;) {
        try {
            auto position = co_await look_at_switch(zk, path);
            if (!position.on) {
                co_return std::move(position.why);
            }
            co_await change_of(zk, position);
        } catch (const failure& f) {
            co_return f.what();
        }
    }
}

asio::awaitable<void> wait_until_on(client& zk, std::string path)
{
    for (;;) {
        auto position = co_await look_at_switch(zk, path);
        if (position.on) {
            co_return;
        }
        co_await change_of(zk, position);
    }
}

} // namespace colock::cli
