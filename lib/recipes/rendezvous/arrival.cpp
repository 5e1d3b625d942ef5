#include "recipes/rendezvous/arrival.hpp"

#include "names/taken_text.hpp"

#include <algorithm>
#include <utility>

namespace colock::protocol {

namespace {

constexpr std::string_view begun = "begun";
constexpr std::string_view phase_prefix = "phase-";
constexpr std::string_view waiting_prefix = "arrival-";
constexpr std::string_view counted_prefix = "counted-";

// Ten digits at least.
std::string padded(std::uint64_t n)
{
    auto text = std::to_string(n);
    return text.size() < 10 ? std::string(10 - text.size(), '0') + text : text;
}

struct phase_name {
    std::uint64_t phase;
    std::uint64_t count;
};

std::string name_of(const phase_name& p)
{
    return std::string{phase_prefix} + padded(p.phase) + "-of-" + std::to_string(p.count);
}

// Names of others that only look alike are none: their nodes cannot be found again by the number.
std::optional<phase_name> phase_in(std::string_view name)
{
    const auto whole = name;
    if (!take(name, phase_prefix)) {
        return {};
    }
    const auto phase = take_number<std::uint64_t>(name);
    if (!phase || !take(name, "-of-")) {
        return {};
    }
    const auto count = take_number<std::uint64_t>(name);
    if (!count || !name.empty()) {
        return {};
    }
    const phase_name found{*phase, *count};
    return name_of(found) == whole ? std::optional{found} : std::nullopt;
}

bool is_arrival_of(std::string_view name, std::uint64_t phase)
{
    return (take(name, waiting_prefix) || take(name, counted_prefix)) &&
           take_number<std::uint64_t>(name) == phase && name.starts_with('-');
}

bool is_passing(const error_code& ec)
{
    return is_retryable(ec) || outcome_unknown(ec);
}

} // namespace

// What a list shows.
struct arrival::view {
    std::optional<phase_name> phase; // the highest
    bool has_begun = false;          // ever
    names arrivals;                  // in the phase
    bool waits = false;              // its own nodes
    bool is_counted = false;
};

void arrival::begin(commands& out)
{
    if (leaves_) { // it was cancelled before
        finish({kind::cancelled}, out);
    } else {
        list(out);
    }
}

void arrival::listed(const error_code& ec, const names& children, commands& out)
{
    if (at_ != at::listing) {
        return; // it was cut short
    }
    if (ec && ec != zookeeper_errc::no_node) {
        if (leaves_ && !phase_) {
            finish({kind::cancelled}, out);
        } else if (is_passing(ec)) {
            pause(out);
        } else {
            fail(ec, out); // its own node can be removed without a list
        }
        return;
    }
    view now;
    for (const auto& name : children) {
        const auto p = phase_in(name);
        if (p && (!now.phase || now.phase->phase < p->phase)) {
            now.phase = p;
        }
        now.has_begun |= name == begun;
    }
    if (now.phase) {
        std::ranges::copy_if(children, std::back_inserter(now.arrivals), [&](const auto& name) {
            return is_arrival_of(name, now.phase->phase);
        });
    }
    if (phase_) {
        now.waits =
            std::ranges::find(children, own_name(waiting_prefix, *phase_)) != children.end();
        now.is_counted =
            std::ranges::find(children, own_name(counted_prefix, *phase_)) != children.end();
    }
    if (leaves_) {
        remove_own(now, {kind::cancelled}, out);
    } else if (rules_.what == role::look) {
        finish({.type = kind::done, .phase = now.phase ? now.phase->phase : 0}, out);
    } else if (ec) {
        at_ = at::writing;
        out.push_back({kind::make_directory});
    } else if (!now.phase) {
        begin_first(now, out);
    } else {
        found(now, out);
    }
}

// Who is late to begin does not begin again.
void arrival::begin_first(const view& now, commands& out)
{
    std::vector<step> steps{{step::kind::create, name_of({0, rules_.count})}};
    if (!now.has_begun) { // else somebody has deleted the phase
        steps.push_back({step::kind::create, std::string{begun}});
    }
    write(at::writing, std::move(steps), out);
}

void arrival::found(const view& now, commands& out)
{
    const auto phase = now.phase->phase;
    if (phase_ && *phase_ > phase) {
        phase_.reset(); // somebody has deleted the directory, and it has begun anew
    }
    // One that is not there any more was counted, or has expired after all were there: there is nobody else to take its part.
    const auto mine = rules_.phase ? rules_.phase : phase_;
    const bool is_over = rules_.reusable ? mine && *mine < phase : phase > 0;
    if (is_over) {
        remove_own(now, {.type = kind::done, .phase = mine.value_or(0)}, out);
    } else if (rules_.phase && *rules_.phase > phase) {
        fail(errc::invalid_option, out, phase);
    } else if (now.phase->count != rules_.count) {
        fail(errc::conflicting_maximum, out, now.phase->count);
    } else if (rules_.what == role::wait) {
        watch(name_of(*now.phase), out);
    } else {
        take_part(now, out);
    }
}

void arrival::take_part(const view& now, commands& out)
{
    if (!now.waits && !now.is_counted) {
        phase_ = now.phase->phase;
        write(at::arriving, {{step::kind::create_ephemeral, own_name(waiting_prefix, *phase_)}},
              out);
    } else if (now.arrivals.size() >= rules_.count) {
        end_phase(now, out);
    } else if (now.is_counted) {
        finish({.type = kind::done, .phase = *phase_}, out);
    } else if (rules_.what == role::count_down) {
        write(at::writing,
              {{step::kind::remove, own_name(waiting_prefix, *phase_)},
               {step::kind::create, own_name(counted_prefix, *phase_)}},
              out);
    } else {
        watch(own_name(waiting_prefix, *phase_), out);
    }
}

void arrival::end_phase(const view& now, commands& out)
{
    std::vector<step> steps{{step::kind::remove, name_of(*now.phase)}};
    for (const auto& name : now.arrivals) {
        steps.push_back({step::kind::remove, name});
    }
    steps.push_back({step::kind::create, name_of({now.phase->phase + 1, rules_.count})});
    write(at::writing, std::move(steps), out);
}

void arrival::answered(const error_code& ec, commands& out)
{
    const auto from = at_;
    if (from == at::removing && (!ec || ec == zookeeper_errc::no_node || !is_passing(ec))) {
        if (ec && ec != zookeeper_errc::no_node && ec.category() == zookeeper_category()) {
            out.push_back({.type = kind::remains, .error = ec}); // else the session ends
        }
        finish(std::move(outcome_), out);
        return;
    }
    if (from == at::arriving && ec && ec != zookeeper_errc::node_exists && !is_passing(ec)) {
        phase_.reset(); // it has not arrived
    }
    if (leaves_ && !phase_) {
        finish({kind::cancelled}, out);
    } else if (!ec || ec == zookeeper_errc::node_exists ||
               (leaves_ && (from == at::watching || from == at::pausing))) {
        list(out);
    } else if (is_passing(ec) || ec == zookeeper_errc::no_node) {
        pause(out);
    } else {
        fail(ec, out);
    }
}

void arrival::cancel(bool at_once, commands& out)
{
    if (told_) {
        return;
    }
    const bool is_first = !std::exchange(leaves_, true);
    if (at_once || rules_.what == role::wait) { // which leaves no trace to wait for
        told_ = true;
        out.push_back({kind::cancelled});
    }
    if (is_first &&
        (at_ == at::watching || at_ == at::pausing || (at_ == at::listing && !phase_))) {
        out.push_back({kind::cut_short});
    }
}

// ---- what it asks for

void arrival::list(commands& out)
{
    at_ = at::listing;
    out.push_back({kind::list});
}

void arrival::pause(commands& out)
{
    at_ = at::pausing;
    out.push_back({kind::pause});
}

void arrival::watch(std::string name, commands& out)
{
    at_ = at::watching;
    out.push_back({.type = kind::watch, .name = std::move(name)});
}

void arrival::write(at next, std::vector<step> steps, commands& out)
{
    at_ = next;
    out.push_back({.type = kind::write, .steps = std::move(steps)});
}

// ---- the end

// One that is counted stays: it was here.
void arrival::remove_own(const view& now, command outcome, commands& out)
{
    const bool is_late = now.is_counted && now.phase && now.phase->phase > *phase_;
    if (!now.waits && !is_late) {
        finish(std::move(outcome), out);
        return;
    }
    outcome_ = std::move(outcome);
    write(at::removing,
          {{step::kind::remove, own_name(now.waits ? waiting_prefix : counted_prefix, *phase_)}},
          out);
}

void arrival::fail(const error_code& ec, commands& out, std::uint64_t phase)
{
    command why{.type = kind::failed, .phase = phase, .error = ec};
    if (!phase_) {
        finish(std::move(why), out);
        return;
    }
    outcome_ = std::move(why);
    write(at::removing, {{step::kind::remove, own_name(waiting_prefix, *phase_)}}, out);
}

void arrival::finish(command outcome, commands& out)
{
    at_ = at::gone;
    if (!std::exchange(told_, true)) {
        out.push_back(std::move(outcome));
    }
    out.push_back({kind::gone});
}

std::string arrival::own_name(std::string_view prefix, std::uint64_t phase) const
{
    auto name = std::string{prefix} + padded(phase) + "-";
    append(name, own_);
    return name;
}

std::string arrival::fingerprint() const
{
    return std::to_string(static_cast<int>(at_)) + (leaves_ ? 'l' : '-') + (told_ ? 't' : '-') +
           std::to_string(static_cast<int>(outcome_.type)) +
           (phase_ ? own_name(waiting_prefix, *phase_) : own_name({}, 0));
}

} // namespace colock::protocol
