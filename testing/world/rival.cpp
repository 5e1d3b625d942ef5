#include "rival.hpp"

#include "curator_mutex.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <memory>
#include <optional>

namespace colock::simulated {

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

struct player {
    asio::io_context& context;
    random chance;
    std::optional<client> zk;

    [[nodiscard]] auto tuple(const char*) const { return asio::as_tuple(asio::use_awaitable); }
    [[nodiscard]] auto tuple(const char*, asio::cancellation_slot slot) const
    {
        return asio::as_tuple(asio::bind_cancellation_slot(slot, asio::use_awaitable));
    }
    asio::awaitable<void> pause(std::chrono::nanoseconds least, std::chrono::nanoseconds most)
    {
        asio::steady_timer timer{context, chance.between(least, most)};
        co_await timer.async_wait(asio::use_awaitable);
    }
};

class limit {
public:
    limit(player& of, random&) : state_{std::make_shared<state>(of.context)} {}

    void after(std::chrono::nanoseconds delay, asio::cancellation_type type)
    {
        state_->timer.expires_after(delay);
        state_->timer.async_wait([s = state_, type](error_code ec) {
            if (!ec) {
                s->signal.emit(type);
            }
        });
    }
    [[nodiscard]] asio::cancellation_slot slot() { return state_->signal.slot(); }

private:
    struct state {
        explicit state(asio::io_context& context) : timer{context} {}
        asio::cancellation_signal signal;
        asio::steady_timer timer;
    };
    std::shared_ptr<state> state_;
};

} // namespace

asio::awaitable<void> rival(asio::io_context& context, std::string hosts, rivalry over)
{
    const auto me = std::make_shared<player>(player{context, over.chance.branch(), {}});
    me->zk.emplace(context, client_options{.hosts = std::move(hosts)});
    for (;;) {
        const auto [ec] = co_await me->zk->async_connect(me->tuple("rival: connect"));
        if (!ec) {
            break;
        }
        co_await me->pause(1s, 1s); // nobody can be reached
    }
    curator_mutex<std::shared_ptr<player>, limit> recipe{me, over.path, over.chance};
    const create_options with_parents{.mode = create_mode::container, .parents = true};
    for (;;) {
        // The recipe creates the directory alone.
        co_await me->zk->async_create(over.path, {}, with_parents, me->tuple("rival: mkdir"));
        const auto node = co_await recipe.acquire();
        if (!node.empty()) {
            over.holds = true;
            co_await me->pause(over.hold, over.hold);
            over.holds = false;
            co_await recipe.remove(node);
        }
        co_await me->pause(over.hold, over.hold);
    }
}

} // namespace colock::simulated
