// When a session guard acts: in every order of what it may hear; and what it is told.
#include "guard/guarded_session.hpp"
#include "guard/rules.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace colock::test::guard_rules_test {

namespace {

using namespace colock::guard;
using namespace std::chrono_literals;

// ---- every order

constexpr std::chrono::nanoseconds timeout = 2s; // of the session

struct situation {
    rules guard;
    std::chrono::nanoseconds now{0};
    bool needs_consent;
    bool has_session = false;
    bool denied = false;
    std::optional<std::chrono::nanoseconds> ended, died; // the channel, the owner, as it hears
    std::optional<std::chrono::nanoseconds> lived;       // as it has seen last
    std::chrono::nanoseconds death = 1h;                 // in truth
    bool acted = false;
    bool gone = false;

    explicit situation(bool consent) : guard{consent}, needs_consent{consent} {}
};

enum class event {
    told,
    told_of_none,
    channel_ends,
    owner_dies,
    owner_died, // a second ago, in which this process was stopped
    consent,
    denial,
    a_second
};
constexpr event all[] = {event::told,       event::told_of_none, event::channel_ends,
                         event::owner_dies, event::owner_died,   event::consent,
                         event::denial,     event::a_second};

bool is_possible(const situation& s, event e)
{
    switch (e) {
    case event::told:
    case event::told_of_none: return !s.ended; // all that was said is read before the end
    case event::channel_ends: return !s.ended;
    case event::owner_dies:
    case event::owner_died: return !s.died;
    case event::consent:
    case event::denial: return s.needs_consent && !s.denied;
    case event::a_second: return true;
    }
    return false;
}

void happen(situation& s, event e)
{
    switch (e) {
    case event::told:
        s.guard.has_session(7, timeout);
        s.has_session = true;
        break;
    case event::told_of_none:
        s.guard.has_none(7);
        s.has_session = false;
        break;
    case event::channel_ends:
        s.guard.channel_ended(s.now);
        s.ended = s.now;
        break;
    case event::owner_dies:
    case event::owner_died:
        s.death = s.now;
        s.now += e == event::owner_died ? 1s : 0s;
        s.guard.owner_died(s.now);
        s.died = s.now;
        break;
    case event::consent:
        s.guard.consented();
        s.needs_consent = false;
        break;
    case event::denial:
        s.guard.consent_denied();
        s.denied = true;
        break;
    case event::a_second: s.now += 1s; break;
    }
}

int visited = 0;

void look(situation& s)
{
    if (!s.died && !s.ended) { // for simplicity; later looks change nothing
        s.guard.owner_lived(s.now);
        s.lived = s.now;
    }
    const auto d = s.guard.decide(s.now);
    const auto since = std::min({s.ended.value_or(1h), s.died.value_or(1h), s.lived.value_or(1h)});
    const bool may = s.has_session && s.ended && s.died && *s.died - *s.ended <= 1s &&
                     !s.needs_consent && !s.denied && s.now < since + timeout;
    BOOST_TEST_REQUIRE((d.end.empty() || (may && !s.acted))); // not too early, not late, once
    BOOST_TEST_REQUIRE((!may || s.acted || !d.end.empty()));  // and not never
    for (const auto& [client, until] : d.end) {
        BOOST_TEST_REQUIRE(client == 7U);
        BOOST_TEST_REQUIRE((until == since + timeout && until <= s.death + timeout));
    }
    s.acted |= !d.end.empty();
    s.gone = d.exit;
    BOOST_TEST_REQUIRE((!d.next || *d.next > s.now));
    // It asks again, or exits.
    BOOST_TEST_REQUIRE(((!s.ended && !s.died && !s.has_session) || s.acted || s.gone || d.next));
}

void walk(situation s, int depth)
{
    ++visited;
    look(s);
    if (s.gone || s.acted) {
        return;
    }
    if (depth == 0) {
        // It exits at some time, once anything has ended.
        if (s.ended || s.died) {
            for (int i = 0; i != 4 && !s.gone && !s.acted; ++i) {
                happen(s, event::a_second);
                look(s);
            }
            BOOST_TEST_REQUIRE((s.gone || s.acted));
        }
        return;
    }
    for (const auto e : all) {
        if (is_possible(s, e)) {
            auto next = s;
            happen(next, e);
            walk(next, depth - 1);
        }
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(guard_rules)

BOOST_AUTO_TEST_CASE(it_ends_the_session_of_a_dead_owner_and_no_other_one)
{
    walk(situation{false}, 8);
    walk(situation{true}, 7);
    BOOST_TEST_MESSAGE(visited << " situations");
    BOOST_TEST(visited > 10'000);
}

BOOST_AUTO_TEST_CASE(each_session_has_its_own_time)
{
    rules r{false};
    r.has_session(1, 1s);
    r.has_session(2, 10s);
    r.owner_died(0s);
    r.channel_ended(5s); // a child had it
    const auto d = r.decide(5s);
    BOOST_TEST(d.end.size() == 1U);
    BOOST_TEST(d.end.front().first == 2U);
    BOOST_TEST((d.end.front().second == 10s));
}

BOOST_AUTO_TEST_CASE(a_session_that_the_owner_has_left_is_forgotten_after_its_time_out)
{
    for (const auto died : {9s, 11s}) {
        rules r{false};
        r.has_left_session(1, 10s, 0s);
        r.channel_ended(died);
        r.owner_died(died);
        const auto d = r.decide(died);
        BOOST_TEST(d.end.empty() == (died > 10s));
        BOOST_TEST(d.exit == (died > 10s));
    }
    rules r{false}; // while the owner lives, too
    r.has_left_session(1, 10s, 0s);
    static_cast<void>(r.decide(9s));
    BOOST_TEST(r.knows(1));
    static_cast<void>(r.decide(10s));
    BOOST_TEST(!r.knows(1));
}

BOOST_AUTO_TEST_CASE(it_looks_often_whether_the_owner_lives)
{
    rules r{false};
    BOOST_TEST(!r.decide(0s).next.has_value());
    r.has_session(1, 10s);
    r.has_session(2, 4s);
    BOOST_TEST((r.decide(7s).next == 8s));
}

// ---- what it is told

BOOST_AUTO_TEST_CASE(a_message_reads_as_it_was_written)
{
    guarded_session s;
    s.client = 3;
    s.identity.id = -5;
    s.identity.password.fill('\xff');
    s.timeout = 15s;
    s.hosts = "one:1,two:2";
    s.credentials = {{"digest", "user:secret"}, {"ip", ""}};
    s.last = true;
    s.tls = true;
    s.tls_server_name = "name";
    s.tls_verify = colock::tls_verification::any_name;
    const auto read = decode(encode(s));
    BOOST_REQUIRE(read.has_value());
    BOOST_TEST(read->client == s.client);
    BOOST_TEST(read->identity.id == s.identity.id);
    BOOST_TEST((read->identity.password == s.identity.password));
    BOOST_TEST((read->timeout == s.timeout));
    BOOST_TEST(read->hosts == s.hosts);
    BOOST_TEST((read->credentials == s.credentials));
    BOOST_TEST(read->last);
    BOOST_TEST(read->tls);
    BOOST_TEST(read->tls_server_name == s.tls_server_name);
    BOOST_TEST((read->tls_verify == s.tls_verify));
}

BOOST_AUTO_TEST_CASE(what_is_cut_or_longer_is_no_message)
{
    guarded_session s;
    s.hosts = "one:1";
    s.credentials = {{"digest", "user:secret"}};
    const auto whole = encode(s);
    BOOST_TEST(decode(whole).has_value());
    for (std::size_t size = 0; size != whole.size(); ++size) {
        BOOST_TEST(!decode(std::string_view{whole}.substr(0, size)).has_value());
    }
    BOOST_TEST(!decode(whole + '\0').has_value());
    BOOST_TEST(!decode("x" + whole).has_value());
    std::string huge = whole; // a length that no text has
    std::fill(huge.begin(), huge.begin() + 8, '\xff');
    BOOST_TEST(!decode(huge).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::guard_rules_test
