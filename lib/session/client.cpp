#include <colock/client.hpp>
#include <colock/detail/access.hpp>

#include "names/path.hpp"
#include "session/core.hpp"
#include "session/watch_state.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

namespace colock {

namespace {

using detail::on_loss;
using core_ptr = std::shared_ptr<detail::client_core>;

namespace asio = boost::asio;

// Users know one code for an expired session.
error_code for_users(const error_code& ec)
{
    return ec == zookeeper_errc::session_expired ? error_code{errc::session_expired} : ec;
}

// Completes an operation with what `convert` makes of the reply to its request. `convert` keeps the subscriber.
template <class... Results, class Convert>
void start_request(const core_ptr& core, detail::operation_ptr<error_code, Results...> op,
                   zk::call call, on_loss policy, Convert convert,
                   zk::watch_registry::subscriber* subscriber = nullptr)
{
    core->dispatch([core, op = std::move(op), call = std::move(call), policy,
                    convert = std::move(convert), subscriber]() mutable {
        const auto link = op.cancellation();
        if (link && link->requested() != asio::cancellation_type::none) {
            op.complete(asio::error::operation_aborted, Results{}...);
            return;
        }
        auto r = detail::make_request(
            std::move(call), policy,
            [op = std::move(op), convert = std::move(convert)](zk::reply&& reply) mutable {
                op->explain(reply.error, reply.detail);
                reply.error = for_users(reply.error);
                convert(op, std::move(reply));
            });
        r->subscriber = subscriber;
        if (link) {
            link->bind([core = core.get(), raw = r.get(), policy](asio::cancellation_type type) {
                // A write that was sent cannot be taken back without a trace.
                if (core->is_waiting(*raw) || policy == on_loss::repeat ||
                    detail::ends_at_once(type)) {
                    core->abandon(*raw, asio::error::operation_aborted);
                }
            });
        }
        core->submit(std::move(r));
    });
}

// Creates a node; when its parent is missing, then its ancestors and the node again. On the strand. What is under way
// keeps it alive.
class creation_with_parents final : public std::enable_shared_from_this<creation_with_parents> {
public:
    creation_with_parents(core_ptr core, detail::operation_ptr<error_code, create_result> op,
                          zk::call call)
        : core_{std::move(core)}, op_{std::move(op)}, call_{std::move(call)}
    {
    }

    void start()
    {
        if (const auto link = op_.cancellation()) {
            if (link->requested() != asio::cancellation_type::none) {
                op_.complete(asio::error::operation_aborted, {});
                return;
            }
            link->bind([raw = this](asio::cancellation_type type) {
                const auto self = raw->shared_from_this();
                if (self->core_->is_waiting(*self->node_) || detail::ends_at_once(type)) {
                    self->core_->abandon(*self->node_, asio::error::operation_aborted);
                }
            });
        }
        create();
    }

private:
    void create()
    {
        auto r = detail::make_request(
            zk::call{call_}, on_loss::report,
            [self = shared_from_this()](zk::reply&& reply) { self->answered(std::move(reply)); });
        node_ = r.get();
        core_->submit(std::move(r));
    }

    void answered(zk::reply&& r)
    {
        const auto parent = protocol::parent_path(call_.path);
        if (r.error == zookeeper_errc::no_node && parent != "/" && !std::exchange(again_, true)) {
            create_ancestors(parent);
            create(); // after them on the same connection
        } else {
            const bool told = r.error == zookeeper_errc::no_node && refused_;
            op_->explain(r.error, told ? refused_detail_ : r.detail);
            op_.complete(told ? refused_ : for_users(r.error), {std::move(r.text), r.stat});
        }
    }

    void create_ancestors(std::string_view parent)
    {
        for (const auto& each : protocol::path_and_ancestors(parent)) {
            core_->submit(detail::make_request(
                zk::call{.op = zk::opcode::create, .path = each, .acl = call_.acl}, on_loss::report,
                [self = shared_from_this()](zk::reply&& r) {
                    if (r.error != zookeeper_errc::node_exists && !self->refused_) {
                        self->refused_ = r.error;
                        self->refused_detail_ = std::move(r.detail);
                    }
                }));
        }
    }

    const core_ptr core_;
    detail::operation_ptr<error_code, create_result> op_;
    const zk::call call_;
    detail::request* node_ = nullptr; // the request for the node itself
    bool again_ = false;
    error_code refused_; // why an ancestor could not be created
    std::string refused_detail_;
};

// The reply says nothing but whether it went well.
void plain(detail::operation_ptr<error_code>& op, zk::reply&& r)
{
    op.complete(r.error);
}

std::optional<node_stat> found(const zk::reply& r)
{
    return r.error ? std::nullopt : std::optional{r.stat};
}

error_code unless_absent(const error_code& ec)
{
    return ec == zookeeper_errc::no_node ? error_code{} : ec;
}

// A watched read; `convert` makes the result of its reply.
template <class Result, class Convert>
void start_watch(const core_ptr& core, detail::operation_ptr<error_code, watched<Result>> op,
                 zk::opcode what, std::string path, Convert convert)
{
    const auto state = std::make_shared<detail::watch_state>(core, what, path);
    start_request(
        core, std::move(op),
        {.op = what, .path = std::move(path), .watch = true, .kind = state->kind()},
        on_loss::repeat,
        [state, what, convert](auto& o, zk::reply&& r) {
            const auto ec = what == zk::opcode::exists ? unless_absent(r.error) : r.error;
            watched<Result> result;
            if (!ec) {
                state->begin(found(r));
                result = {convert(std::move(r)),
                          detail::access::make<watch>(state->make_handle(), state)};
            }
            o.complete(ec, std::move(result));
        },
        state.get());
}

} // namespace

client::client(executor_type executor, client_options options)
    : core_{detail::client_core::make(std::move(executor), std::move(options))}
{
}

client_options client::only_hosts(std::string_view hosts)
{
    client_options options;
    options.hosts = hosts;
    return options;
}

client::client(client&& other) noexcept = default;

client& client::operator=(client&& other) noexcept
{
    client taken{std::move(other)};
    std::swap(core_, taken.core_);
    return *this;
}

client::~client()
{
    if (detail::is_inherited(core_)) {
        zk::keep_to_the_end(std::move(core_));
    } else if (core_) {
        core_->dispatch([core = core_] { core->release(); });
    }
}

client::executor_type client::get_executor() const noexcept
{
    return core_->executor();
}

void client::start_connect(const core_ptr& core, op<error_code> o)
{
    core->dispatch(
        [core, o = std::move(o)]() mutable { core->own_session().connect(std::move(o)); });
}

void client::start_close(const core_ptr& core, op<error_code> o)
{
    core->dispatch([core, o = std::move(o)]() mutable { core->own_session().close(std::move(o)); });
}

void client::start_create(const core_ptr& core, op<error_code, create_result> o, std::string path,
                          std::string data, create_options options)
{
    zk::call call{.op = zk::opcode::create,
                  .path = std::move(path),
                  .data = std::move(data),
                  .mode = options.mode,
                  .ttl = options.ttl,
                  .acl = std::move(options.acl).value_or(core->options().acl)};
    if (options.parents) {
        core->dispatch([core, o = std::move(o), call = std::move(call)]() mutable {
            std::make_shared<creation_with_parents>(core, std::move(o), std::move(call))->start();
        });
        return;
    }
    start_request(core, std::move(o), std::move(call), on_loss::report,
                  [](auto& op, zk::reply&& r) {
                      op.complete(r.error, {std::move(r.text), r.stat});
                  });
}

void client::start_get(const core_ptr& core, op<error_code, get_result> o, std::string path)
{
    start_request(core, std::move(o), {.op = zk::opcode::get, .path = std::move(path)},
                  on_loss::repeat, [](auto& op, zk::reply&& r) {
                      op.complete(r.error, {std::move(r.text), r.stat});
                  });
}

void client::start_set(const core_ptr& core, op<error_code, node_stat> o, std::string path,
                       std::string data, std::int32_t version)
{
    start_request(core, std::move(o),
                  {.op = zk::opcode::set,
                   .path = std::move(path),
                   .data = std::move(data),
                   .version = version},
                  on_loss::report, [](auto& op, zk::reply&& r) { op.complete(r.error, r.stat); });
}

void client::start_exists(const core_ptr& core, op<error_code, std::optional<node_stat>> o,
                          std::string path)
{
    start_request(core, std::move(o), {.op = zk::opcode::exists, .path = std::move(path)},
                  on_loss::repeat,
                  [](auto& op, zk::reply&& r) { op.complete(unless_absent(r.error), found(r)); });
}

void client::start_children(const core_ptr& core, op<error_code, children_result> o,
                            std::string path)
{
    start_request(core, std::move(o), {.op = zk::opcode::children, .path = std::move(path)},
                  on_loss::repeat, [](auto& op, zk::reply&& r) {
                      op.complete(r.error, {std::move(r.names), r.stat});
                  });
}

void client::start_remove(const core_ptr& core, op<error_code> o, std::string path,
                          std::int32_t version)
{
    start_request(core, std::move(o),
                  {.op = zk::opcode::remove, .path = std::move(path), .version = version},
                  on_loss::report, &plain);
}

void client::start_multi(const core_ptr& core, op<error_code, std::vector<transaction_result>> o,
                         std::vector<transaction_op> ops)
{
    start_request(core, std::move(o),
                  {.op = zk::opcode::multi,
                   .acl = core->options().acl,
                   .ops = zk::moved_to<zk::recycled_vector<transaction_op>>(std::move(ops))},
                  on_loss::report, [](auto& op, zk::reply&& r) {
                      op.complete(r.error, zk::moved_to<std::vector<transaction_result>>(
                                               std::move(r.results)));
                  });
}

void client::start_get_acl(const core_ptr& core, op<error_code, acl_result> o, std::string path)
{
    start_request(core, std::move(o), {.op = zk::opcode::get_acl, .path = std::move(path)},
                  on_loss::repeat, [](auto& op, zk::reply&& r) {
                      op.complete(r.error, {std::move(r.acl), r.stat});
                  });
}

void client::start_set_acl(const core_ptr& core, op<error_code> o, std::string path,
                           access_control_list acl, std::int32_t version)
{
    start_request(core, std::move(o),
                  {.op = zk::opcode::set_acl,
                   .path = std::move(path),
                   .version = version,
                   .acl = std::move(acl)},
                  on_loss::report, &plain);
}

void client::use_tls(std::shared_ptr<asio::ssl::context> context)
{
    if (!context || !core_->options().tls) {
        throw boost::system::system_error{
            errc::invalid_option, context
                                      ? "use_tls: the client was made without client_options::tls"
                                      : "use_tls: there is no context"};
    }
    auto for_guard = detail::guarding::material_for(core_->options(), *context);
    if (!for_guard.fault.empty()) {
        throw boost::system::system_error{errc::invalid_option,
                                          "use_tls: the session guard cannot have the context: " +
                                              for_guard.fault};
    }
    core_->dispatch(
        [core = core_, context = std::move(context), for_guard = std::move(for_guard)]() mutable {
            core->own_session().use_tls(std::move(context), std::move(for_guard));
        });
}

void client::start_sync(const core_ptr& core, op<error_code> o, std::string path)
{
    start_request(core, std::move(o), {.op = zk::opcode::sync, .path = std::move(path)},
                  on_loss::repeat, &plain);
}

void client::start_watch_data(const core_ptr& core, op<error_code, watched<get_result>> o,
                              std::string path)
{
    start_watch(core, std::move(o), zk::opcode::get, std::move(path), [](zk::reply&& r) {
        return get_result{std::move(r.text), r.stat};
    });
}

void client::start_watch_exists(const core_ptr& core,
                                op<error_code, watched<std::optional<node_stat>>> o,
                                std::string path)
{
    start_watch(core, std::move(o), zk::opcode::exists, std::move(path), found);
}

void client::start_watch_children(const core_ptr& core, op<error_code, watched<children_result>> o,
                                  std::string path)
{
    start_watch(core, std::move(o), zk::opcode::children, std::move(path), [](zk::reply&& r) {
        return children_result{std::move(r.names), r.stat};
    });
}

void client::start_add_credentials(const core_ptr& core, op<error_code> o, credential added)
{
    core->dispatch(
        [core, o = std::move(o), added = zk::secret_credential{std::move(added)}]() mutable {
            core->own_session().add_credentials(std::move(added), std::move(o));
        });
}

void client::start_set_hosts(const core_ptr& core, op<error_code> o, std::string hosts)
{
    core->dispatch([core, o = std::move(o), hosts = std::move(hosts)]() mutable {
        core->own_session().set_hosts(std::move(hosts), std::move(o));
    });
}

void client::start_wait_state_change(const core_ptr& core, op<error_code, connection_state> o,
                                     connection_state seen)
{
    core->dispatch([core, seen, o = std::move(o)]() mutable {
        core->published().wait_change(seen, std::move(o));
    });
}

connection_state client::state() const noexcept
{
    return core_->is_inherited() ? connection_state::closed : core_->published().get();
}

std::int64_t client::session_id() const noexcept
{
    return core_->is_inherited() ? 0 : core_->session();
}

std::chrono::milliseconds client::session_timeout() const noexcept
{
    return core_->session_timeout();
}

std::uint64_t client::connection_id() const noexcept
{
    return core_->is_inherited() ? 0 : core_->connection_id();
}

client_stats client::stats() const
{
    const auto& c = core_->count;
    const std::uint64_t heartbeats = c.heartbeats; // before the requests, of which they are some
    // In this order: no more are released than granted, and no more granted than begun.
    const std::uint64_t released = c.locks_released;
    const std::uint64_t lost = c.lost.all;
    const std::uint64_t granted = c.locks_granted;
    const std::uint64_t given_up = c.shards.given_up;
    const std::uint64_t lost_shards = c.shards.lost;
    const std::uint64_t taken = c.shards.taken;
    client_stats s{.connect_attempts = c.connect_attempts,
                   .connections = c.connections,
                   .sessions = c.sessions,
                   .expirations = c.expirations,
                   .requests = c.requests,
                   .heartbeats = heartbeats,
                   .replies = c.replies,
                   .watch_events = c.watch_events,
                   .wakeups = c.wakeups,
                   .locks_granted = granted + c.granted_inside,
                   .locks_released = released,
                   .locks_lost = lost,
                   .bodies_cancelled = c.bodies.cancelled,
                   .bodies_overdue = c.bodies.overdue,
                   .in_flight = c.in_flight,
                   .waiting = c.waiting,
                   .contenders = c.contenders,
                   .locks_granted_by_servers = c.granted_by_servers,
                   .losses = {.session_expired = c.lost.session_expired,
                              .node_deleted = c.lost.node_deleted,
                              .safe_until_passed = c.lost.safe_until_passed,
                              .client_closed = c.lost.client_closed},
                   .shards = {.owned = taken - given_up - lost_shards,
                              .taken = taken,
                              .given_up = given_up,
                              .lost = lost_shards},
                   .session_guarded = c.session_guarded,
                   .safe_for = std::max(core_->safe_until() - detail::boot_clock::now(),
                                        std::chrono::nanoseconds{0})};
    if (const auto* const t = core_->telemetry()) {
        t->add_to(s, granted);
    }
    return s;
}

std::string client::last_error_detail() const
{
    return core_->is_inherited() ? error_code{errc::forked}.message() : core_->last_error_detail();
}

// ---- watch

watch::watch(std::shared_ptr<void> handle, std::shared_ptr<detail::watch_state> state) noexcept
    : handle_{std::move(handle)}, state_{std::move(state)}
{
}

std::shared_ptr<detail::client_core> watch::core() const noexcept
{
    return state_ ? state_->core() : nullptr;
}

watch::executor_type watch::get_executor() const noexcept
{
    return detail::executor_of(core());
}

void watch::start_wait(const std::shared_ptr<detail::client_core>& core,
                       detail::operation_ptr<error_code, watch_event> o,
                       std::shared_ptr<detail::watch_state> state)
{
    if (!core) {
        o.complete(errc::not_held, {});
        return;
    }
    core->dispatch(
        [state = std::move(state), o = std::move(o)]() mutable { state->wait(std::move(o)); });
}

} // namespace colock
