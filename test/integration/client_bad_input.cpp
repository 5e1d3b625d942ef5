// What users get wrong: each mistake has its own code, and a text that names it. Nothing hangs, nothing aborts,
// nothing stays on the server.
#include <colock/client.hpp>
#include <colock/log.hpp>
#include <support/admin_session.hpp>
#include <support/loopback_port.hpp>
#include <support/one_server.hpp>
#include <support/print.hpp>
#include <support/requests_of.hpp>
#include <support/run.hpp>
#include <support/tcp_proxy.hpp>
#include <support/wait_until.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace colock::test;
using namespace std::chrono_literals;
namespace asio = boost::asio;

using colock::any_version;
using colock::client;
using colock::client_options;
using colock::create_mode;
using colock::errc;
using colock::error_code;
using colock::transaction_op;
using colock::zookeeper_errc;

namespace {

client_options good()
{
    client_options options;
    options.hosts = one_server::get().connect_string();
    options.session_timeout = 1s;
    return options;
}

bool mentions(const std::string& text, const std::string& what)
{
    return text.find(what) != std::string::npos;
}

// The server knows of no session any more.
bool nothing_left()
{
    return wait_until([] { return one_server::get().sessions().empty(); }, long_enough);
}

// async_connect() fails with a code, names what is wrong, and leaves nothing behind that holds work; as often
// as it is tried.
void refuses(const client_options& options, error_code expected, const std::string& mention,
             int times = 2)
{
    asio::io_context context;
    std::vector<std::string> logged;
    client_options logging = options;
    logging.log = [&](colock::log_level, std::string_view text) { logged.emplace_back(text); };
    client zk{context, logging};
    for (int i = 0; i != times; ++i) {
        std::optional<error_code> got;
        zk.async_connect([&](error_code ec) { got = ec; });
        BOOST_TEST(!got.has_value());
        BOOST_TEST(run_to_the_end(context));
        BOOST_REQUIRE(got.has_value());
        BOOST_TEST(*got == expected, options.hosts << ": " << *got << " instead of " << expected);
        BOOST_TEST(mentions(zk.last_error_detail(), mention),
                   "\"" << zk.last_error_detail() << "\" does not mention \"" << mention << "\"");
        BOOST_TEST(zk.state() == colock::connection_state::idle);
    }
    for (const auto& line : logged) {
        BOOST_TEST(!line.empty());
    }
}

// Runs a test with a connected client.
void with_client(client_options options, const std::function<asio::awaitable<void>(client&)>& body)
{
    asio::io_context context;
    client zk{context, std::move(options)};
    run(context, [](client& c, auto& b) -> asio::awaitable<void> {
        co_await c.async_connect();
        co_await b(c);
        co_await c.async_close();
    }(zk, body));
    BOOST_TEST(run_to_the_end(context));
}

struct bad_path {
    std::string path;
    std::string why;
};

std::vector<bad_path> bad_paths()
{
    return {{"", "empty"},
            {"a", "does not begin"},
            {"a/b", "does not begin"},
            {"//", "\"//\""},
            {"//a", "\"//\""},
            {"/a//b", "\"//\""},
            {"/a/", "ends in"},
            {"/.", "\".\""},
            {"/a/./b", "\".\""},
            {"/a/..", "\"..\""},
            {"/../a", "\"..\""},
            {std::string("/a\0b", 4), "NUL"},
            {std::string("/\0", 2), "NUL"},
            {"/a\nb", "control"},
            {"/\x7f", "control"},
            {"/" + std::string(5'000, 'x'), "longer"}};
}

// Every operation that takes a path, started with it; each leaves its code in the list.
std::size_t start_all(client& zk, const std::string& path, std::vector<error_code>& codes)
{
    const auto keep = [&codes](error_code ec, const auto&...) { codes.push_back(ec); };
    zk.async_create(path, "x", create_mode::persistent, keep);
    zk.async_get(path, keep);
    zk.async_set(path, "x", any_version, keep);
    zk.async_exists(path, keep);
    zk.async_children(path, keep);
    zk.async_remove(path, any_version, keep);
    zk.async_sync(path, keep);
    zk.async_get_acl(path, keep);
    zk.async_set_acl(path, colock::open_acl(), keep);
    zk.async_watch(path, keep);
    zk.async_watch_exists(path, keep);
    zk.async_watch_children(path, keep);
    for (const auto& op : {colock::check_op(path), colock::create_op(path),
                           colock::set_op(path, "x"), colock::remove_op(path)}) {
        zk.async_multi({op}, keep);
        zk.async_multi({colock::check_op("/"), op}, keep);
    }
    return 20;
}

} // namespace

BOOST_AUTO_TEST_SUITE(client_bad_input, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(malformed_host_lists_are_refused_with_the_entry_that_is_wrong)
{
    const std::pair<std::string, std::string> lists[] = {
        {"", "empty"},
        {",", "empty"},
        {",a:1", "empty"},
        {"a:1,,b:1", "empty"},
        {":2181", "\":2181\""},
        {"127.0.0.1:", "port"},
        {"127.0.0.1:0", "port"},
        {"127.0.0.1:65536", "127.0.0.1:65536"},
        {"127.0.0.1:99999999999999999999", "port"},
        {"127.0.0.1:-1", "port"},
        {"127.0.0.1:+1", "port"},
        {"127.0.0.1:2181x", "port"},
        {"a:1,127.0.0.1:port,b:1", "127.0.0.1:port"},
        {"a:1 , ,b:1", "empty"},
        {"127.0.0.1: 2181", "port"},
        {"a b:1", "a b:1"},
        {"127.0.0.1:2181/chroot", "/chroot"},
        {"http://127.0.0.1:2181", "http"},
        {"::1:2181", "brackets"},
        {"[::1:2181", "bracket"},
        {"[::1]2181", "[::1]2181"},
        {"[localhost]:2181", "[localhost]"},
        {"[]:2181", "[]"},
        {"a:1:2", "colon"},
        {std::string("a\0:1", 4), "control character"},
        {std::string(254, 'n') + ":2181", "host name"}};
    for (const auto& [list, mention] : lists) {
        auto options = good();
        options.hosts = list;
        refuses(options, errc::invalid_hosts, mention);
    }
}

BOOST_AUTO_TEST_CASE(times_that_are_zero_negative_or_too_long_are_refused_by_name)
{
    const std::pair<const char*, std::chrono::milliseconds client_options::*> times[] = {
        {"session_timeout", &client_options::session_timeout},
        {"connect_timeout", &client_options::connect_timeout},
        {"close_timeout", &client_options::close_timeout},
        {"backoff_min", &client_options::backoff_min},
        {"backoff_max", &client_options::backoff_max},
        {"tick", &client_options::tick}};
    for (const auto& [name, member] : times) {
        for (const auto value :
             {0ms, -1ms, std::chrono::milliseconds{std::chrono::hours{24 * 30}},
              std::chrono::milliseconds::max(), std::chrono::milliseconds::min()}) {
            auto options = good();
            options.*member = value;
            if (options.connect_timeout != std::chrono::milliseconds::max()) { // which is endless
                refuses(options, errc::invalid_option, name);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_longest_session_time_out_connects_and_a_longer_one_is_refused)
{
    constexpr std::chrono::milliseconds longest{0x3fffffff};
    auto options = good();
    options.session_timeout = longest;
    with_client(options, [](client& zk) -> asio::awaitable<void> {
        BOOST_TEST((zk.session_timeout() > 0ms)); // the servers make less of it
        co_return;
    });
    for (const auto too_long : {longest + 1ms, std::chrono::milliseconds{0x7fffffff}}) {
        options.session_timeout = too_long;
        refuses(options, errc::invalid_option, "at most 1073741823 ms");
    }
}

BOOST_AUTO_TEST_CASE(a_limit_of_requests_that_the_protocol_cannot_count_is_refused)
{
    for (const auto size : {std::size_t{0x80000000}, std::numeric_limits<std::size_t>::max()}) {
        auto options = good();
        options.max_request_size = size;
        refuses(options, errc::invalid_option, "max_request_size is " + std::to_string(size));
    }
}

BOOST_AUTO_TEST_CASE(a_malformed_chroot_is_refused)
{
    for (const auto& bad : bad_paths()) {
        if (!bad.path.empty()) { // which means none
            auto options = good();
            options.chroot = bad.path;
            refuses(options, errc::invalid_path, bad.why);
            refuses(options, errc::invalid_path, "chroot");
        }
    }
}

BOOST_AUTO_TEST_CASE(a_missing_chroot_is_named_and_the_session_does_not_stay)
{
    auto options = good();
    options.session_timeout = 10s; // it is ended, and does not merely expire
    options.chroot = "/no/such/node";
    const auto begin = std::chrono::steady_clock::now();
    refuses(options, errc::no_chroot, "/no/such/node");
    BOOST_TEST(nothing_left());
    BOOST_TEST((std::chrono::steady_clock::now() - begin < 8s));
    BOOST_TEST(!admin_session(one_server::get().connect_string()).exists("/no").has_value());
}

BOOST_AUTO_TEST_CASE(without_a_server_the_address_that_was_tried_is_named)
{
    const loopback_port nobody, nobody_either;
    auto options = good();
    options.connect_timeout = 1s;
    options.hosts = nobody.address();
    refuses(options, errc::no_server, nobody.address(), 1);
    options.hosts += "," + nobody_either.address();
    refuses(options, errc::no_server, "127.0.0.1:", 1);
}

BOOST_AUTO_TEST_CASE(a_server_that_is_silent_or_hangs_up_is_told_from_one_that_is_not_there)
{
    tcp_proxy proxy{one_server::get().connect_string()};
    auto options = good();
    options.hosts = proxy.connect_string();
    options.connect_timeout = 600ms; // before the client gives the silent server up, and tries anew
    proxy.stall(true);
    refuses(options, errc::connect_timeout, proxy.connect_string(), 1);
    proxy.stall(false);
    proxy.refuse(true, refusal::close_at_once);
    refuses(options, errc::no_server, proxy.connect_string(), 1);
}

BOOST_AUTO_TEST_CASE(something_else_than_zookeeper_behind_the_port_is_no_server)
{
    using boost::asio::ip::tcp;
    const auto frame = [](std::uint32_t length, const std::string& content) {
        std::string bytes;
        for (int shift = 24; shift >= 0; shift -= 8) {
            bytes += static_cast<char>(length >> shift & 0xff);
        }
        return bytes + content;
    };
    const std::string speeches[] = {"HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\n\r\n" +
                                        std::string(5'000, 'x'),
                                    "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n",
                                    std::string(5'000, '\0'),
                                    std::string(5'000, '\xff'),
                                    frame(0, ""),
                                    frame(1, "x"),
                                    frame(37, std::string(37, '\xff')),
                                    frame(36, std::string(36, '\0')),
                                    frame(100, std::string(100, '\x7f')),
                                    frame(4'000'000, std::string(10'000, 'x')),
                                    frame(0x7fffffff, std::string(10'000, 'x')),
                                    frame(0x80000000, std::string(10'000, 'x'))};
    for (const auto& speech : speeches) {
        asio::io_context io;
        tcp::acceptor listening{io, {asio::ip::address_v4::loopback(), 0}};
        std::vector<std::unique_ptr<tcp::socket>> peers;
        std::function<void()> accept = [&] {
            listening.async_accept([&](error_code ec, tcp::socket peer) {
                if (!ec) {
                    peers.push_back(std::make_unique<tcp::socket>(std::move(peer)));
                    asio::async_write(*peers.back(), asio::buffer(speech),
                                      [](error_code, std::size_t) {});
                    accept();
                }
            });
        };
        accept();
        auto options = good();
        options.connect_timeout = 100ms;
        options.hosts = "127.0.0.1:" + std::to_string(listening.local_endpoint().port());
        client zk{io, options};
        std::optional<error_code> got;
        zk.async_connect([&](error_code ec) { got = ec; });
        run_until(io, [&] { return got.has_value(); });
        BOOST_TEST((*got == errc::no_server || *got == errc::connect_timeout),
                   *got << " from \"" << speech.substr(0, 8) << "\"");
        BOOST_TEST(mentions(zk.last_error_detail(), options.hosts));
        listening.close();
        peers.clear();
        BOOST_TEST(run_to_the_end(io));
    }
}

BOOST_AUTO_TEST_CASE(names_that_nobody_knows_are_told_from_a_name_service_that_fails)
{
    auto options = good();
    options.connect_timeout = 1s;
    options.hosts = "nowhere.test:2181";
    refuses(options, errc::unknown_host, "nowhere.test", 1);
    options.hosts = "nowhere.test,failing.test";
    refuses(options, errc::unknown_host, ".test", 1);
    const loopback_port nobody;
    options.hosts = "nowhere.test:2181," + nobody.address();
    refuses(options, errc::no_server, nobody.address(), 1);
}

BOOST_AUTO_TEST_CASE(credentials_of_a_scheme_that_the_server_does_not_know_are_refused)
{
    auto options = good();
    options.credentials = {{"digest", "me:secret"}, {"nosuch", "secret"}};
    refuses(options, zookeeper_errc::auth_failed, "credentials");
    options.chroot = own_node();
    refuses(options, zookeeper_errc::auth_failed, one_server::get().connect_string());
    options.credentials = {{"", "secret"}};
    refuses(options, errc::invalid_option, "scheme");
    for (const auto* const secret : {"", "me", "secret"}) {
        options.credentials = {{"digest", secret}};
        refuses(options, errc::invalid_option, "user:password");
    }
    BOOST_TEST(nothing_left());
}

BOOST_AUTO_TEST_CASE(wrong_credentials_and_missing_permission_are_reported_with_the_path)
{
    const auto root = own_node();
    auto options = good();
    options.credentials = {{"digest", "me:secret"}};
    with_client(options, [&](client& zk) -> asio::awaitable<void> {
        const colock::create_options mine{.acl = colock::creator_acl()};
        co_await zk.async_create(root + "/mine", "", mine);
    });
    options.credentials = {{"digest", "me:wrong"}};
    with_client(options, [&](client& zk) -> asio::awaitable<void> {
        auto [read, data] = co_await zk.async_get(root + "/mine", no_throw);
        BOOST_TEST(read == zookeeper_errc::no_auth);
        BOOST_TEST(mentions(zk.last_error_detail(), root + "/mine"));
        auto [made, result] =
            co_await zk.async_create(root + "/mine/x", "", create_mode::ephemeral, no_throw);
        BOOST_TEST(made == zookeeper_errc::no_auth);
        const std::vector ops{colock::check_op(root), colock::set_op(root + "/mine", "")};
        auto [multi, results] = co_await zk.async_multi(ops, no_throw);
        BOOST_TEST(multi == zookeeper_errc::no_auth);
        BOOST_TEST(mentions(zk.last_error_detail(), root + "/mine"));
    });
}

BOOST_AUTO_TEST_CASE(bad_paths_are_refused_by_every_operation_and_nothing_is_sent)
{
    const auto nodes = one_server::get().node_count();
    asio::io_context context;
    client zk{context, good()};
    run(context, [&]() -> asio::awaitable<void> { co_await zk.async_connect(); }());
    for (const auto& bad : bad_paths()) {
        std::vector<error_code> codes;
        const auto started = start_all(zk, bad.path, codes);
        BOOST_TEST(codes.empty()); // never inline
        run_until(context, [&] { return codes.size() == started; });
        for (const auto& ec : codes) {
            BOOST_TEST(ec == errc::invalid_path);
        }
        const auto detail = zk.last_error_detail();
        BOOST_TEST(mentions(detail, bad.why));
        BOOST_TEST(mentions(detail, colock::printable(bad.path.substr(0, 2))));
        BOOST_TEST(!mentions(detail, std::string(1, '\0')));
    }
    // A number comes behind the last name only.
    for (const auto* path : {"", "a", "//", "/a//", "/a/./b", "/../"}) {
        std::optional<error_code> ec;
        zk.async_create(path, "", create_mode::ephemeral_sequential,
                        [&](error_code e, auto) { ec = e; });
        run_until(context, [&] { return ec.has_value(); });
        BOOST_TEST(*ec == errc::invalid_path);
    }
    // Steps that create nothing have no number, whatever else they are given.
    for (const auto kind :
         {transaction_op::kind::check, transaction_op::kind::set, transaction_op::kind::remove}) {
        std::optional<error_code> ec;
        const transaction_op op{
            .type = kind, .path = "/a/", .create = {.mode = create_mode::ephemeral_sequential}};
        zk.async_multi({op}, [&](error_code e, auto) { ec = e; });
        run_until(context, [&] { return ec.has_value(); });
        BOOST_TEST(*ec == errc::invalid_path);
    }
    BOOST_TEST(requests_of(zk) == 0u);
    BOOST_TEST(zk.stats().connections == 1u);
    run(context, [&]() -> asio::awaitable<void> { co_await zk.async_close(); }());
    BOOST_TEST(one_server::get().node_count() == nodes);
    BOOST_TEST(nothing_left());
}

BOOST_AUTO_TEST_CASE(what_only_the_server_can_refuse_is_an_error_too)
{
    const auto root = own_node();
    with_client(good(), [&](client& zk) -> asio::awaitable<void> {
        std::vector<error_code> codes;
        const auto keep = [&codes](error_code ec, const auto&...) { codes.push_back(ec); };
        for (const auto* name :
             {"/\xc2\x80", "/\xff", "/\xef\xbf\xb0"}) { // not for ZooKeeper, not UTF-8
            zk.async_create(root + name, "", create_mode::persistent, keep);
            zk.async_multi({colock::create_op(root + name)}, keep);
        }
        zk.async_remove("/", any_version, keep);
        zk.async_multi({colock::remove_op("/")}, keep);
        zk.async_create("/", "", create_mode::persistent, keep);
        BOOST_TEST(co_await eventually([&] { return codes.size() == 9; }));
        for (const auto& ec : codes) {
            BOOST_TEST(ec.failed());
        }
        BOOST_TEST(zk.stats().connections == 1u);
        BOOST_TEST((co_await zk.async_children(root)).names.empty());

        // The server would hang up, and nobody would know why.
        auto [ec, made] = co_await zk.async_create(root + "/huge", std::string(3'000'000, 'x'),
                                                   create_mode::persistent, no_throw);
        BOOST_TEST(ec == errc::request_too_large);
        BOOST_TEST(zk.stats().connections == 1u);
        BOOST_TEST(mentions(zk.last_error_detail(), root + "/huge"));
        BOOST_TEST(!(co_await zk.async_exists(root + "/huge")).has_value());
    });
    BOOST_TEST(nothing_left());
}

BOOST_AUTO_TEST_CASE(operations_before_connecting_and_after_closing_are_refused_with_the_path)
{
    asio::io_context context;
    client zk{context, good()};
    const auto all_are = [&](errc expected) {
        std::vector<error_code> codes;
        const auto started = start_all(zk, "/some/path", codes);
        run_until(context, [&] { return codes.size() == started; });
        for (const auto& ec : codes) {
            BOOST_TEST(ec == expected);
        }
        BOOST_TEST(run_to_the_end(context));
    };
    all_are(errc::not_connected);
    zk.async_get("/some/path", [](error_code, auto) {});
    BOOST_TEST(run_to_the_end(context));
    BOOST_TEST(mentions(zk.last_error_detail(), "/some/path"));

    run(context, [&]() -> asio::awaitable<void> { co_await zk.async_connect(); }());
    run(context, [&]() -> asio::awaitable<void> { co_await zk.async_close(); }());
    all_are(errc::client_closed);
    zk.async_get("/some/other", [](error_code, auto) {});
    BOOST_TEST(run_to_the_end(context));
    BOOST_TEST(mentions(zk.last_error_detail(), "/some/other"));
    std::optional<error_code> again, closed, state;
    zk.async_connect([&](error_code ec) { again = ec; });
    zk.async_close([&](error_code ec) { closed = ec; });
    zk.async_wait_state_change(colock::connection_state::closed,
                               [&](error_code ec, auto) { state = ec; });
    BOOST_TEST(run_to_the_end(context));
    BOOST_TEST(again.value() == errc::client_closed);
    BOOST_TEST(!closed.value().failed());
    BOOST_TEST(state.value() == errc::client_closed);
    BOOST_TEST(nothing_left());
}

BOOST_AUTO_TEST_SUITE_END()
