// The cohort lets waiters in and gives the node up: examples. test/model/cohort.cpp walks through everything.
#include "lock/cohort.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace colock::test::cohort_test {

using colock::protocol::cohort;
using colock::protocol::remote_contention;
using namespace std::chrono_literals;

namespace {

constexpr cohort::rules mutex_rules{.max_grants = 2, .max_time = 10ms};
constexpr cohort::rules reader_rules{.shared = true, .max_grants = 2, .max_time = 10ms};
constexpr cohort::rules lingering{
    .max_grants = 2, .max_time = 10ms, .linger = 5ms, .max_linger = 20ms};

struct scene {
    explicit scene(const cohort::rules& r) : c{r} {}

    bool arrive()
    {
        last = {};
        return c.arrive(now, last);
    }
    cohort::answer try_arrive()
    {
        last = {};
        return c.try_arrive(now, last);
    }
    const cohort::actions& release() { return last = c.release(now); }
    const cohort::actions& withdraw() { return last = c.withdraw(); }
    const cohort::actions& granted(remote_contention k = remote_contention::unknown)
    {
        return last = c.granted(now, k);
    }
    const cohort::actions& met(remote_contention k) { return last = c.met(now, k); }

    cohort c;
    cohort::time now = 1h;
    cohort::actions last;
};

} // namespace

BOOST_AUTO_TEST_SUITE(cohort_rules)

BOOST_AUTO_TEST_CASE(one_user_takes_one_node_and_gives_it_back)
{
    scene s{mutex_rules};
    BOOST_TEST(!s.arrive());
    BOOST_TEST(s.last.reconcile);
    BOOST_TEST(s.c.wants_contender());
    BOOST_TEST(s.granted().admit == 1U);
    BOOST_TEST(!s.last.look); // nobody to share it with
    BOOST_TEST(!s.c.wants_contender());
    BOOST_TEST(s.release().leave);
    BOOST_TEST(!s.c.holds());
}

BOOST_AUTO_TEST_CASE(waiters_share_a_contender_which_goes_with_the_last)
{
    scene s{mutex_rules};
    s.arrive();
    BOOST_TEST(!s.arrive());
    BOOST_TEST(!s.last.reconcile); // one is enough
    BOOST_TEST(!s.withdraw().reconcile);
    BOOST_TEST(s.withdraw().reconcile);
    BOOST_TEST(!s.c.wants_contender());
}

BOOST_AUTO_TEST_CASE(a_node_that_is_asked_for_goes_with_its_user)
{
    scene s{mutex_rules};
    s.arrive();
    s.arrive();
    s.granted(remote_contention::none); // nobody else waits
    s.last = s.c.revoked();
    BOOST_TEST(!s.last.leave);
    BOOST_TEST(s.last.reconcile); // the other one needs another node
    BOOST_TEST(s.c.wants_contender());
    BOOST_TEST(!s.c.revoked().reconcile); // once is enough
    BOOST_TEST((s.try_arrive() == cohort::answer::busy));
    BOOST_TEST(s.release().leave);
    BOOST_TEST(s.last.admit == 0U);
    BOOST_TEST((s.c.revoked() == cohort::actions{})); // there is none any more
}

BOOST_AUTO_TEST_CASE(a_node_that_is_asked_for_takes_no_newcomers_and_does_not_linger)
{
    scene readers{reader_rules};
    readers.arrive();
    readers.granted(remote_contention::none);
    BOOST_TEST(readers.arrive());
    BOOST_TEST(!readers.c.revoked().leave);
    BOOST_TEST(!readers.arrive());
    BOOST_TEST(readers.c.wants_contender());
    BOOST_TEST(!readers.release().leave);
    BOOST_TEST(readers.release().leave);

    scene idle{lingering};
    idle.arrive();
    idle.granted(remote_contention::none);
    BOOST_TEST(idle.release().idle);
    BOOST_TEST(idle.c.revoked().leave);

    scene busy{lingering};
    busy.arrive();
    busy.granted(remote_contention::none);
    BOOST_TEST(!busy.c.revoked().leave);
    BOOST_TEST(busy.release().leave);
}

BOOST_AUTO_TEST_CASE(G2_without_strangers_there_is_no_bound)
{
    scene s{mutex_rules};
    s.arrive();
    s.arrive();
    BOOST_TEST(s.granted().look); // somebody waits: who else does?
    s.met(remote_contention::none);
    for (int i = 0; i != 1000; ++i) {
        BOOST_TEST(!s.arrive());
        s.now += 1s;
        BOOST_TEST(s.release().admit == 1U);
        BOOST_TEST(!s.last.leave);
    }
}

BOOST_AUTO_TEST_CASE(G2_until_it_is_known_whether_there_are_strangers_the_bound_is_kept)
{
    for (const auto k :
         {remote_contention::none, remote_contention::some, remote_contention::unknown}) {
        scene s{mutex_rules};
        for (int i = 0; i != 5; ++i) {
            s.arrive();
        }
        BOOST_TEST(s.granted().look);
        BOOST_TEST(s.release().admit == 1U);
        BOOST_TEST(s.release().admit == 1U);
        BOOST_TEST((s.release() == cohort::actions{})); // waits for the word
        BOOST_TEST(!s.arrive());
        BOOST_TEST((s.try_arrive() == cohort::answer::busy));
        s.met(k);
        if (k == remote_contention::some) {
            BOOST_TEST(s.last.leave);
            BOOST_TEST(s.last.reconcile);
            BOOST_TEST(s.last.admit == 0U);
        } else { // or the connection broke, and nobody else can be granted
            BOOST_TEST(s.last.admit == 1U);
            BOOST_TEST(!s.last.look);
            BOOST_TEST(!s.last.leave);
        }
        if (k == remote_contention::unknown) {
            BOOST_TEST(s.c.look_again().look);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_last_one_to_wait_for_the_word_takes_the_node_with_him)
{
    scene s{mutex_rules};
    for (int i = 0; i != 4; ++i) {
        s.arrive();
    }
    s.granted();
    s.release();
    s.release();
    s.release();
    BOOST_TEST(s.withdraw().leave);
}

BOOST_AUTO_TEST_CASE(G2_with_strangers_the_number_of_grants_is_bounded)
{
    scene s{mutex_rules};
    for (int i = 0; i != 5; ++i) {
        s.arrive();
    }
    BOOST_TEST(s.granted(remote_contention::some).admit == 1U); // due to the queue, and not counted
    BOOST_TEST(s.release().admit == 1U);
    BOOST_TEST(s.release().admit == 1U);
    BOOST_TEST(s.release().leave);
    BOOST_TEST(s.last.reconcile); // and stands in the queue again at once
    BOOST_TEST(s.last.admit == 0U);
    BOOST_TEST(s.c.wants_contender());
    BOOST_TEST(s.c.waiting() == 2U);
}

BOOST_AUTO_TEST_CASE(the_greatest_number_of_grants_is_no_bound)
{
    scene s{{.max_grants = ~std::uint64_t{}, .max_time = 10ms}};
    s.arrive();
    s.arrive();
    BOOST_TEST(s.granted(remote_contention::some).admit == 1U);
    BOOST_TEST(s.release().admit == 1U);
}

BOOST_AUTO_TEST_CASE(G2_with_strangers_the_time_is_bounded)
{
    scene s{mutex_rules};
    s.arrive();
    s.arrive();
    s.arrive();
    s.granted();
    s.met(remote_contention::none);
    s.now += 1h;
    BOOST_TEST(s.release().admit == 1U);
    s.met(remote_contention::some); // from now on
    s.now += 10ms;
    BOOST_TEST(s.release().leave);
}

BOOST_AUTO_TEST_CASE(try_finds_out_what_is_known_here)
{
    scene s{mutex_rules};
    BOOST_TEST((s.try_arrive() == cohort::answer::ask_servers));
    s.arrive();
    BOOST_TEST((s.try_arrive() == cohort::answer::busy)); // never before those who wait
    s.granted();
    BOOST_TEST((s.try_arrive() == cohort::answer::busy));
    s.release();
    BOOST_TEST((s.try_arrive() == cohort::answer::ask_servers));
}

BOOST_AUTO_TEST_CASE(one_on_trial_may_hold_what_others_wait_for)
{
    scene s{mutex_rules};
    s.arrive(); // behind the node of the one on trial
    BOOST_TEST(s.c.granted(s.now, remote_contention::unknown, true).admit == 0U);
    BOOST_TEST(s.c.wants_contender());
    BOOST_TEST(s.release().admit == 1U); // on his node
    BOOST_TEST(s.last.reconcile);
    BOOST_TEST(!s.c.wants_contender());
}

BOOST_AUTO_TEST_CASE(a_node_that_is_kept_for_news_goes_when_nobody_waits_for_it_any_more)
{
    scene s{reader_rules};
    BOOST_TEST(!s.arrive());
    s.last = s.c.granted(s.now, remote_contention::unknown, true); // of a try that asked before
    BOOST_TEST(s.last.look);
    s.now += 1h;
    BOOST_TEST(!s.release().leave);
    BOOST_TEST(s.c.is_idle());
    BOOST_TEST(s.c.failed().leave);
    BOOST_TEST(!s.c.holds());
    BOOST_TEST(!s.c.wants_contender());
}

BOOST_AUTO_TEST_CASE(a_lingering_node_serves_the_next_one_without_a_word)
{
    scene s{lingering};
    s.arrive();
    s.granted(remote_contention::none);
    BOOST_TEST(s.release().idle);
    BOOST_TEST(!s.last.leave);
    s.now += 4ms;
    BOOST_TEST(s.c.linger_over(s.now).idle);
    BOOST_TEST(s.arrive());
    BOOST_TEST((s.last == cohort::actions{}));
    BOOST_TEST((s.c.linger_over(s.now) == cohort::actions{}));
    BOOST_TEST(s.release().idle);
    BOOST_TEST((s.try_arrive() == cohort::answer::admitted));
    BOOST_TEST(s.release().idle);
    s.now += 5ms;
    BOOST_TEST(s.c.linger_over(s.now).leave);
}

BOOST_AUTO_TEST_CASE(a_node_lingers_no_longer_than_the_maximum)
{
    scene s{lingering};
    s.arrive();
    s.granted(remote_contention::none);
    for (int i = 0; i != 4; ++i) {
        s.now += 4ms;
        BOOST_TEST(s.release().idle);
        BOOST_TEST(s.arrive());
    }
    s.now += 4ms;
    BOOST_TEST(s.release().leave);
}

BOOST_AUTO_TEST_CASE(a_lingering_node_goes_when_somebody_comes)
{
    scene s{lingering};
    s.arrive();
    s.granted(remote_contention::none);
    s.release();
    BOOST_TEST(s.met(remote_contention::some).leave);
    // And one of which it is not known is not kept at all.
    for (const auto k : {remote_contention::some, remote_contention::unknown}) {
        s.arrive();
        s.granted(k);
        BOOST_TEST(s.release().leave);
    }
}

BOOST_AUTO_TEST_CASE(behind_a_broken_connection_it_looks_again)
{
    scene s{lingering};
    s.arrive();
    s.granted(remote_contention::none);
    s.release();
    BOOST_TEST((s.met(remote_contention::unknown) == cohort::actions{}));
    BOOST_TEST(s.c.is_idle());
    BOOST_TEST(s.c.look_again().look);
    s.now += 10ms; // the bounds, but nobody here uses the node
    BOOST_TEST((scene{s}.try_arrive() == cohort::answer::admitted));
    BOOST_TEST(s.met(remote_contention::some).leave);
}

BOOST_AUTO_TEST_CASE(a_loss_ends_the_contender_and_its_waiters_get_another)
{
    scene s{mutex_rules};
    s.arrive();
    s.arrive();
    s.granted();
    BOOST_TEST(s.c.lost().reconcile);
    BOOST_TEST(!s.c.holds());
    BOOST_TEST(s.c.wants_contender());
    BOOST_TEST(s.c.waiting() == 1U);
}

BOOST_AUTO_TEST_CASE(readers_come_in_together)
{
    scene s{reader_rules};
    s.arrive();
    s.arrive();
    s.arrive();
    BOOST_TEST(s.granted(remote_contention::none).admit == 3U);
    BOOST_TEST(s.arrive());
    BOOST_TEST(!s.release().leave);
    s.release();
    s.release();
    BOOST_TEST(s.release().leave);
}

BOOST_AUTO_TEST_CASE(readers_drain_when_a_writer_has_waited_for_long_enough)
{
    scene s{reader_rules};
    s.arrive();
    s.granted();
    BOOST_TEST(s.arrive());
    BOOST_TEST(s.last.look); // two of them could go on for ever
    s.met(remote_contention::none);
    s.met(remote_contention::some);
    BOOST_TEST(s.arrive());
    s.release();
    BOOST_TEST(s.arrive());
    BOOST_TEST(!s.arrive()); // the bound
    BOOST_TEST(s.last.reconcile);
    BOOST_TEST(s.c.wants_contender()); // the later ones queue behind the writer
    s.release();
    BOOST_TEST(!s.arrive());
    BOOST_TEST((s.try_arrive() == cohort::answer::busy));
    s.release();
    BOOST_TEST(s.release().leave);
    BOOST_TEST(s.c.wants_contender());
    BOOST_TEST(s.granted(remote_contention::some).admit == 2U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cohort_test
