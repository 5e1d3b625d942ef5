#include "zk/c_client.hpp"

#include "zk/connection.hpp"
#include "zk/recycled.hpp"

#include <boost/container/small_vector.hpp>

#include <zookeeper/zookeeper.h>

#include <dlfcn.h>
#include <string.h> // explicit_bzero

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>

extern "C" __attribute__((weak)) void zoo_create(); // of the multi-threaded library alone

namespace colock::zk {

namespace {

zhandle_t* raw(void* native) noexcept
{
    return static_cast<zhandle_t*>(native);
}

// What a server answers that has ended the session a moment ago. The C client has no name for it.
constexpr int unknown_session = -12;

error_code to_error(int rc) noexcept
{
    if (rc == unknown_session) {
        rc = ZSESSIONEXPIRED;
    }
    return rc == ZOK ? error_code{} : error_code{rc, zookeeper_category()};
}

node_stat to_stat(const Stat* s) noexcept
{
    if (s == nullptr) {
        return {};
    }
    // Milliseconds that a clock with nanoseconds can tell, whatever a server says.
    const auto time = [](std::int64_t told) {
        return std::clamp(told, std::int64_t{0}, std::int64_t{9'000'000'000'000});
    };
    return {s->czxid,    s->mzxid,          time(s->ctime), time(s->mtime), s->version, s->cversion,
            s->aversion, s->ephemeralOwner, s->dataLength,  s->numChildren, s->pzxid};
}

void finish(const void* data, reply&& r) noexcept
{
    static_cast<receiver*>(const_cast<void*>(data))->answered(std::move(r));
}

// The C client borrows an access control list while it serialises a request.
class borrowed_acl {
public:
    explicit borrowed_acl(const access_control_list& acl)
    {
        entries_.reserve(acl.size());
        for (const auto& entry : acl) {
            entries_.push_back(
                {entry.permissions,
                 {const_cast<char*>(entry.scheme.c_str()), const_cast<char*>(entry.id.c_str())}});
        }
        vector_.count = static_cast<std::int32_t>(entries_.size());
        vector_.data = entries_.data();
    }
    borrowed_acl(const borrowed_acl&) = delete;
    borrowed_acl& operator=(const borrowed_acl&) = delete;

    [[nodiscard]] const ACL_vector* get() const noexcept { return &vector_; }
    [[nodiscard]] ACL_vector* get() noexcept { return &vector_; }

private:
    boost::container::small_vector<ACL, 4> entries_;
    ACL_vector vector_{};
};

// The C client writes the results of a transaction into buffers that have to live until it completes. Most transactions
// have two steps.
struct pending_multi : detail::recycled {
    struct step {
        transaction_op::kind type = transaction_op::kind::check;
        std::string path = {}; // of what a create has made
        Stat stat = {};
    };
    explicit pending_multi(std::size_t size, receiver& told) : results(size), steps(size), to{told}
    {
    }

    boost::container::small_vector<zoo_op_result_t, 2> results;
    boost::container::small_vector<step, 2> steps; // which do not move any more
    receiver& to;
};

extern "C" {

static void on_session_or_watch(zhandle_t*, int type, int /*state*/, const char* path,
                                void* context) noexcept
{
    // Session events are not used: not every loss of the connection has one. The state is read after
    // each call instead.
    if (type != ZOO_SESSION_EVENT && path != nullptr && type >= 1 && type <= 4) {
        static_cast<watch_receiver*>(context)->watch_fired(
            {static_cast<watch_event_type>(type), std::string{path}});
    }
}

static void on_void(int rc, const void* data) noexcept
{
    finish(data, {.error = to_error(rc)});
}

static void on_create(int rc, const char* path, const Stat* stat, const void* data) noexcept
{
    finish(data, {.error = to_error(rc),
                  .text = rc == ZOK && path != nullptr ? path : "",
                  .stat = rc == ZOK ? to_stat(stat) : node_stat{}});
}

static void on_stat(int rc, const Stat* stat, const void* data) noexcept
{
    finish(data, {.error = to_error(rc), .stat = rc == ZOK ? to_stat(stat) : node_stat{}});
}

static void on_data(int rc, const char* value, int length, const Stat* stat,
                    const void* data) noexcept
{
    reply r{.error = to_error(rc)};
    if (rc == ZOK) {
        if (value != nullptr && length > 0) {
            r.text.assign(value, static_cast<std::size_t>(length));
        }
        r.stat = to_stat(stat);
    }
    finish(data, std::move(r));
}

static void on_children(int rc, const String_vector* names, const Stat* stat,
                        const void* data) noexcept
{
    reply r{.error = to_error(rc)};
    if (rc == ZOK && names != nullptr) {
        r.names.assign(names->data, names->data + names->count);
        r.stat = to_stat(stat);
    }
    finish(data, std::move(r));
}

static void on_acl(int rc, ACL_vector* acl, Stat* stat, const void* data) noexcept
{
    reply r{.error = to_error(rc)};
    if (rc == ZOK && acl != nullptr) {
        for (std::int32_t i = 0; i != acl->count; ++i) {
            const auto& entry = acl->data[i];
            r.acl.push_back({entry.perms, entry.id.scheme, entry.id.id});
        }
        r.stat = to_stat(stat);
    }
    finish(data, std::move(r));
}

static void on_string(int rc, const char*, const void* data) noexcept
{
    on_void(rc, data);
}

static void on_multi(int rc, const void* data) noexcept
{
    std::unique_ptr<pending_multi> multi{static_cast<pending_multi*>(const_cast<void*>(data))};
    reply r{.error = to_error(rc)};
    // Without an answer of the server there is nothing to tell of the steps.
    const std::size_t steps = outcome_unknown(r.error) ? 0 : multi->results.size();
    r.results.reserve(steps);
    for (std::size_t i = 0; i != steps; ++i) {
        transaction_result result{to_error(multi->results[i].err), {}, {}};
        if (rc == ZOK) {
            auto& step = multi->steps[i];
            if (step.type == transaction_op::kind::create) {
                step.path.resize(std::strlen(step.path.c_str())); // it ends before the buffer does
                result.path = std::move(step.path);
            }
            result.stat = to_stat(&step.stat);
        }
        r.results.push_back(std::move(result));
    }
    multi->to.answered(std::move(r));
}

} // extern "C"

// The number of digits that a sequential mode appends, with the sign of an overflowed one and the NUL.
constexpr std::size_t sequence_room = 16;

int send_multi(zhandle_t* zh, const call& c, receiver& to)
{
    auto multi = std::make_unique<pending_multi>(c.ops.size(), to);
    boost::container::small_vector<zoo_op_t, 2> ops(c.ops.size());
    const borrowed_acl acl_of_call{c.acl};
    std::list<borrowed_acl> own_acls;
    for (std::size_t i = 0; i != c.ops.size(); ++i) {
        const auto& op = c.ops[i];
        auto& step = multi->steps[i];
        step.type = op.type;
        switch (op.type) {
        case transaction_op::kind::check:
            zoo_check_op_init(&ops[i], op.path.c_str(), op.version);
            break;
        case transaction_op::kind::create:
            step.path.resize(op.path.size() + sequence_room);
            zoo_create_op_init(
                &ops[i], op.path.c_str(), op.data.data(), static_cast<int>(op.data.size()),
                op.create.acl ? own_acls.emplace_back(*op.create.acl).get() : acl_of_call.get(),
                static_cast<int>(op.create.mode), step.path.data(),
                static_cast<int>(step.path.size()));
            break;
        case transaction_op::kind::set:
            zoo_set_op_init(&ops[i], op.path.c_str(), op.data.data(),
                            static_cast<int>(op.data.size()), op.version, &step.stat);
            break;
        case transaction_op::kind::remove:
            zoo_delete_op_init(&ops[i], op.path.c_str(), op.version);
            break;
        }
    }
    const int rc = zoo_amulti(zh, static_cast<int>(ops.size()), ops.data(), multi->results.data(),
                              &on_multi, multi.get());
    if (rc == ZOK) {
        static_cast<void>(multi.release()); // on_multi's now
    }
    return rc;
}

int send_create(zhandle_t* zh, const call& c, const void* data)
{
    const borrowed_acl acl{c.acl};
    const int length = static_cast<int>(c.data.size());
    const int mode = static_cast<int>(c.mode);
    if (has_ttl(c.mode)) {
        return zoo_acreate2_ttl(zh, c.path.c_str(), c.data.data(), length, acl.get(), mode,
                                c.ttl.count(), &on_create, data);
    }
    return zoo_acreate2(zh, c.path.c_str(), c.data.data(), length, acl.get(), mode, &on_create,
                        data);
}

int send_acl(zhandle_t* zh, const call& c, const void* data)
{
    borrowed_acl acl{c.acl};
    return zoo_aset_acl(zh, c.path.c_str(), c.version, acl.get(), &on_void, data);
}

int add_auth(zhandle_t* zh, const credential& c)
{
    return zoo_add_auth(zh, c.scheme.c_str(), c.secret.data(), static_cast<int>(c.secret.size()),
                        nullptr, nullptr);
}

ZooWatcherType watcher_type(watch_kind kind) noexcept
{
    return kind == watch_kind::data ? ZWATCHTYPE_DATA : ZWATCHTYPE_CHILD;
}

} // namespace

bool calls_multi_threaded_client() noexcept
{
    Dl_info its{}, called{};
    return zoo_create != nullptr && ::dladdr(reinterpret_cast<void*>(&zoo_create), &its) != 0 &&
           ::dladdr(reinterpret_cast<void*>(&zookeeper_init2), &called) != 0 &&
           its.dli_fbase == called.dli_fbase;
}

c_client::c_client(const std::string& hosts, std::chrono::milliseconds session_timeout,
                   const session_identity& session, const std::vector<credential>& credentials,
                   watch_receiver& watches)
{
    // The C client logs through static buffers, which threads with other handles would share.
    static std::once_flag silenced;
    std::call_once(silenced, [] { zoo_set_debug_level(static_cast<ZooLogLevel>(0)); });

    clientid_t id{};
    id.client_id = session.id;
    std::memcpy(id.passwd, session.password.data(), session.password.size());
    auto* zh = zookeeper_init2(
        hosts.c_str(), &on_session_or_watch, static_cast<int>(session_timeout.count()),
        session.id != 0 ? &id : nullptr, &watches, ZOO_NO_LOG_CLIENTENV, nullptr);
    ::explicit_bzero(&id, sizeof id);
    native_ = reinterpret_cast<native*>(zh);
    if (zh == nullptr) {
        return;
    }
    zoo_set_servers_resolution_delay(zh, -1);
    // Before anything is queued: it goes to the front, and would cut a half-sent request in two.
    for (const auto& c : credentials) {
        add_auth(zh, c);
    }
}

c_client::~c_client()
{
    if (native_ != nullptr) {
        zookeeper_close(raw(native_));
    }
}

c_client::status c_client::state() const noexcept
{
    const int state = zoo_state(raw(native_));
    return state == ZOO_CONNECTED_STATE         ? status::connected
           : state == ZOO_CONNECTING_STATE      ? status::connecting
           : state == ZOO_ASSOCIATING_STATE     ? status::associating
           : state == ZOO_EXPIRED_SESSION_STATE ? status::expired
           : state == ZOO_AUTH_FAILED_STATE     ? status::auth_failed
                                                : status::not_connected;
}

error_code c_client::look_what_next(interest& next)
{
    int events = 0;
    timeval timeout{};
    const int rc = zookeeper_interest(raw(native_), &next.descriptor, &events, &timeout);
    next.read = (events & ZOOKEEPER_READ) != 0;
    next.write = (events & ZOOKEEPER_WRITE) != 0;
    next.timeout =
        std::chrono::seconds{timeout.tv_sec} + std::chrono::microseconds{timeout.tv_usec};
    return to_error(rc);
}

error_code c_client::read()
{
    return to_error(zookeeper_process(raw(native_), ZOOKEEPER_READ));
}

void c_client::write()
{
    zookeeper_process(raw(native_), ZOOKEEPER_WRITE);
}

void c_client::write_anything() noexcept
{
    static_cast<void>(zoo_aexists(
        raw(native_), "/", 0, [](int, const Stat*, const void*) noexcept {}, nullptr));
}

// As above: it goes to the front of what waits to be written.
bool c_client::authenticate(const credential& c)
{
    return add_auth(raw(native_), c) == ZOK;
}

error_code c_client::send(const call& c, receiver& to)
{
    auto* zh = raw(native_);
    // The C client frees garbage when it is given a transaction in this state.
    if (is_unrecoverable(zh) != 0) {
        return zookeeper_errc::invalid_state;
    }
    const char* path = c.path.c_str();
    const int length = static_cast<int>(c.data.size());
    const auto watcher = c.watch ? &on_session_or_watch : nullptr;
    void* context = c.watch ? const_cast<void*>(zoo_get_context(zh)) : nullptr;
    int rc = ZUNIMPLEMENTED;
    switch (c.op) {
    case opcode::create: rc = send_create(zh, c, &to); break;
    case opcode::remove: rc = zoo_adelete(zh, path, c.version, &on_void, &to); break;
    case opcode::exists: rc = zoo_awexists(zh, path, watcher, context, &on_stat, &to); break;
    case opcode::get: rc = zoo_awget(zh, path, watcher, context, &on_data, &to); break;
    case opcode::set:
        rc = zoo_aset(zh, path, c.data.data(), length, c.version, &on_stat, &to);
        break;
    case opcode::children:
        rc = zoo_awget_children2(zh, path, watcher, context, &on_children, &to);
        break;
    case opcode::sync: rc = zoo_async(zh, path, &on_string, &to); break;
    case opcode::multi: rc = send_multi(zh, c, to); break;
    case opcode::get_acl: rc = zoo_aget_acl(zh, path, &on_acl, &to); break;
    case opcode::set_acl: rc = send_acl(zh, c, &to); break;
    case opcode::forget_watches:
        // The parameter is declared as a pointer to the function, and used as the function.
        rc = zoo_aremove_all_watches(zh, path, watcher_type(c.kind), 0,
                                     reinterpret_cast<void_completion_t*>(&on_void), &to);
        break;
    }
    return to_error(rc);
}

// The C client takes a number before it looks at what it is given.
void c_client::skip_numbers(std::int32_t count) noexcept
{
    for (; count > 0; --count) {
        static_cast<void>(zoo_awget(nullptr, "", nullptr, nullptr, &on_data, nullptr));
    }
}

session_identity c_client::session() const noexcept
{
    session_identity identity;
    if (const clientid_t* id = zoo_client_id(raw(native_)); id != nullptr) {
        identity.id = id->client_id;
        std::memcpy(identity.password.data(), id->passwd, identity.password.size());
    }
    return identity;
}

std::chrono::milliseconds c_client::session_timeout() const noexcept
{
    return std::chrono::milliseconds{zoo_recv_timeout(raw(native_))};
}

} // namespace colock::zk
