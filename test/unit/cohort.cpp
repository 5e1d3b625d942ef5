// Who is let in next, and when the node is given up: by example, and by a walk through everything that can
// happen.
#include "protocol/cohort.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <sstream>
#include <string>
#include <tuple>

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
    const cohort::verdict& release() { return last = c.release(now); }
    const cohort::verdict& withdraw() { return last = c.withdraw(); }
    const cohort::verdict& granted(remote_contention k = remote_contention::unknown)
    {
        return last = c.granted(now, k);
    }
    const cohort::verdict& met(remote_contention k) { return last = c.met(now, k); }

    cohort c;
    cohort::time now = 1h;
    cohort::verdict last;
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
    BOOST_TEST((s.c.revoked() == cohort::verdict{})); // there is none any more
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
        BOOST_TEST((s.release() == cohort::verdict{})); // waits for the word
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
    BOOST_TEST((s.try_arrive() == cohort::answer::idle));
    s.arrive();
    BOOST_TEST((s.try_arrive() == cohort::answer::busy)); // never before those who wait
    s.granted();
    BOOST_TEST((s.try_arrive() == cohort::answer::busy));
    s.release();
    BOOST_TEST((s.try_arrive() == cohort::answer::idle));
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
    BOOST_TEST((s.last == cohort::verdict{}));
    BOOST_TEST((s.c.linger_over(s.now) == cohort::verdict{}));
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
    BOOST_TEST((s.met(remote_contention::unknown) == cohort::verdict{}));
    BOOST_TEST(s.c.is_idle());
    BOOST_TEST(s.c.look_again().look);
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

// ---- everything that can happen

namespace {

// The caller's side, as far as it can be wrong.
struct world {
    explicit world(const cohort::rules& r) : c{r} {}

    cohort c;
    unsigned waiting = 0;
    unsigned users = 0;
    unsigned asking = 0;    // 1: a try asks the servers
    bool contender = false; // stands in the queue
    bool holder = false;
    bool looking = false; // a word is on its way
    bool blind = false;
    bool saw_no_connection = false;
    bool alone = false;           // said the last word
    unsigned strangers_since = 0; // so many were let in since one may have come
    unsigned hour = 0;            // of the clock

    [[nodiscard]] auto key() const
    {
        std::ostringstream text;
        text << waiting << users << asking << contender << holder << looking << blind << alone
             << saw_no_connection << strangers_since << hour << '/' << c.waiting() << c.users()
             << c.wants_contender() << c.holds() << c.is_idle();
        return text.str();
    }
};

struct walk {
    cohort::rules rules;
    unsigned max_users = 3;
    std::deque<world> open;
    std::map<std::string, std::vector<cohort>>
        seen; // one key may have several states of the cohort
    std::size_t states = 0;

    void visit(world w)
    {
        // What the caller carries out at once.
        const bool wants = w.c.wants_contender();
        w.contender = wants;
        check(w);
        auto& same = seen[w.key()];
        if (std::ranges::find(same, w.c) == same.end()) {
            same.push_back(w.c);
            ++states;
            open.push_back(w);
        }
    }

    // By reference: a call may take the verdict from the same world, in either order of evaluation.
    void follow(world& w, const cohort::verdict& v)
    {
        BOOST_REQUIRE(v.admit <= w.waiting);
        if (v.look) {
            BOOST_REQUIRE(w.holder);
            BOOST_REQUIRE_MESSAGE(!w.looking && !w.blind, "looks twice");
            w.looking = true;
        }
        for (std::size_t i = 0; i != v.admit; ++i) {
            --w.waiting;
            let_in(w);
        }
        if (v.leave) {
            BOOST_REQUIRE(w.holder);
            BOOST_REQUIRE(w.users == 0U);
            drop_holder(w);
        }
        visit(w);
    }

    void let_in(world& w) const
    {
        BOOST_REQUIRE_MESSAGE(w.holder, "let in without a lock");
        BOOST_REQUIRE_MESSAGE(rules.shared || w.users == 0, "G1: two users");
        ++w.users;
        w.strangers_since =
            w.alone ? 0 : std::min<unsigned>(w.strangers_since + 1, unsigned(rules.max_grants) + 2);
        // Readers who wait for the first grant come in together, and so many come before it is known; and
        // without a connection nobody else is granted.
        BOOST_REQUIRE_MESSAGE(rules.shared || w.blind || w.saw_no_connection ||
                                  w.strangers_since <= rules.max_grants + 1,
                              "G2: strangers wait for longer than the bound");
    }
    static void drop_holder(world& w)
    {
        w.holder = w.looking = w.blind = w.alone = w.saw_no_connection = false;
        w.users = w.strangers_since = 0;
    }

    // Another node of this client is granted. The users of this one keep it until they are done, or have lost it: then
    // it was deleted by hand. If there are none, the caller lets it go.
    static void make_way(world& w)
    {
        if (w.holder) {
            BOOST_REQUIRE_MESSAGE(w.c.is_idle() == (w.users == 0), "G3: a node is left behind");
            drop_holder(w);
            static_cast<void>(w.c.lost());
        }
    }

    void check(const world& w) const
    {
        BOOST_REQUIRE(w.c.waiting() == w.waiting);
        BOOST_REQUIRE(w.c.users() == w.users);
        BOOST_REQUIRE(w.c.holds() == w.holder);
        BOOST_REQUIRE_MESSAGE(w.waiting == 0 || w.contender || w.users != 0 || w.looking,
                              "G4: one waits, and nothing will wake him");
        BOOST_REQUIRE_MESSAGE(!w.contender || w.waiting != 0, "G3: a contender for nobody");
        BOOST_REQUIRE_MESSAGE(!w.holder || w.users != 0 || rules.linger > 0ms ||
                                  (w.waiting != 0 && w.looking),
                              "G3: a node that nobody uses");
    }

    void step(const world& w)
    {
        const cohort::time now = 1h * (w.hour + 1);
        if (w.waiting + w.users < max_users) {
            auto next = w;
            cohort::verdict v;
            if (next.c.arrive(now, v)) {
                let_in(next);
            } else {
                ++next.waiting;
            }
            follow(next, v);

            next = w;
            v = {};
            switch (next.c.try_arrive(now, v)) {
            case cohort::answer::admitted: let_in(next); break;
            case cohort::answer::busy: BOOST_REQUIRE(w.waiting + w.users != 0 || w.looking); break;
            case cohort::answer::idle:
                BOOST_REQUIRE(!w.holder || rules.shared);
                next.asking = 1;
                break;
            }
            follow(next, v);
        }
        if (w.asking != 0) {
            auto next = w;
            --next.asking; // busy
            visit(next);
            // Or granted on a node of its own, whatever has happened here meanwhile.
            for (const auto k :
                 {remote_contention::unknown, remote_contention::none, remote_contention::some}) {
                auto tried = next;
                make_way(tried);
                tried.holder = true;
                const auto out = tried.c.granted(now, k, true);
                ++tried.users;
                ++tried.strangers_since;
                tried.alone = k == remote_contention::none;
                follow(tried, out);
            }
        }
        if (w.waiting != 0) {
            auto next = w;
            --next.waiting;
            follow(next, next.c.withdraw());
        }
        if (w.users != 0) {
            auto next = w;
            --next.users;
            follow(next, next.c.release(now));
        }
        if (w.contender) {
            for (const auto k :
                 {remote_contention::unknown, remote_contention::none, remote_contention::some}) {
                auto next = w;
                make_way(next);
                next.holder = true;
                next.alone = k == remote_contention::none;
                follow(next, next.c.granted(now, k));
            }
            auto failed = w;
            const auto out = failed.c.failed();
            failed.waiting = 0;
            follow(failed, out);
        }
        if (w.holder) {
            auto next = w;
            drop_holder(next);
            follow(next, next.c.lost());
            if (w.looking) {
                for (const auto k : {remote_contention::none, remote_contention::some}) {
                    next = w;
                    next.looking = false;
                    next.alone = k == remote_contention::none;
                    follow(next, next.c.met(now, k));
                }
            }
            if (w.alone) { // somebody comes
                next = w;
                next.alone = false;
                next.strangers_since = 0;
                follow(next, next.c.met(now, remote_contention::some));
            }
            if (w.blind) {
                next = w;
                next.blind = false;
                follow(next, next.c.look_again());
            } else {
                next = w;
                next.looking = next.alone = false;
                next.blind = next.saw_no_connection = true;
                follow(next, next.c.met(now, remote_contention::unknown));
            }
            next = w;
            next = w;
            follow(next, next.c.linger_over(now));
        }
        if (w.hour < 2) {
            auto next = w;
            ++next.hour;
            visit(next);
        }
    }

    void run()
    {
        visit(world{rules});
        while (!open.empty()) {
            const auto w = open.front();
            open.pop_front();
            step(w);
        }
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(G1_G2_G3_G4_whatever_happens)
{
    for (const bool shared : {false, true}) {
        for (const auto linger : {0h, 1h}) {
            for (const auto time : {0h, 1h, 100h}) {
                walk all{{.shared = shared,
                          .max_grants = 2,
                          .max_time = time,
                          .linger = linger,
                          .max_linger = 2 * linger}};
                all.run();
                BOOST_TEST(all.states > 100U);
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
