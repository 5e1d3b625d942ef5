#include "queue/contender.hpp"

#include "queue/making_directory.hpp"

namespace colock::protocol {

// To the present stage, if the input means anything to it.
template <class Input>
void contender::dispatch(Input&& input)
{
    auto next = std::visit(
        [&](auto& present) -> queue::transition {
            if constexpr (requires { input(present); }) {
                return input(present);
            } else {
                return queue::stay();
            }
        },
        stage_);
    if (next) {
        stage_ = std::move(*next);
    }
}

// ---- the caller

void contender::join(bool connected, std::int64_t session, commands& out)
{
    context_.connected = connected;
    context_.session = session;
    stage_ = connected ? queue::joining::begin(context_, out) : queue::joining::offline();
}

void contender::try_join(bool connected, std::int64_t session, commands& out)
{
    context_.try_only = true;
    join(connected, session, out);
}

void contender::leave(commands& out)
{
    dispatch([&](auto& s) -> decltype(s.leave(context_, out)) { return s.leave(context_, out); });
}

void contender::step_down(commands& out)
{
    dispatch([&](queue::holding& s) { return s.step_down(context_, out); });
}

void contender::watch_own_node(commands& out)
{
    dispatch([&](queue::holding& s) { return s.watch_own_node(context_, out); });
}

std::optional<remote_contention> contender::look_around(commands& out)
{
    auto& newcomers = context_.newcomers;
    if (!holds() || !context_.connected) {
        return std::nullopt; // the client asks again after the reconnection
    }
    if (newcomers) {
        const auto known = contention();
        const bool asked = known == remote_contention::unknown; // the answer is on its way
        return asked ? std::nullopt : std::optional{known};
    }
    newcomers.ask();
    out.push_back({command::kind::watch_newcomers});
    return std::nullopt;
}

void contender::proved(commands& out)
{
    dispatch([&](queue::waiting& s) { return s.proved(context_, out); });
}

// ---- the connection

void contender::connected(std::int64_t session, commands& out)
{
    context_.connected = true;
    context_.session = session;
    dispatch([&](auto& s) -> decltype(s.connected(context_, out)) {
        return s.connected(context_, out);
    });
}

void contender::suspended()
{
    context_.connected = false;
    context_.listings.forget();
    context_.newcomers.suspended();
    std::visit([](auto& s) { s.suspended(); }, stage_);
}

void contender::expired(commands& out)
{
    suspended();
    context_.newcomers.expired();
    dispatch(
        [&](auto& s) -> decltype(s.expired(context_, out)) { return s.expired(context_, out); });
}

// ---- answers

void contender::directory_made(std::span<const error_code> of_each, commands& out)
{
    const auto ec = outcome_of_making(of_each);
    dispatch([&](queue::joining& s) { return s.directory_made(context_, ec, out); });
}

void contender::created(const error_code& ec, std::string_view name, node_identity identity,
                        commands& out)
{
    dispatch([&](queue::joining& s) { return s.created(context_, ec, name, identity, out); });
}

void contender::listed(const error_code& ec, const listing& l, commands& out)
{
    if (l.watched) {
        context_.newcomers.answered(!ec, l.is_alone(context_.options.layout));
    }
    context_.listings.answered();
    dispatch([&](auto& s) -> decltype(s.listed(context_, ec, l, out)) {
        return s.listed(context_, ec, l, out);
    });
}

std::optional<remote_contention> contender::newcomers_watched(const error_code& ec,
                                                              const listing& l)
{
    context_.newcomers.answered(!ec, l.is_alone(context_.options.layout));
    if (outcome_unknown(ec)) {
        return std::nullopt;
    }
    // Where the directory cannot be watched, remote contenders may come unseen.
    return ec ? remote_contention::some : contention();
}

remote_contention contender::newcomer()
{
    context_.newcomers.fired();
    return contention();
}

void contender::watched(std::string_view name, const error_code& ec, node_identity identity,
                        commands& out)
{
    dispatch([&](auto& s) -> decltype(s.watched(context_, name, ec, identity, out)) {
        return s.watched(context_, name, ec, identity, out);
    });
}

void contender::fired(std::string_view name, bool deleted, commands& out)
{
    dispatch([&](auto& s) -> decltype(s.fired(context_, name, deleted, out)) {
        return s.fired(context_, name, deleted, out);
    });
}

void contender::directory_read(bool replaceable)
{
    if (auto* const waiting = std::get_if<queue::waiting>(&stage_)) {
        waiting->directory_read(replaceable);
    }
}

void contender::removed(const error_code& ec, commands& out)
{
    dispatch([&](auto& s) -> decltype(s.removed(context_, ec, out)) {
        return s.removed(context_, ec, out);
    });
}

void contender::stepped_down(const error_code& ec, commands& out)
{
    dispatch([&](queue::holding& s) { return s.stepped_down(context_, ec, out); });
}

// ---- questions

bool contender::holds() const noexcept
{
    const auto* const held = std::get_if<queue::holding>(&stage_);
    return held != nullptr && held->is_held();
}

bool contender::is_next() const noexcept
{
    const auto* const waiting = std::get_if<queue::waiting>(&stage_);
    return waiting != nullptr && waiting->is_next();
}

blocked_by contender::blockers() const noexcept
{
    if (const auto* const joining = std::get_if<queue::joining>(&stage_)) {
        return {.stands_by = joining->stands_by()};
    }
    const auto* const waiting = std::get_if<queue::waiting>(&stage_);
    if (waiting == nullptr || !waiting->before().count()) {
        return {};
    }
    const auto& before = waiting->before();
    blocked_by known{.count = before.count(), .all_watched = before.count() == before.in_sight()};
    // The only writer before a reader may wait itself.
    if (before.count() != 0 && known.all_watched && !context_.is_reader) {
        known.holder = before.foremost_in_sight().name();
    }
    return known;
}

bool contender::is_late() const noexcept
{
    const auto* const me = place();
    return me != nullptr && me->is_late();
}

std::string_view contender::name() const noexcept
{
    const auto* const me = place();
    return me != nullptr ? std::string_view{me->name} : std::string_view{};
}

node_name contender::node() const noexcept
{
    const auto* const me = place();
    return me != nullptr ? me->name : node_name{};
}

remote_contention contender::contention() const noexcept
{
    if (is_late()) {
        return remote_contention::some; // who makes way has no node in the queue
    }
    const auto* const me = place();
    return context_.newcomers.contention(me != nullptr && me->met_others);
}

node_identity contender::identity() const noexcept
{
    const auto* const me = place();
    return me != nullptr ? me->identity.value_or(node_identity{}) : node_identity{};
}

const queue::place* contender::place() const noexcept
{
    return std::visit(
        []<class Stage>(const Stage& s) -> const queue::place* {
            if constexpr (requires { s.me(); }) {
                return &s.me();
            } else {
                return nullptr;
            }
        },
        stage_);
}

} // namespace colock::protocol
