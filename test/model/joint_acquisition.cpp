// Users who want several locks, each by protocol::joint_acquisition or one lock after the other, in every order of events.
#include "recipes/multi_lock/joint_acquisition.hpp"

#include "depth_first.hpp"
#include "explore.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using colock::errc;
using colock::error_code;
using colock::model::violation;
using colock::protocol::joint_acquisition;
using kind = joint_acquisition::command::kind;

namespace {

struct scenario {
    std::vector<std::vector<int>>
        users;          // the locks that each of them wants, in the order of the paths
    int one_by_one = 0; // so many of the users, the last ones, lock one by one
    bool tries = false; // the first user does not wait
    int deletions = 0;  // of nodes, by somebody
    int cancels = 0;    // of the first user
    int deadlines = 0;  // likewise
};

// Nothing is kept beside the worlds.
struct laboratory {
    explicit laboratory(scenario s) : rules{std::move(s)} {}

    scenario rules;
};

void expect(bool condition, const char* what)
{
    if (!condition) {
        throw violation{what};
    }
}

// A lock is a queue of places at the servers. The servers carry out the requests of a user in their order, and their
// answers and events come in that order.
struct place {
    int user;
    int lock;   // by the number that it has for the user
    int serial; // each time that the user joins has another one
    friend bool operator==(const place&, const place&) = default;
};

// What a user's client sends, is told, and tells the user.
enum class word : std::uint8_t { join, probe, leave, granted, probed, left, deleted, refused };
struct message {
    word what;
    int lock = 0;
    int serial = 0;
};

struct user {
    std::optional<joint_acquisition> order; // empty: one by one
    std::vector<int> locks;
    std::deque<message> requests; // on their way to the servers
    std::deque<message> answers;  // on their way to the client
    std::deque<message> inbox;    // posted, and not yet told to `order`
    // Of each lock: what this user's client knows.
    enum class state : std::uint8_t { none, waiting, granted, leaving };
    std::vector<state> at;
    std::vector<int> serial; // of the last place
    std::vector<bool> lost;  // granted, and deleted by somebody since
    std::size_t next = 0;    // one by one
    enum class stage : std::uint8_t { begins, wants, holds, over } stage = stage::begins;
    bool tries = false;
    bool time_over = false;
    bool cancelled = false;
    bool cancelled_at_once = false;
};

class world {
public:
    explicit world(const laboratory& lab) : world{lab.rules} {}
    explicit world(const scenario& s)
        : deletions_{s.deletions}, cancels_{s.cancels}, deadlines_{s.deadlines}
    {
        for (std::size_t u = 0; u != s.users.size(); ++u) {
            auto& each = users_.emplace_back();
            each.locks = s.users[u];
            const auto n = each.locks.size();
            each.at.resize(n);
            each.serial.resize(n);
            each.lost.resize(n);
            if (u + static_cast<std::size_t>(s.one_by_one) < s.users.size()) {
                each.tries = s.tries && u == 0;
                each.order.emplace(n, each.tries);
            }
            for (const auto lock : each.locks) {
                queues_.resize(
                    std::max<std::size_t>(queues_.size(), static_cast<std::size_t>(lock) + 1));
            }
        }
    }

    struct step {
        enum class what : std::uint8_t {
            begin,
            serve,
            deliver,
            tell,
            release,
            remove,
            cancel,
            cancel_at_once,
            deadline
        };
        what type;
        std::size_t user = 0;
        std::size_t lock = 0;
        [[nodiscard]] bool is_adverse() const { return type >= what::remove; }
    };

    [[nodiscard]] std::vector<step> possible() const
    {
        using enum step::what;
        std::vector<step> all;
        for (std::size_t u = 0; u != users_.size(); ++u) {
            const auto& each = users_[u];
            if (each.stage == user::stage::begins) {
                all.push_back({begin, u});
            }
            if (!each.requests.empty()) {
                all.push_back({serve, u});
            }
            if (!each.answers.empty()) {
                all.push_back({deliver, u});
            }
            if (!each.inbox.empty()) {
                all.push_back({tell, u});
            }
            if (each.stage == user::stage::holds) {
                all.push_back({release, u});
            }
        }
        const auto& first = users_.front();
        if (first.stage == user::stage::wants && first.order) {
            if (cancels_ != 0 && !first.cancelled) {
                all.push_back({cancel, 0});
            }
            if (cancels_ != 0) {
                all.push_back({cancel_at_once, 0});
            }
            if (deadlines_ != 0 && !first.time_over) {
                all.push_back({deadline, 0});
            }
        }
        for (std::size_t lock = 0; deletions_ != 0 && lock != queues_.size(); ++lock) {
            if (!queues_[lock].empty()) {
                all.push_back({remove, 0, lock});
            }
        }
        return all;
    }

    void take(const step& s, const laboratory&)
    {
        using enum step::what;
        auto& u = users_[s.user];
        switch (s.type) {
        case begin: start(s.user); break;
        case serve: carry_out(s.user); break;
        case deliver: deliver_answer(s.user); break;
        case tell: tell_user(s.user); break;
        case release:
            u.stage = user::stage::over;
            for (std::size_t i = 0; i != u.locks.size(); ++i) {
                leave(u, i, true);
            }
            break;
        case remove: {
            --deletions_;
            auto& queue = queues_[s.lock];
            const auto gone = queue.front();
            queue.pop_front();
            users_[static_cast<std::size_t>(gone.user)].answers.push_back(
                {word::deleted, gone.lock, gone.serial});
            grant_first(s.lock);
            break;
        }
        case cancel:
            --cancels_;
            u.cancelled = true;
            feed(s.user, [](joint_acquisition& o, joint_acquisition::commands& out) {
                o.cancel(false, out);
            });
            break;
        case cancel_at_once:
            --cancels_;
            u.cancelled_at_once = true;
            feed(s.user, [](joint_acquisition& o, joint_acquisition::commands& out) {
                o.cancel(true, out);
            });
            break;
        case deadline: // each wait of its own ends as well
            --deadlines_;
            u.time_over = true;
            for (std::size_t i = 0; i != u.locks.size(); ++i) {
                if (u.at[i] == user::state::waiting) {
                    leave(u, i, true);
                    u.inbox.push_back({word::refused, static_cast<int>(i)});
                }
            }
            break;
        }
    }

    // Nothing happens any more unless somebody disturbs.
    void check_end(const laboratory&) const
    {
        for (const auto& u : users_) {
            expect(u.stage == user::stage::over, "G4: a user waits for ever");
            expect(u.requests.empty() && u.answers.empty() && u.inbox.empty(),
                   "G4: an answer is not told");
        }
        for (const auto& queue : queues_) {
            expect(queue.empty(), "G3: a node is left behind");
        }
    }

    void write(std::string& to) const
    {
        const auto put = [&](auto value) { to += static_cast<char>(value); };
        const auto put_all = [&](const std::deque<message>& all) {
            put(all.size());
            for (const auto& m : all) {
                put(m.what);
                put(m.lock);
                put(m.serial);
            }
        };
        for (const auto& u : users_) {
            put_all(u.requests);
            put_all(u.answers);
            put_all(u.inbox);
            for (std::size_t i = 0; i != u.locks.size(); ++i) {
                put(u.at[i]);
                put(u.serial[i]);
                put(u.lost[i]);
            }
            put(u.next);
            put(u.stage);
            put(u.time_over + 2 * u.cancelled);
            if (u.order) {
                to += u.order->fingerprint();
            }
        }
        for (const auto& queue : queues_) {
            put(queue.size());
            for (const auto& p : queue) {
                put(p.user);
                put(p.serial);
            }
        }
        put(deletions_);
        put(cancels_);
        put(deadlines_);
    }

private:
    template <class Input>
    void feed(std::size_t of, Input&& input)
    {
        joint_acquisition::commands out;
        input(*users_[of].order, out);
        for (const auto& c : out) {
            perform(of, c);
        }
    }

    void start(std::size_t of)
    {
        auto& u = users_[of];
        u.stage = user::stage::wants;
        if (u.order) {
            feed(of, [](joint_acquisition& o, joint_acquisition::commands& out) { o.start(out); });
        } else {
            join(u, 0);
        }
    }

    void perform(std::size_t of, const joint_acquisition::command& c)
    {
        auto& u = users_[of];
        expect(u.stage == user::stage::wants, "contract: a command behind the last one");
        switch (c.type) {
        case kind::join: join(u, c.lock); break;
        case kind::probe: u.requests.push_back({word::probe}); break;
        case kind::abandon:
            if (u.at[c.lock] == user::state::waiting) { // else its grant is posted already
                leave(u, c.lock, false);
            }
            break;
        case kind::hurry:
            if (u.at[c.lock] == user::state::leaving) {
                u.at[c.lock] = user::state::none;
                u.inbox.push_back({word::left, static_cast<int>(c.lock)});
            }
            break;
        case kind::release:
            expect(u.at[c.lock] == user::state::granted, "contract: releases what is not held");
            leave(u, c.lock, false);
            break;
        case kind::deliver:
            for (std::size_t i = 0; i != u.locks.size(); ++i) {
                expect(u.at[i] == user::state::granted, "G1: delivers a lock that is not held");
                expect(!u.lost[i], "G5: delivers a lock that is lost");
            }
            u.stage = user::stage::holds;
            u.inbox.clear();
            break;
        case kind::abort:
            expect(!u.cancelled || u.cancelled_at_once ||
                       std::ranges::all_of(u.at, [](auto s) { return s == user::state::none; }),
                   "G3: completes while a trace is left");
            [[fallthrough]];
        case kind::refuse:
        case kind::time_over:
            u.stage = user::stage::over;
            u.inbox.clear();
            for (std::size_t i = 0; i != u.locks.size(); ++i) {
                leave(u, i, true);
            }
            break;
        }
    }

    static void join(user& u, std::size_t i)
    {
        expect(u.at[i] == user::state::none, "contract: joins a lock that it has, or is leaving");
        u.at[i] = user::state::waiting;
        u.lost[i] = false;
        u.requests.push_back({word::join, static_cast<int>(i), ++u.serial[i]});
    }

    // `quietly`: in the background.
    static void leave(user& u, std::size_t i, bool quietly)
    {
        if (u.at[i] == user::state::waiting || u.at[i] == user::state::granted) {
            u.at[i] = quietly ? user::state::none : user::state::leaving;
            u.requests.push_back({word::leave, static_cast<int>(i), u.serial[i]});
        } else if (quietly) {
            u.at[i] = user::state::none;
        }
    }

    void grant_first(std::size_t lock)
    {
        if (!queues_[lock].empty()) {
            const auto& first = queues_[lock].front();
            users_[static_cast<std::size_t>(first.user)].answers.push_back(
                {word::granted, first.lock, first.serial});
        }
    }

    // At the servers.
    void carry_out(std::size_t of)
    {
        auto& u = users_[of];
        const auto m = u.requests.front();
        u.requests.pop_front();
        if (m.what == word::probe) {
            u.answers.push_back({word::probed});
            return;
        }
        const auto lock = static_cast<std::size_t>(u.locks[static_cast<std::size_t>(m.lock)]);
        auto& queue = queues_[lock];
        const place mine{static_cast<int>(of), m.lock, m.serial};
        if (m.what == word::join) {
            queue.push_back(mine);
            if (queue.size() == 1) {
                grant_first(lock);
            } else if (u.tries) {
                u.answers.push_back({word::refused, m.lock, m.serial});
            }
            return;
        }
        const auto at = std::ranges::find(queue, mine);
        if (at != queue.end()) { // else somebody has deleted it
            const bool first = at == queue.begin();
            queue.erase(at);
            if (first) {
                grant_first(lock);
            }
        }
        u.answers.push_back({word::left, m.lock, m.serial});
    }

    // At the client.
    void deliver_answer(std::size_t of)
    {
        auto& u = users_[of];
        const auto m = u.answers.front();
        u.answers.pop_front();
        const auto i = static_cast<std::size_t>(m.lock);
        const bool current =
            m.serial == u.serial[i]; // else it is about a place that was left in the background
        switch (m.what) {
        case word::granted:
            // Of a place that is being left, it comes too late.
            if (current && u.at[i] == user::state::waiting) {
                u.at[i] = user::state::granted;
                u.inbox.push_back(m);
            }
            break;
        case word::probed: u.inbox.push_back(m); break;
        case word::left:
            if (current && u.at[i] == user::state::leaving) {
                u.at[i] = user::state::none;
                u.inbox.push_back(m);
            }
            break;
        case word::deleted:
            if (current && u.at[i] == user::state::waiting) { // its contender joins again
                u.requests.push_back({word::join, m.lock, ++u.serial[i]});
            } else if (current && u.at[i] == user::state::granted) {
                u.lost[i] = true;
            }
            break;
        case word::refused:
            if (current && u.at[i] == user::state::waiting) {
                leave(u, i, true);
                u.inbox.push_back(m);
            }
            break;
        default: break;
        }
        if (u.stage == user::stage::over || u.stage == user::stage::holds) {
            u.inbox.clear();
        }
    }

    void tell_user(std::size_t of)
    {
        auto& u = users_[of];
        const auto m = u.inbox.front();
        u.inbox.pop_front();
        const auto i = static_cast<std::size_t>(m.lock);
        if (!u.order) {
            if (m.what != word::granted) {
                return;
            }
            if (++u.next == u.locks.size()) {
                u.stage = user::stage::holds;
            } else {
                join(u, u.next);
            }
            return;
        }
        feed(of, [&](joint_acquisition& o, joint_acquisition::commands& out) {
            switch (m.what) {
            case word::granted: o.granted(i, first_loss(u), u.time_over, out); break;
            case word::probed: o.probed(out); break;
            case word::left:
                // The end of a wait, or of a hold: nothing that follows depends on which.
                o.released(i, u.time_over, out);
                break;
            case word::refused: o.refused(i, {}, u.time_over, out); break;
            default: break;
            }
        });
    }

    [[nodiscard]] static std::optional<joint_acquisition::loss> first_loss(const user& u)
    {
        for (std::size_t i = 0; i != u.locks.size(); ++i) {
            if (u.at[i] == user::state::granted && u.lost[i]) {
                return joint_acquisition::loss{i, errc::node_deleted, false};
            }
        }
        return std::nullopt;
    }

    std::vector<user> users_;
    std::vector<std::deque<place>> queues_; // by number, which is the order of the paths
    int deletions_;
    int cancels_;
    int deadlines_;
};

std::string to_string(const world::step& s)
{
    static constexpr std::array names{"begins",  "request served",  "answer delivered",
                                      "told",    "releases",        "node deleted",
                                      "cancels", "cancels at once", "deadline"};
    return std::string{names[static_cast<std::size_t>(s.type)]} + " user " +
           std::to_string(s.user) + " lock " + std::to_string(s.lock);
}

void explore(const scenario& s, std::size_t floor)
{
    using walk = colock::model::depth_first_walk<world, laboratory>;
    colock::model::explore_by<walk>(s, floor);
}

} // namespace

BOOST_AUTO_TEST_SUITE(several_locks)

BOOST_AUTO_TEST_CASE(G4_two_users_want_two_locks)
{
    explore({.users = {{0, 1}, {0, 1}}}, 1'600);
}

BOOST_AUTO_TEST_CASE(G4_three_locks_in_a_circle)
{
    explore({.users = {{0, 1}, {1, 2}, {0, 2}}}, 90'000);
}

BOOST_AUTO_TEST_CASE(G4_two_users_want_three_locks)
{
    explore({.users = {{0, 1, 2}, {0, 1, 2}}}, 10'000);
}

BOOST_AUTO_TEST_CASE(G4_with_one_who_locks_one_by_one)
{
    explore({.users = {{0, 1}, {0, 1}}, .one_by_one = 1}, 550);
    explore({.users = {{0, 1}, {0, 1}, {0, 1}}, .one_by_one = 2}, 6'000);
}

BOOST_AUTO_TEST_CASE(G3_one_cancels_at_any_moment)
{
    explore({.users = {{0, 1}, {0, 1}}, .cancels = 2}, 21'000);
    explore({.users = {{0, 1, 2}, {0, 2}}, .one_by_one = 1, .cancels = 1}, 14'000);
}

BOOST_AUTO_TEST_CASE(G3_the_deadline_of_one_passes_at_any_moment)
{
    explore({.users = {{0, 1}, {0, 1}}, .deadlines = 1}, 10'000);
}

BOOST_AUTO_TEST_CASE(G3_one_only_tries)
{
    explore({.users = {{0, 1}, {0, 1}}, .tries = true}, 2'000);
    explore({.users = {{0, 1}, {0, 1}}, .tries = true, .deletions = 1, .cancels = 1}, 176'000);
}

BOOST_AUTO_TEST_CASE(G5_nodes_are_deleted_by_somebody)
{
    explore({.users = {{0, 1}, {0, 1}}, .deletions = 2}, 289'000);
    explore({.users = {{0, 1, 2}, {1, 2}}, .deletions = 1}, 59'000);
}

BOOST_AUTO_TEST_SUITE_END()
