#include "contender.hpp"

#include <algorithm>
#include <limits>
#include <sstream>
#include <utility>

namespace colock::protocol {

namespace {

bool no_node(const error_code& ec) noexcept
{
    return ec == zookeeper_errc::no_node;
}

} // namespace

// ---- intentions

void contender::join(bool connected, std::int64_t session, commands& out)
{
    begun_ = true;
    connected_ = connected;
    session_ = session;
    if (connected_) {
        begin(out);
    }
}

void contender::try_join(bool connected, std::int64_t session, commands& out)
{
    try_only_ = true;
    join(connected, session, out);
}

void contender::leave(commands& out)
{
    switch (state_) {
    case state::idle:
    case state::probing:
    case state::making: finish({}, out); break;
    case state::joining:    // created() goes on
    case state::lost_track: // listed() does, now or after the reconnection
        state_ = state::leaving;
        break;
    case state::holding_back:
        if (own_.empty()) {
            finish({}, out);
        } else {
            drop(nearest_, out);
            state_ = state::leaving; // removed() goes on, now or after the reconnection
        }
        break;
    case state::waiting:
    case state::granted: start_leaving(out); break;
    case state::stepping_down: left_ = true; break; // when it is known which node is there
    case state::leaving:
    case state::gone: break;
    }
}

void contender::step_down(commands& out)
{
    if (state_ != state::granted) {
        return;
    }
    state_ = state::stepping_down;
    drop(own_watch_, out);
    if (connected_) {
        out.push_back({command::kind::step_down, readers_name()});
    }
}

void contender::guard(commands& out)
{
    if (state_ == state::granted && connected_ && own_watch_.state == watch_state::none) {
        arm(own_watch_, own_, out);
    }
}

void contender::proved(commands& out)
{
    if (!std::exchange(proving_, false)) {
        return;
    }
    // The own node may have been deleted meanwhile, unless its watch is set and silent.
    if (own_watch_.state == watch_state::armed) {
        grant(out);
    } else {
        send_list(out);
    }
}

// ---- the connection

void contender::connected(std::int64_t session, commands& out)
{
    connected_ = true;
    session_ = session;
    switch (state_) {
    case state::idle:
        if (begun_) {
            begin(out);
        }
        break;
    case state::lost_track:
    case state::stepping_down:
    case state::waiting: send_list(out); break;
    case state::granted: arm(own_watch_, own_, out); break;
    case state::holding_back: own_.empty() ? send_list(out) : remove_node(out); break;
    case state::leaving:
        if (own_.empty()) {
            send_list(out); // to see what became of the create
        } else {
            remove_node(out);
        }
        break;
    case state::probing:
    case state::making:
    case state::joining:
    case state::gone: break;
    }
}

void contender::suspended()
{
    forget_connection();
}

void contender::expired(commands& out)
{
    forget_connection();
    switch (std::exchange(state_, state::idle)) {
    case state::stepping_down:
    case state::granted:
        if (!left_) {
            out.push_back({command::kind::lost, {}, errc::session_expired});
        }
        finish({}, out);
        break;
    case state::leaving: finish({}, out); break;
    case state::gone: state_ = state::gone; break;
    case state::joining:
    case state::lost_track:
    case state::waiting:
    case state::holding_back:
        forget_node();
        if (settings_.rejoin_on_expiry) {
            guid_.next();
        } else {
            fail(errc::session_expired, out);
        }
        break;
    case state::idle:
    case state::probing:
    case state::making: break;
    }
}

// Watches and answers do not outlive a connection.
void contender::forget_connection() noexcept
{
    connected_ = false;
    open_lists_ = stale_lists_ = 0;
    stock_taken_ = false;
    proving_ = false;
    asked_after_ = -1;
    own_watch_ = nearest_ = ahead_ = {};
}

void contender::forget_node() noexcept
{
    own_.clear();
    number_ = 0;
    identity_ = {};
    identity_known_ = false;
    stock_taken_ = false;
    met_others_ = long_queue_ = false;
    asked_after_ = -1;
    directory_ = directory::unknown;
    disposable_ = false;
    proving_ = false;
    blocking_ = 0;
}

// ---- answers

void contender::directory_made(const error_code& ec, commands& out)
{
    if (state_ != state::making) {
        return;
    }
    if (!ec) {
        begin_again(out);
    } else if (outcome_unknown(ec)) {
        state_ = state::idle;
    } else if (is_retryable(ec)) {
        out.push_back({command::kind::make_directory});
    } else {
        fail(ec, out);
    }
}

void contender::created(const error_code& ec, std::string_view name, node_identity identity,
                        commands& out)
{
    const bool leaving = state_ == state::leaving;
    if (!ec) {
        own_ = name;
        number_ = number_of(settings_.layout, own_).value_or(-1);
        identity_ = identity;
        identity_known_ = true;
        state_ = state::waiting;
        if (leaving) {
            start_leaving(out);
        }
    } else if (outcome_unknown(ec)) {
        state_ = leaving ? state::leaving : state::lost_track;
    } else if (leaving) {
        finish({}, out);
    } else if (no_node(ec)) {
        stale_lists_ = open_lists_;
        state_ = state::making;
        out.push_back({command::kind::make_directory});
    } else if (is_retryable(ec)) {
        begin_again(out);
    } else {
        state_ = state::idle; // no node was made
        fail(ec, out);
    }
}

void contender::counted(const error_code& ec, std::string_view name, node_identity identity,
                        bool alone, commands& out)
{
    const bool refused = ec && !outcome_unknown(ec) && !no_node(ec) && !is_retryable(ec);
    if (refused && state_ == state::joining) {
        count_refused_ = true; // no node was made
        begin_again(out);
        return;
    }
    created(ec, name, identity, out);
    if (state_ != state::waiting) {
        return;
    }
    if (!alone || is_late()) {
        send_list(out);
        return;
    }
    stock_taken_ = true;
    blocking_ = 0;
    grant(out);
}

void contender::listed(const error_code& ec, const std::vector<std::string>& children,
                       bool recognised, commands& out)
{
    // Those of before a loss of the connection were answered before suspended() came.
    if (open_lists_ != 0) {
        --open_lists_;
    }
    if (stale_lists_ != 0) {
        --stale_lists_;
        return;
    }
    const bool asked =
        state_ == state::probing || state_ == state::waiting || state_ == state::lost_track ||
        state_ == state::stepping_down ||
        ((state_ == state::leaving || state_ == state::holding_back) && own_.empty());
    if (!asked) {
        return;
    }
    if (outcome_unknown(ec)) {
        if (state_ == state::probing) {
            state_ = state::idle;
        }
        return; // asked again after the reconnection
    }
    if (ec && !no_node(ec)) {
        if (is_retryable(ec)) {
            send_list(out);
        } else if (state_ == state::leaving) {
            finish(ec, out);
        } else if (state_ == state::stepping_down) {
            stepped_down(ec, out);
        } else {
            fail(ec, out);
        }
        return;
    }
    // A directory that does not exist has no children.
    if (state_ == state::probing) {
        if (no_node(ec)) {
            state_ = state::making;
            out.push_back({command::kind::make_directory});
        } else if (is_of_another_kind(settings_.layout, children,
                                      std::numeric_limits<std::int64_t>::max())) {
            fail(errc::conflicting_kind, out);
        } else if (!blocks_newcomer(contenders(settings_.layout, children), settings_.shared)) {
            state_ = state::joining;
            out.push_back(
                {command::kind::create, name_prefix(settings_.layout, guid_, settings_.shared)});
            send_list(out);
        } else {
            reported_ = true;
            out.push_back({command::kind::busy});
            finish({}, out);
        }
    } else if (state_ == state::waiting) {
        take_stock(children, recognised, out);
    } else if (state_ == state::holding_back) {
        const auto queue = contenders(settings_.layout, children);
        if (no_node(ec)) {
            state_ = state::making;
            out.push_back({command::kind::make_directory});
        } else if (is_draining(queue) && queue.size() == children.size()) {
            watch_only(last_to_stay(queue).name, {}, out);
        } else {
            begin_again(out);
        }
    } else if (state_ == state::stepping_down) {
        // What became of it, when its answer was lost.
        if (std::ranges::find(children, readers_name()) != children.end()) {
            became_reader(out);
        } else {
            out.push_back({command::kind::step_down, readers_name()});
        }
    } else {
        recover(children, recognised, out);
    }
}

void contender::watched(std::string_view name, const error_code& ec, node_identity identity,
                        commands& out)
{
    const bool own = own_watch_.state != watch_state::none && name == own_watch_.name;
    auto& slot = own ? own_watch_ : name == nearest_.name ? nearest_ : ahead_;
    if (slot.state == watch_state::none || name != slot.name) {
        return;
    }
    if (no_node(ec)) {
        slot.state = watch_state::none;
        own ? own_node_vanished(out) : departed(slot, out);
        return;
    }
    if (ec) {
        slot = {};
        if (outcome_unknown(ec)) {
            return; // armed again after the reconnection
        }
        if (state_ == state::waiting) {
            is_retryable(ec) ? send_list(out) : fail(ec, out);
        } else if (state_ == state::holding_back) {
            is_retryable(ec) ? arm(slot, std::string{name}, out) : fail(ec, out);
        } else if (state_ == state::granted && own && is_retryable(ec)) {
            arm(own_watch_, own_, out); // or nobody would be told of the node's end
        }
        return;
    }
    slot.state = watch_state::armed;
    if (!own) {
        return;
    }
    if (identity.owner != session_) {
        own_node_vanished(out); // what carries my name is not mine
    } else if (!identity_known_) {
        identity_ = identity;
        identity_known_ = true;
        if (state_ == state::waiting && stock_taken_ && blocking_ == 0) {
            grant(out);
        }
    }
}

void contender::fired(std::string_view name, bool deleted, commands& out)
{
    const bool own = own_watch_.state == watch_state::armed && name == own_watch_.name;
    auto& slot = own ? own_watch_ : name == nearest_.name ? nearest_ : ahead_;
    if (slot.state != watch_state::armed || name != slot.name) {
        return;
    }
    slot.state = watch_state::none;
    if (!deleted) {
        if (state_ == state::waiting || state_ == state::granted || state_ == state::holding_back) {
            arm(slot, slot.name, out);
        }
    } else if (own) {
        own_node_vanished(out);
    } else {
        departed(slot, out);
    }
}

void contender::inspected(const error_code& ec, bool ours, std::int64_t noted, commands& out)
{
    if (state_ != state::waiting || outcome_unknown(ec)) {
        return;
    }
    if (!is_retryable(ec) && !no_node(ec)) {
        directory_ = !ec && ours ? directory::ours : directory::to_stay;
    }
    const auto departed = std::exchange(asked_after_, -1);
    const bool refused = !ec && is_false(noted);
    if (refused && !std::exchange(mark_refused_, true)) {
        out.push_back({.type = command::kind::mark_refused, .number = noted});
    }
    if ((departed < 0 && !refused) || list_open()) {
        return; // the list goes on; when this was refused, by asking again
    }
    if (ec || noted < departed || mark_refused_ || noted >= number_) {
        send_list(out);
        return;
    }
    // Between the one that has gone and me there was the nearest one only.
    blocking_ = in_sight();
    if (blocking_ == 0) {
        grant_or_list(out);
    }
}

void contender::removed(const error_code& ec, commands& out)
{
    if (state_ != state::leaving && state_ != state::holding_back) {
        return;
    }
    if (outcome_unknown(ec)) {
        remove_lost_ = state_ == state::leaving;
        return; // repeated after the reconnection
    }
    if (state_ == state::holding_back && (!ec || no_node(ec))) {
        forget_node();
        look_again(out);
        return;
    }
    if (no_node(ec) && held_ && !remove_lost_) {
        // Somebody else deleted it, while the lock was held and its node not watched yet.
        out.push_back({command::kind::lost, {}, errc::node_deleted});
    }
    if (!ec || no_node(ec)) {
        finish({}, out);
    } else if (is_retryable(ec)) {
        remove_node(out);
    } else if (may_note()) {
        note_refused_ = true; // the node was not removed, either
        remove_node(out);
    } else {
        if (state_ == state::holding_back) {
            reported_ = true;
            out.push_back({command::kind::failed, {}, ec});
        }
        finish(ec, out);
    }
}

void contender::stepped_down(const error_code& ec, commands& out)
{
    if (state_ != state::stepping_down || outcome_unknown(ec)) {
        return; // a list tells, after the reconnection
    }
    if (!ec) {
        became_reader(out);
    } else if (is_retryable(ec)) {
        out.push_back({command::kind::step_down, readers_name()});
    } else {
        state_ = state::granted;
        if (left_) {
            start_leaving(out);
        } else if (no_node(ec)) {
            own_node_vanished(out);
        } else {
            out.push_back({command::kind::shared, {}, ec});
        }
    }
}

std::string contender::readers_name() const
{
    // The digits as the server wrote them.
    return name_prefix(settings_.layout, guid_, true) + own_.substr(own_.size() - number_digits);
}

void contender::became_reader(commands& out)
{
    own_ = readers_name();
    settings_.shared = true;
    state_ = state::granted;
    if (left_) {
        start_leaving(out);
        return;
    }
    out.push_back({command::kind::shared});
    guard(out);
}

// ---- joining

void contender::begin(commands& out)
{
    if (try_only_) {
        state_ = state::probing;
        send_list(out);
        return;
    }
    state_ = state::joining;
    const bool counts = expects_nobody_ && !count_refused_;
    out.push_back({counts ? command::kind::create_and_count : command::kind::create,
                   name_prefix(settings_.layout, guid_, settings_.shared)});
    if (!counts) {
        // Back to back: the session's order makes the list contain the node.
        send_list(out);
    }
}

void contender::begin_again(commands& out)
{
    guid_.next();
    stale_lists_ = open_lists_;
    if (connected_) {
        begin(out);
    } else {
        state_ = state::idle;
    }
}

void contender::send_list(commands& out)
{
    ++open_lists_;
    out.push_back({command::kind::list});
}

// What became of a create whose answer was lost.
void contender::recover(const std::vector<std::string>& children, bool recognised, commands& out)
{
    const auto prefix = name_prefix(settings_.layout, guid_, settings_.shared);
    const auto found = std::ranges::find_if(
        children, [&](const std::string& child) { return child.starts_with(prefix); });
    if (found == children.end()) {
        state_ == state::leaving ? finish({}, out) : begin_again(out);
        return;
    }
    const bool leaving = state_ == state::leaving;
    own_ = *found;
    number_ = number_of(settings_.layout, own_).value_or(-1);
    state_ = state::waiting;
    if (leaving) {
        start_leaving(out);
    } else {
        take_stock(children, recognised, out);
    }
}

// ---- waiting

void contender::take_stock(const std::vector<std::string>& children, bool recognised, commands& out)
{
    if (is_late() && directory_ == directory::unknown) {
        out.push_back({command::kind::inspect});
        send_list(out);
        return;
    }
    const auto queue = contenders(settings_.layout, children);
    disposable_ = directory_ == directory::ours && queue.size() == children.size();
    if (number_ < 0 || number_ >= last_number || (!queue.empty() && queue.front().number < 0)) {
        fail(errc::sequence_exhausted, out);
        return;
    }
    const auto own = std::ranges::find(queue, own_, &entry::name);
    if (own == queue.end()) {
        own_node_vanished(out);
        return;
    }
    // Who was there before goes on: it is the newcomer's mistake.
    if (queue.size() != children.size() &&
        is_of_another_kind(settings_.layout, children, number_)) {
        fail(errc::conflicting_kind, out);
        return;
    }
    const auto has_my_place = [&](const entry& e) {
        return e.number == number_ && e.shared == settings_.shared;
    };
    if (std::ranges::count_if(queue, has_my_place) != 1) {
        fail(errc::duplicate_sequence, out);
        return;
    }
    const auto index = static_cast<std::size_t>(own - queue.begin());
    const auto b = blockers_of(queue, index);
    // Behind anybody, also a reader behind readers: or those who share would keep the queue from draining.
    const bool too_late = drains() && index != 0;
    if (try_only_ && (b.count != 0 || too_late)) {
        reported_ = true;
        out.push_back({command::kind::busy});
        start_leaving(out);
        return;
    }
    if (too_late) {
        hold_back(queue, out);
        return;
    }
    stock_taken_ = true;
    if (recognised && directory_ == directory::unknown) {
        // By a list with the own node in it. It is not late, or it would be asked for above: who has put other data
        // into the directory since wants it to stay.
        directory_ = directory::ours;
    }
    met_others_ = queue.size() > 1;
    met_siblings_ = children.size() > 1;
    long_queue_ = queue.size() >= settings_.note_from;
    blocking_ = b.count;
    if (b.count == 0 && identity_known_) {
        grant(out);
        return;
    }
    // The own node first: then its watch is set when an event of another one comes.
    if (own_watch_.state == watch_state::none) {
        arm(own_watch_, own_, out);
    }
    watch_only(b.nearest != nullptr ? b.nearest->name : std::string_view{},
               b.ahead != nullptr ? b.ahead->name : std::string_view{}, out);
    if (directory_ == directory::unknown && may_read_notes()) {
        // Now, in good time: who asks for a note where there can be none, and then lists, is late.
        out.push_back({command::kind::inspect});
    }
}

void contender::hold_back(const std::vector<entry>& queue, commands& out)
{
    state_ = state::holding_back;
    stock_taken_ = false;
    proving_ = false;
    drop(own_watch_, out);
    remove_node(out);
    watch_only(last_to_stay(queue).name, {}, out);
}

// The own node is gone, or the one that was waited for.
void contender::look_again(commands& out)
{
    if (own_.empty() && nearest_.name.empty()) {
        send_list(out);
    }
}

void contender::watch_only(std::string_view nearest, std::string_view ahead, commands& out)
{
    // The nearest one may have been the one ahead, or the other way round.
    if (nearest != nearest_.name && (nearest == ahead_.name || ahead == nearest_.name)) {
        std::swap(nearest_, ahead_);
    }
    for (const auto& [slot, name] : {std::pair{&nearest_, nearest}, std::pair{&ahead_, ahead}}) {
        if (slot->name == name) {
            continue;
        }
        drop(*slot, out);
        if (!name.empty()) {
            arm(*slot, std::string{name}, out);
        }
    }
}

void contender::arm(watch_slot& slot, const std::string& name, commands& out)
{
    slot = {name, watch_state::arming};
    out.push_back({command::kind::watch, slot.name});
}

void contender::drop(watch_slot& slot, commands& out)
{
    if (slot.state != watch_state::none) {
        out.push_back({command::kind::unwatch, slot.name});
    }
    slot = {};
}

// The one exception to "no node with a smaller number can appear": a writer that steps down to a reader, in
// Curator's way, leaves a node of its own number. Readers do not mind.
bool contender::may_have_become_reader(const std::string& name) const
{
    return !settings_.shared && !settings_.layout.shared_marker.empty() &&
           !is_shared(settings_.layout, name);
}

// A member of B has left it, and never comes back.
void contender::departed(watch_slot& slot, commands& out)
{
    const bool replaced = may_have_become_reader(slot.name);
    const auto gone = std::exchange(slot, {}).name;
    if (state_ == state::holding_back) {
        look_again(out);
        return;
    }
    if (state_ != state::waiting || !stock_taken_) {
        return; // a list is under way, or nothing is waited for
    }
    if (replaced) {
        // Only a list can tell. One that is under way does: it is answered after the deletion.
        if (!list_open()) {
            send_list(out);
        }
        return;
    }
    --blocking_;
    const bool was_ahead = &slot == &ahead_;
    if (nearest_.name.empty()) {
        nearest_ = std::exchange(ahead_, {});
    }
    if (blocking_ == 0) {
        grant_or_list(out);
    } else if (in_sight() < blocking_ && !list_open() && asked_after_ < 0) {
        if (was_ahead && in_sight() == 1 && !mark_refused_ && may_read_notes()) {
            asked_after_ = number_of(settings_.layout, gone).value_or(-1);
            out.push_back({command::kind::inspect});
        } else {
            send_list(out);
        }
    }
}

// Nobody is left before my node, if it is there.
void contender::grant_or_list(commands& out)
{
    if (own_watch_.state == watch_state::armed && identity_known_) {
        // The watch of my own node is set and silent, and events come in ZooKeeper's order: the node
        // was there when the last one before it left. No round trip is needed.
        grant(out);
    } else if (!list_open()) {
        send_list(out);
    }
}

// With readers in the queue the lowest one need not be alone, and numbers come back.
bool contender::may_read_notes() const noexcept
{
    return long_queue_ && directory_ != directory::to_stay &&
           settings_.layout.shared_marker.empty() && !is_late();
}

bool contender::may_note() const noexcept
{
    return held_ && !note_refused_ && directory_ == directory::ours && may_read_notes();
}

// Whether a note counts a node as gone that is there: its watch is set and silent, and events and answers come in
// ZooKeeper's order.
bool contender::is_false(std::int64_t noted) const
{
    const auto covers = [&](const watch_slot& slot) {
        return slot.state == watch_state::armed &&
               number_of(settings_.layout, slot.name).value_or(noted + 1) <= noted;
    };
    return noted >= 0 && (covers(own_watch_) || covers(nearest_));
}

void contender::own_node_vanished(commands& out)
{
    drop(own_watch_, out);
    switch (state_) {
    case state::waiting:
        drop(nearest_, out);
        drop(ahead_, out);
        forget_node();
        begin_again(out);
        break;
    case state::granted:
        out.push_back({command::kind::lost, {}, errc::node_deleted});
        finish({}, out);
        break;
    default: break; // leaving: removed() tells
    }
}

void contender::grant(commands& out)
{
    if (!safe_) {
        if (!std::exchange(proving_, true)) {
            out.push_back({command::kind::prove});
        }
        return;
    }
    proving_ = false; // the session may be known to be safe before the proof is reported
    drop(nearest_, out);
    drop(ahead_, out);
    state_ = state::granted;
    reported_ = held_ = true;
    out.push_back({command::kind::granted});
}

// ---- leaving

void contender::fail(const error_code& ec, commands& out)
{
    if (!reported_) {
        reported_ = true;
        out.push_back({command::kind::failed, {}, ec});
    }
    if (!own_.empty()) {
        start_leaving(out);
    } else {
        // When a create's outcome cannot be found out, its node may remain until the session ends.
        finish(state_ == state::lost_track ? ec : error_code{}, out);
    }
}

void contender::start_leaving(commands& out)
{
    state_ = state::leaving;
    proving_ = false;
    // The watch of the own node goes with the node, at no cost.
    drop(nearest_, out);
    drop(ahead_, out);
    if (connected_) {
        remove_node(out);
    }
}

// Who leaves a queue that drains may be the last one. Who holds back is not.
void contender::remove_node(commands& out)
{
    out.push_back({may_note() ? command::kind::remove_and_note : command::kind::remove, own_});
    if (drains() && state_ == state::leaving) {
        out.push_back({command::kind::remove_directory});
    }
}

void contender::finish(const error_code& ec, commands& out)
{
    drop(own_watch_, out);
    drop(nearest_, out);
    drop(ahead_, out);
    forget_node();
    state_ = state::gone;
    out.push_back({command::kind::gone, {}, ec});
}

std::string contender::fingerprint() const
{
    std::ostringstream text;
    const auto slot = [&](const watch_slot& s) {
        text << s.name << ':' << static_cast<int>(s.state) << ' ';
    };
    text << static_cast<int>(state_) << connected_ << try_only_ << begun_ << reported_ << held_
         << remove_lost_ << safe_ << proving_ << identity_known_ << stock_taken_ << met_others_
         << met_siblings_ << left_ << disposable_ << long_queue_ << note_refused_ << mark_refused_
         << expects_nobody_ << count_refused_ << static_cast<int>(directory_) << settings_.shared
         << ' ' << session_ << ' ' << guid_.low << ' ' << open_lists_ << ' ' << stale_lists_ << ' '
         << own_ << ' ' << identity_.czxid << ' ' << identity_.owner << ' ' << blocking_ << ' '
         << asked_after_ << ' ';
    slot(own_watch_);
    slot(nearest_);
    slot(ahead_);
    return text.str();
}

} // namespace colock::protocol
