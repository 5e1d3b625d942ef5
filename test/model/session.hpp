// A client's session, its servers and its user: the state machine of a session, with all that may happen to it.
#pragma once

#include "depth_first.hpp"
#include "session/reconnect.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace colock::model::session {

using namespace std::chrono_literals;
using protocol::session::command;
using protocol::session::commands;
using protocol::session::instant;
using protocol::session::loss;
using protocol::session::reconnect;

// How often something may happen.
struct scenario {
    std::size_t addresses = 2;
    bool names = false; // they have to be looked up
    bool tries_options = false;
    bool endless = false; // callers wait without a limit
    int connects = 1;     // calls of the user
    int cancels = 0;
    int closes = 0;
    int refusals = 0; // of a connection
    int silences = 0; // an attempt that is not answered
    int breaks = 0;   // of a connection with a session
    int expiries = 0;
    int refused_barriers = 0;
    int refused_options = 0; // for good
    int refused_credentials = 0;
    int failed_look_ups = 0;
    int deadlines = 0;
    int unread = 0; // a server does not close a connection that was lost
    int lost_writes = 0;
    int moves = 0; // the name service drops an address, or replaces the only one
    int lists = 0; // the user gives another list of hosts: without an address, or with another one
    int some_times = 0; // several ticks
    int long_times = 0; // longer than a session lives
    int smaller = 0;    // a time-out that is granted
    int requests = 0;   // that are outstanding for a while
    int reactions = 0;  // a listener that is told calls connect() or close()
};

// Nothing is kept beside the worlds.
struct laboratory {
    explicit laboratory(const scenario& s) : rules{s} {}

    scenario rules;
};

class world {
public:
    explicit world(const laboratory& lab) : world{lab.rules} {}
    explicit world(const scenario& s)
        : left_{s}, machine_{{.hosts = "a,b",
                              .chroot = "/c",
                              .tries_options = s.tries_options,
                              .session_timeout = timeout,
                              .connect_timeout = s.endless ? std::chrono::milliseconds::max() : 10s,
                              .close_timeout = 5s,
                              .backoff_min = 50ms,
                              .backoff_max = 1s,
                              .tick = tick},
                             1}
    {
        for (std::size_t i = 0; i != s.addresses; ++i) {
            names_.push_back(std::string(1, static_cast<char>('a' + i)));
        }
        resolved_ = !s.names;
        names_come_late_ = s.names;
    }

    // One thing that can happen now.
    struct event {
        std::string name;
        std::function<void(world&)> happens;

        // It ends well only when nothing can happen any more.
        [[nodiscard]] static bool is_adverse() noexcept { return false; }
        friend const std::string& to_string(const event& e) noexcept { return e.name; }
    };

    [[nodiscard]] std::vector<event> possible() const;
    void take(const event& e, const laboratory&)
    {
        e.happens(*this);
        look_around();
    }
    void check_end(const laboratory&) const
    {
        require(told_ == state::idle || told_ == state::connected || told_ == state::closed,
                "G4 nothing goes on, without a connection");
        require(callers_ == 0, "G4 a caller of connect() is never answered");
        require(changing_ == 0, "G4 a caller of set_hosts() is never answered");
    }
    void write(std::string& to) const;

private:
    static constexpr std::chrono::seconds timeout{30};
    static constexpr std::chrono::seconds tick{2};

    enum class state { idle, connecting, connected, suspended, closed };
    enum class link { none, attempted, established, ending };
    enum class reaction { none, connect, close };

    static void require(bool holds, const char* what)
    {
        if (!holds) {
            throw violation{what};
        }
    }

    // ---- what the client does with an input

    template <class Input>
    void decide(Input input)
    {
        input(machine_, orders_);
        if (std::exchange(carrying_out_, true)) {
            return;
        }
        for (std::size_t i = 0; i != orders_.size(); ++i) {
            const auto next = orders_[i];
            carry_out(next);
        }
        orders_.clear();
        carrying_out_ = false;
    }

    void carry_out(const command& c)
    {
        using kind = command::kind;
        switch (c.type) {
        case kind::look_up:
            looking_up_ = names_come_late_;
            report_addresses();
            break;
        case kind::open: open(c); break;
        case kind::try_options: trial_ = true; break;
        case kind::send_barrier: barrier_ = barrier_sent_ = true; break;
        case kind::hold: held_ = true; break;
        case kind::break_off: breaks_off_ = true; break;
        case kind::drop:
        case kind::take_leave: drop(); break;
        case kind::end_session:
            require(outstanding_ == 0, "contract the end is sent while answers are outstanding");
            link_ = link::ending;
            break;
        case kind::start_timer: start_timer(c); break;
        case kind::stop_timer: timer_ = false; break;
        case kind::start_deadline: deadline_ = true; break;
        case kind::stop_deadline: deadline_ = false; break;
        case kind::session_begun:
        case kind::session_resumed:
            require((session_ == at_server_) == (c.type == kind::session_resumed),
                    "contract another session is taken for the same");
            session_ = at_server_;
            break;
        case kind::connecting:
            require(told_ == state::idle, "contract it begins to connect twice");
            told_ = state::connecting;
            break;
        case kind::connected: become_connected(); break;
        case kind::writable: become_writable(); break;
        case kind::suspended:
            require(told_ == state::connected, "contract a connection that was not told is lost");
            told_ = state::suspended;
            react();
            break;
        case kind::expired:
            require(session_ != 0, "contract the end of a session is told twice");
            require(!alive_.contains(session_) || link_ == link::none,
                    "contract a session that lives is told to be over");
            forget_session();
            react();
            break;
        case kind::given_up: give_up(); break;
        case kind::closing:
            stop_timers();
            looking_up_ = false;
            callers_ = changing_ = 0;
            closing_ = true;
            react();
            break;
        case kind::closed: closed(c.error); break;
        case kind::answer: callers_ = 0; break;
        case kind::hosts_in_use:
            require(c.error || told_ == state::idle || closing_ || left_.moves != 0 || is_listed(),
                    "contract another server than those of the list is in use");
            changing_ = 0;
            break;
        case kind::note:
        case kind::log_info:
        case kind::log_warning:
        case kind::log_error: break;
        }
    }

    void open(const command& c)
    {
        require(link_ == link::none, "contract two connections at once");
        require(told_ != state::closed && told_ != state::idle,
                "contract an attempt that nobody has asked for");
        require(session_ == 0 || !unsafe_.contains(c.text),
                "G1 the session is offered where an old write may come from");
        where_ = c.text;
        link_ = link::attempted;
        opened_ = true;
        ++eager_;
        require(eager_ <= left_.addresses, "G4 it tries again and again without a pause");
    }

    void start_timer(const command& c)
    {
        timer_ = true;
        if (link_ == link::none && c.time > 0ns) {
            eager_ = 0;
        }
    }

    void accept(std::chrono::milliseconds granted)
    {
        const bool resumed = session_ != 0;
        if (resumed) {
            at_server_ = session_;
        } else {
            at_server_ = next_session_++;
            alive_.insert(at_server_);
        }
        smallest_ = resumed ? std::min(smallest_, granted) : granted;
        link_ = link::established;
        resumed_ = resumed;
        decide([&](auto& m, auto& out) { m.established(at_server_, granted, out); });
    }

    void become_connected()
    {
        require(told_ == state::connecting || told_ == state::suspended,
                "contract a connection is told twice, or to nobody");
        require(link_ == link::established, "contract a connection that is not there is told");
        require(used_ != session_ || barrier_sent_,
                "G1 a session is used again without a barrier before");
        require(!left_.tries_options || accepted_,
                "contract connected before chroot and credentials are tried");
        require(machine_.session_timeout() <= smallest_, "G5 the time-out is too long");
        used_ = session_;
        told_ = state::connected;
        if (session_ != proven_) {
            proven_ = session_;
            eager_ = 0;
        }
        react();
    }

    void become_writable()
    {
        require(link_ == link::established && !writable_, "contract writes may be sent already");
        require(!resumed_ || answered_, "G1 writes are sent before the barrier is answered");
        writable_ = true;
    }

    void give_up()
    {
        require(told_ != state::suspended, "contract a session in use is given up");
        callers_ = changing_ = 0; // those who were there
        drop();
        forget_session();
        stop_timers();
        looking_up_ = false;
        told_ = state::idle;
        eager_ = 0;
        react();
    }

    void closed(const error_code& ec)
    {
        require(told_ != state::closed, "contract closed twice");
        require(link_ == link::none, "contract a connection is left when the client is closed");
        require(ec || !alive_.contains(session_),
                "contract a session that lives is told to be over");
        forget_session();
        stop_timers();
        told_ = state::closed;
    }

    void drop()
    {
        link_ = link::none;
        at_server_ = 0;
        trial_ = barrier_ = barrier_sent_ = breaks_off_ = held_ = false;
        answered_ = writable_ = false;
        outstanding_ = 0;
    }

    void forget_session()
    {
        session_ = 0;
        unread_.clear();
        passed_on_until_.clear();
        may_return_.clear();
        smallest_ = longest;
        eager_ = 0;
    }

    void stop_timers() { timer_ = deadline_ = false; }

    // A listener calls back in the midst of being told.
    void react()
    {
        switch (std::exchange(reaction_, reaction::none)) {
        case reaction::none: break;
        case reaction::connect: connect(); break;
        case reaction::close: close(); break;
        }
    }

    void connect()
    {
        ++callers_;
        decide([](auto& m, auto& out) { m.connect(out); });
    }
    void close()
    {
        decide([](auto& m, auto& out) { m.close(errc::client_closed, out); });
    }

    void report_addresses(bool failed = false)
    {
        std::vector<protocol::session::address> all;
        if (resolved_) {
            for (const auto& each : names_) {
                all.push_back({each, unread_.contains(each)});
            }
            std::ranges::reverse(all);
        }
        if (machine_.is_looking_up()) {
            unsafe_ = unsafe_now();
        }
        decide([&](auto& m, auto& out) {
            m.resolved(all, !resolved_ && !failed, "no such host", now(), out);
        });
    }

    void broken(loss why, bool write_lost)
    {
        const bool was_online = told_ == state::connected;
        const bool distrusted = machine_.is_distrusted();
        if (link_ == link::established && !writable_) {
            offered_in_vain();
        }
        if (link_ == link::established && !closing_) {
            lost_at_ = now_;
            latest_ = where_;
            unread_.erase(where_);
            if (writable_) {
                passed_on_until_.erase(where_);
                may_return_.clear();
            }
            if (left_.unread != 0) {
                --left_.unread;
                unread_.insert(where_);
            }
            if (write_lost) {
                passed_on_until_[where_] = now_ + 10 * tick;
            }
        }
        if (was_online && !distrusted) {
            eager_ = 0;
        }
        const auto before = session_;
        decide([&](auto& m, auto& out) { m.broken(why, "", write_lost, now(), out); });
        require(told_ != state::connected || link_ == link::established,
                "G5 a connection is lost, and nobody is told");
        require(why != loss::expired || before == 0 || session_ != before,
                "G5 a session is over, and nobody is told");
    }

    void timer_due()
    {
        const auto unsafe = unsafe_now();
        const bool may_try = session_ == 0 || std::ranges::any_of(names_, [&](const auto& each) {
                                 return !unsafe.contains(each);
                             });
        const bool shall_try = link_ == link::none && may_try && resolved_ && !closing_;
        timer_ = opened_ = false;
        decide([this](auto& m, auto& out) { m.timer_due(now(), out); });
        require(!shall_try || opened_, "G4 no server is tried although one may be");
    }

    [[nodiscard]] bool is_listed() const
    {
        return link_ == link::established && std::ranges::find(names_, where_) != names_.end();
    }

    void set_hosts(std::size_t without)
    {
        drop_address(without);
        ++changing_;
        decide([](auto& m, auto& out) { m.hosts_changed("another list", out); });
    }

    void drop_address(std::size_t i)
    {
        if (names_.size() == 1) {
            names_.front() = names_.front() == "a" ? "b" : "a";
        } else {
            names_.erase(names_.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }

    // The session is offered to a server that does not answer, but may make itself the owner of the session later.
    void offered_in_vain()
    {
        machine_.offered();
        if (may_pass_on(where_)) {
            may_return_.insert(where_);
        }
    }

    // Where an attempt may let a write of an earlier connection be carried out late.
    [[nodiscard]] std::set<std::string> unsafe_now() const
    {
        const auto returns =
            std::ranges::find_if(may_return_, [&](const auto& each) { return may_pass_on(each); });
        const auto& home = returns != may_return_.end() ? *returns : latest_;
        if (names_ == std::vector{home} || now_ >= lost_at_ + timeout + tick) {
            return {};
        }
        std::set<std::string> all;
        std::ranges::copy_if(names_, std::inserter(all, all.end()), [&](const auto& each) {
            return unread_.contains(each) || may_pass_on(each);
        });
        if (all.size() == names_.size() && !unread_.contains(latest_)) {
            all.erase(latest_);
        }
        if (returns != may_return_.end()) {
            all = {names_.begin(), names_.end()};
            if (!unread_.contains(home)) {
                all.erase(home);
            }
        }
        return all;
    }

    [[nodiscard]] bool may_pass_on(const std::string& where) const
    {
        const auto at = passed_on_until_.find(where);
        return at != passed_on_until_.end() && now_ < at->second;
    }

    [[nodiscard]] instant now() const { return {now_, now_}; }

    // After each event.
    void look_around()
    {
        const bool rests = told_ == state::idle || told_ == state::closed;
        const bool goes_on = timer_ || looking_up_ || link_ == link::established ||
                             link_ == link::ending || breaks_off_;
        require(rests || goes_on, "G4 nothing is outstanding");
        require(link_ != link::attempted || timer_, "G4 an attempt has no limit");
        require(!rests || callers_ == 0, "G4 a caller of connect() is forgotten");
        require(told_ != state::connected || closing_ || callers_ == 0,
                "G4 a caller of connect() is forgotten");
        require(callers_ == 0 || left_.endless || deadline_,
                "G4 a caller of connect() has no limit");
        require(!closing_ || told_ == state::closed || deadline_, "G4 closing has no limit");
        require(told_ != state::connected || closing_ || writable_ || barrier_ || breaks_off_,
                "G4 no write is ever sent");
        require(!refused_ || machine_.is_distrusted() || link_ == link::none,
                "G1 a server that refused the barrier is believed");
        if (link_ == link::none) {
            refused_ = false;
        }
    }

    static constexpr std::chrono::milliseconds longest{1h};

    scenario left_;
    reconnect machine_;
    commands orders_;
    bool carrying_out_ = false;
    std::vector<std::string> names_;

    // The client.
    state told_ = state::idle;
    bool timer_ = false, deadline_ = false;
    bool looking_up_ = false, resolved_ = true, names_come_late_ = false;
    bool closing_ = false;
    std::int64_t session_ = 0;
    std::size_t callers_ = 0, changing_ = 0;
    reaction reaction_ = reaction::none;
    // The connection.
    link link_ = link::none;
    std::string where_;
    std::int64_t at_server_ = 0;
    bool trial_ = false, barrier_ = false, barrier_sent_ = false, breaks_off_ = false;
    bool resumed_ = false, answered_ = false, writable_ = false;
    int outstanding_ = 0;
    bool held_ = false; // the client leaves it
    bool opened_ = false, refused_ = false, accepted_ = false;
    // What has happened.
    std::set<std::int64_t> alive_;
    std::int64_t next_session_ = 1, used_ = 0, proven_ = 0;
    std::set<std::string> unread_;
    std::set<std::string> unsafe_; // when the addresses were chosen
    std::map<std::string, std::chrono::nanoseconds> passed_on_until_;
    std::set<std::string> may_return_; // the session was offered there in vain, in spite of that
    std::chrono::nanoseconds now_{1h}, lost_at_{0};
    std::string latest_; // where the connection was lost last
    std::chrono::milliseconds smallest_ = longest;
    std::size_t eager_ = 0; // attempts without a pause
};

} // namespace colock::model::session
