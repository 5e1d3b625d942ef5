#include "run/tell_session.hpp"

#include "connect/duration.hpp"
#include "connect/four_letter_word.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>

namespace colock::cli {

namespace {

// A server need not answer.
boost::asio::awaitable<void> tell_kind_of_servers(const client_options& servers, events& say)
{
    for (const auto& at : endpoints_of(servers.hosts)) {
        try {
            if (is_colock_serve(
                    co_await ask_as_client(servers, at, "srvr", std::chrono::seconds{1}))) {
                say.note("serve", words_on_colock_serve(at), importance::detail);
            }
        } catch (const boost::system::system_error&) {
        }
    }
}

} // namespace

void tell_session(boost::asio::io_context& context, const client& zk, const run_basis& what,
                  events& say)
{
    say.note("connected",
             "connected; the session ends when the servers hear nothing for " +
                 shown(zk.session_timeout()),
             importance::detail);
    if (what.report.verbose) {
        boost::asio::co_spawn(context, tell_kind_of_servers(what.servers, say),
                              boost::asio::detached);
    }
}

} // namespace colock::cli
