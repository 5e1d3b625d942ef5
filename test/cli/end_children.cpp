// How the supervisor ends what its guardian has left: the rule, against a system that changes at the worst moment.
#include "run/end_children.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

using colock::cli::children_access;
using colock::cli::round_end;

namespace {

constexpr pid_t self = 1;

// Processes, and what happens to them between two calls.
struct fake_system {
    struct process {
        pid_t parent;
        bool ended = false;
    };
    std::map<pid_t, process> all;
    std::vector<pid_t> spared;
    std::function<void()> behind_look = [] {}; // something happens before the children are reaped
    int looks_that_fail = 0;
    int looks = 0;

    // Its children are those of the one that adopts them from now on, as the kernel has it.
    void end(pid_t id)
    {
        all.at(id).ended = true;
        for (auto& [child, p] : all) {
            if (p.parent == id) {
                p.parent = self;
            }
        }
    }
    [[nodiscard]] std::vector<pid_t> children() const
    {
        std::vector<pid_t> found;
        for (const auto& [id, p] : all) {
            if (p.parent == self && std::ranges::find(spared, id) == spared.end()) {
                found.push_back(id);
            }
        }
        return found;
    }
    [[nodiscard]] bool is_spared(pid_t id) const
    {
        return std::ranges::find(spared, id) != spared.end();
    }
    [[nodiscard]] children_access access()
    {
        return {.none = [this] { return all.empty(); },
                .look =
                    [this] {
                        BOOST_REQUIRE(++looks < 100);
                        auto seen = looks_that_fail-- > 0 ? std::vector<pid_t>{} : children();
                        behind_look();
                        return seen;
                    },
                .reap =
                    [this](pid_t id) {
                        const bool ended = all.at(id).ended;
                        if (ended) {
                            all.erase(id);
                        }
                        return ended;
                    },
                .kill =
                    [this] {
                        for (const auto& [id, p] : all) {
                            if (!is_spared(id)) {
                                end(id);
                            }
                        }
                    },
                .spares = !spared.empty()};
    }
};

void end_all(const children_access& of)
{
    while (colock::cli::end_children(of) != round_end::over) {
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(end_children_)

BOOST_AUTO_TEST_CASE(nothing_is_left_of_a_family)
{
    fake_system s{.all = {{10, {self}}, {11, {10}}, {12, {11}}, {20, {self}}}};
    end_all(s.access());
    BOOST_TEST(s.all.empty());
}

BOOST_AUTO_TEST_CASE(who_has_nobody_needs_no_look)
{
    fake_system s;
    end_all(s.access());
    BOOST_TEST(s.looks == 0);
}

// The look finds 10 alone, since 11 is the child of 10. Before 10 is reaped it ends by itself: then 11 is nobody's but ours,
// and no look has found it.
BOOST_AUTO_TEST_CASE(G5_a_child_whose_parent_ends_between_look_and_reaping_is_ended)
{
    for (const bool spares : {false, true}) {
        fake_system s{.all = {{10, {self}}, {11, {10}}}};
        if (spares) {
            s.all[5] = {self};
            s.spared = {5};
        }
        s.behind_look = [&s] {
            if (s.looks == 1) {
                s.end(10);
            }
        };
        end_all(s.access());
        BOOST_TEST(!s.all.contains(11));
        BOOST_TEST(s.all.contains(5) == spares);
    }
}

// The whole family, each just in time.
BOOST_AUTO_TEST_CASE(G5_a_family_that_ends_one_by_one_is_followed_to_its_last_child)
{
    fake_system s{.all = {{10, {self}}, {11, {10}}, {12, {11}}, {13, {12}}}};
    s.behind_look = [&s] {
        if (s.all.contains(9 + s.looks)) {
            s.end(9 + s.looks);
        }
    };
    end_all(s.access());
    BOOST_TEST(s.all.empty());
}

BOOST_AUTO_TEST_CASE(G5_a_look_that_fails_proves_nothing)
{
    fake_system s{.all = {{10, {self}}}, .looks_that_fail = 3};
    end_all(s.access());
    BOOST_TEST(s.all.empty());
}

// Whoever waits for it has to know when there is nothing to do but to wait.
BOOST_AUTO_TEST_CASE(a_round_that_ends_nobody_says_so)
{
    fake_system s{.all = {{10, {self}}, {11, {self, true}}}};
    auto system = s.access();
    system.kill = [] {}; // of another user
    BOOST_TEST((colock::cli::end_children(system) == round_end::reaped));
    BOOST_TEST((colock::cli::end_children(system) == round_end::waits));
    s.end(10);
    BOOST_TEST((colock::cli::end_children(system) == round_end::reaped));
    BOOST_TEST((colock::cli::end_children(system) == round_end::over));
}

BOOST_AUTO_TEST_CASE(who_is_spared_lives)
{
    fake_system s{.all = {{5, {self}}, {6, {self, true}}, {10, {self}}}, .spared = {5, 6}};
    end_all(s.access());
    BOOST_TEST(s.all.size() == 2);
}

BOOST_AUTO_TEST_SUITE_END()
