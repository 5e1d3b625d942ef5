// Host names: looking them up never blocks the executor, and ZooKeeper's own client never does it.
#include <colock/client.hpp>
#include <support/client_scene.hpp>
#include <support/fake_names.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

using namespace colock::test;
using namespace std::chrono_literals;

using colock::client_options;
using colock::connection_state;

namespace {

std::string port(const tcp_proxy& proxy)
{
    return ":" + std::to_string(proxy.port());
}

client_options to(std::string hosts)
{
    client_options options;
    options.hosts = std::move(hosts);
    return options;
}

// Measures how late the executor gets round to what is due every 5 ms.
class ticker {
public:
    explicit ticker(boost::asio::io_context& io) : state_{std::make_shared<state>(io)}
    {
        tick(state_, std::chrono::steady_clock::now());
    }
    ticker(const ticker&) = delete;
    ~ticker() { state_->over = true; }

    // A look-up in the executor's thread would cost all of fake_names::slowness; a busy machine costs something.
    bool was_blocked() const { return state_->longest >= fake_names::slowness / 2; }

private:
    struct state {
        explicit state(boost::asio::io_context& io) : timer{io} {}
        boost::asio::steady_timer timer;
        std::chrono::steady_clock::duration longest{};
        bool over = false;
    };

    static void tick(const std::shared_ptr<state>& s, std::chrono::steady_clock::time_point last)
    {
        const auto due = last + 5ms;
        s->timer.expires_at(due);
        s->timer.async_wait([s, due](const colock::error_code&) {
            const auto now = std::chrono::steady_clock::now();
            s->longest = std::max(s->longest, now - due);
            if (!s->over) {
                tick(s, now);
            }
        });
    }

    std::shared_ptr<state> state_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(client_names, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(names_are_never_looked_up_by_the_thread_that_runs_the_client)
{
    tcp_proxy proxy = link_proxy(one_server::get(), {"good.test", "slow.test"});
    client_scene s{to("good.test" + port(proxy))};
    s.connect();
    for (std::uint64_t i = 2; i != 4; ++i) {
        const auto asked = fake_names::count("good.test");
        proxy.cut();
        BOOST_TEST(becomes_true(s.io, [&] { return s.zk.stats().connections == i; }));
        BOOST_TEST(!s.get("/").failed());
        // A server may have moved: the name is asked for again.
        BOOST_TEST(becomes_true(s.io, [&] { return fake_names::count("good.test") > asked; }));
    }
    BOOST_TEST(!fake_names::any_in_this_thread());
    s.close();
}

BOOST_AUTO_TEST_CASE(a_slow_name_blocks_neither_the_executor_nor_the_other_hosts)
{
    tcp_proxy proxy = link_proxy(one_server::get(), {"good.test", "slow.test"});
    client_scene s{to("slow.test" + port(proxy) + "," + proxy.connect_string())};
    {
        const ticker t{s.io};
        const auto begin = std::chrono::steady_clock::now();
        s.connect();
        BOOST_TEST((std::chrono::steady_clock::now() - begin < fake_names::slowness / 2));
        BOOST_TEST(becomes_true(s.io, [] { return fake_names::count("slow.test") != 0; }));
        // It goes on while the answer is still awaited, and when it comes.
        for (std::uint64_t i = 2;
             std::chrono::steady_clock::now() - begin < fake_names::slowness + 300ms; ++i) {
            proxy.cut();
            BOOST_TEST(becomes_true(s.io, [&] { return s.zk.stats().connections == i; }));
            go_on(s.io, 300ms);
        }
        BOOST_TEST(!t.was_blocked());
    }
    BOOST_TEST(!fake_names::any_in_this_thread());
    BOOST_TEST(s.zk.stats().sessions == 1u);
    s.close();
}

BOOST_AUTO_TEST_CASE(a_client_with_nothing_but_a_slow_name_connects_when_the_answer_is_there)
{
    tcp_proxy proxy = link_proxy(one_server::get(), {"good.test", "slow.test"});
    client_scene s{to("slow.test" + port(proxy))};
    {
        const ticker t{s.io};
        s.connect();
        BOOST_TEST(!t.was_blocked());
    }
    s.close();

    // Or says for which host it was waiting.
    auto options = to("slow.test" + port(proxy));
    options.connect_timeout = 200ms;
    client_scene impatient{options};
    const outcome<> o;
    impatient.zk.async_connect(o.handler());
    BOOST_TEST(code_of(impatient.io, o) == colock::errc::connect_timeout);
    BOOST_TEST(impatient.zk.last_error_detail().find("slow.test") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_failing_name_is_no_obstacle_beside_a_good_one)
{
    tcp_proxy proxy = link_proxy(one_server::get(), {"good.test", "slow.test"});
    for (const auto* bad : {"failing.test", "nowhere.test"}) {
        client_scene s{to(bad + port(proxy) + ",good.test" + port(proxy))};
        const ticker t{s.io};
        s.connect();
        for (std::uint64_t i = 2; i != 4; ++i) {
            proxy.cut();
            BOOST_TEST(becomes_true(s.io, [&] { return s.zk.stats().connections == i; }));
        }
        BOOST_TEST(!t.was_blocked());
        s.zk.async_close([](colock::error_code) {});
        BOOST_TEST(s.wait_for(connection_state::closed));
    }
    BOOST_TEST(!fake_names::any_in_this_thread());
}

BOOST_AUTO_TEST_CASE(a_slow_name_holds_up_neither_other_names_nor_the_end_of_the_context)
{
    tcp_proxy proxy = link_proxy(one_server::get(), {"good.test", "slow.test"});
    const auto slow = fake_names::count("slow.test");
    const auto begin = std::chrono::steady_clock::now();
    {
        // One name behind the other, of one client and of two.
        client_scene s{to("slow.test" + port(proxy) + ",good.test" + port(proxy))};
        s.connect();
        colock::client other{s.io, link_client(to("good.test" + port(proxy)))};
        const outcome<> o;
        other.async_connect(o.handler());
        BOOST_TEST(!code_of(s.io, o));
        colock::client waiting{s.io, link_client(to("slow.test" + port(proxy)))};
        waiting.async_connect([](colock::error_code) {});
        for (auto* each : {&s.zk, &other, &waiting}) {
            each->async_close([](colock::error_code) {});
        }
        s.io.restart();
        s.io.run(); // returns when all of them are closed
    }
    BOOST_TEST((std::chrono::steady_clock::now() - begin < fake_names::slowness / 2));
    BOOST_TEST(fake_names::count("slow.test") == slow + 2);
}

BOOST_AUTO_TEST_SUITE_END()
