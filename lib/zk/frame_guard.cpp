#include "zk/frame_guard.hpp"

#include "names/path_text.hpp"
#include "zk/frame_fields.hpp"

#include <cassert>
#include <limits>
#include <utility>

namespace colock::zk {

namespace {

constexpr const char* not_zookeepers = "an answer to the handshake that is not ZooKeeper's";
constexpr const char* another_path = "another path than the request's";
constexpr std::size_t stat_size = 8 * 4 + 4 * 3 + 8 + 4 * 2 + 8;

// Numbers of replies that no request has.
constexpr std::int32_t event_xid = -1;
constexpr std::int32_t ping_xid = -2;
constexpr std::int32_t auth_xid = -4;
constexpr std::int32_t set_watches_xid = -8;

constexpr auto runtime_inconsistency =
    static_cast<std::int32_t>(zookeeper_errc::runtime_inconsistency);

// Types of a transaction's results.
constexpr std::int32_t error_result = -1;

bool is_of_no_request(std::int32_t error) noexcept
{
    switch (static_cast<zookeeper_errc>(error)) {
    // By these the C client tells of a connection that is gone. From a server they would be taken for that.
    case zookeeper_errc::connection_loss:
    case zookeeper_errc::operation_timeout:
    case zookeeper_errc::closing:
    // Of credentials, which have replies of their own. In answer to a request it would be taken for the end of a session.
    case zookeeper_errc::auth_failed: return true;
    default: return false;
    }
}

const char* fault_of_names(frame_fields& in, bool& excessive) noexcept
{
    const auto count = in.integer();
    // Each has at least its length.
    if (count < 0 || static_cast<std::size_t>(count) > in.left() / 4) {
        return "a list that counts more names than it has";
    }
    excessive = count > frame_guard::most_names;
    if (excessive) {
        return nullptr;
    }
    for (std::int32_t i = 0; i != count; ++i) {
        if (!detail::is_node_name(in.counted())) {
            return "a list with a name that cannot be one";
        }
    }
    return nullptr;
}

const char* fault_of_acl(frame_fields& in, bool& excessive) noexcept
{
    constexpr std::size_t least = std::size_t{3} * 4; // the permissions, and two lengths
    const auto count = in.integer();
    if (count < 0 || static_cast<std::size_t>(count) > in.left() / least) {
        return "an access control list that counts more entries than it has";
    }
    excessive = count > frame_guard::most_acl_entries;
    if (excessive) {
        return nullptr;
    }
    for (std::int32_t i = 0; i != count; ++i) {
        static_cast<void>(in.integer()); // permissions
        in.counted();                    // scheme
        in.counted();                    // id
    }
    return nullptr;
}

std::int32_t type_on_the_wire(transaction_op::kind kind) noexcept
{
    switch (kind) {
    case transaction_op::kind::create: return 1;
    case transaction_op::kind::remove: return 2;
    case transaction_op::kind::set: return 5;
    case transaction_op::kind::check: return 13;
    }
    return error_result;
}

// The results of a transaction: all of them, or as many errors.
template <class Steps, class IsCreated>
const char* fault_of_results(frame_fields& in, Steps first, Steps last,
                             IsCreated is_created) noexcept
{
    bool failed = false;
    bool failure_known = false;
    for (auto step = first; step != last; ++step) {
        const auto type = in.integer();
        const bool end = in.boolean();
        const auto error = in.integer();
        if (in.cut() || end) {
            return "fewer results than the transaction has steps";
        }
        if (step != first && failed != (type == error_result)) {
            return "a transaction that is carried out in part";
        }
        if (type == error_result) {
            failed = true;
            const auto why = in.integer();
            if (is_of_no_request(why)) {
                return "an error that no server has";
            }
            failure_known = failure_known || (why != 0 && why != runtime_inconsistency);
            continue;
        }
        const auto kind = static_cast<transaction_op::kind>(step->kind);
        if (type != type_on_the_wire(kind) || error != 0) {
            return "the result of another kind of step";
        }
        if (kind == transaction_op::kind::create && !is_created(*step, in.counted())) {
            return another_path;
        }
        if (kind == transaction_op::kind::set) {
            in.bytes(stat_size);
        }
    }
    static_cast<void>(in.integer());
    const bool end = in.boolean();
    static_cast<void>(in.integer());
    if (!in.cut() && !end) {
        return "more results than the transaction has steps";
    }
    if (failed && !failure_known) {
        return "a transaction that fails without an error";
    }
    return nullptr;
}

} // namespace

frame_guard::frame_guard(std::int64_t session, std::size_t credentials, std::string chroot)
    : chroot_{chroot == "/" ? "" : std::move(chroot)}, session_{session}, credentials_{credentials}
{
}

void frame_guard::sent(const call& c)
{
    const bool says_path = c.op == opcode::create || c.op == opcode::sync;
    outstanding_.push_back({static_cast<std::uint8_t>(c.op),
                            c.op == opcode::create && is_sequential(c.mode),
                            says_path ? remember(c.path) : std::uint16_t{0},
                            static_cast<std::uint32_t>(c.ops.size())});
    for (const auto& op : c.ops) {
        const bool creates = op.type == transaction_op::kind::create;
        steps_.push_back({static_cast<std::uint8_t>(op.type),
                          creates && is_sequential(op.create.mode),
                          creates ? remember(op.path) : std::uint16_t{0}});
    }
}

std::uint16_t frame_guard::remember(std::string_view path)
{
    if (path == "/" && !chroot_.empty()) {
        path = {}; // the chroot itself
    }
    assert(path.size() <= std::numeric_limits<std::uint16_t>::max()); // it has been validated
    paths_ += path;
    return static_cast<std::uint16_t>(path.size());
}

void frame_guard::forget(std::size_t size) noexcept
{
    paths_begin_ += size;
    if (paths_begin_ >= paths_.size() / 2) { // so that each byte moves once, on average
        paths_.erase(0, std::exchange(paths_begin_, 0));
    }
}

bool frame_guard::is_path_of(std::string_view answer, std::string_view asked,
                             bool numbered) const noexcept
{
    for (const auto part : {std::string_view{chroot_}, asked}) {
        if (!answer.starts_with(part)) {
            return false;
        }
        answer.remove_prefix(part.size());
    }
    return numbered ? detail::is_appended_number(answer) : answer.empty();
}

frame_guard::verdict frame_guard::look(std::string_view bytes)
{
    if (bytes.size() < length_size) {
        return {finding::partial, length_size};
    }
    const auto length = frame_fields{bytes}.integer();
    const auto refused = [&](std::string why) {
        return verdict{finding::refused, 0, std::move(why)};
    };
    if (in_handshake_) {
        // The last byte says whether the session is read-only. Servers before 3.4 leave it out.
        constexpr auto expected = static_cast<std::int32_t>(handshake_size);
        if (length != expected && length != expected - 1) {
            return refused(std::string{not_zookeepers} + ": it has " + std::to_string(length) +
                           " bytes");
        }
    } else if (length < static_cast<std::int32_t>(header_size) ||
               (length > largest_frame && !may_be_endless(bytes))) {
        return refused("a frame of " + std::to_string(length) + " bytes");
    }
    const auto size = length_size + static_cast<std::size_t>(length);
    if (length > largest_frame) {
        constexpr auto head = length_size + header_size;
        return bytes.size() < head ? verdict{finding::partial, head}
                                   : verdict{finding::endless, size};
    }
    if (bytes.size() < size) {
        return {finding::partial, size};
    }
    const auto body = bytes.substr(length_size, size - length_size);
    excessive_ = false;
    if (auto why = in_handshake_ ? fault_of_handshake(body) : fault_of(body); !why.empty()) {
        return refused(std::move(why));
    }
    in_handshake_ = false;
    return {finding::whole, size, {}, excessive_};
}

std::string frame_guard::curtailed(std::string_view frame)
{
    constexpr std::string_view length{"\0\0\0\x10", length_size};
    constexpr std::string_view marshalling_error{"\xff\xff\xff\xfb", 4};
    static_assert(length.back() == header_size);
    auto reply = std::string{length};
    reply += frame.substr(length_size, header_size - marshalling_error.size());
    reply += marshalling_error;
    return reply;
}

std::string frame_guard::cut_off(std::string_view bytes)
{
    number_ = frame_fields{bytes.substr(length_size)}.integer();
    take_off_request();
    return curtailed(bytes);
}

// Whether it is the answer to a request whose answers have no limit, as far as that is known. Else the connection would be
// broken by it, and the next one, where it is asked for again.
bool frame_guard::may_be_endless(std::string_view bytes) const noexcept
{
    if (outstanding_.empty()) {
        return false;
    }
    const auto op = static_cast<opcode>(outstanding_.front().op);
    const auto xid = frame_fields{bytes.substr(length_size)}.integer(); // 0: it is not there yet
    return (op == opcode::children || op == opcode::get || op == opcode::get_acl) &&
           xid != event_xid && xid != ping_xid && xid != auth_xid && xid != set_watches_xid;
}

std::string frame_guard::fault_of_handshake(std::string_view body)
{
    frame_fields in{body};
    const auto version = in.integer();
    const auto timeout = in.integer();
    const auto session = in.longer();
    const auto password = in.counted();
    const bool read_only = in.left() != 0 && in.boolean();
    if (version != 0 || in.cut() || password.size() != password_size) {
        return not_zookeepers;
    }
    if (read_only) {
        return "the offer of a read-only session: it has no quorum";
    }
    if (session == 0 && timeout <= 0) {
        // How a server says that it knows no such session any more.
        return session_ != 0 ? "" : "no session";
    }
    if (session == 0 || timeout <= 0 || timeout > longest_session_timeout.count()) {
        return "session " + std::to_string(session) + " with a time-out of " +
               std::to_string(timeout) + " ms";
    }
    if (session_ != 0 && session != session_) {
        return "the session under another number";
    }
    return "";
}

std::string frame_guard::fault_of(std::string_view body)
{
    frame_fields in{body};
    const auto xid = in.integer();
    static_cast<void>(in.longer()); // zxid
    const auto error = in.integer();
    switch (xid) {
    case ping_xid: return "";
    case auth_xid:
        if (credentials_ == 0) {
            return "an answer to credentials that were not sent";
        }
        --credentials_;
        return "";
    case set_watches_xid: return "an answer about watches, which were not sent";
    case event_xid: {
        const auto type = in.integer();
        static_cast<void>(in.integer()); // state
        const auto path = in.counted();
        return !in.cut() && type >= 1 && type <= 4 && detail::is_node_path(path)
                   ? ""
                   : "an event that is cut short, or is none";
    }
    default: break;
    }
    if (outstanding_.empty()) {
        return "a reply that no request has asked for";
    }
    number_ = xid;
    const char* const why = fault_of_reply(error, body.substr(header_size));
    take_off_request();
    return why == nullptr ? "" : std::string{"a reply with "} + why;
}

void frame_guard::take_off_request()
{
    std::size_t paths = outstanding_.front().path;
    for (auto steps = outstanding_.front().steps; steps != 0; --steps) {
        paths += steps_.front().path;
        steps_.pop_front();
    }
    outstanding_.pop_front();
    forget(paths);
}

// That the reply is the one to this request, the C client sees itself, by its number, before it reads on.
const char* frame_guard::fault_of_reply(std::int32_t error, std::string_view content)
{
    if (error == runtime_inconsistency || is_of_no_request(error)) {
        return "an error that no server has";
    }
    if (error != 0) {
        return nullptr; // the C client does not look any further
    }
    frame_fields in{content};
    const char* why = nullptr;
    const auto& front = outstanding_.front();
    auto paths = std::string_view{paths_}.substr(paths_begin_);
    const auto is_about = [&](const auto& request_or_step, std::string_view path) {
        const auto asked = paths.substr(0, request_or_step.path);
        paths.remove_prefix(asked.size());
        return is_path_of(path, asked, request_or_step.numbered);
    };
    switch (static_cast<opcode>(front.op)) {
    case opcode::remove:
    case opcode::set_acl: // of whose answer the C client reads nothing
    case opcode::forget_watches: break;
    case opcode::create:
        why = is_about(front, in.counted()) ? nullptr : another_path;
        in.bytes(stat_size);
        break;
    case opcode::sync: why = is_about(front, in.counted()) ? nullptr : another_path; break;
    case opcode::exists:
    case opcode::set: in.bytes(stat_size); break;
    case opcode::get:
        in.counted(true);
        in.bytes(stat_size);
        break;
    case opcode::children:
        why = fault_of_names(in, excessive_);
        in.bytes(excessive_ ? 0 : stat_size);
        break;
    case opcode::get_acl:
        why = fault_of_acl(in, excessive_);
        in.bytes(excessive_ ? 0 : stat_size);
        break;
    case opcode::multi:
        why = fault_of_results(in, steps_.begin(), steps_.begin() + front.steps, is_about);
        break;
    }
    if (why == nullptr && in.cut()) {
        why = "less in it than belongs there";
    }
    return why;
}

} // namespace colock::zk
