// Candidates of an election, and what others see of it.
#ifndef COLOCK_TEST_INTEGRATION_ELECTION_SCENE_HPP
#define COLOCK_TEST_INTEGRATION_ELECTION_SCENE_HPP

#include <colock/election.hpp>
#include <support/lock_scene.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <exception>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::test {

using identity = std::optional<std::string>;

// Somebody who stands for election, and leads until he is told to stop.
struct candidate {
    candidate(client& c, const std::string& path, const std::string& id, election_options o = {})
        : self{c, path, id, std::move(o)}
    {
    }

    void stand()
    {
        self.async_lead(
            [s = state](const unique_lock& held) -> asio::awaitable<void> {
                s->leading = true;
                s->token = held.token();
                s->node = held.node();
                asio::steady_timer timer{co_await asio::this_coro::executor,
                                         asio::steady_timer::time_point::max()};
                try {
                    co_await timer.async_wait(asio::use_awaitable);
                } catch (...) {
                    s->leading = false;
                    throw;
                }
            },
            asio::bind_cancellation_slot(state->stop.slot(), [s = state](std::exception_ptr e) {
                BOOST_TEST(!s->leading);
                s->ends += 1;
                s->why = {};
                try {
                    if (e) {
                        std::rethrow_exception(e);
                    }
                } catch (const boost::system::system_error& error) {
                    s->why = error.code();
                }
            }));
    }
    void stop() { state->stop.emit(asio::cancellation_type::terminal); }

    struct shared {
        bool leading = false;
        int ends = 0;
        error_code why;
        fencing_token token;
        std::string node;
        asio::cancellation_signal stop;
    };
    election self;
    std::shared_ptr<shared> state = std::make_shared<shared>();
};

struct election_scene : lock_scene {
    candidate make(client& c, const std::string& id, election_options o = {})
    {
        return {c, directory, id, std::move(o)};
    }
    // Returns once its node is in the queue.
    void stand(candidate& who)
    {
        const auto before = queue().size();
        who.stand();
        BOOST_TEST(until([&] { return queue().size() > before; }));
    }
    bool leads(const candidate& who)
    {
        return until([&] { return who.state->leading; });
    }
    identity leader(const election& e)
    {
        outcome<identity> o;
        e.async_leader(o.handler());
        return value_of(io, o);
    }
    std::vector<std::string> participants(const election& e)
    {
        outcome<std::vector<std::string>> o;
        e.async_participants(o.handler());
        return value_of(io, o);
    }
    static outcome<identity> start_wait(const election& e, identity seen)
    {
        outcome<identity> o;
        e.async_wait_change(std::move(seen), o.handler());
        return o;
    }
    static std::vector<std::string> names(std::initializer_list<std::string> list) { return list; }
};

} // namespace colock::test

#endif
