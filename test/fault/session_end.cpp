// What a server writes when a session ends, servers can read: else none that has it in its log starts again. With a small
// jute.maxbuffer here, and with the default of servers in the cases that take long.
#include <support/lock_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <deque>
#include <string>
#include <vector>

namespace colock::test::session_end_test {

namespace {

zookeeper_options with_buffer(std::size_t bytes)
{
    zookeeper_options o;
    o.tick_time = 500ms;
    if (bytes != 0) {
        o.jvm_flags = {"-Djute.maxbuffer=" + std::to_string(bytes)};
    }
    return link_servers(std::move(o));
}

// How a session ends.
enum class ending { closed, killed, silent };

// A client whose session has nodes, and which can be cut off.
struct doomed {
    doomed(zookeeper_server& s, std::size_t room) : scene{s}
    {
        client_options o{.session_timeout = 4s, .tick = 500ms, .max_session_size = room};
        o.max_request_size = std::max(o.max_request_size, room);
        zk = &scene.connect_through(proxy, std::move(o));
    }

    // Until one is refused; how many there are then.
    std::size_t lock_all_it_can()
    {
        for (;;) {
            outcome<unique_lock> o;
            mutex{*zk, "/many/locks/" + std::to_string(10'000 + kept.size())}.async_lock(
                o.handler());
            if (const auto ec = code_of(scene.io, o)) {
                BOOST_TEST(ec == errc::session_full);
                return kept.size();
            }
            kept.push_back(std::move(o.value()));
        }
    }

    // Nodes that take so many bytes together.
    void create(std::size_t bytes)
    {
        constexpr std::size_t each = 1'000;
        std::deque<outcome<create_result>> made;
        for (std::size_t number = 100'000; bytes != 0; ++number) {
            const auto size = bytes < 2 * each ? bytes : each;
            auto path = "/" + std::to_string(number);
            path.resize(size - 4, 'x');
            zk->async_create(std::move(path), "", create_mode::ephemeral,
                             made.emplace_back().handler());
            bytes -= size;
        }
        for (auto& each_made : made) {
            BOOST_TEST_REQUIRE(code_of(scene.io, each_made) == error_code{});
        }
    }

    void end(ending how)
    {
        const auto session = zk->session_id();
        if (how == ending::closed) {
            outcome<> o;
            zk->async_close(o.handler());
            BOOST_TEST(code_of(scene.io, o) == error_code{});
        } else if (how == ending::killed) {
            BOOST_TEST(!kill_session(scene.server.connect_string(), session, password_of(*zk)));
        } else {
            proxy.refuse(true);
            proxy.cut();
        }
        BOOST_TEST(scene.until([&] { return !scene.server.ephemerals().contains(session); }));
    }

    lock_scene scene;
    tcp_proxy proxy = link_proxy(scene.server);
    client* zk = nullptr;
    std::vector<unique_lock> kept;
};

bool starts_again(zookeeper_server& server)
{
    try {
        server.restart();
        return true;
    } catch (const std::runtime_error&) {
        return false;
    }
}

// Beside the paths: the header of a transaction, the number of paths, and a digest.
constexpr std::size_t beside = 48;

} // namespace

BOOST_AUTO_TEST_SUITE(session_end)

BOOST_AUTO_TEST_CASE(a_server_starts_again)
{
    zookeeper_server server{with_buffer(8'192)};
    for (const auto how : {ending::closed, ending::killed, ending::silent}) {
        BOOST_TEST_CONTEXT("ending " << static_cast<int>(how))
        {
            {
                doomed one{server, 8'192};
                BOOST_TEST(one.lock_all_it_can() == 8'192 / (4 + 17 + 56));
                one.end(how);
            }
            BOOST_TEST(starts_again(server));
        }
    }
}

BOOST_AUTO_TEST_CASE(one_byte_more_than_it_can_read_takes_it_down)
{
    zookeeper_server server{with_buffer(8'192)};
    {
        doomed one{server, 20'000};
        one.create(2 * 8'192 - beside);
        one.end(ending::closed);
    }
    BOOST_TEST(starts_again(server));
    {
        doomed one{server, 20'000};
        one.create(2 * 8'192 - beside + 1);
        one.end(ending::closed);
    }
    BOOST_TEST(!starts_again(server)); // or the case before proves nothing
}

BOOST_AUTO_TEST_CASE(an_ensemble_starts_again)
{
    zookeeper_ensemble ensemble{with_buffer(8'192)};
    for (const auto how : {ending::closed, ending::silent}) {
        {
            doomed one{ensemble[0], 8'192};
            one.lock_all_it_can();
            one.end(how);
        }
        for (std::size_t i = 0; i != ensemble.size(); ++i) {
            ensemble[i].kill();
        }
        ensemble.start_missing();
    }
}

// With the defaults of servers and clients.
BOOST_AUTO_TEST_CASE(the_default_is_half_of_what_servers_read_soak, *boost::unit_test::disabled())
{
    zookeeper_server server{with_buffer(0)};
    {
        doomed one{server, client_options{}.max_session_size};
        one.create(client_options{}.max_session_size);
        one.end(ending::closed);
    }
    BOOST_TEST(starts_again(server));
    BOOST_TEST(2 * client_options{}.max_session_size <= 2 * 0xfffff - beside);
    {
        doomed one{server, 3'000'000};
        one.create(2 * 0xfffff - beside);
        one.end(ending::silent);
    }
    BOOST_TEST(starts_again(server));
    {
        doomed one{server, 3'000'000};
        one.create(2 * 0xfffff - beside + 1);
        one.end(ending::closed);
    }
    BOOST_TEST(!starts_again(server));
}

BOOST_AUTO_TEST_CASE(an_ensemble_bears_a_full_session_soak, *boost::unit_test::disabled())
{
    zookeeper_ensemble ensemble{with_buffer(0)};
    for (const auto how : {ending::closed, ending::silent}) {
        {
            doomed one{ensemble[1], client_options{}.max_session_size};
            BOOST_TEST(one.lock_all_it_can() == client_options{}.max_session_size / (4 + 17 + 56));
            one.end(how);
        }
        for (std::size_t i = 0; i != ensemble.size(); ++i) {
            ensemble[i].kill();
        }
        ensemble.start_missing();
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::session_end_test
