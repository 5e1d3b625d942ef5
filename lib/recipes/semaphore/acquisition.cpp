#include "recipes/semaphore/acquisition.hpp"

#include "names/contender_name.hpp"
#include "names/path_text.hpp"
#include "recipes/semaphore/numbers.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace colock::protocol::permits {

// ---- the caller, and the connection

void acquisition::begin(const error_code& ec, commands& out)
{
    if (!ends(ec, out)) {
        options_.try_only ? ask(step::looking, kind::list, out) : queue_up(out);
    }
}

void acquisition::leave(std::optional<command> outcome, commands& out)
{
    const bool waited = caller_ == caller::waits;
    caller_ = std::max(caller_, caller::leaves);
    if (outcome) {
        tell(std::move(*outcome), out);
    }
    if (waited && at_ < step::creating) {
        out.push_back({kind::cut_short});
    }
}

// ---- 3. queues up

void acquisition::queue_up(commands& out)
{
    attempt_ = {.unanswered = 2};
    ask(step::queueing_up, kind::lock_queue, out);
    out.push_back({kind::list});
    if (!now_.compared) {
        ask_others(out);
    }
}

// What do others take the path for? Who looks after the creation of the directory is seen there by those who do not see it.
void acquisition::ask_others(commands& out)
{
    out.push_back({kind::ask_others});
    attempt_.unanswered += 2;
}

void acquisition::queue_locked(const error_code& ec, bool granted, commands& out)
{
    attempt_.refused = ec ? ec : attempt_.refused;
    attempt_.has_queue = granted;
    answered(out);
}

void acquisition::maximum_read(const error_code& ec, const std::string& data, std::int32_t,
                               commands& out)
{
    attempt_.read = ec;
    attempt_.maximum = maximum_in(data);
    answered(out);
}

void acquisition::siblings_listed(const error_code&, const names& children, commands& out)
{
    if (has_contenders(children)) {
        attempt_.refused = errc::conflicting_kind;
    }
    answered(out);
}

void acquisition::answered(commands& out)
{
    auto& a = attempt_;
    if (--a.unanswered != 0 || ends(a.refused, out)) {
        return;
    }
    if (a.maximum && a.maximum != options_.permits) {
        return disagree(out);
    }
    const auto read = std::exchange(a.read, std::nullopt);
    const bool absent = read == zookeeper_errc::no_node;
    if (read && !*read) {
        out.push_back({kind::agreed});
        now_.compared = true;
    }
    a.has_asked |= read && *read && !absent; // it cannot be read
    if (!a.has_queue) {
        end({kind::busy}, out);
    } else if (absent) {
        make_directory(out); // and looks again: others may come before it is there
    } else {
        at_ == step::comparing ? count_again(out) : read_limit(out);
    }
}

// Others have written another number into the directory. While they have permits they are right. Else the directory is made anew,
// with this number: the servers delete none that has leases, and who comes later with the other number sees another directory.
void acquisition::disagree(commands& out)
{
    auto& a = attempt_;
    if (a.has_queue && !a.leases) {
        count_again(out); // and asks again after the listing
    } else if (!a.has_queue || *a.leases != 0 || std::exchange(a.has_replaced, true)) {
        fail(errc::conflicting_maximum, out, *a.maximum);
    } else {
        if (!now_.queue_lost) {
            out.push_back({kind::remove_directory});
        }
        make_directory(out);
    }
}

// Only with the queue's lock: who has it may have compared the directory that is there.
void acquisition::make_directory(commands& out)
{
    now_.queue_lost ? queue_lost(out) : ask(step::making_directory, kind::make_directory, out);
}

// ---- pauses

void acquisition::pause(step next, commands& out)
{
    own_guid_.next(); // what was created in vain may be seen for a while
    if (!ends(now_.unavailable, out)) {
        ask(next, kind::pause, out);
    }
}

void acquisition::paused(commands& out)
{
    const bool pauses = at_ >= step::pausing_before_comparing && at_ <= step::pausing_before_queue;
    if (!pauses || ends({}, out)) {
        return;
    }
    switch (at_) {
    case step::pausing_before_queue: return queue_up(out);
    case step::pausing_before_directory: return make_directory(out);
    case step::pausing_before_comparing: at_ = step::comparing; return ask_others(out);
    default: return count_again(out);
    }
}

// ---- 4. takes: counts

void acquisition::count_again(commands& out)
{
    attempt_.leases.reset();
    read_limit(out);
}

void acquisition::read_limit(commands& out)
{
    options_.permits ? go_on(out) : ask(step::reading_limit, kind::read_limit, out);
}

void acquisition::limit_read(const error_code& ec, const std::string& data, std::int32_t version,
                             commands& out)
{
    if (ends(ec, out)) {
        return;
    }
    const auto number = limit_in(data);
    if (!number) {
        return fail(errc::invalid_counter, out, static_cast<std::int64_t>(data.size()));
    }
    limit_ = *number;
    limit_version_ = version;
    at_ == step::looking ? look(out) : go_on(out);
}

void acquisition::go_on(commands& out)
{
    if (now_.queue_lost) {
        queue_lost(out);
    } else {
        attempt_.leases ? decide(out) : ask(step::counting, kind::list, out);
    }
}

void acquisition::queue_lost(commands& out)
{
    if (!options_.rejoin_on_expiry && now_.queue_lost == errc::session_expired) {
        return fail(now_.queue_lost, out);
    }
    release_queue(out);
    pause(step::pausing_before_queue, out);
}

// There may be no directory yet, and then there are no leases.
void acquisition::listed(const error_code& ec, const names& children, commands& out)
{
    const bool absent = ec == zookeeper_errc::no_node;
    const auto failure = absent ? error_code{} : ec;
    if (at_ == step::queueing_up) {
        if (!failure && attempt_.has_queue) {
            attempt_.leases = leases_among(children);
        }
        return answered(out);
    }
    if (at_ == step::recovering) {
        return recover(failure, children, out);
    }
    if (ends(failure, out)) {
        return;
    }
    if (at_ == step::watching && absent) { // to wait for a higher limit there has to be one
        return pause(step::pausing_before_directory, out);
    }
    attempt_.leases = leases_among(children);
    if (at_ == step::looking) {
        options_.permits ? look(out) : out.push_back({kind::read_limit});
    } else if (at_ == step::counting) {
        decide(out);
    } else if (fits()) {
        go_on(out);
    } else if (options_.try_only) {
        remove_unused_directory(out);
        release_queue(out);
        finish({kind::busy}, out);
    } else {
        ask(step::waiting, kind::wait_for_change, out);
    }
}

void acquisition::decide(commands& out)
{
    if (!now_.compared && !std::exchange(attempt_.has_asked, true)) {
        at_ = step::comparing;
        return ask_others(out);
    }
    if (!fits()) { // what was counted may have changed before it is watched
        return ask(step::watching, kind::list_and_watch, out);
    }
    at_ = step::creating;
    attempt_.creating_session = now_.session;
    out.push_back({.type = kind::create, .name = prefix(), .number = limit_version_});
}

// ---- 4. takes: waits

// While the acquisition has the queue's lock there can only be fewer leases than before. Else the watch may fire without end.
void acquisition::changed(commands& out)
{
    if (at_ != step::waiting || ends({}, out)) {
        return;
    }
    const auto before = std::exchange(attempt_.before, attempt_.leases);
    const bool progressed = !before || *attempt_.leases < *before;
    progressed ? count_again(out) : ask(step::pausing_before_count, kind::pause_after_event, out);
}

// ---- 4. takes: creates

void acquisition::created(const error_code& ec, const names& leases, bool in_queue, commands& out)
{
    const bool absent = ec == zookeeper_errc::no_node;
    if (!ec) {
        grant(leases, out);
    } else if (outcome_unknown(ec)) {
        ask(step::recovering, kind::list, out);
    } else if (absent && in_queue) {
        make_directory(out);
    } else if (absent || ec == zookeeper_errc::bad_version || is_retryable(ec)) {
        // Without its node in the queue the lock is lost: that shows after the pause. Another version: there are more
        // permits now, or fewer.
        pause(step::pausing_before_count, out);
    } else {
        fail(ec, out);
    }
}

// The listing shows a create that was carried out, because a quorum write precedes the listing on its connection. Leases
// of an earlier session are going: they are not taken, even if the listing still shows them.
void acquisition::recover(const error_code& ec, const names& children, commands& out)
{
    if (ec) {
        return fail(ec, out);
    }
    names made;
    if (now_.session == attempt_.creating_session) {
        std::ranges::copy_if(
            children, std::back_inserter(made), [own = prefix()](std::string_view name) {
                return name.starts_with(own) && detail::is_appended_number(name.substr(own.size()));
            });
    }
    made.empty() ? pause(step::pausing_before_count, out) : grant(std::move(made), out);
}

void acquisition::directory_made(const error_code& ec, commands& out)
{
    // If it is not known whether the directory is there, the next request shows it.
    const bool may_be_there =
        ec == zookeeper_errc::node_exists || outcome_unknown(ec) || is_retryable(ec);
    made_directory_ |= !ec;
    if (!ends(may_be_there ? error_code{} : ec, out)) {
        pause(step::pausing_before_comparing, out);
    }
}

void acquisition::grant(names leases, commands& out)
{
    made_directory_ = false;
    if (now_.unavailable) { // they go with the session, and nobody would be told of that
        return fail(now_.unavailable, out);
    }
    release_queue(out);
    if (caller_ != caller::has_outcome) {
        return finish({.type = kind::granted, .leases = std::move(leases)}, out);
    }
    out.push_back({.type = kind::give_back, .leases = std::move(leases)});
    finish({kind::cancelled}, out);
}

// ---- 5. gives the queue's lock back

// Whether the acquisition comes to nothing now: the caller has left, or this is an error that does not go by itself.
bool acquisition::ends(error_code ec, commands& out)
{
    if (ec == zookeeper_errc::no_children_for_ephemerals) {
        ec = errc::conflicting_kind; // the path is the node of a single_node_mutex, or another one
    }
    const bool left = caller_ != caller::waits;
    if (left) {
        end({kind::cancelled}, out);
    } else if (ec) {
        fail(ec, out);
    }
    return left || ec;
}

void acquisition::end(command outcome, commands& out)
{
    remove_unused_directory(out);
    if (!attempt_.has_queue) {
        return finish(std::move(outcome), out);
    }
    attempt_ = {};
    outcome_ = std::move(outcome);
    ask(step::giving_back, kind::unlock_queue, out);
}

// The servers reap no directory that never had a child, and one that stays would refuse the locks of all other kinds.
void acquisition::remove_unused_directory(commands& out)
{
    if (std::exchange(made_directory_, false)) {
        out.push_back({kind::remove_directory});
    }
}

void acquisition::release_queue(commands& out)
{
    attempt_ = {};
    out.push_back({kind::release_queue});
}

void acquisition::finish(command outcome, commands& out)
{
    tell(std::move(outcome), out);
    attempt_ = {};
    ask(step::gone, kind::gone, out);
}

void acquisition::tell(command outcome, commands& out)
{
    if (std::exchange(caller_, caller::has_outcome) != caller::has_outcome) {
        out.push_back(std::move(outcome));
    }
}

} // namespace colock::protocol::permits
