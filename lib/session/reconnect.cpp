// The calls of a client's user, and the end of a session.
#include "session/reconnect.hpp"

#include <utility>

namespace colock::protocol::session {

namespace {

using kind = command::kind;
using std::chrono::milliseconds;

} // namespace

reconnect::reconnect(settings s, std::uint32_t seed)
    : settings_{std::move(s)}, backoff_{settings_.backoff_min, settings_.backoff_max, seed},
      old_{settings_.tick}
{
}

bool reconnect::is_distrusted() const noexcept
{
    const auto* at = std::get_if<online>(&stage_);
    const auto* end = std::get_if<ending>(&stage_);
    return (at && at->distrusted) || (end && end->from.distrusted);
}

// ---- calls of the user

void reconnect::connect(commands& out)
{
    if (is_closing() || holds<online>()) {
        const auto ec = is_closing() ? error_code{errc::client_closed} : error_code{};
        out.push_back({.type = kind::answer, .error = ec});
        return;
    }
    if (!std::exchange(wanted_, true) && settings_.connect_timeout != milliseconds::max()) {
        out.push_back({.type = kind::start_deadline, .time = settings_.connect_timeout});
    }
    if (is_idle()) {
        last_failure_ = {};
        out.push_back({kind::connecting});
        backoff_.reset();
        begin_pass(false, out);
    }
}

// A session that holds locks is resumed, whether somebody waits for that or not.
void reconnect::nobody_waits(commands& out)
{
    if (!std::exchange(wanted_, false)) {
        return;
    }
    out.push_back({kind::stop_deadline});
    if (!was_connected_) {
        give_up(errc::not_connected, out);
    }
}

void reconnect::deadline_due(commands& out)
{
    if (holds<ending>()) {
        out.push_back({.type = kind::note,
                       .text = "the server did not confirm the end of the session in time"});
        abandon_close(out);
    } else if (wanted_) {
        if (!last_failure_.error) {
            last_failure_ = {errc::connect_timeout,
                             "hosts " + settings_.hosts + ": no answer in time"};
        }
        out.push_back({.type = kind::note, .text = last_failure_.detail});
        if (!was_connected_) {
            out.push_back(
                {.type = kind::log_error, .text = "giving up to connect: " + last_failure_.detail});
            give_up(last_failure_.error, out);
        } else {
            wanted_ = false;
            out.push_back({.type = kind::answer, .error = last_failure_.error});
        }
    }
}

void reconnect::close(const error_code& why, commands& out)
{
    if (is_closing()) {
        return;
    }
    out.push_back({.type = kind::closing, .error = why});
    wanted_ = false;
    if (auto* connected_at = std::get_if<online>(&stage_)) {
        auto from = std::move(*connected_at);
        stage_ = ending{std::move(from)};
        out.push_back({.type = kind::start_deadline, .time = settings_.close_timeout});
    } else {
        out.push_back({kind::take_leave});
        finish(session_ != 0 ? error_code{errc::disconnected} : error_code{}, out);
    }
}

// An end that is sent while answers are outstanding is carried out just as well, but nobody could tell its confirmation
// from theirs.
void reconnect::quiet(commands& out)
{
    auto* at = std::get_if<ending>(&stage_);
    if (at && !std::exchange(at->sent, true)) {
        out.push_back({kind::end_session});
    } else if (is_leaving()) {
        out.push_back({kind::break_off});
    }
}

void reconnect::ended(bool confirmed, commands& out)
{
    if (holds<ending>()) {
        finish(confirmed ? error_code{} : errc::disconnected, out);
    }
}

void reconnect::abandon_close(commands& out)
{
    if (holds<ending>()) {
        out.push_back({kind::take_leave});
        finish(errc::disconnected, out);
    }
}

void reconnect::finish(const error_code& ec, commands& out)
{
    session_ = 0;
    old_.forget();
    stage_ = over{};
    out.push_back({.type = kind::closed, .error = ec});
}

// The rest of a pass belongs to the former list. An attempt goes on, for its server may be in both.
void reconnect::hosts_changed(std::string hosts, commands& out)
{
    settings_.hosts = std::move(hosts);
    if (is_idle() || is_closing()) {
        out.push_back({.type = kind::hosts_in_use,
                       .error = is_idle() ? error_code{} : error_code{errc::client_closed}});
        return;
    }
    place_ = place::unknown;
    timed_out_ = {};
    std::visit(
        [](auto& at) {
            if constexpr (requires { at.rest; }) {
                at.rest.untried.clear();
            }
        },
        stage_);
    if (is_looking_up()) {
        out.push_back({kind::look_up});
    }
}

// ---- the end of a session

void reconnect::expire(commands& out)
{
    if (session_ == 0) {
        return;
    }
    session_ = 0;
    old_.forget();
    out.push_back({kind::expired});
}

// Nothing is known yet of a session but this client.
void reconnect::give_up(const error_code& ec, commands& out)
{
    session_ = 0;
    old_.forget();
    was_connected_ = false;
    wanted_ = false;
    place_ = place::listed;
    stage_ = idle{};
    out.push_back({.type = kind::given_up, .error = ec});
}

} // namespace colock::protocol::session
