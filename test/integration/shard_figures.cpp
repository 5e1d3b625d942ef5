// What shards cost the servers: nothing while nothing happens, and a change by the number of members and of moves, not by that of
// the shards. Prints the figures.
#include "shard_scene.hpp"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>

namespace colock::test::shard_figures_test {

namespace {

// The most requests of one change.
constexpr std::size_t most(std::size_t members, std::size_t moves)
{
    return 30 + 10 * members + 20 * moves;
}

struct figures_scene : shard_scene {
    const client_options quiet{.session_timeout = 40s};
    std::size_t pieces = 0;
    std::size_t moves = 0; // at each change
    std::uint64_t heartbeats_of_the_dead = 0;

    shards_options some(std::string name, std::uint32_t weight)
    {
        auto o = usual(std::move(name));
        o.count = pieces;
        o.weight = weight;
        return o;
    }
    // Equal members, so heavy that one more of weight 1 shall have `moves` shards.
    void begin(std::size_t number, std::size_t count, std::size_t to_move)
    {
        pieces = count;
        moves = to_move;
        const auto weight = (count / moves - 1) / number;
        BOOST_REQUIRE(moves * (weight * number + 1) == count);
        for (std::size_t i = 0; i != number; ++i) {
            run(connect(quiet),
                some("old-" + std::to_string(i), static_cast<std::uint32_t>(weight)));
        }
        BOOST_REQUIRE(until([&] {
            return std::ranges::all_of(members, [&](const member& m) {
                const auto has = all.of(m.options.member);
                return has == count / number || has == count / number + 1;
            });
        }));
    }

    // What the servers were asked for.
    [[nodiscard]] std::int64_t asked()
    {
        auto heartbeats = heartbeats_of_the_dead;
        for (const auto& c : clients) {
            heartbeats += c.stats().heartbeats;
        }
        return server.packets_received() - static_cast<std::int64_t>(heartbeats);
    }
    std::int64_t at_rest()
    {
        std::int64_t n = 0;
        BOOST_REQUIRE(until([&] {
            n = asked();
            go_on(io, 200ms);
            return n == asked() && std::ranges::all_of(clients, [](const client& c) {
                       return c.stats().in_flight == 0;
                   });
        }));
        return n;
    }

    template <class Change, class Condition>
    void check(const std::string& what, Change change, Condition condition)
    {
        const auto members_before = members.size();
        const auto moved = all.moves;
        const auto before = at_rest();
        change();
        BOOST_REQUIRE(until(condition));
        const auto cost = static_cast<std::size_t>(at_rest() - before);
        std::cout << "figure: " << what << ", " << members_before << " members, " << pieces
                  << " shards, " << moves << " moves: " << cost << " requests\n";
        BOOST_TEST(all.moves - moved == moves);
        BOOST_TEST(cost <= most(members_before, moves));
    }

    void check_changes(std::size_t old_ones, std::size_t count, std::size_t to_move = 4)
    {
        begin(old_ones, count, to_move);
        const auto before = at_rest();
        go_on(io, 1s);
        BOOST_TEST(asked() == before, "requests while nothing happens");

        tcp_proxy proxy{server.connect_string()};
        auto& c = connect_through(proxy, quiet);
        const auto comes = [&](const std::string& name) {
            check(
                "a join", [&] { run(c, some(name, 1)); }, [&] { return all.of(name) == moves; });
        };
        comes("zoe");
        outcome<> left;
        check(
            "a leave", [&] { members.back().pieces.async_leave(1min, left.handler()); },
            [&] { return left.done() && all.owners.size() == count; });
        members.pop_back();

        comes("zac");
        check(
            "a kill",
            [&] {
                const auto session = c.session_id();
                const auto password = password_of(c);
                heartbeats_of_the_dead += c.stats().heartbeats;
                proxy.refuse(true);
                proxy.cut(cut_kind::reset);
                clients.pop_back();
                BOOST_REQUIRE(ended(members.back()));
                BOOST_REQUIRE(!kill_session(server.connect_string(), session, password));
            },
            [&] { return all.owners.size() == count; });
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(shard_figures, figures_scene)

BOOST_AUTO_TEST_CASE(three_members_and_28_shards)
{
    check_changes(3, 28);
}

BOOST_AUTO_TEST_CASE(three_members_and_100_shards)
{
    check_changes(3, 100);
}

BOOST_AUTO_TEST_CASE(three_members_and_eight_moves)
{
    check_changes(3, 56, 8);
}

BOOST_AUTO_TEST_CASE(six_members_and_28_shards)
{
    check_changes(6, 28);
}

BOOST_AUTO_TEST_CASE(six_members_and_100_shards)
{
    check_changes(6, 100);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::shard_figures_test
