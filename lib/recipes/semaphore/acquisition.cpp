#include "recipes/semaphore/acquisition.hpp"

#include "names/contender_name.hpp"
#include "names/path_text.hpp"

#include <algorithm>
#include <iterator>

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

// Asks what others take the path for. The answer counts once the directory is there: then either this client sees the other
// lock, or the other lock's client sees the directory.
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
    attempt_.leases_in = !ec                             ? directory::read
                         : ec == zookeeper_errc::no_node ? directory::absent
                                                         : directory::unreadable;
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
    if (a.leases_in == directory::read) {
        a.leases_in = directory::there;
        out.push_back({kind::agreed});
        now_.compared = true;
    }
    if (at_ != step::queueing_up) {
        count_again();
    }
    a.has_queue ? go_on({}, out) : end({kind::busy}, out);
}

// Others have written another number into the directory. While they have permits they are right. Else the directory is made anew,
// with this number: the servers delete none that has leases, and who comes later with the other number sees another directory.
void acquisition::disagree(commands& out)
{
    auto& a = attempt_;
    if (a.has_queue && !a.leases) {
        a.leases_in = directory::there; // counts, and asks again
        return go_on({}, out);
    }
    if (!a.has_queue || *a.leases != 0 || std::exchange(a.has_replaced, true)) {
        return fail(errc::conflicting_maximum, out, *a.maximum);
    }
    if (!now_.queue_lost) {
        out.push_back({kind::remove_directory});
    }
    a.leases_in = directory::absent;
    go_on({}, out);
}

// ---- 4. takes: what it lacks

// Asks for the first thing that is missing. Others may come before a directory is there, and see nothing of the semaphore: so
// one that was made is compared.
void acquisition::go_on(const error_code& ec, commands& out)
{
    auto& a = attempt_;
    if (ends(ec, out)) {
        return;
    }
    if (now_.queue_lost) {
        queue_lost(out);
    } else if (a.leases_in == directory::absent) {
        ask(step::asking, kind::make_directory, out);
    } else if (a.leases_in == directory::made) { // NOLINT(bugprone-branch-clone): the order counts
        at_ = step::asking;
        ask_others(out);
    } else if (!options_.permits && !a.limit_version) {
        ask(step::asking, kind::read_limit, out);
    } else if (!a.leases) {
        ask(step::asking, kind::list, out);
    } else if (!now_.compared && a.leases_in != directory::unreadable) {
        at_ = step::asking;
        ask_others(out);
    } else if (fits()) {
        create(out);
    } else if (!std::exchange(a.is_watched, true)) { // it may have changed before it is watched
        ask(step::asking, kind::list_and_watch, out);
    } else if (options_.try_only) {
        remove_unused_directory(out);
        release_queue(out);
        finish({kind::busy}, out);
    } else {
        ask(step::waiting, kind::wait_for_change, out);
    }
}

void acquisition::count_again() noexcept
{
    attempt_.leases.reset();
    attempt_.limit_version.reset();
    attempt_.is_watched = false;
}

void acquisition::queue_lost(commands& out)
{
    if (!options_.rejoin_on_expiry && now_.queue_lost == errc::session_expired) {
        return fail(now_.queue_lost, out);
    }
    release_queue(out);
    pause(out);
}

void acquisition::pause(commands& out)
{
    own_guid_.next(); // what was created in vain may be seen for a while
    count_again();
    if (!ends(now_.unavailable, out)) {
        ask(step::pausing, kind::pause, out);
    }
}

void acquisition::paused(commands& out)
{
    if (at_ == step::pausing && !ends({}, out)) {
        attempt_.has_queue ? go_on({}, out) : queue_up(out);
    }
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
    attempt_.limit_version = version;
    at_ == step::looking ? look(out) : go_on({}, out);
}

// There may be no directory yet, and then there are no leases.
void acquisition::listed(const error_code& ec, const names& children, commands& out)
{
    auto& a = attempt_;
    const bool absent = ec == zookeeper_errc::no_node;
    const auto failure = absent ? error_code{} : ec;
    if (at_ == step::recovering) {
        return recover(failure, children, out);
    }
    if (!failure && (at_ != step::queueing_up || a.has_queue)) {
        a.leases = leases_among(children);
    }
    if (at_ == step::queueing_up) {
        answered(out);
    } else if (at_ != step::looking) {
        if (absent && a.is_watched) { // to wait for a higher limit there has to be one
            a.leases_in = directory::absent;
        }
        go_on(failure, out);
    } else if (!ends(failure, out)) {
        options_.permits ? look(out) : out.push_back({kind::read_limit});
    }
}

// ---- 4. takes: waits

// While the acquisition has the queue's lock there can only be fewer leases than before. Else the watch may fire without end.
void acquisition::changed(commands& out)
{
    if (at_ != step::waiting) {
        return;
    }
    const auto before = std::exchange(attempt_.before, attempt_.leases);
    const bool progressed = !before || *attempt_.leases < *before;
    count_again();
    if (progressed) {
        go_on({}, out);
    } else if (!ends({}, out)) {
        ask(step::pausing, kind::pause_after_event, out);
    }
}

// ---- 4. takes: creates

void acquisition::create(commands& out)
{
    at_ = step::creating;
    attempt_.creating_session = now_.session;
    out.push_back(
        {.type = kind::create, .name = prefix(), .number = attempt_.limit_version.value_or(0)});
}

void acquisition::created(const error_code& ec, const names& leases, bool in_queue, commands& out)
{
    const bool absent = ec == zookeeper_errc::no_node;
    if (!ec) {
        grant(leases, out);
    } else if (outcome_unknown(ec)) {
        ask(step::recovering, kind::list, out);
    } else if (absent && in_queue) {
        attempt_.leases_in = directory::absent;
        go_on({}, out);
    } else if (absent || ec == zookeeper_errc::bad_version || is_retryable(ec)) {
        // Without its node in the queue the lock is lost: that shows after the pause. Another version: there are more
        // permits now, or fewer.
        pause(out);
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
    made.empty() ? pause(out) : grant(std::move(made), out);
}

void acquisition::directory_made(const error_code& ec, commands& out)
{
    // If it is not known whether the directory is there, the next request shows it.
    const bool may_be_there =
        !ec || ec == zookeeper_errc::node_exists || outcome_unknown(ec) || is_retryable(ec);
    made_directory_ |= !ec;
    attempt_.leases_in = directory::made;
    if (!ends(may_be_there ? now_.unavailable : ec, out)) {
        ask(step::pausing, kind::pause, out);
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
