// One client, used from all threads of a pool at once: operations, cancellations, watches, looks at it, and the end.
#include <colock/client.hpp>
#include <support/one_server.hpp>
#include <support/print.hpp>
#include <support/run.hpp>
#include <support/tcp_proxy.hpp>
#include <support/wait_until.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace colock::test::client_shared_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

constexpr int threads = 4;

// Before its end a client waits for the answers to all that was sent, also to what was cancelled. Users who cancel sooner than a
// busy machine answers leave thousands of these behind, and then the default of three seconds is too short.
client_options patient(client_options options)
{
    options.close_timeout = 60s;
    return link_client(std::move(options));
}

// A user of the shared client: does one thing after the other, each with a handler that runs on its own strand,
// and cancels some of them from that strand, as Asio demands of a cancellation signal.
class user : public std::enable_shared_from_this<user> {
public:
    user(asio::thread_pool& pool, client& zk, std::string root, unsigned number, int rounds)
        : strand_{asio::make_strand(pool)}, timer_{strand_}, zk_{zk}, root_{std::move(root)},
          random_{number}, rounds_{rounds}
    {
    }

    void start()
    {
        asio::post(strand_, [self = shared_from_this()] { self->next(); });
    }

    std::atomic<int> completed = 0;
    std::atomic<int> cancelled = 0;
    std::atomic<bool> over = false;

private:
    template <class Handler>
    auto bound(Handler&& h)
    {
        return asio::bind_executor(
            strand_, asio::bind_cancellation_slot(cancel_.slot(), std::forward<Handler>(h)));
    }

    void next()
    {
        if (rounds_-- == 0) {
            over = true;
            return;
        }
        const auto done = [self = shared_from_this()](const error_code& ec, auto&&...) {
            ++self->completed;
            self->cancelled += ec == asio::error::operation_aborted;
            self->timer_.cancel();
            self->next();
        };
        const auto what = random_() % 8;
        switch (what) {
        case 0:
            zk_.async_create(root_ + "/n-", "x", create_mode::ephemeral_sequential, bound(done));
            break;
        case 1: zk_.async_get(root_, bound(done)); break;
        case 2:
            zk_.async_set(root_, std::to_string(rounds_), colock::any_version, bound(done));
            break;
        case 3: zk_.async_children(root_, bound(done)); break;
        case 4:
            zk_.async_multi({colock::check_op(root_), colock::set_op(root_, "m")}, bound(done));
            break;
        case 5:
            zk_.async_watch(root_, bound([this, done](const error_code& ec,
                                                      colock::watched<colock::get_result> w) {
                                watch_ = std::move(w.changes); // and drops the one before
                                done(ec);
                            }));
            break;
        case 6: watch_.async_wait(bound(done)); break;
        default: zk_.async_wait_state_change(zk_.state(), bound(done)); break;
        }
        static_cast<void>(zk_.stats());
        static_cast<void>(zk_.last_error_detail());
        static_cast<void>(zk_.connection_id());
        // Some waits would have no end.
        timer_.expires_after(
            std::chrono::microseconds{what >= 6 ? random_() % 3'000 : random_() % 20'000});
        timer_.async_wait([self = shared_from_this()](const error_code& ec) {
            if (!ec) {
                self->cancel_.emit(asio::cancellation_type::terminal);
            }
        });
    }

    asio::strand<asio::thread_pool::executor_type> strand_;
    asio::steady_timer timer_;
    asio::cancellation_signal cancel_;
    client& zk_;
    const std::string root_;
    std::minstd_rand random_;
    int rounds_;
    colock::watch watch_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(client_shared, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(
    a_client_is_shared_by_the_threads_of_a_pool_while_its_connection_comes_and_goes)
{
    tcp_proxy proxy = link_proxy(one_server::get());
    const auto root = own_node();
    asio::thread_pool pool{threads};
    client_options options;
    options.hosts = proxy.connect_string();
    std::atomic<int> logged = 0;
    options.log = [&](colock::log_level, std::string_view) { ++logged; };
    client zk{pool, patient(options)};
    zk.async_connect(asio::use_future).get();

    constexpr int rounds = 300;
    std::vector<std::shared_ptr<user>> users;
    for (unsigned i = 0; i != 16; ++i) {
        users.push_back(std::make_shared<user>(pool, zk, root, i, rounds));
        users.back()->start();
    }
    const auto all_over = [&] {
        return std::ranges::all_of(users, [](const auto& u) { return u->over.load(); });
    };
    for (int i = 0; i != 5; ++i) {
        wait_until(all_over, 100ms);
        proxy.cut();
    }
    BOOST_TEST(wait_until(all_over, 120s));
    int cancelled = 0;
    for (const auto& u : users) {
        BOOST_TEST(u->completed == rounds); // each exactly once
        cancelled += u->cancelled;
    }
    BOOST_TEST(cancelled > 0);
    users.clear();
    zk.async_connect(asio::use_future).get();
    const auto session = zk.session_id();
    zk.async_close(asio::use_future).get();
    pool.join();
    BOOST_TEST(!one_server::get().sessions().contains(session));
}

BOOST_AUTO_TEST_CASE(clients_of_their_own_in_several_threads_do_not_disturb_each_other)
{
    const auto root = own_node();
    asio::thread_pool pool{threads};
    std::vector<std::unique_ptr<client>> clients;
    for (int i = 0; i != 2 * threads; ++i) {
        clients.push_back(std::make_unique<client>(
            pool,
            patient({.hosts = link_hosts(one_server::get()), .credentials = {{"digest", "a:b"}}})));
    }
    std::vector<std::future<void>> connected;
    for (const auto& c : clients) {
        connected.push_back(c->async_connect(asio::use_future));
    }
    for (auto& f : connected) {
        f.get();
    }
    std::atomic<int> done = 0, errors = 0;
    constexpr int each = 500;
    for (int i = 0; i != each; ++i) {
        for (const auto& c : clients) {
            c->async_create(root + "/n-", "", create_mode::ephemeral_sequential,
                            [&](error_code ec, const colock::create_result&) {
                                errors += ec.failed();
                                ++done;
                            });
        }
    }
    BOOST_TEST(wait_until([&] { return done == each * 2 * threads; }, 60s));
    BOOST_TEST(errors == 0);
    clients.clear(); // their destructors end the sessions
    pool.join();
    BOOST_TEST(wait_until([&] { return one_server::get().sessions().empty(); }, long_enough));
}

BOOST_AUTO_TEST_CASE(a_client_may_be_given_a_strand_of_the_users)
{
    const auto root = own_node();
    asio::thread_pool pool{threads};
    const auto strand = asio::make_strand(pool);
    client zk{strand, patient({.hosts = link_hosts(one_server::get())})};
    zk.async_connect(asio::use_future).get();
    int done = 0; // the strand guards it
    std::atomic<bool> all = false;
    for (int i = 0; i != 500; ++i) {
        asio::post(pool, [&] {
            zk.async_get(root, [&](error_code, const colock::get_result&) {
                BOOST_TEST(strand.running_in_this_thread());
                all = ++done == 500;
            });
        });
    }
    BOOST_TEST(wait_until([&] { return all.load(); }, long_enough));
    zk.async_close(asio::use_future).get();
    pool.join();
}

BOOST_AUTO_TEST_CASE(a_client_may_be_destroyed_in_any_thread_with_operations_under_way)
{
    const auto root = own_node();
    for (int i = 0; i != 10; ++i) {
        asio::thread_pool pool{threads};
        std::optional<client> zk{std::in_place, pool,
                                 patient({.hosts = link_hosts(one_server::get())})};
        zk->async_connect(asio::use_future).get();
        const auto session = zk->session_id();
        std::atomic<int> called = 0;
        auto watching = zk->async_watch(root, asio::use_future).get();
        watching.changes.async_wait([&](error_code, const colock::watch_event&) { ++called; });
        for (int n = 0; n != 100; ++n) {
            zk->async_get(root, [&](error_code, const colock::get_result&) { ++called; });
        }
        zk.reset();
        pool.join();
        BOOST_TEST(called == 101);
        BOOST_TEST(!one_server::get().sessions().contains(session));
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::client_shared_test
