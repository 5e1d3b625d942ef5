// Ten thousand locks over TLS, while servers restart, connections are cut, and certificates are renewed.
#include <support/tcp_proxy.hpp>

#include "tls_scene.hpp"

#include <list>
#include <random>

using namespace colock::test;

using colock::error_code;

namespace {

std::shared_ptr<tls_context> fresh_context()
{
    return client_context(*our_authority(), our_authority()->issue({.name = "client"}));
}

// A client that locks, counts, and unlocks, again and again.
struct worker {
    worker(boost::asio::io_context& io, const std::string& hosts, int& holders)
        : zk{io, options(hosts)}, m{zk, "/soak"}, holders_{holders}
    {
    }

    static colock::client_options options(const std::string& hosts)
    {
        colock::client_options o{.hosts = hosts, .tls = fresh_context()};
        o.session_timeout = 30s;
        return o;
    }

    void lock()
    {
        m.async_lock([this](error_code ec, colock::unique_lock held) {
            if (ec) {
                ++failures;
                if (!stopped_) {
                    lock();
                }
                return;
            }
            BOOST_REQUIRE(++holders_ == 1);
            held_ = std::move(held);
            boost::asio::post(zk.get_executor(), [this] { unlock(); });
        });
    }

    void unlock()
    {
        --holders_;
        ++cycles;
        held_.async_unlock([this](error_code) {
            if (!stopped_) {
                lock();
            }
        });
    }

    void stop() { stopped_ = true; }

    colock::client zk;
    colock::mutex m;
    std::size_t cycles = 0;
    std::size_t failures = 0;

private:
    int& holders_;
    bool stopped_ = false;
    colock::unique_lock held_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(tls_soak)

BOOST_AUTO_TEST_CASE(ten_thousand_locks_among_restarts_cuts_and_new_certificates)
{
    constexpr std::size_t goal = 10'000;
    zookeeper_server server{{.tls = our_authority()}};
    const proxy_tls way{*our_authority()};
    tcp_proxy proxy{server.secure_connect_string(), way};
    static_cast<void>(fresh_context());
    const auto before = open_descriptors();
    {
        boost::asio::io_context io;
        int holders = 0;
        std::list<worker> workers;
        for (int i = 0; i != 4; ++i) {
            // Two of them directly, two through the proxy.
            auto& w = workers.emplace_back(
                io, i % 2 == 0 ? server.secure_connect_string() : proxy.connect_string(), holders);
            const outcome<> connected;
            w.zk.async_connect(connected.handler());
            BOOST_REQUIRE(code_of(io, connected) == error_code{});
            w.lock();
        }
        const auto total = [&] {
            std::size_t sum = 0;
            for (const auto& w : workers) {
                sum += w.cycles;
            }
            return sum;
        };
        std::minstd_rand random{7};
        std::size_t restarts = 0;
        for (std::size_t next = 0; total() < goal;) {
            next += 50;
            BOOST_REQUIRE(becomes_true(
                io, [&] { return total() >= next; }, 120s));
            switch (random() % 8) {
            case 0:
                if (++restarts % 4 == 0) { // a start takes seconds
                    server.restart();
                }
                break;
            case 1:
            case 2: {
                auto& w = *std::next(workers.begin(), static_cast<long>(random() % 4));
                w.zk.use_tls(fresh_context());
                break;
            }
            case 3: proxy.cut(cut_kind::finish); break;
            default: proxy.cut();
            }
        }
        for (auto& w : workers) {
            w.stop();
        }
        std::uint64_t sessions = 0;
        std::uint64_t connections = 0;
        std::uint64_t failures = 0;
        for (auto& w : workers) {
            const outcome<> closed;
            w.zk.async_close(closed.handler());
            static_cast<void>(code_of(io, closed));
            sessions += w.zk.stats().sessions;
            connections += w.zk.stats().connections;
            failures += w.failures;
        }
        BOOST_TEST_MESSAGE("figure: " << total() << " locks on " << connections
                                      << " connections of " << sessions << " sessions, " << failures
                                      << " failed");
        BOOST_TEST(connections > 50u);
        BOOST_TEST(sessions == 4u);
        BOOST_TEST(run_to_the_end(io));
    }
    BOOST_TEST(open_descriptors() == before);
}

BOOST_AUTO_TEST_SUITE_END()
