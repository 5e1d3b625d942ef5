#include "frame.hpp"

#include "jute.hpp"

#include <stdexcept>
#include <utility>

namespace colock::test {

namespace {

// Far above what a server takes (1 MB, unless configured otherwise), far below what the letters of
// an administrative command make when they are read as a length.
constexpr std::int32_t largest_frame = 256 << 20;

// Replies to these have numbers of their own instead of their request's.
std::optional<opcode> kind_of_special(std::int32_t xid)
{
    switch (xid) {
    case -1: return opcode::notification;
    case -2: return opcode::ping;
    case -4: return opcode::auth;
    case -8: return opcode::set_watches;
    default: return std::nullopt;
    }
}

std::string path_of_request(opcode kind, jute_reader& in)
{
    switch (kind) {
    case opcode::multi:
        in.skip(4 + 1 + 4); // the header of the first operation: kind, done, error
        return std::string(in.text());
    case opcode::create:
    case opcode::remove:
    case opcode::exists:
    case opcode::get_data:
    case opcode::set_data:
    case opcode::get_acl:
    case opcode::set_acl:
    case opcode::get_children:
    case opcode::sync:
    case opcode::get_children2:
    case opcode::check:
    case opcode::create2:
    case opcode::check_watches:
    case opcode::remove_watches:
    case opcode::create_container:
    case opcode::create_ttl:
    case opcode::get_ephemerals:
    case opcode::add_watch: return std::string(in.text());
    default: return {};
    }
}

} // namespace

std::optional<std::size_t> frame_size(std::string_view bytes)
{
    auto const size = jute_reader(bytes).integer();
    if (size < 0 || size > largest_frame)
        return std::nullopt;
    return frame_header + static_cast<std::size_t>(size);
}

frame frame_parser::request(std::string_view bytes, bool opening)
{
    frame f;
    if (opening) {
        f.kind = opcode::connect;
        return f;
    }
    try {
        jute_reader in(bytes.substr(frame_header));
        f.xid = in.integer();
        auto const kind = static_cast<opcode>(in.integer());
        f.path = path_of_request(kind, in);
        f.kind = kind;
        if (!kind_of_special(f.xid))
            unanswered_[f.xid] = {kind, f.path};
    } catch (std::runtime_error const&) {
        f.kind.reset();
    }
    return f;
}

frame frame_parser::reply(std::string_view bytes, bool opening)
{
    frame f;
    try {
        jute_reader in(bytes.substr(frame_header));
        if (opening) {
            in.integer(); // protocol version
            f.session.timeout = std::chrono::milliseconds(in.integer());
            f.session.id = in.longer();
            f.session.password = in.text();
            if (f.session.timeout.count() <= 0) // "expired"
                f.session.id = 0;
            f.kind = opcode::connect;
            return f;
        }
        f.xid = in.integer();
        in.longer(); // zxid
        f.error = in.integer();
        f.kind = kind_of_special(f.xid);
        if (f.kind == opcode::notification) {
            in.skip(4 + 4); // event, state
            f.path = in.text();
        } else if (!f.kind) {
            if (auto const found = unanswered_.extract(f.xid)) {
                f.kind = found.mapped().kind;
                f.path = std::move(found.mapped().path);
            }
        }
    } catch (std::runtime_error const&) {
        f.kind.reset();
    }
    return f;
}

} // namespace colock::test
