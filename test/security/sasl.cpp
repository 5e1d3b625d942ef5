// Who a client is by SASL: DIGEST-MD5 with real servers.
#include <colock/diagnostics.hpp>
#include <colock/mutex.hpp>
#include <support/client_scene.hpp>
#include <support/refused.hpp>
#include <support/sasl_servers.hpp>
#include <support/temporary_directory.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace colock::test::sasl_test {

using namespace std::chrono_literals;

namespace {

zookeeper_options knows_bob(const std::string& directory)
{
    return knows_users(directory, R"(user_bob="bobs secret" user_alice="alices")");
}

client_options as(const std::string& user, const std::string& password)
{
    return {.session_timeout = 10s,
            .connect_timeout = 20s,
            .tick = 500ms,
            .acl = creator_acl(),
            .sasl = {.mechanism = "DIGEST-MD5", .user = user, .secret = [password] {
                         return password;
                     }}};
}

client_options as_bob()
{
    return as("bob", "bobs secret");
}

class knowing_server {
public:
    void setup()
    {
        directory().emplace();
        server() = std::make_unique<zookeeper_server>(link_servers(knows_bob(directory()->path())));
    }
    void teardown()
    {
        server().reset();
        directory().reset();
    }
    static std::unique_ptr<zookeeper_server>& server()
    {
        static std::unique_ptr<zookeeper_server> all;
        return all;
    }

private:
    static std::optional<temporary_directory>& directory()
    {
        static std::optional<temporary_directory> all;
        return all;
    }
};

struct scene : client_scene {
    explicit scene(client_options options = as_bob(),
                   zookeeper_server& s = *knowing_server::server())
        : client_scene{std::move(options), s}
    {
    }

    error_code try_to_connect()
    {
        const outcome<> o;
        zk.async_connect(bind_diagnostics(why, o.handler()));
        return code_of(io, o);
    }
    bool says(const std::string& words) const
    {
        return why.message().find(words) != std::string::npos;
    }

    diagnostics why;
};

constexpr int no_auth = -102;

} // namespace

BOOST_AUTO_TEST_SUITE(sasl, *boost::unit_test::fixture<knowing_server>())

BOOST_FIXTURE_TEST_CASE(a_lock_belongs_to_the_user, scene)
{
    connect();
    BOOST_TEST(!create(root + "/lock"));
    const outcome<acl_result> list;
    zk.async_get_acl(root + "/lock", list.handler());
    const auto entries = value_of(io, list).acl;
    const acl_entry bob{permission_all, "sasl", "bob"};
    BOOST_TEST((std::ranges::find(entries, bob) != entries.end()));
    BOOST_TEST(entries.size() == (over_tls() ? 2u : 1u)); // and a certificate

    mutex m{zk, root + "/lock"};
    const outcome<unique_lock> locked;
    m.async_lock(locked.handler());
    auto held = value_of(io, locked);
    BOOST_TEST(refused([&] { admin.remove(held.node()); }) == no_auth);

    if (!over_tls()) { // where she has the same certificate
        scene alice{as("alice", "alices")};
        alice.connect();
        const outcome<> removed;
        alice.zk.async_remove(held.node(), removed.handler());
        BOOST_TEST(code_of(alice.io, removed) == zookeeper_errc::no_auth);
        alice.close();
    }

    held = {};
    close();
}

BOOST_AUTO_TEST_CASE(a_wrong_password_is_refused_for_good)
{
    for (const auto& options : {as("bob", "wrong"), as("mallory", "mallorys"), as("bob", "")}) {
        scene s{options};
        BOOST_TEST(s.try_to_connect() == zookeeper_errc::auth_failed);
        BOOST_TEST(s.says("SASL DIGEST-MD5"));
        BOOST_TEST(s.says("refuses"));
        BOOST_TEST(!s.says("wrong"));
        s.close();
    }
}

// The session lives on, on a connection on which the client has said again who it is.
BOOST_FIXTURE_TEST_CASE(each_connection_begins_with_it, scene)
{
    connect();
    const auto session = zk.session_id();
    mutex m{zk, root + "/lock"};
    const outcome<unique_lock> locked;
    m.async_lock(locked.handler());
    auto held = value_of(io, locked);
    for (int i = 0; i != 3; ++i) {
        disconnect(i == 1 ? cut_kind::finish : cut_kind::reset);
        reconnect();
        BOOST_TEST(wait_for(connection_state::connected));
        BOOST_TEST(zk.session_id() == session);
        const outcome<node_stat> written;
        zk.async_set(held.node(), "mine", written.handler());
        value_of(io, written); // nobody else may
    }
    BOOST_TEST(static_cast<bool>(held));
    held = {};
    close();
}

BOOST_AUTO_TEST_CASE(a_server_may_want_it_of_everybody)
{
    const temporary_directory directory;
    zookeeper_server strict{link_servers(and_nobody_else(knows_bob(directory.path())))};
    asio::io_context io;
    auto known = link_client(as_bob());
    known.hosts = over_tls() ? strict.secure_connect_string() : strict.connect_string();
    client zk{io, known};
    const outcome<> connected;
    zk.async_connect(connected.handler());
    value_of(io, connected);
    mutex m{zk, "/lock"};
    const outcome<unique_lock> locked;
    m.async_lock(locked.handler());
    value_of(io, locked) = {};
    const outcome<> closed;
    zk.async_close(closed.handler());
    value_of(io, closed);

    auto unknown = known;
    unknown.sasl = {};
    client stranger{io, unknown};
    const outcome<get_result> refused;
    stranger.async_connect([](const error_code&) {});
    stranger.async_get("/", refused.handler());
    BOOST_TEST(code_of(io, refused) == zookeeper_errc::session_closed_require_sasl_auth);

    auto wrong = known;
    wrong.sasl.secret = [] { return "guessed"; };
    client mallory{io, wrong};
    const outcome<> failed;
    mallory.async_connect(failed.handler());
    BOOST_TEST(code_of(io, failed) == zookeeper_errc::auth_failed);
}

BOOST_AUTO_TEST_CASE(a_server_without_it_is_no_server)
{
    zookeeper_options plain;
    plain.tick_time = 500ms;
    zookeeper_server server{link_servers(plain)};
    auto options = as_bob();
    // For attempts of 1, 2 and 4 s: a cold server takes a second for TLS, or two.
    options.connect_timeout = 9s;
    scene s{options, server};
    BOOST_TEST(s.try_to_connect() == errc::no_server);
    BOOST_TEST(s.says("is it configured for SASL?"));
    s.close();
}

BOOST_AUTO_TEST_CASE(options_that_say_too_little_are_refused)
{
    struct row {
        std::function<void(client_options&)> change;
        std::string why;
    };
    const row rows[] = {
        {[](auto& o) { o.sasl.mechanism = "PLAIN"; }, "sasl.mechanism is \"PLAIN\""},
        {[](auto& o) { o.sasl.user.clear(); }, "sasl.user"},
        {[](auto& o) { o.sasl.secret = nullptr; }, "sasl.secret"},
        {[](auto& o) { o.session_guard.helper = "/no/guard"; }, "session_guard"},
    };
    for (const auto& each : rows) {
        auto options = as_bob();
        each.change(options);
        scene s{options};
        BOOST_TEST(s.try_to_connect() == errc::invalid_option);
        BOOST_TEST(s.says(each.why), s.why.message());
        s.close();
    }
}

// The server falls silent within the exchange: the attempt ends by its deadline, and by a cancellation at once.
BOOST_AUTO_TEST_CASE(a_server_that_falls_silent_holds_nobody)
{
    auto options = as_bob();
    options.connect_timeout = 700ms;
    scene s{options};
    s.proxy.on_reply(opcode::sasl, reaction::hold, {.times = 0});
    BOOST_TEST(s.try_to_connect() == errc::connect_timeout);

    asio::cancellation_signal stop;
    const outcome<> cancelled;
    s.zk.async_connect(asio::bind_cancellation_slot(stop.slot(), cancelled.handler()));
    go_on(s.io, 100ms);
    stop.emit(asio::cancellation_type::total);
    BOOST_TEST(code_of(s.io, cancelled) == asio::error::operation_aborted);
    s.close();
}

// The mechanism has the word, on its own thread, when nobody wants it any more.
BOOST_AUTO_TEST_CASE(a_client_may_go_while_the_mechanism_thinks)
{
    for (int i = 0; i != 50; ++i) {
        asio::io_context io;
        auto options = link_client(as_bob());
        options.hosts = over_tls() ? knowing_server::server()->secure_connect_string()
                                   : knowing_server::server()->connect_string();
        std::optional<client> zk{std::in_place, io, options};
        const outcome<> connected;
        zk->async_connect(connected.handler());
        for (int steps = 0; steps != i; ++steps) {
            io.run_one_for(5ms);
        }
        zk.reset();
        BOOST_TEST(run_to_the_end(io));
        BOOST_TEST(connected.done());
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::sasl_test
