// How an acquisition counts the leases, waits until there are few enough, and creates its own.
#include "acquisition.hpp"
#include "numbers.hpp"
#include "protocol/names/contender_name.hpp"
#include "protocol/planted.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace colock::protocol::permits {

using kind = command::kind;

namespace {

// Of a write that may have been carried out, or is carried out when it is repeated.
bool may_be_repeated(const error_code& ec)
{
    return outcome_unknown(ec) || is_retryable(ec);
}

} // namespace

bool acquisition::fits() const noexcept
{
    return *attempt_.leases + options_.wanted <= limit_ + (planted("one permit too many") ? 1 : 0);
}

// ---- counts

void acquisition::count_again(commands& out)
{
    attempt_.leases.reset();
    read_limit(out);
}

void acquisition::read_limit(commands& out)
{
    if (options_.permits || (planted("limit read once") && at_ == step::waiting)) {
        return go_on(out);
    }
    at_ = step::reading_limit;
    out.push_back({kind::read_limit});
}

void acquisition::limit_read(const error_code& ec, const std::string& data, std::int32_t version,
                             commands& out)
{
    const bool looks = at_ == step::looking;
    if (looks && !planted("limit watched at the end")) {
        out.push_back({kind::unwatch_limit});
    }
    if (ends(ec, out)) {
        return;
    }
    const auto number = limit_in(data);
    if (!number) {
        const auto size = static_cast<std::int64_t>(data.size());
        return end({kind::failed, {}, errc::invalid_counter, size}, out);
    }
    limit_ = *number;
    limit_version_ = version;
    looks ? look(out) : go_on(out);
}

void acquisition::go_on(commands& out)
{
    if (std::exchange(attempt_.list_watched, false)) {
        out.push_back({kind::unwatch_list});
    }
    if (now_.queue_lost && !planted("loss of the queue ignored")) {
        queue_lost(out);
    } else if (attempt_.leases) {
        decide(out);
    } else {
        at_ = step::counting;
        out.push_back({kind::list});
    }
}

void acquisition::queue_lost(commands& out)
{
    if (!options_.rejoin_on_expiry && now_.queue_lost == errc::session_expired &&
        !planted("expiry is no failure")) {
        return end({kind::failed, {}, now_.queue_lost}, out);
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
        if (!failure && (attempt_.has_queue || planted("list older than the grant"))) {
            attempt_.leases = leases_among(children);
        }
        return answered(out);
    }
    if (at_ == step::recovering) {
        return recover(failure, children, out);
    }
    const bool watches = at_ == step::watching;
    attempt_.list_watched = watches && !ec;
    if (ends(failure, out)) {
        return;
    }
    if (watches && absent) { // to wait for a higher limit there has to be one
        return pause(step::pausing_before_directory, out);
    }
    attempt_.leases = leases_among(children);
    if (watches) {
        watched(out);
    } else if (at_ == step::counting) {
        decide(out);
    } else if (options_.permits) {
        look(out);
    } else {
        out.push_back({kind::read_limit});
    }
}

void acquisition::decide(commands& out)
{
    if (!fits()) {
        at_ = step::watching; // what was counted may have changed before it is watched
        out.push_back({planted("waits without a watch") ? kind::list : kind::list_and_watch});
        return;
    }
    at_ = step::creating;
    attempt_.prefix = std::string{name_prefix(lease_layout(), own_guid_)};
    attempt_.creating_session = now_.session;
    own_guid_.next();
    const auto version = planted("permits of another limit") ? -1 : limit_version_; // -1: any
    out.push_back({.type = kind::create, .name = attempt_.prefix, .number = version});
}

// ---- waits

void acquisition::watched(commands& out)
{
    if (fits()) {
        go_on(out);
    } else if (options_.try_only && !planted("a try waits")) {
        release_queue(out);
        finish({kind::busy}, out);
    } else {
        at_ = step::waiting;
        out.push_back({kind::wait_for_change});
    }
}

void acquisition::changed(commands& out)
{
    if (!ends({}, out)) {
        count_again(out);
    }
}

// ---- creates

void acquisition::created(const error_code& ec, const names& leases, bool in_queue, commands& out)
{
    const bool absent = ec == zookeeper_errc::no_node;
    if (!ec) {
        grant(leases, out);
    } else if (outcome_unknown(ec) && !planted("lost create not looked for")) {
        at_ = step::recovering;
        out.push_back({kind::list});
    } else if (absent && in_queue && !planted("directory not made")) {
        at_ = step::making_directory;
        out.push_back({kind::make_directory});
    } else if (absent || ec == zookeeper_errc::bad_version || may_be_repeated(ec)) {
        // Without its node in the queue the lock is lost: that shows behind the pause. Another version: there are more
        // permits now, or fewer.
        pause(step::pausing_before_count, out);
    } else {
        end({kind::failed, {}, ec}, out);
    }
}

// The listing shows a create that was carried out, because a quorum write precedes the listing on its connection. Leases
// of an earlier session are going: they are not taken, even if the listing still shows them.
void acquisition::recover(const error_code& ec, const names& children, commands& out)
{
    if (ec) {
        return end({kind::failed, {}, ec}, out);
    }
    names made;
    if (now_.session == attempt_.creating_session || planted("leases of an earlier session")) {
        std::ranges::copy_if(children, std::back_inserter(made), [&](const std::string& name) {
            return name.starts_with(attempt_.prefix);
        });
    }
    if (made.empty()) {
        pause(step::pausing_before_count, out);
    } else {
        grant(std::move(made), out);
    }
}

void acquisition::directory_made(const error_code& ec, commands& out)
{
    // If it is not known whether the directory is there, the next request shows it.
    const bool may_be_there = ec == zookeeper_errc::node_exists || may_be_repeated(ec);
    if (ends(may_be_there ? error_code{} : ec, out)) {
        return;
    }
    if (at_ == step::making_directory) {
        return pause(step::pausing_before_count, out);
    }
    attempt_.leases = 0;
    read_limit(out);
}

void acquisition::grant(names leases, commands& out)
{
    if (now_.unavailable) { // they go with the session, and nobody would be told of that
        return end({kind::failed, {}, now_.unavailable}, out);
    }
    release_queue(out);
    if (!told_) {
        return finish({.type = kind::granted, .leases = std::move(leases)}, out);
    }
    if (!planted("unwanted permits kept")) {
        out.push_back({.type = kind::give_back, .leases = std::move(leases)});
    }
    finish({kind::cancelled}, out);
}

} // namespace colock::protocol::permits
