// Walks through everything that can happen to the waiters of one client who share a node.
#include "lock/cohort.hpp"

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

    // By reference: a call may take the actions from the same world, in either order of evaluation.
    void follow(world& w, const cohort::actions& v)
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
            cohort::actions v;
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
            case cohort::answer::ask_servers:
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

BOOST_AUTO_TEST_SUITE(cohort_walk)

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
