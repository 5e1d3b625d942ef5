// In which order several locks are joined and given up: by example. That nobody waits for ever is for test/model/joint_acquisition.cpp.
#include "recipes/multi_lock/joint_acquisition.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>

namespace colock::test::joint_acquisition_test {

using colock::protocol::joint_acquisition;

namespace {

// The order of several locks, whose inputs return what it wants done, as a text: "join 0, join 1, probe".
class play {
public:
    explicit play(std::size_t locks, bool tries = false) : order_{locks, tries} {}

    std::optional<joint_acquisition::loss> lost;
    bool time_over = false;

    std::string start() { return order_.start(out_), words(); }
    std::string granted(std::size_t i) { return order_.granted(i, lost, time_over, out_), words(); }
    std::string refused(std::size_t i, error_code why = {})
    {
        return order_.refused(i, why, time_over, out_), words();
    }
    std::string released(std::size_t i) { return order_.released(i, time_over, out_), words(); }
    std::string probed() { return order_.probed(out_), words(); }
    std::string cancel(bool at_once = false) { return order_.cancel(at_once, out_), words(); }

private:
    static std::string word_for(const joint_acquisition::command& c)
    {
        using kind = joint_acquisition::command::kind;
        const auto lock = " " + std::to_string(c.lock);
        switch (c.type) {
        case kind::join: return "join" + lock;
        case kind::probe: return "probe";
        case kind::abandon: return "abandon" + lock;
        case kind::hurry: return "hurry" + lock;
        case kind::release: return "release" + lock;
        case kind::deliver: return "deliver";
        case kind::refuse: return "refuse" + (c.error ? ": " + c.error.message() : "");
        case kind::time_over: return "time over";
        case kind::abort: return "abort";
        }
        return "?";
    }

    std::string words()
    {
        std::string all;
        for (const auto& c : out_) {
            all += (all.empty() ? "" : ", ") + word_for(c);
        }
        out_.clear();
        return all;
    }

    joint_acquisition order_;
    joint_acquisition::commands out_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(joint_acquisition_order)

BOOST_AUTO_TEST_CASE(free_locks_cost_one_round_trip)
{
    play p{3};
    BOOST_TEST(p.start() == "join 0, join 1, join 2, probe");
    BOOST_TEST(p.granted(0) == "");
    BOOST_TEST(p.granted(1) == "");
    BOOST_TEST(p.granted(2) == "deliver");
    BOOST_TEST(p.probed() == "");
}

BOOST_AUTO_TEST_CASE(one_lock_needs_no_probe)
{
    play p{1};
    BOOST_TEST(p.start() == "join 0");
    BOOST_TEST(p.granted(0) == "deliver");
}

BOOST_AUTO_TEST_CASE(what_is_behind_the_first_that_is_missing_is_given_up)
{
    play p{4};
    p.start();
    p.granted(0);
    p.granted(2);
    BOOST_TEST(p.probed() == "release 2, abandon 3");
    BOOST_TEST(p.released(2) == "");
    BOOST_TEST(p.refused(3, errc::not_held) == "");
    BOOST_TEST(p.granted(1) == "join 2");
    BOOST_TEST(p.granted(2) == "join 3");
    BOOST_TEST(p.granted(3) == "deliver");
}

BOOST_AUTO_TEST_CASE(a_lock_that_is_being_given_up_is_joined_again_behind_its_end)
{
    play p{2};
    p.start();
    BOOST_TEST(p.probed() == "abandon 1");
    BOOST_TEST(p.granted(0) == "hurry 1");
    BOOST_TEST(p.refused(1, errc::not_held) == "join 1");
    BOOST_TEST(p.granted(1) == "deliver");
}

BOOST_AUTO_TEST_CASE(a_grant_that_came_before_the_end_of_its_wait_is_released_or_kept)
{
    play p{3};
    p.start();
    p.probed();
    BOOST_TEST(p.granted(1) == "release 1"); // lock 0 is still missing
    BOOST_TEST(p.granted(0) == "hurry 1");
    BOOST_TEST(p.released(1) == "join 1");
    BOOST_TEST(p.granted(1) == "hurry 2");
    BOOST_TEST(p.granted(2) == "deliver"); // it is wanted by now
}

BOOST_AUTO_TEST_CASE(G5_a_lost_lock_is_taken_again_and_what_is_behind_it_as_well)
{
    play p{3};
    p.start();
    p.granted(0);
    p.granted(1);
    p.probed();
    p.lost = {0, errc::node_deleted, false};
    BOOST_TEST(p.granted(2) == "release 0, release 1, release 2, hurry 0");
    p.lost.reset();
    BOOST_TEST(p.released(0) == "join 0");
}

BOOST_AUTO_TEST_CASE(G5_a_lock_that_is_lost_for_good_ends_it)
{
    play p{2};
    p.start();
    p.granted(0);
    p.lost = {0, errc::session_expired, true};
    BOOST_TEST(p.granted(1) == "refuse: " + error_code{errc::session_expired}.message());
}

BOOST_AUTO_TEST_CASE(one_who_tries_waits_for_nothing)
{
    play p{2, true};
    BOOST_TEST(p.start() == "join 0, join 1");
    BOOST_TEST(p.granted(0) == "");
    BOOST_TEST(p.refused(1) == "refuse");
    BOOST_TEST(p.granted(1) == ""); // it is over
}

BOOST_AUTO_TEST_CASE(nothing_is_joined_when_the_time_is_over)
{
    play p{2};
    p.start();
    p.probed();
    p.refused(1, errc::not_held);
    p.time_over = true;
    BOOST_TEST(p.granted(0) == "time over");
}

BOOST_AUTO_TEST_CASE(G3_cancelled_it_ends_when_no_trace_is_left)
{
    play p{2};
    p.start();
    p.granted(0);
    BOOST_TEST(p.cancel() == "release 0, abandon 1");
    BOOST_TEST(p.probed() == "");
    BOOST_TEST(p.granted(1) == "release 1"); // the grant came first
    BOOST_TEST(p.released(0) == "");
    BOOST_TEST(p.released(1) == "abort");
}

BOOST_AUTO_TEST_CASE(cancelled_at_once_it_ends)
{
    play p{2};
    p.start();
    BOOST_TEST(p.cancel() == "abandon 0, abandon 1");
    BOOST_TEST(p.cancel(true) == "abort");
    BOOST_TEST(p.refused(0) == "");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::joint_acquisition_test
