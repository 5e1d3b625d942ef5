// A client whose session guard dies again and again, and how soon it has another one.
#include <colock/client.hpp>

#include "simulated.hpp"
#include "world/process.hpp"

#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace world {

using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace guard = colock::guard;

namespace {

struct mortal_guard final : guard::helper {
    bool send(const guard::guarded_session&, std::string_view) override { return true; }
    std::unique_ptr<watcher> watch(const colock::zk::strand_type& strand,
                                   std::function<void()> died) override
    {
        die = [strand, died = std::move(died)] { asio::post(strand, died); };
        return std::make_unique<watcher>();
    }

    std::function<void()> die;
};

struct owner {
    owner()
    {
        program.find_guard = [this] {
            current = std::make_shared<mortal_guard>();
            return guard::started_helper{current};
        };
        program.enter([this] {
            zk.emplace(program.context(), colock::client_options{.hosts = servers.hosts(),
                                                                 .session_guard = {"guard"}});
            zk->async_connect(asio::detached);
        });
        time.run_until(10s);
        BOOST_REQUIRE(is_guarded());
    }
    ~owner()
    {
        program.enter([this] { zk.reset(); });
    }

    bool is_guarded()
    {
        return program.look([this] { return zk->stats().session_guarded; });
    }

    // Until there is another guard, to a tenth of a second.
    std::chrono::nanoseconds pause_after_death()
    {
        const auto died = time.now();
        program.enter([this] { std::exchange(current, nullptr)->die(); });
        while (!current && time.now() - died < 5min) {
            time.run_until(time.now() + 100ms);
        }
        BOOST_REQUIRE(is_guarded());
        return time.now() - died - 100ms;
    }

    random chance{1};
    timeline time;
    network net{time, chance.branch()};
    ensemble servers{time, net, chance.branch()};
    machine computer{time, "computer"};
    process program{computer, net, chance.branch()};
    std::shared_ptr<mortal_guard> current;
    std::optional<colock::client> zk;
};

} // namespace

BOOST_AUTO_TEST_SUITE(world_of_guard_pauses)

BOOST_AUTO_TEST_CASE(pauses_grow_until_a_guard_has_lived_for_long)
{
    owner o;
    std::chrono::nanoseconds last{};
    for (int i = 0; i != 8; ++i) {
        const auto pause = o.pause_after_death();
        BOOST_TEST((pause >= last));
        last = pause;
    }
    BOOST_TEST((last > 30s));
    o.time.run_until(o.time.now() + 61s);
    BOOST_TEST((o.pause_after_death() < 2s));
    BOOST_TEST((o.pause_after_death() < 3s));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace world
