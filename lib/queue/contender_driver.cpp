#include "queue/contender_driver.hpp"

#include "session/on_cancel.hpp"
#include "session/validity.hpp"

#include <utility>

namespace colock::detail {

namespace {

// Exact: users compare it with what they have set.
std::string words(std::chrono::nanoseconds time)
{
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
    return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

// A safety margin that leaves no time: the lock would be lost as soon as it is held. Empty when it leaves some.
std::string margin_fault(const client_core& core, std::chrono::nanoseconds margin)
{
    using protocol::validity;
    const auto timeout = core.session_timeout();
    const auto tick = core.options().tick;
    const auto most = validity::attainable(timeout, tick);
    if (margin < most) {
        return {};
    }
    const auto asked = core.options().session_timeout;
    const auto shortest = validity::shortest_timeout(margin, tick);
    const bool is_cut = asked >= shortest;
    return "with a session time-out of " + words(timeout) +
           (is_cut ? " (the servers allow no more of the " + words(asked) + " asked for)" : "") +
           " and a tick of " + words(tick) +
           (most <= most.zero()
                ? " a lock is never known to be safe; set client_options::tick to the "
                  "servers' tickTime, or "
                : ", safety_margin must be less than " + words(most) + "; shorten it, or ") +
           (is_cut ? "raise maxSessionTimeout of the servers to "
                   : "ask for a session_timeout of at least ") +
           words(shortest);
}

} // namespace

contender_driver::contender_driver(client_core& core, lock_config_ptr config, bool shared,
                                   bool lingers, std::shared_ptr<contender_user> user)
    : user_{std::move(user)}, config_{std::move(config)}, core_{core},
      lease_{core_, config_->options.safety_margin},
      contender_{lease_, *user_, config_, shared, lingers}, requests_{core_, *config_, contender_,
                                                                      *this}
{
}

// ---- what users want

bool contender_driver::enter()
{
    const auto self = shared_from_this();
    lease_.begin(self);
    core_.add(self);
    ++core_.count.contenders;
    return !(core_.is_connected() && refuse_margin());
}

void contender_driver::join()
{
    // There can be but one node: the old one goes first.
    const bool yields = !user_->claimed.empty();
    contender_.hold_back(yields);
    if (enter()) {
        feed([&](auto& c, protocol::commands& out) {
            if constexpr (requires { c.yield_turn(yields); }) {
                c.yield_turn(yields);
            }
            c.join(core_.is_connected(), core_.session(), out);
        });
    }
}

void contender_driver::go_on()
{
    contender_.go_on();
    carry_out();
}

void contender_driver::try_join(operation_ptr<error_code, unique_lock> op)
{
    trying_ = std::move(op);
    if (!enter()) {
        return;
    }
    feed([&](auto& c, protocol::commands& out) {
        c.try_join(core_.is_connected(), core_.session(), out);
    });
    if (trying_) {
        on_cancel(
            trying_,
            [this] {
                const auto self = shared_from_this();
                answer(asio::error::operation_aborted);
                leave();
            },
            [this] {
                await_removal(std::move(trying_));
                leave();
            });
    }
}

// The caller of a try gets the answer: an error, or an empty guard.
void contender_driver::answer(const error_code& ec, const std::string& why)
{
    if (auto op = std::exchange(trying_, {})) {
        op->explain(ec, why);
        op.complete(ec, no_lock());
    }
}

// The contender has failed: for the caller of a try, and for the waiters that it serves.
void contender_driver::refuse(const error_code& ec, const std::string& why)
{
    answer(ec, why);
    tell({.what = happens::failed, .error = ec, .why = why});
}

bool contender_driver::refuse_margin()
{
    const auto fault = wanted_ ? margin_fault(core_, config_->options.safety_margin) : "";
    if (fault.empty()) {
        return false;
    }
    const auto why = about(fault);
    core_.note_error(why);
    refuse(errc::invalid_option, why);
    leave();
    return true;
}

void contender_driver::leave()
{
    const auto self = shared_from_this();
    wanted_ = false;
    end_turns();
    feed([](auto& c, protocol::commands& out) { c.leave(out); });
    end_pause();
}

void contender_driver::unlock(operation_ptr<error_code> op)
{
    check();
    unlocking_ = std::move(op);
    if (const auto why = lost(); why) {
        answer_unlock(why);
        leave();
        return;
    }
    on_cancel(unlocking_, [this] {
        std::exchange(unlocking_, {}).complete(asio::error::operation_aborted);
        update_heartbeat_need();
    });
    leave();
}

void contender_driver::await_removal(operation_ptr<error_code, unique_lock> op)
{
    if (contender_.is_over()) {
        op.complete(asio::error::operation_aborted, no_lock());
        return;
    }
    const auto at = awaiting_removal_.insert(awaiting_removal_.end(), std::move(op));
    on_cancel(*at, [this, at] {
        auto hurried = std::move(*at);
        awaiting_removal_.erase(at);
        hurried.complete(asio::error::operation_aborted, no_lock());
    });
}

void contender_driver::step_down(operation_ptr<error_code, unique_lock> op, std::uint64_t turn)
{
    check();
    op->tag = turn;
    stepping_down_ = std::move(op);
    if (const auto why = lost(); why) {
        end_step_down(why);
        return;
    }
    on_cancel(stepping_down_, [this] { end_step_down(asio::error::operation_aborted); });
    end_turns();
    feed([](protocol::contender& c, protocol::commands& out) { c.step_down(out); });
}

// Ends a pending downgrade. Its caller gets the shared guard; on an error the driver releases the lock.
void contender_driver::end_step_down(const error_code& ec)
{
    const auto self = shared_from_this();
    if (auto op = std::exchange(stepping_down_, {}); op && ec) {
        op->explain(ec, about(requests_.words_for(ec)));
        op.complete(ec, no_lock());
        leave();
    } else if (op) {
        requests_.stepped_down();
        tell({.what = happens::stepped_down,
              .contention = contender_.contention(),
              .op = std::move(op)});
    }
}

void contender_driver::end_await_removal()
{
    for (auto& op : std::exchange(awaiting_removal_, {})) {
        op.complete(asio::error::operation_aborted, no_lock());
    }
}

// ---- the session

void contender_driver::connected(std::int64_t session)
{
    refuse_margin(); // each session has a time-out of its own
    feed([&](auto& c, protocol::commands& out) { c.connected(session, out); });
    tell({.what = happens::connected});
}

void contender_driver::suspended()
{
    const auto self = shared_from_this();
    end_pause(); // requests are answered with the loss
    requests_.forget_watches();
    contender_.suspended();
    met(protocol::remote_contention::unknown);
    if (trying_) {
        // A try does not wait for a connection.
        answer(errc::disconnected, about(error_code{errc::disconnected}.message()));
        leave();
    }
}

void contender_driver::expired()
{
    requests_.forget_watches();
    answer_unlock(
        errc::session_expired); // no server has confirmed it, as in permit_lease::expired()
    feed([](auto& c, protocol::commands& out) { c.expired(out); });
}

void contender_driver::closed(const error_code& why)
{
    const auto self = shared_from_this();
    contender_.stop(); // first: the user's log may do anything
    requests_.forget_watches();
    const auto text = about(why.message());
    refuse(why, text);
    tell({.what = happens::closed, .error = why, .why = text});
    end_step_down(why);
    if (contender_.holds()) {
        lose(errc::client_closed);
    }
    update_heartbeat_need();
    --core_.count.contenders;
    end_await_removal();
    answer_unlock(why);
}

void contender_driver::given_up(const error_code& why)
{
    const auto self = shared_from_this();
    refuse(why, about(why.message()));
    leave();
}

void contender_driver::own_watch_due()
{
    feed([](auto& c, protocol::commands& out) { c.watch_own_node(out); });
}

void contender_driver::proved()
{
    feed([](auto& c, protocol::commands& out) { c.proved(out); });
}

void contender_driver::check()
{
    if (lease_.asks_for_check() && lost()) {
        lose(errc::safe_until_passed);
    }
}

void contender_driver::catch_up()
{
    check();
    tell({.what = happens::caught_up});
}

void contender_driver::discarded() noexcept
{
    contender_.stop();
    if (contender_.holds()) {
        lease_.note_loss(errc::client_closed); // a guard that outlives the context says so
    }
    lease_.discard();
    waiting_for_revocation_.discard();
    const auto trying = std::move(trying_);
    const auto parting = std::move(awaiting_removal_);
    const auto unlocking = std::move(unlocking_);
    const auto stepping_down = std::move(stepping_down_);
    tell({.what = happens::discarded});
}

void contender_driver::look_around()
{
    std::optional<protocol::remote_contention> known;
    feed([&](protocol::contender& c, protocol::commands& out) { known = c.look_around(out); });
    if (known) {
        met(*known);
    }
}

// ---- the contender

template <class Input>
void contender_driver::feed(Input&& input)
{
    contender_.feed(input);
    carry_out();
}

void contender_driver::answered(const contender_requests::news& n)
{
    const auto self = shared_from_this();
    carry_out();
    contender_.forget_answer();
    if (n.contention) {
        met(*n.contention);
    }
    if (n.asked_for) {
        waiting_for_revocation_.complete_all({});
        tell({.what = happens::revoked});
    }
}

void contender_driver::carry_out()
{
    if (contender_.is_over()) {
        return;
    }
    const auto self = shared_from_this();
    const bool done =
        contender_.run([this](const protocol::command& c) { perform(c); }, [this] { end_pause(); });
    if (done) {
        update_heartbeat_need();
        if (user_->listens) {
            tell({.what = happens::blocked, .ahead = requests_.ahead()});
        }
    }
}

void contender_driver::end_pause()
{
    if (contender_.end_pause()) {
        carry_out();
    }
}

// Tells the client whether this contender needs writes and checks.
void contender_driver::update_heartbeat_need()
{
    const bool over = contender_.is_over();
    const bool in_line = !over && contender_.ask([](const auto& c) { return c.is_next(); });
    if (std::exchange(in_line_, in_line) != in_line) {
        core_.count_next_in_line(in_line);
    }
    // The caller of an unlock gets its answer at the bound, too, when no server has confirmed the release by then.
    lease_.ask_for_check(!over && (contender_.holds() || unlocking_) && !lease_.is_told());
}

void contender_driver::perform(const protocol::command& c)
{
    using kind = protocol::command::kind;
    switch (c.type) {
    case kind::granted: granted(); break;
    case kind::shared:
        if (c.error) {
            core_.note_error(about(requests_.words_for(c.error)));
        }
        end_step_down(c.error);
        break;
    case kind::busy:
        // The loss of the connection may have answered it already.
        if (trying_ && trying_->told() != nullptr) {
            trying_->tell(about("another contender has it, or waits for it"));
        }
        answer({});
        break;
    case kind::lost: lose(static_cast<errc>(c.error.value())); break;
    case kind::failed: {
        const auto why = about(requests_.words_for(c.error));
        core_.note_error(why);
        refuse(c.error, why);
        break;
    }
    case kind::gone: gone(c.error); break;
    default: requests_.send(c);
    }
}

// ---- what it comes to

void contender_driver::granted()
{
    requests_.granted();
    // The driver watches its node only after ten milliseconds, because most locks are released earlier.
    core_.schedule_own_watch(*this);
    wanted_ = false;
    tell({.what = happens::granted,
          .contention = contender_.contention(),
          .op = std::move(trying_)});
}

// Lost is final. But no other contender is granted as long as the node lives, and the holder may still be stopping its
// work: the node goes with the guard.
void contender_driver::lose(errc why)
{
    if (why == errc::node_deleted &&
        lease_.remaining(boot_clock::now()) <= std::chrono::nanoseconds{0}) {
        // Sessions that end take their nodes along. A process that was paused hears of the node first, but
        // nobody else need have deleted it.
        why = errc::safe_until_passed;
    }
    lease_.note_loss(why); // a guard may have seen it first
    if (!lease_.begin_telling()) {
        return;
    }
    update_heartbeat_need();
    const auto self = shared_from_this();
    tell({.what = happens::lost});
    if (was_idle) {
        leave(); // nobody held it; it was kept for the next one
        return;
    }
    const auto reason = lease_.why();
    end_step_down(reason);
    answer_unlock(reason); // the release goes on in the background
    waiting_for_revocation_.complete_all(reason);
    lease_.tell_waiters("lock " + path());
}

void contender_driver::answer_unlock(const error_code& ec)
{
    if (auto op = std::exchange(unlocking_, {})) {
        op->explain(ec, [&] { return words_about("lock " + path(), ec); });
        op.complete(ec);
    }
}

void contender_driver::gone(const error_code& ec)
{
    contender_.stop();
    requests_.gone();
    --core_.count.contenders;
    if (ec && ec != errc::client_closed) { // or the session ends with the client
        core_.log(log_level::error,
                  about("a node may remain until the session ends: " + requests_.words_for(ec)));
    }
    answer(asio::error::operation_aborted);
    end_await_removal();
    if (unlocking_) {
        unlocking_->explain(ec, [&] { return about(requests_.words_for(ec)); });
        answer_unlock(ec ? ec : lease_.is_told() ? lease_.why() : error_code{});
    }
    core_.remove(*this);
}

// ---- turns: what waits for the end of one, for its loss, or for somebody to ask for the node

void contender_driver::wait_lost(operation_ptr<error_code, error_code> op, std::uint64_t turn,
                                 bool held)
{
    check();
    lease_.wait(std::move(op), held && lease_.asks_for_check(), turn);
}

void contender_driver::wait_revoked(operation_ptr<error_code> op, std::uint64_t turn, bool held)
{
    check();
    if (const auto why = lost(); why) {
        op.complete(why);
    } else if (!held || !lease_.asks_for_check()) {
        op.complete(errc::not_held);
    } else if (is_revoked()) {
        op.complete({});
    } else {
        op->tag = turn;
        waiting_for_revocation_.add(std::move(op));
        // The read that sets the watch on the own node tells what has been asked already, the watch what follows.
        own_watch_due();
    }
}

void contender_driver::turn_over(std::uint64_t turn)
{
    lease_.end_turn(turn);
    waiting_for_revocation_.complete_tagged(turn, errc::not_held);
    turn_awaited_ = lease_.is_awaited() || !waiting_for_revocation_.empty();
}

void contender_driver::end_turns()
{
    lease_.end_turns();
    waiting_for_revocation_.complete_all(errc::not_held);
}

} // namespace colock::detail
