// What may happen to a client's session next.
#pragma once

#include "session.hpp"

#include <utility>
#include <vector>

namespace colock::model::session {

inline std::vector<world::event> world::possible() const
{
    std::vector<event> all;
    const auto may = [&](bool now, const char* name, auto happens) {
        if (now) {
            all.push_back({name, happens});
        }
    };
    // As often as the scenario has it.
    const auto sometimes = [&](int scenario::*budget, bool now, const char* name, auto happens) {
        may(now && left_.*budget != 0, name, [=](world& w) {
            --(w.left_.*budget);
            happens(w);
        });
    };
    const bool attempted = link_ == link::attempted;
    const bool established = link_ == link::established;
    const bool open = told_ != state::closed;
    // The user.
    sometimes(&scenario::connects, true, "connect", [](world& w) { w.connect(); });
    sometimes(&scenario::cancels, callers_ != 0, "a caller goes", [](world& w) {
        if (--w.callers_ == 0) {
            w.decide([](auto& m, auto& out) { m.nobody_waits(out); });
        }
    });
    sometimes(&scenario::closes, !closing_, "close", [](world& w) { w.close(); });
    sometimes(&scenario::closes, closing_ && open, "abandon the close",
              [](world& w) { w.decide([](auto& m, auto& out) { m.abandon_close(out); }); });
    const bool unarmed = open && reaction_ == reaction::none;
    sometimes(&scenario::reactions, unarmed, "a listener will connect",
              [](world& w) { w.reaction_ = reaction::connect; });
    sometimes(&scenario::reactions, unarmed && left_.closes != 0, "a listener will close",
              [](world& w) { w.reaction_ = reaction::close; });
    sometimes(&scenario::requests, established && told_ == state::connected && !closing_ && !held_,
              "a request", [](world& w) { w.outstanding_ = 1; });
    // Time.
    may(timer_ && !attempted, "the timer", [](world& w) { w.timer_due(); });
    sometimes(&scenario::silences, timer_ && attempted, "nobody there",
              [](world& w) { w.timer_due(); });
    sometimes(&scenario::silences, timer_ && attempted, "no answer", [](world& w) {
        w.offered_in_vain();
        w.timer_due();
    });
    sometimes(&scenario::silences, timer_ && attempted, "no end of the TLS handshake",
              [](world& w) {
                  w.machine_.securing();
                  w.timer_due();
              });
    sometimes(&scenario::deadlines, deadline_, "the deadline", [](world& w) {
        w.deadline_ = false;
        w.decide([](auto& m, auto& out) { m.deadline_due(out); });
    });
    sometimes(&scenario::some_times, session_ != 0, "some time",
              [](world& w) { w.now_ += 6 * tick; });
    sometimes(&scenario::long_times, told_ == state::suspended, "a long time",
              [](world& w) { w.now_ += timeout + tick; });
    // Look-ups.
    for (std::size_t i = 0; i != names_.size(); ++i) {
        sometimes(&scenario::moves, session_ != 0, "the name service drops an address",
                  [i](world& w) { w.drop_address(i); });
    }
    for (std::size_t i = 0; i != names_.size(); ++i) {
        sometimes(&scenario::lists, open, "another list", [i](world& w) { w.set_hosts(i); });
    }
    may(looking_up_, "a look-up is answered", [](world& w) {
        w.looking_up_ = false;
        w.resolved_ = true;
        w.report_addresses();
    });
    sometimes(&scenario::failed_look_ups, looking_up_ && !resolved_, "a look-up fails",
              [](world& w) {
                  w.looking_up_ = false;
                  w.report_addresses(true);
              });
    // An attempt to connect.
    const bool alive = session_ == 0 || alive_.contains(session_);
    may(attempted && alive, "accepted", [](world& w) { w.accept(timeout); });
    sometimes(&scenario::smaller, attempted && alive, "accepted for less",
              [](world& w) { w.accept(timeout / 3); });
    may(attempted && !alive, "expired", [](world& w) {
        if (w.accepted_ || !w.left_.tries_options) {
            w.eager_ = 0; // another session is asked for at once
        }
        w.broken(loss::expired, false);
    });
    sometimes(&scenario::expiries, attempted && session_ == 0, "a new session is over at once",
              [](world& w) { w.broken(loss::expired, false); });
    sometimes(&scenario::refusals, attempted, "refused",
              [](world& w) { w.broken(loss::broken, false); });
    sometimes(&scenario::refusals, attempted, "TLS refused", [](world& w) {
        w.machine_.securing();
        w.broken(loss::tls_failed, false);
    });
    sometimes(&scenario::refusals, attempted, "broken without an answer", [](world& w) {
        w.offered_in_vain();
        w.broken(loss::broken, false);
    });
    // A connection.
    const bool ends = link_ == link::ending;
    sometimes(&scenario::breaks, established || ends, "broken",
              [](world& w) { w.broken(loss::broken, false); });
    sometimes(&scenario::lost_writes, told_ == state::connected && established && writable_,
              "broken with a write", [](world& w) { w.broken(loss::broken, true); });
    may((established || ends) && !alive, "the session is over",
        [](world& w) { w.broken(loss::expired, false); });
    sometimes(&scenario::refused_credentials, established, "credentials refused", [](world& w) {
        w.broken(loss::credentials_refused, false);
        w.require(w.told_ != state::suspended, "contract refused credentials are tried");
    });
    sometimes(&scenario::refused_credentials, established, "identity demanded", [](world& w) {
        w.broken(loss::identity_demanded, false);
        w.require(w.told_ != state::suspended, "contract a demanded identity is tried without");
    });
    may(breaks_off_, "broken off", [](world& w) { w.broken(loss::broken, false); });
    may(trial_, "options accepted", [](world& w) {
        w.trial_ = false;
        w.accepted_ = true;
        w.decide([](auto& m, auto& out) { m.options_tried({}, out); });
    });
    sometimes(&scenario::refused_options, trial_, "options refused", [](world& w) {
        w.trial_ = false;
        w.decide([](auto& m, auto& out) { m.options_tried(zookeeper_errc::no_node, out); });
        w.require(w.told_ != state::connected, "contract connected without a chroot");
    });
    may(barrier_, "barrier", [](world& w) {
        w.barrier_ = false;
        w.answered_ = true;
        w.eager_ = 0;
        w.decide([](auto& m, auto& out) { m.barrier_answered({}, out); });
    });
    sometimes(&scenario::refused_barriers, barrier_, "barrier refused", [](world& w) {
        w.barrier_ = false;
        w.refused_ = true;
        w.decide([](auto& m, auto& out) { m.barrier_answered(zookeeper_errc::throttled_op, out); });
    });
    may(outstanding_ != 0, "an answer", [](world& w) { w.outstanding_ = 0; });
    may((closing_ || (held_ && !barrier_)) && established && outstanding_ == 0, "quiet",
        [](world& w) { w.decide([](auto& m, auto& out) { m.quiet(out); }); });
    for (const bool confirmed : {true, false}) {
        may(ends, confirmed ? "the end is confirmed" : "the end is not confirmed",
            [confirmed](world& w) {
                if (confirmed) {
                    w.alive_.erase(w.session_);
                }
                w.drop();
                w.decide([&](auto& m, auto& out) { m.ended(confirmed, out); });
            });
    }
    // The servers.
    sometimes(&scenario::expiries, session_ != 0 && alive, "expiry",
              [](world& w) { w.alive_.erase(w.session_); });
    for (const auto& each : unread_) {
        may(true, "an old connection is closed", [each](world& w) { w.unread_.erase(each); });
    }
    return all;
}

} // namespace colock::model::session
