#include "queue/contender_driver.hpp"

#include "names/path.hpp"
#include "queue/contender_driver_feed.hpp"
#include "queue/no_lock.hpp"
#include "queue/random_guid.hpp"
#include "session/on_cancel.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace colock::detail {

namespace {

using any_contender = std::variant<protocol::contender, protocol::single_node>;

// In place: GCC 12 warns of the destructor of one that was moved from.
any_contender make_contender(const lock_config_ptr& config, bool shared, bool lingers)
{
    using protocol::contender;
    const auto& o = config->options;
    if (!config->kind.has_queue) {
        return protocol::single_node{{.rejoin_on_expiry = o.rejoin_on_expiry}};
    }
    return any_contender{std::in_place_type<contender>,
                         contender::settings{.layout = layout_of(config),
                                             .holders = config->kind.holders,
                                             .shared = shared,
                                             .rejoin_on_expiry = o.rejoin_on_expiry,
                                             .lingers = lingers},
                         random_guid()};
}

} // namespace

contender_driver::contender_driver(client_core& core, lock_config_ptr config, bool shared,
                                   bool lingers, std::shared_ptr<contender_user> user)
    : user_{std::move(user)}, config_{std::move(config)}, core_{core},
      contender_{make_contender(config_, shared, lingers)},
      repetition_{has_queue()}, lease_{core_, options().safety_margin}
{
}

unique_lock contender_driver::no_lock() const
{
    return detail::no_lock(core_.shared_from_this());
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
    joining_ = true;
    auto* const c = std::get_if<protocol::single_node>(&contender_);
    if (c && !user_->claimed.empty()) {
        c->yield_turn(); // there can be but one node: the old one goes first
    } else {
        begin_to_join();
    }
}

void contender_driver::begin_to_join()
{
    has_begun_ = true;
    if (enter()) {
        feed([&](auto& c, protocol::commands& out) {
            c.join(core_.is_connected(), core_.session(), out);
        });
    }
}

void contender_driver::go_on()
{
    const auto self = shared_from_this();
    joining_ = false;
    has_begun_ ? carry_out() : begin_to_join();
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
void contender_driver::answer(const error_code& ec)
{
    std::exchange(trying_, {}).complete(ec, no_lock());
}

// The contender has failed: for the caller of a try, and for the waiters that it serves.
void contender_driver::refuse(const error_code& ec, const std::string& why)
{
    if (trying_) {
        trying_->explain(ec, why);
        answer(ec);
    }
    user_->happened(*this, {.what = contender_event::kind::failed, .error = ec, .why = why});
}

namespace {

// Exact: users compare it with what they have set.
std::string words(std::chrono::nanoseconds time)
{
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
    return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

} // namespace

// A safety margin that leaves no time: the lock would be lost as soon as it is held.
bool contender_driver::refuse_margin()
{
    using protocol::validity;
    const auto timeout = core_.session_timeout();
    const auto tick = core_.options().tick;
    const auto most = validity::attainable(timeout, tick);
    if (options().safety_margin < most || !wanted_) {
        return false;
    }
    const auto asked = core_.options().session_timeout;
    const auto shortest = validity::shortest_timeout(options().safety_margin, tick);
    const bool is_cut = asked >= shortest;
    const auto why =
        about("with a session time-out of " + words(timeout) +
              (is_cut ? " (the servers allow no more of the " + words(asked) + " asked for)" : "") +
              " and a tick of " + words(tick) +
              (most <= most.zero()
                   ? " a lock is never known to be safe; set client_options::tick to the "
                     "servers' tickTime, or "
                   : ", safety_margin must be less than " + words(most) + "; shorten it, or ") +
              (is_cut ? "raise maxSessionTimeout of the servers to "
                      : "ask for a session_timeout of at least ") +
              words(shortest));
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
    if (const auto why = lost(); why) {
        op.complete(why);
        leave();
        return;
    }
    unlocking_ = std::move(op);
    on_cancel(unlocking_, [this] {
        std::exchange(unlocking_, {}).complete(asio::error::operation_aborted);
        update_heartbeat_need();
    });
    leave();
}

void contender_driver::await_removal(operation_ptr<error_code, unique_lock> op)
{
    if (over_) {
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
    if (const auto why = lost(); why) {
        op.complete(why, no_lock());
        leave();
        return;
    }
    op->tag = turn;
    stepping_down_ = std::move(op);
    on_cancel(stepping_down_, [this] { end_step_down(asio::error::operation_aborted); });
    end_turns();
    feed([](protocol::contender& c, protocol::commands& out) { c.step_down(out); });
}

// Ends a pending downgrade. Its caller gets the shared guard; on an error the driver releases the lock.
void contender_driver::end_step_down(const error_code& ec)
{
    const auto self = shared_from_this();
    if (auto op = std::exchange(stepping_down_, {}); op && ec) {
        op->explain(ec, about(words_for(ec)));
        op.complete(ec, no_lock());
        leave();
    } else if (op) {
        node_ = child(own_name());
        revoked_ = false; // it was another node
        own_data_.reset();
        user_->happened(*this, {.what = contender_event::kind::stepped_down,
                                .contention = contention(),
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
    tell(contender_event::kind::connected);
}

void contender_driver::suspended()
{
    const auto self = shared_from_this();
    end_pause();      // requests are answered with the loss
    watches_.clear(); // the client has cleared theirs
    newcomers_.reset();
    std::visit([](auto& c) { c.suspended(); }, contender_);
    tell(protocol::remote_contention::unknown);
    if (trying_) {
        // A try does not wait for a connection.
        trying_->explain(errc::disconnected, about(error_code{errc::disconnected}.message()));
        answer(errc::disconnected);
        leave();
    }
}

void contender_driver::expired()
{
    watches_.clear();
    newcomers_.reset();
    if (unlocking_) { // no server has confirmed it, as in permit_lease::expired()
        answer_unlock(errc::session_expired);
    }
    feed([](auto& c, protocol::commands& out) { c.expired(out); });
}

void contender_driver::closed(const error_code& why)
{
    const auto self = shared_from_this();
    over_ = true; // first: the user's log may do anything
    watches_.clear();
    newcomers_.reset();
    runner_.forget();
    pause_.reset();
    const auto text = about(why.message());
    refuse(why, text);
    user_->happened(*this, {.what = contender_event::kind::closed, .error = why, .why = text});
    if (holds()) {
        lose(errc::client_closed);
    }
    update_heartbeat_need();
    --core_.count.contenders;
    end_await_removal();
    if (unlocking_) {
        answer_unlock(why);
    }
    end_step_down(why);
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

void contender_driver::discarded() noexcept
{
    over_ = true;
    pause_.reset();
    if (holds()) {
        lease_.note_loss(errc::client_closed); // a guard that outlives the context says so
    }
    lease_.discard();
    waiting_for_revocation_.discard();
    const auto trying = std::move(trying_);
    const auto parting = std::move(awaiting_removal_);
    const auto unlocking = std::move(unlocking_);
    const auto stepping_down = std::move(stepping_down_);
    tell(contender_event::kind::discarded);
}

// ---- the contender

// Tells the client whether this contender needs writes and checks.
void contender_driver::update_heartbeat_need()
{
    const bool in_line = !over_ && ask([](const auto& c) { return c.is_next(); });
    if (std::exchange(in_line_, in_line) != in_line) {
        core_.count_next_in_line(in_line);
    }
    // The caller of an unlock gets its answer at the bound, too, when no server has confirmed the release by then.
    lease_.ask_for_check(!over_ && (holds() || unlocking_) && !lease_.is_told());
}

void contender_driver::carry_out()
{
    // The end of a batch may bring answers.
    const bool done = pause_ || runner_.run([this](protocol::command& c) { return carry_out(c); },
                                            [this] { return client_core::batch{core_}; });
    if (done) {
        update_heartbeat_need();
        tell_of_blockers();
    }
}

performed contender_driver::carry_out(protocol::command& c)
{
    using cause = protocol::repetition::cause;
    const auto why = c.is_request() && !std::exchange(paused_, false)
                         ? repetition_.is_repetition(c.type)
                         : cause::none;
    if (why != cause::none && begin_pause(why)) {
        return performed::not_yet;
    }
    const bool waits = joining_ && c.type == command_kind::create;
    perform(c);
    return waits ? performed::stop_here : performed::go_on;
}

void contender_driver::tell_of_blockers()
{
    if (!user_->listens) {
        return;
    }
    const auto known = ask([](const auto& c) { return c.blockers(); });
    contender_event told{.what = contender_event::kind::blocked};
    auto& now = told.ahead;
    now.count = known.count;
    now.all_watched = known.all_watched;
    now.stands_by = known.stands_by;
    if (known.holder) {
        now.holder_node = child(*known.holder);
        const auto at = std::ranges::find_if(
            watches_, [&](const auto& w) { return w->name == *known.holder && w->wanted; });
        if (at != watches_.end() && (*at)->subscribed && (*at)->data) {
            now.holder = *(*at)->data;
        }
        now.asking = at != watches_.end() && (*at)->reading != nullptr;
    }
    user_->happened(*this, std::move(told));
}

void contender_driver::perform(const protocol::command& c)
{
    switch (c.type) {
    case command_kind::make_directory: make_directory(); break;
    case command_kind::create: create(c); break;
    case command_kind::list:
    case command_kind::list_again: list(); break;
    case command_kind::list_and_watch:
    case command_kind::watch_newcomers: list_and_watch(c.type); break;
    case command_kind::look: look_at_node(); break;
    case command_kind::watch: watch(c.name); break;
    case command_kind::remove: remove(c); break;
    case command_kind::read_directory: read_directory(c); break;
    case command_kind::remove_directory: remove_directory(); break;
    case command_kind::unwatch: unwatch(c.name); break;
    case command_kind::step_down: replace_by_readers_node(c); break;
    case command_kind::granted: granted(); break;
    case command_kind::shared:
        if (c.error) {
            core_.note_error(about(words_for(c.error)));
        }
        end_step_down(c.error);
        break;
    case command_kind::prove: core_.await_proof(); break;
    case command_kind::busy:
        if (trying_->told() != nullptr) {
            trying_->tell(about("another contender has it, or waits for it"));
        }
        answer({});
        break;
    case command_kind::lost: lose(static_cast<errc>(c.error.value())); break;
    case command_kind::failed: {
        const auto why = about(words_for(c.error));
        core_.note_error(why);
        refuse(c.error, why);
        break;
    }
    case command_kind::gone: gone(c.error); break;
    }
}

// ---- what it comes to

void contender_driver::granted()
{
    token_czxid_ =
        static_cast<std::uint64_t>(ask([](const auto& c) { return c.identity(); }).czxid);
    if (!has_queue() ||
        protocol::last_name(node_) != own_name()) { // the latter was found in a listing
        node_ = child(own_name());
    }
    // The driver watches its node only after ten milliseconds, because most locks are released earlier.
    core_.schedule_own_watch(*this);
    wanted_ = false;
    user_->happened(*this, {.what = contender_event::kind::granted,
                            .contention = contention(),
                            .op = std::move(trying_)});
}

// Lost is final. But no other contender is granted as long as the node lives, and the holder may still be stopping its
// work: the node goes with the guard.
void contender_driver::lose(errc why)
{
    if (why == errc::node_deleted && remaining(boot_clock::now()) <= std::chrono::nanoseconds{0}) {
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
    tell(contender_event::kind::lost);
    if (was_idle) {
        leave(); // nobody held it; it was kept for the next one
        return;
    }
    const auto reason = lease_.why();
    end_step_down(reason);
    if (unlocking_) {
        answer_unlock(reason); // the release goes on in the background
    }
    waiting_for_revocation_.complete_all(reason);
    lease_.tell_waiters("lock " + path());
}

void contender_driver::answer_unlock(const error_code& ec)
{
    unlocking_->explain(ec, [&] { return words_about("lock " + path(), ec); });
    std::exchange(unlocking_, {}).complete(ec);
}

void contender_driver::gone(const error_code& ec)
{
    over_ = true;
    watches_.clear();
    forget_newcomers();
    --core_.count.contenders;
    if (ec && ec != errc::client_closed) { // or the session ends with the client
        core_.log(log_level::error,
                  about("a node may remain until the session ends: " + words_for(ec)));
    }
    if (trying_) {
        answer(asio::error::operation_aborted);
    }
    end_await_removal();
    if (unlocking_) {
        const auto lost = lease_.is_told() ? lease_.why() : error_code{};
        if (ec) {
            unlocking_->explain(ec, about(words_for(ec)));
        }
        answer_unlock(ec ? ec : lost);
    }
    core_.remove(*this);
}

std::string contender_driver::child(std::string_view name) const
{
    return has_queue() ? protocol::join_path(path(), name) : path();
}

bool contender_driver::holds() const noexcept
{
    return ask([](const auto& c) { return c.holds(); });
}

bool contender_driver::has_queue() const noexcept
{
    return std::holds_alternative<protocol::contender>(contender_);
}

bool contender_driver::is_late() const noexcept
{
    const auto* const c = std::get_if<protocol::contender>(&contender_);
    return c != nullptr && c->is_late();
}

protocol::remote_contention contender_driver::contention() const noexcept
{
    return ask([](const auto& c) { return c.contention(); });
}

void contender_driver::look_around()
{
    std::optional<protocol::remote_contention> known;
    feed([&](protocol::contender& c, protocol::commands& out) { known = c.look_around(out); });
    if (known) {
        tell(*known);
    }
}

std::string_view contender_driver::own_name() const noexcept
{
    return ask([](const auto& c) -> std::string_view { return c.name(); });
}

// A node of a single_node_mutex has no name that tells whose it is: the other contenders of this client have to know.
void contender_driver::claim()
{
    if (const auto* const c = std::get_if<protocol::single_node>(&contender_)) {
        user_->claimed.replace(std::exchange(claimed_czxid_, c->identity().czxid),
                               c->identity().czxid);
    }
}

} // namespace colock::detail
