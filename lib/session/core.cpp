#include "session/core.hpp"

#include "session/context_service.hpp"
#include "session/end_of_wait.hpp"

#include <boost/asio/query.hpp>
#include <boost/asio/system_executor.hpp>

namespace colock::detail {

const asio::any_io_executor& executor_of(const std::shared_ptr<client_core>& core) noexcept
{
    static const asio::any_io_executor of_the_system{asio::system_executor{}};
    return core ? core->executor() : of_the_system;
}

bool is_inherited(const std::shared_ptr<client_core>& core) noexcept
{
    return core && core->is_inherited();
}

// ---- life

client_core::client_core(asio::any_io_executor executor, client_options options)
    : basics_{std::move(executor), std::move(options)}, reminders_{std::make_shared<reminders>(
                                                            *basics_.strand)},
      watches_{
          [this](const std::string& path, zk::watch_kind kind) { forget_watches(path, kind); }},
      requests_{&session_, basics_, watches_}
{
}

client_core::~client_core()
{
    if (!basics_.strand.is_gone()) {
        auto& context = asio::query(executor(), asio::execution::context);
        asio::use_service<context_service>(context).remove(*this);
    }
}

struct client_core::destroyer {
    void operator()(client_core* core) const noexcept
    {
        if (core->is_inherited()) {
            zk::keep_to_the_end({core, [](const client_core*) {}});
        } else {
            delete core;
        }
    }
};

std::shared_ptr<client_core> client_core::make(asio::any_io_executor executor,
                                               client_options options)
{
    std::shared_ptr<client_core> made{new client_core{std::move(executor), std::move(options)},
                                      destroyer{}};
    made->basics_.strand.serve(made);
    // After the services of timers and descriptors, which the members have made.
    auto& context = asio::query(made->executor(), asio::execution::context);
    asio::use_service<context_service>(context).add(made);
    return made;
}

void client_core::context_gone() noexcept
{
    basics_.strand.context_gone();
    // Handlers are destroyed here, and with them whatever they own.
    session_.drop();
    listeners_.dismiss([](session_listener& l) { l.discarded(); });
    for (const auto& path : paths_.all()) {
        path->discarded();
    }
    watches_.clear();
    requests_.discard();
    session_.discard();
    delayed_.discard();
    basics_.session.discard();
    own_watches_.discard();
    liveness_.discard();
    reminders_.reset();
    basics_.strand.discard();
}

void client_core::release()
{
    basics_.session.abort_waits();
    session_.release();
}

// ---- diagnosis

// Where there is no memory to post, the next call sends the lines.
void client_core::send_lines()
{
    auto& lines = basics_.log.lines();
    if (!lines.send()) {
        return;
    }
    try {
        post([self = shared_from_this()] { self->basics_.log.write_lines(); });
    } catch (const std::bad_alloc&) {
        lines.not_sent();
    }
}

error_code client_core::end_of_wait() const noexcept
{
    const auto since = requests_.unanswered_since();
    return protocol::end_of_wait(is_connected(),
                                 since.count() != 0 ? boot_clock::now() - since : since);
}

void client_core::ask_for_end_of_wait()
{
    dispatch([self = shared_from_this()] {
        if (self->is_connected() && !self->requests_.has_sent()) {
            self->submit(make_request({.op = zk::opcode::exists, .path = "/"}, on_loss::fail,
                                      [](zk::reply&&) {}));
        }
    });
}

// Not repeated by itself: after a watch that was set meanwhile the repetition would free that one.
void client_core::forget_watches(const std::string& path, zk::watch_kind kind)
{
    if (!is_connected() || is_closing()) {
        return;
    }
    requests_.send(make_request( // at once: a read that is held sets its watch after it
        {.op = zk::opcode::forget_watches, .path = path, .kind = kind}, on_loss::fail,
        [this, path, kind, connection = connection_id()](zk::reply&& r) {
            if (r.error != zookeeper_errc::throttled_op) {
                return;
            }
            const auto pause =
                forgetting_.refused(std::chrono::steady_clock::now().time_since_epoch());
            after(pause, [this, path, kind, connection] {
                if (connection_id() == connection) { // else there are no watches of that time
                    watches_.not_forgotten(path, kind);
                }
            });
        }));
}

} // namespace colock::detail
