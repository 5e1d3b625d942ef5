// A server whose lock directories have given out almost all of their numbers, and clients that contend there.
#pragma once

#include <support/lock_scene.hpp>
#include <support/snapshot.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>

namespace colock::test {

inline constexpr std::int32_t overflow = std::numeric_limits<std::int32_t>::max(); // 2^31 - 1
inline constexpr std::int32_t last_number = overflow - (1 << 20) + 1;
inline constexpr std::int32_t late_from_number = overflow - (1 << 24) + 1;

enum class kind { container, persistent, with_data, with_another_list, with_a_stranger };

struct place {
    kind how;
    std::int32_t counter;
};

// Each case has directories of its own.
inline const std::map<std::string, place> places{
    {"/many", {kind::container, late_from_number - 30}},
    {"/shared_nodes", {kind::container, late_from_number - 5}},
    {"/shared_nodes_persistent", {kind::persistent, late_from_number - 5}},
    {"/shared_nodes_with_data", {kind::with_data, late_from_number - 5}},
    {"/one", {kind::container, late_from_number}},
    {"/lingering", {kind::container, late_from_number}},
    {"/readers", {kind::container, late_from_number - 30}},
    {"/readers_only", {kind::container, late_from_number}},
    {"/tries", {kind::container, late_from_number}},
    {"/makes_way", {kind::container, late_from_number}},
    {"/stands_by", {kind::container, late_from_number}},
    {"/cut", {kind::container, late_from_number}},
    {"/expired", {kind::container, late_from_number}},
    {"/peer", {kind::container, late_from_number}},
    {"/with_data", {kind::with_data, last_number - 20}},
    {"/with_another_list", {kind::with_another_list, last_number - 20}},
    {"/stranger", {kind::with_a_stranger, last_number - 20}},
    {"/taken_over", {kind::with_a_stranger, late_from_number}},
    {"/last", {kind::container, last_number}},
    {"/over", {kind::container, overflow}},
    {"/over_with_data", {kind::with_data, overflow - 3}},
    {"/over_with_data_in_turn", {kind::with_data, overflow - 3}},
    {"/over_many", {kind::container, overflow - 3}},
    {"/permits/locks", {kind::container, late_from_number - 5}},
};

// The first lock there makes the directory.
inline void make(const std::string& hosts, const std::string& path)
{
    asio::io_context io;
    client c{io, {.hosts = hosts}};
    const outcome<> connected;
    c.async_connect(connected.handler());
    value_of(io, connected);
    const outcome<unique_lock> locked;
    mutex{c, path}.async_lock(locked.handler());
    auto held = value_of(io, locked);
    const outcome<> o;
    held.async_unlock(o.handler());
    value_of(io, o);
    const outcome<> closed;
    c.async_close(closed.handler());
    value_of(io, closed);
}

inline zookeeper_server& old_server()
{
    static const auto server = [] {
        zookeeper_options options;
        options.container_check_interval = 1h; // who deletes a directory is colock
        options.jvm_flags = {"-Dzookeeper.digest.enabled=false"};
        auto made = std::make_unique<zookeeper_server>(options);
        std::map<std::string, std::int32_t> counters;
        {
            admin_session admin{made->connect_string()};
            admin.create("/permits");
            for (const auto& [path, p] : places) {
                if (p.how == kind::persistent) {
                    admin.create(path);
                } else if (p.how == kind::with_data) {
                    admin.create(path, "mine");
                } else if (p.how == kind::with_another_list) {
                    admin.create(path, "", admin_session::mode::persistent,
                                 {{permission_all, "world", "anyone"},
                                  {permission_read, "ip", "127.0.0.1"}});
                } else {
                    make(made->connect_string(), path);
                }
                if (p.how == kind::with_a_stranger) {
                    admin.create(path + "/stranger");
                }
                counters[path] = p.counter;
            }
        }
        set_sequence_counters(*made, counters);
        return made;
    }();
    return *server;
}

inline std::int64_t number_of(const std::string& node)
{
    return std::stoll(node.substr(node.size() - 10));
}

struct old_scene : lock_scene {
    explicit old_scene(const std::string& path) : lock_scene{old_server(), path} {}

    // One who takes the lock again and again. What all of them have in common is checked: that they are alone, and
    // that their tokens grow.
    struct turns {
        int inside = 0;
        int readers = 0;
        int at_work = 0;
        std::size_t taken = 0;
        std::size_t late = 0; // with a number after which newcomers make way
        std::size_t refused = 0;
        fencing_token token;
        std::int64_t last_number = 0;
        std::map<error_code, std::size_t> errors;

        void note(const std::string& node)
        {
            ++taken;
            last_number = number_of(node);
            late += last_number >= late_from_number ? 1U : 0U;
            BOOST_TEST(last_number < colock::test::last_number);
        }
    };

    asio::awaitable<void> writer(client& c, lock_options options, int times, turns& t)
    {
        mutex m{c, directory, options};
        for (int i = 0; i != times; ++i) {
            auto [ec, held] = co_await m.async_lock(no_throw);
            if (ec) {
                ++t.errors[ec];
                continue;
            }
            BOOST_TEST(++t.inside == 1);
            const auto token = held.token();
            BOOST_TEST((token > t.token));
            t.token = token;
            t.note(held.node());
            // A round trip, in which somebody else would get in.
            const auto read = co_await c.async_exists("/", no_throw);
            BOOST_TEST(!std::get<0>(read));
            BOOST_TEST(--t.inside == 0);
            const auto [unlocked] = co_await held.async_unlock(no_throw);
            BOOST_TEST(!unlocked);
        }
        --t.at_work;
    }

    asio::awaitable<void> reader_or_writer(client& c, lock_options options, int times, turns& t)
    {
        shared_mutex m{c, directory, options};
        for (int i = 0; i != times; ++i) {
            if (i % 3 == 0) {
                auto [ec, held] = co_await m.async_lock(no_throw);
                BOOST_REQUIRE(!ec);
                BOOST_TEST((++t.inside == 1 && t.readers == 0));
                t.note(held.node());
                co_await c.async_exists("/", no_throw);
                --t.inside;
                co_await held.async_unlock(no_throw);
            } else {
                auto [ec, held] = co_await m.async_lock_shared(no_throw);
                BOOST_REQUIRE(!ec);
                ++t.readers;
                BOOST_TEST(t.inside == 0);
                t.note(held.node());
                co_await c.async_exists("/", no_throw);
                --t.readers;
                co_await held.async_unlock(no_throw);
            }
        }
        --t.at_work;
    }

    void finish(turns& t)
    {
        BOOST_TEST_REQUIRE(until([&] { return t.at_work == 0; }, 60s));
    }

    turns compete(std::size_t processes, std::size_t users, int times, lock_options options)
    {
        turns t;
        for (std::size_t i = 0; i != processes; ++i) {
            auto& c = connect();
            for (std::size_t j = 0; j != users; ++j) {
                ++t.at_work;
                asio::co_spawn(io, writer(c, options, times, t), asio::detached);
            }
        }
        finish(t);
        return t;
    }

    // A client whose next contender finds another one: it has a proxy that tells when its node is gone again.
    struct newcomer {
        explicit newcomer(old_scene& s)
            : proxy{s.server.connect_string()}, c{s.connect_through(proxy)}
        {
        }
        [[nodiscard]] bool has_made_way() const
        {
            return proxy.requests(opcode::remove) == 2; // its node, and in vain the directory
        }

        tcp_proxy proxy;
        client& c;
    };

    [[nodiscard]] std::int64_t
    made_in() // the transaction that has made the directory; 0: it is not there
    {
        const auto found = admin.exists(directory);
        return found ? found->czxid : 0;
    }

    void check_nothing_of_ours_is_left()
    {
        for (const auto& c : clients) {
            BOOST_TEST(until([&] { return c.stats().contenders == 0; }));
            BOOST_TEST(until([&] { return watches_of(c).empty(); }));
        }
        BOOST_TEST(until([&] { return queue().empty() || queue().front() == "stranger"; }));
    }
};

} // namespace colock::test
