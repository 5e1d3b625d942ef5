#include "history.hpp"

#include <colock/error.hpp>

#include <cstdio>
#include <ostream>
#include <sstream>
#include <utility>
#include <variant>

namespace colock::simulated {

namespace {

constexpr std::string_view name_of(opcode op)
{
    switch (op) {
    case opcode::create: return "create";
    case opcode::remove: return "delete";
    case opcode::exists: return "exists";
    case opcode::get: return "get";
    case opcode::set: return "set";
    case opcode::children: return "list";
    case opcode::sync: return "sync";
    case opcode::multi: return "transaction";
    case opcode::forget_watches: return "remove watch";
    case opcode::get_acl: return "get ACL";
    case opcode::set_acl: return "set ACL";
    default: return "request";
    }
}

std::string hexadecimal(std::int64_t session)
{
    std::ostringstream text;
    text << "0x" << std::hex << session;
    return text.str();
}

std::string said(const request& r)
{
    std::string text{name_of(r.call.op)};
    text += r.call.path.empty() ? "" : " " + r.call.path;
    for (const auto& step : r.call.ops) {
        text += " " + step.path;
    }
    return text + (r.call.watch ? ", watch" : "");
}

std::string said(const reply& r)
{
    if (r.body.error) {
        const auto ec = make_error_code(static_cast<zookeeper_errc>(r.body.error.value()));
        return "answer: " + ec.message();
    }
    return "answer" + (r.body.text.empty() || r.body.text.front() != '/' ? "" : " " + r.body.text);
}

std::string said(const event& e)
{
    switch (e.what.type) {
    case watch_event_type::created: return "event: created " + e.what.path;
    case watch_event_type::deleted: return "event: deleted " + e.what.path;
    case watch_event_type::changed: return "event: changed " + e.what.path;
    default: return "event: children of " + e.what.path;
    }
}

std::string said(const connect_request& c)
{
    return c.session.id == 0 ? "new session" : "resume session " + hexadecimal(c.session.id);
}

std::string said(const connect_reply& c)
{
    return c.session.id == 0 ? "session expired"
                             : "session " + hexadecimal(c.session.id) + ", " +
                                   std::to_string(c.timeout.count()) + " ms";
}

std::string said(const auth_request&)
{
    return "credential";
}

std::string said(const auth_reply& a)
{
    return a.error ? "credential refused" : "credential accepted";
}

std::string said(const close_request&)
{
    return "end session";
}

std::string said(const close_reply&)
{
    return "session ended";
}

// Not for people.
std::string said(const ping_request&)
{
    return {};
}

std::string said(const ping_reply&)
{
    return {};
}

std::string said(const std::shared_ptr<const peer_message>&)
{
    return {};
}

} // namespace

void history::mix(std::uint64_t value) noexcept
{
    hash_ = (hash_ ^ value) * 0x100000001b3u;
    hash_ ^= hash_ >> 29;
}

void history::mix(std::string_view text) noexcept
{
    for (const char c : text) {
        hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    }
    mix(text.size());
}

void history::note(instant when, std::string_view who, std::string_view what)
{
    mix(static_cast<std::uint64_t>(when.count()));
    mix(who);
    mix(what);
    keep(when, std::string{who}, std::string{what});
}

void history::sent(instant when, const stream& by, const message& m)
{
    mix(static_cast<std::uint64_t>(when.count()));
    mix(by.here().number() << 16 | by.there().number());
    mix(m.index());
    auto text = std::visit([](const auto& each) { return said(each); }, m);
    if (!text.empty()) {
        mix(text);
        keep(when, by.here().name() + " -> " + by.there().name(), std::move(text));
    }
}

void history::keep(instant when, std::string who, std::string what)
{
    if (most_ == 0) {
        return;
    }
    if (lines_.size() == most_) {
        lines_.pop_front();
    }
    lines_.push_back({when, std::move(who), std::move(what)});
}

void history::print(std::ostream& to, instant began) const
{
    for (const auto& each : lines_) {
        char when[32];
        std::snprintf(when, sizeof when, "%12.6f",
                      static_cast<double>((each.when - began).count()) / 1e9);
        to << when << "  " << each.who;
        for (auto i = each.who.size(); i < 24; ++i) {
            to << ' ';
        }
        to << "  " << each.what << '\n';
    }
}

} // namespace colock::simulated
