// Who is let in next, and when the node is given up: by example, and by a walk through everything that can
// happen.
#include "protocol/cohort.hpp"

#include <boost/test/unit_test.hpp>

#include <deque>
#include <map>
#include <sstream>
#include <string>
#include <tuple>

using colock::protocol::cohort;
using colock::protocol::company;
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
    const cohort::verdict& granted(company k = company::unknown)
    {
        return last = c.granted(now, k);
    }
    const cohort::verdict& met(company k) { return last = c.met(now, k); }

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
    BOOST_TEST(s.last.settle);
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
    BOOST_TEST(!s.last.settle); // one is enough
    BOOST_TEST(!s.withdraw().settle);
    BOOST_TEST(s.withdraw().settle);
    BOOST_TEST(!s.c.wants_contender());
}

BOOST_AUTO_TEST_CASE(G2_without_strangers_there_is_no_bound)
{
    scene s{mutex_rules};
    s.arrive();
    s.arrive();
    BOOST_TEST(s.granted().look); // somebody waits: who else does?
    for (int i = 0; i != 1000; ++i) {
        BOOST_TEST(!s.arrive());
        s.now += 1s;
        BOOST_TEST(s.release().admit == 1U);
        BOOST_TEST(!s.last.leave);
        if (i == 10) {
            s.met(company::none);
        }
    }
}

BOOST_AUTO_TEST_CASE(G2_with_strangers_the_number_of_grants_is_bounded)
{
    scene s{mutex_rules};
    for (int i = 0; i != 5; ++i) {
        s.arrive();
    }
    BOOST_TEST(s.granted(company::some).admit == 1U); // due to the queue, and not counted
    BOOST_TEST(s.release().admit == 1U);
    BOOST_TEST(s.release().admit == 1U);
    BOOST_TEST(s.release().leave);
    BOOST_TEST(s.last.settle); // and stands in the queue again at once
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
    s.now += 1h;
    BOOST_TEST(s.release().admit == 1U);
    s.met(company::some); // from now on
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
    BOOST_TEST(s.c.granted(s.now, company::unknown, true).admit == 0U);
    BOOST_TEST(s.c.wants_contender());
    BOOST_TEST(s.release().admit == 1U); // on his node
    BOOST_TEST(s.last.settle);
    BOOST_TEST(!s.c.wants_contender());
}

BOOST_AUTO_TEST_CASE(a_lingering_node_serves_the_next_one_without_a_word)
{
    scene s{lingering};
    s.arrive();
    s.granted(company::none);
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
    s.granted(company::none);
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
    s.granted(company::none);
    s.release();
    BOOST_TEST(s.met(company::some).leave);
    // And one of which it is not known is not kept at all.
    for (const auto k : {company::some, company::unknown}) {
        s.arrive();
        s.granted(k);
        BOOST_TEST(s.release().leave);
    }
}

BOOST_AUTO_TEST_CASE(behind_a_broken_connection_it_looks_again)
{
    scene s{lingering};
    s.arrive();
    s.granted(company::none);
    s.release();
    BOOST_TEST((s.met(company::unknown) == cohort::verdict{}));
    BOOST_TEST(s.c.is_idle());
    BOOST_TEST(s.c.look_again().look);
    BOOST_TEST(s.met(company::some).leave);
}

BOOST_AUTO_TEST_CASE(a_loss_ends_the_contender_and_its_waiters_get_another)
{
    scene s{mutex_rules};
    s.arrive();
    s.arrive();
    s.granted();
    BOOST_TEST(s.c.lost().settle);
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
    BOOST_TEST(s.granted(company::none).admit == 3U);
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
    s.met(company::some);
    BOOST_TEST(s.arrive());
    s.release();
    BOOST_TEST(s.arrive());
    BOOST_TEST(!s.arrive()); // the bound
    BOOST_TEST(s.last.settle);
    BOOST_TEST(s.c.wants_contender()); // the later ones queue behind the writer
    s.release();
    BOOST_TEST(!s.arrive());
    BOOST_TEST((s.try_arrive() == cohort::answer::busy));
    s.release();
    BOOST_TEST(s.release().leave);
    BOOST_TEST(s.c.wants_contender());
    BOOST_TEST(s.granted(company::some).admit == 2U);
}

// ---- everything that can happen

namespace {

// The caller's side, as far as it can be wrong.
struct world {
    explicit world(const cohort::rules& r) : c{r} {}

    cohort c;
    unsigned waiting = 0;
    unsigned users = 0;
    bool contender = false; // stands in the queue
    bool holder = false;
    unsigned strangers_since = 0; // so many were let in since one was known
    bool known = false;
    unsigned hour = 0; // of the clock

    [[nodiscard]] auto key() const
    {
        std::ostringstream text;
        text << waiting << users << contender << holder << strangers_since << known << hour << '/'
             << c.waiting() << c.users() << c.wants_contender() << c.holds() << c.is_idle();
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

    void follow(world w, const cohort::verdict& v)
    {
        BOOST_REQUIRE(v.admit <= w.waiting);
        for (std::size_t i = 0; i != v.admit; ++i) {
            --w.waiting;
            let_in(w);
        }
        if (v.leave) {
            BOOST_REQUIRE(w.holder);
            BOOST_REQUIRE(w.users == 0U);
            w.holder = w.known = false;
            w.strangers_since = 0;
        }
        visit(w);
    }

    void let_in(world& w) const
    {
        BOOST_REQUIRE_MESSAGE(w.holder, "let in without a lock");
        BOOST_REQUIRE_MESSAGE(rules.shared || w.users == 0, "G1: two users");
        ++w.users;
        if (w.known) {
            ++w.strangers_since;
            BOOST_REQUIRE_MESSAGE(w.strangers_since <= rules.max_grants + 1,
                                  "G2: strangers wait for longer than the bound");
        }
    }

    void check(const world& w) const
    {
        BOOST_REQUIRE(w.c.waiting() == w.waiting);
        BOOST_REQUIRE(w.c.users() == w.users);
        BOOST_REQUIRE(w.c.holds() == w.holder);
        BOOST_REQUIRE_MESSAGE(w.waiting == 0 || w.contender || w.users != 0,
                              "G4: one waits, and nothing will wake him");
        BOOST_REQUIRE_MESSAGE(!w.contender || w.waiting != 0, "G3: a contender for nobody");
        BOOST_REQUIRE_MESSAGE(!w.holder || w.users != 0 || rules.linger > 0ms,
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
            case cohort::answer::busy: BOOST_REQUIRE(w.waiting + w.users != 0); break;
            case cohort::answer::idle:
                BOOST_REQUIRE(!w.holder);
                // He asks the servers, and is granted on a node of his own.
                for (const auto k : {company::unknown, company::none, company::some}) {
                    auto tried = next;
                    tried.holder = true;
                    const auto out = tried.c.granted(now, k, true);
                    ++tried.users;
                    tried.known = k == company::some;
                    follow(tried, out);
                }
                break;
            }
            follow(next, v);
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
        if (w.contender && !w.holder) {
            for (const auto k : {company::unknown, company::none, company::some}) {
                auto next = w;
                next.holder = true;
                next.known = k == company::some;
                follow(next, next.c.granted(now, k));
            }
            auto failed = w;
            failed.c.failed();
            failed.waiting = 0;
            follow(failed, {});
        }
        if (w.holder) {
            auto next = w;
            next.holder = next.known = false;
            next.users = next.strangers_since = 0;
            follow(next, next.c.lost());
            for (const auto k : {company::unknown, company::none, company::some}) {
                next = w;
                next.known = next.known || k == company::some;
                follow(next, next.c.met(now, k));
            }
            next = w;
            follow(next, next.c.look_again());
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
