// colock serve: a ZooKeeper server in memory, for development and tests.
#include "connect/awaiting.hpp"
#include "connect/duration.hpp"
#include "connect/until_signal.hpp"
#include "program/failure.hpp"
#include "program/open_files.hpp"
#include "program/program.hpp"
#include "serve/door.hpp"
#include "serve/tls.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>

namespace colock::cli {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

namespace {

struct serve_options {
    unsigned short port = 2181;
    std::string address = "127.0.0.1";
    std::string sessions;
    std::optional<std::string> tls;
    bool is_open = false;
    bool is_quiet = false;
};

asio::ip::address address_of(const serve_options& o)
{
    boost::system::error_code ec;
    auto address = asio::ip::make_address(o.address, ec);
    if (ec) {
        throw failure{usage, "\"" + o.address + "\" is no IP address; write it like 127.0.0.1"};
    }
    if (!address.is_loopback() && !o.is_open) {
        throw failure{usage, "others could reach it at " + o.address +
                                 ", and it lets everybody in; add --open-to-network if it may"};
    }
    return address;
}

void set_sessions(testing::server_settings& to, const std::string& range)
{
    if (range.empty()) {
        return;
    }
    try {
        const auto colon = range.find(':');
        to.least_session = parse_duration(std::string_view{range}.substr(0, colon));
        to.most_session = colon == range.npos
                              ? to.least_session
                              : parse_duration(std::string_view{range}.substr(colon + 1));
    } catch (const std::invalid_argument& e) {
        throw failure{usage, std::string{"--session-timeout: "} + e.what()};
    }
    if (to.least_session.count() < 1 || to.most_session < to.least_session ||
        to.most_session > std::chrono::hours{24 * 12}) {
        throw failure{usage, "--session-timeout is MIN:MAX, such as 1s:40s; MIN is above zero, and "
                             "MAX no less, up to twelve days"};
    }
}

testing::make_wrapping wrapping_of(const serve_options& o)
{
    if (!o.tls) {
        return {};
    }
    const auto& directory = *o.tls;
    try {
        if (testing::make_certificates(directory) && !o.is_quiet) {
            std::cerr << "colock serve: made throw-away certificates; connect with --tls-ca "
                      << directory << "/ca.pem --tls-cert " << directory << "/client.pem --tls-key "
                      << directory << "/client.key\n";
        }
        return testing::tls_of(directory);
    } catch (const std::runtime_error& e) {
        throw failure{usage, std::string{"--tls: "} + e.what()};
    }
}

asio::awaitable<int> serve(const serve_options& o)
{
    raise_limit_of_files(); // each connection takes one
    auto settings = testing::fresh_settings();
    set_sessions(settings, o.sessions);
    settings.knows_certificates = o.tls.has_value();
    const tcp::endpoint wanted{address_of(o), o.port};
    const auto executor = co_await asio::this_coro::executor;
    auto& context = static_cast<asio::io_context&>(executor.context());
    std::optional<testing::door> door;
    try {
        door.emplace(context, wanted, std::move(settings), wrapping_of(o));
    } catch (const boost::system::system_error& e) {
        throw failure{usage, "cannot listen at " + testing::text_of(wanted) + ": " +
                                 e.code().message() + "; choose another --port, or 0 for any"};
    }
    if (!o.is_quiet) {
        std::cerr << "colock serve: for development and tests: it keeps nothing when it ends, "
                     "has no replicas, and lets everybody in\n";
    }
    std::cout << testing::text_of(door->address()) << std::endl;
    if (!std::cout) {
        throw failure{usage, "the standard output cannot be written"};
    }
    co_await wait_for_ever();
    co_return success;
}

} // namespace

void add_serve(program& p)
{
    auto& c = p.add(
        {.name = "serve",
         .synopsis = "[options]",
         .summary = "be a ZooKeeper server in memory, for development and tests",
         .description =
             "Serves clients of ZooKeeper, of any language, until it is interrupted, and prints "
             "where: one line on the standard output, as soon as it serves. It needs neither Java "
             "nor a directory.\n\n"
             "It keeps nothing when it ends, has no replicas, and lets everybody in: locks that "
             "matter need real servers. After a restart the sessions of before have expired, the "
             "tree is empty, and fencing tokens go on growing.\n\n"
             "It behaves as ZooKeeper 3.9.3 does, with containers, times to live, watches of all "
             "kinds, transactions, access control by `digest`, `ip` and `x509`, and the words "
             "`ruok`, `srvr`, `stat`, `envi`, `conf`, `cons`, `dump`, `mntr` and `isro`. It knows "
             "neither quotas nor reconfiguration, and keeps at most 200,000 nodes with 64 MiB.\n\n"
             "With `--tls` it speaks TLS, and nothing else. A client needs no certificate; with "
             "one "
             "it has the identity `x509` with the name in it.",
         .examples = {{"colock serve", "Serve at 127.0.0.1:2181."},
                      {"colock serve --port 0 --session-timeout 500ms:10s --quiet",
                       "Serve at a free port, with short sessions, for a test that reads the "
                       "address."},
                      {"colock serve --tls /tmp/tls",
                       "Serve TLS, with certificates that are made there at first."}},
         .statuses = {{"0", {}}, {"128+N", "Signal N ended it, such as 143 after SIGTERM."}}});
    const auto o = std::make_shared<serve_options>();
    c.options->add_option("--port", o->port, "where to listen; 0: at a free port")
        ->type_name("PORT")
        ->capture_default_str();
    c.options->add_option("--bind", o->address, "the address of this machine to listen at")
        ->type_name("ADDRESS")
        ->capture_default_str();
    c.options->add_flag("--open-to-network", o->is_open,
                        "let other machines in, where --bind allows it");
    c.options
        ->add_option(
            "--session-timeout", o->sessions,
            "how long sessions last, whatever clients ask for: MIN:MAX; tickTime is half of MIN, "
            "2s at most")
        ->type_name("RANGE")
        ->default_str("4s:40s");
    c.options
        ->add_option("--tls", o->tls,
                     "speak TLS with the server.pem, server.key and ca.pem of this directory; they "
                     "are made where it is empty or new")
        ->type_name("DIRECTORY");
    c.options->add_flag("--quiet", o->is_quiet, "do not say what it is for");
    c.run = [o] { return run_until_signal([o] { return serve(*o); }); };
}

} // namespace colock::cli
