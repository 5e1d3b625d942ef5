// Members of shards, each a client of this process, and who owns what.
#pragma once

#include <colock/shards.hpp>
#include <support/lock_scene.hpp>
#include <support/recorder.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace colock::test {

// All bodies of a case: nobody else has the shard, and tokens grow.
struct ownership {
    std::map<std::uint32_t, std::string> owners;
    std::map<std::uint32_t, fencing_token> tokens;
    std::size_t moves = 0; // from one member to another
    std::map<std::uint32_t, std::string> last;

    void begin(std::uint32_t shard, const std::string& who, const fencing_token& token)
    {
        BOOST_TEST(owners.emplace(shard, who).second, "two own shard " << shard);
        BOOST_TEST((tokens[shard] < token));
        tokens[shard] = token;
        auto& before = last[shard];
        moves += !before.empty() && before != who ? 1u : 0u;
        before = who;
    }
    void end(std::uint32_t shard) { owners.erase(shard); }
    [[nodiscard]] std::size_t of(const std::string& who) const
    {
        return static_cast<std::size_t>(
            std::ranges::count_if(owners, [&](const auto& o) { return o.second == who; }));
    }
};

struct member {
    member(client& zk, const std::string& path, shards_options o) : options{o}, pieces{zk, path, o}
    {
    }

    shards_options options;
    colock::shards pieces;
    asio::cancellation_signal stop;
    unsigned ends = 0;
    std::exception_ptr why;
    std::map<std::uint32_t, std::string> throws; // by the bodies of these shards
    unsigned bodies = 0;

    [[nodiscard]] error_code code() const
    {
        if (!why) {
            return {};
        }
        try {
            std::rethrow_exception(why);
        } catch (const boost::system::system_error& e) {
            return e.code();
        } catch (...) {
            return errc::lock_lost; // of no case
        }
    }
};

struct shard_scene : lock_scene {
    ~shard_scene()
    {
        for (auto& m : members) {
            m.stop.emit(asio::cancellation_type::terminal);
        }
        try {
            until(
                [&] { return std::ranges::all_of(members, [](auto& m) { return m.ends == 1; }); });
        } catch (...) {
        }
    }

    shards_options usual(std::string name)
    {
        shards_options o;
        o.count = 12;
        o.member = std::move(name);
        o.settle = 0ms;
        return o;
    }
    member& run(client& c, shards_options o)
    {
        auto& m = members.emplace_back(c, directory, std::move(o));
        m.pieces.async_run(
            [this, &m](const owned_shard& mine) -> asio::awaitable<void> {
                const auto shard = mine.index();
                ++m.bodies;
                all.begin(shard, m.options.member, mine.token());
                struct leaving {
                    ownership& of;
                    std::uint32_t shard;
                    ~leaving() { of.end(shard); }
                } ends{all, shard};
                if (const auto at = m.throws.find(shard); at != m.throws.end()) {
                    throw std::runtime_error{at->second};
                }
                // Cancelled, it throws multiple_exceptions.
                using namespace asio::experimental::awaitable_operators;
                asio::steady_timer forever{co_await asio::this_coro::executor};
                forever.expires_at(asio::steady_timer::time_point::max());
                co_await (forever.async_wait(asio::use_awaitable) &&
                          forever.async_wait(asio::use_awaitable));
            },
            asio::bind_cancellation_slot(m.stop.slot(), [&m](std::exception_ptr e) {
                ++m.ends;
                m.why = e;
            }));
        return m;
    }
    bool has(const member& m, std::size_t n)
    {
        return until([&] { return all.of(m.options.member) == n; });
    }
    bool ended(const member& m)
    {
        return until([&] { return m.ends == 1; });
    }
    std::vector<shard_owner> owners(client& c, shards_options o)
    {
        outcome<std::vector<shard_owner>> found;
        colock::shards{c, directory, std::move(o)}.async_owners(found.handler());
        return value_of(io, found);
    }

    std::deque<member> members;
    ownership all;
    std::vector<asio::steady_timer*> held_up;
};

} // namespace colock::test
