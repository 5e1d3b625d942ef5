// What clients ask for.
#include "frames.hpp"
#include "types.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace colock::testing {

using simulated::opcode;
using simulated::operation;
using simulated::watch_kind;

namespace {

access_control_list list_in(jute_reader& in)
{
    access_control_list all;
    for (auto more = in.count(12); more != 0 && in.is_good(); --more) {
        acl_entry e;
        e.permissions = in.integer();
        e.scheme = in.text();
        e.id = in.text();
        all.push_back(std::move(e));
    }
    return all;
}

struct creation {
    std::string path = {};
    std::string data = {};
    access_control_list acl = {};
    create_mode mode = create_mode::persistent;
    std::chrono::milliseconds ttl{};
};

// Where there is no such mode, it has no path, and the server refuses it.
creation creation_in(jute_reader& in, std::int32_t type)
{
    creation to;
    to.path = in.text();
    to.data = in.text();
    to.acl = list_in(in);
    const auto mode = in.integer();
    if (mode >= 0 && mode <= static_cast<int>(create_mode::persistent_sequential_with_ttl)) {
        to.mode = static_cast<create_mode>(mode);
    } else {
        to.path.clear();
    }
    if (type == type::create_ttl) {
        to.ttl = std::chrono::milliseconds{in.longer()};
    }
    return to;
}

bool is_create(std::int32_t type)
{
    return type == type::create || type == type::create2 || type == type::create_container ||
           type == type::create_ttl;
}

std::optional<watch_kind> kind_in(std::int32_t number)
{
    constexpr std::array kinds{watch_kind::children, watch_kind::data, watch_kind::any,
                               watch_kind::lasting, watch_kind::recursive};
    return number >= 1 && static_cast<std::size_t>(number) <= kinds.size()
               ? std::optional{kinds[static_cast<std::size_t>(number) - 1]}
               : std::nullopt;
}

// One step of a transaction; false: a server does not know it.
bool read_step(jute_reader& in, std::int32_t type, operation& c)
{
    transaction_op op;
    if (is_create(type)) {
        auto made = creation_in(in, type);
        op.type = transaction_op::kind::create;
        op.path = std::move(made.path);
        op.data = std::move(made.data);
        op.create = {.mode = made.mode, .acl = std::move(made.acl), .ttl = made.ttl};
        c.ops.push_back(std::move(op));
        return true;
    }
    op.path = in.text();
    switch (type) {
    case type::remove: op.type = transaction_op::kind::remove; break;
    case type::check: op.type = transaction_op::kind::check; break;
    case type::set:
        op.type = transaction_op::kind::set;
        op.data = in.text();
        break;
    default: return false;
    }
    op.version = in.integer();
    c.ops.push_back(std::move(op));
    return true;
}

bool read_steps(jute_reader& in, operation& c, std::vector<std::int32_t>& types)
{
    while (in.is_good()) {
        const auto type = in.integer();
        const bool is_last = in.boolean();
        in.integer(); // an error, which requests do not have
        if (is_last) {
            return true;
        }
        if (!read_step(in, type, c)) {
            return false;
        }
        types.push_back(type);
    }
    return false;
}

operation restoring(jute_reader& in, bool lasting)
{
    auto all = std::make_shared<simulated::former_watches>();
    all->seen = in.longer();
    all->data = in.texts();
    all->absence = in.texts();
    all->children = in.texts();
    if (lasting) {
        all->lasting = in.texts();
        all->recursive = in.texts();
    }
    return {.op = opcode::restore_watches, .former = std::move(all)};
}

// What a request without a path of its own, or with something special, is about. False: no server takes it.
bool read_special(jute_reader& in, answer_shape& shape, operation& c)
{
    switch (shape.type) {
    case type::multi: c.op = opcode::multi; return read_steps(in, c, shape.steps);
    case type::set_watches: c = restoring(in, false); return true;
    case type::set_watches2: c = restoring(in, true); return true;
    case type::check_watches:
    case type::remove_watches: {
        c.op =
            shape.type == type::check_watches ? opcode::look_for_watches : opcode::forget_watches;
        c.path = in.text();
        const auto kind = kind_in(in.integer());
        c.kind = kind.value_or(watch_kind::any);
        return kind.has_value();
    }
    case type::add_watch:
        c.op = opcode::add_watch;
        c.path = in.text();
        c.kind = in.integer() == 0 ? watch_kind::lasting : watch_kind::recursive;
        return true;
    case type::who_am_i: c.op = opcode::identities; return true;
    case type::ephemerals:
        c.op = opcode::ephemerals;
        c.path = in.text();
        return true;
    default: c.op = opcode::unknown; return true;
    }
}

struct plain {
    std::int32_t type;
    opcode op;
    bool data, list, version, watch; // what comes after the path
};

constexpr std::array plain_requests{
    plain{type::remove, opcode::remove, false, false, true, false},
    plain{type::exists, opcode::exists, false, false, false, true},
    plain{type::get, opcode::get, false, false, false, true},
    plain{type::set, opcode::set, true, false, true, false},
    plain{type::get_acl, opcode::get_acl, false, false, false, false},
    plain{type::set_acl, opcode::set_acl, false, true, true, false},
    plain{type::children, opcode::children, false, false, false, true},
    plain{type::children2, opcode::children, false, false, false, true},
    plain{type::sync, opcode::sync, false, false, false, false},
    plain{type::check, opcode::check, false, false, true, false},
    plain{type::all_children_number, opcode::descendants, false, false, false, false}};

bool read_call(jute_reader& in, answer_shape& shape, operation& c)
{
    if (is_create(shape.type)) {
        auto made = creation_in(in, shape.type);
        c = {.op = opcode::create,
             .path = std::move(made.path),
             .data = std::move(made.data),
             .mode = made.mode,
             .ttl = made.ttl,
             .acl = std::move(made.acl)};
        return true;
    }
    const auto at = std::ranges::find(plain_requests, shape.type, &plain::type);
    if (at == plain_requests.end()) {
        return read_special(in, shape, c);
    }
    c.op = at->op;
    c.path = in.text();
    if (shape.type == type::sync) {
        shape.path = c.path;
    }
    if (at->data) {
        c.data = in.text();
    }
    if (at->list) {
        c.acl = list_in(in);
    }
    if (at->version) {
        c.version = in.integer();
    }
    c.watch = at->watch && in.boolean();
    return true;
}

} // namespace

std::optional<hello> hello_in(std::string_view frame)
{
    jute_reader in{frame};
    hello h;
    in.integer(); // the version of the protocol: there is one
    in.longer();  // the last transaction that it has seen: a server in memory knows no older ones
    h.request.timeout = std::chrono::milliseconds{in.integer()};
    h.request.session.id = in.longer();
    const auto password = in.text();
    std::copy_n(password.begin(), std::min(password.size(), h.request.session.password.size()),
                h.request.session.password.begin());
    if (!in.is_good()) {
        return std::nullopt;
    }
    h.asks_for_reading = in.left() != 0;
    return h;
}

std::optional<asked> asked_in(std::string_view frame)
{
    jute_reader in{frame};
    asked a;
    a.shape.number = in.integer();
    a.shape.type = in.integer();
    if (!in.is_good()) {
        return std::nullopt;
    }
    if (a.shape.type == type::ping) {
        a.what = simulated::ping_request{};
    } else if (a.shape.type == type::close) {
        a.what = simulated::close_request{};
    } else if (a.shape.type == type::auth) {
        in.integer(); // of no meaning
        simulated::auth_request said;
        said.credential.scheme = in.text();
        said.credential.secret = in.text();
        a.what = std::move(said);
    } else {
        simulated::request r;
        r.number = a.shape.number;
        if (!read_call(in, a.shape, r.call)) {
            return std::nullopt;
        }
        a.what = std::move(r);
    }
    return in.is_good() ? std::optional{std::move(a)} : std::nullopt;
}

} // namespace colock::testing
