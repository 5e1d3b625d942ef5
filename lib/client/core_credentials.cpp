// Credentials that are added while the client runs.
#include "core.hpp"

#include <utility>

namespace colock::detail {

// Servers take credentials in as they come, before they look at the requests behind. A server that refuses them closes
// the connection. So the answer to any request behind them says that they are accepted. The C client's own callback
// for credentials would not do: the first answer of the server completes all of them.
void client_core::add_credentials(zk::secret_credential c, operation_ptr<error_code> op)
{
    auto fault = fault_of(*c, options_.max_request_size);
    if (const auto ec = unavailable(); ec && !fault.error) {
        fault = {ec, ec.message()};
    }
    if (fault.error) {
        op->explain(fault.error, fault.detail);
        note_error(std::move(fault.detail));
        op.complete(fault.error);
        return;
    }
    const auto link = op.cancellation();
    if (link && link->requested() != asio::cancellation_type::none) {
        op.complete(asio::error::operation_aborted);
        return;
    }
    credentials_.add(*c);
    const auto t =
        std::make_shared<credential_trial>(credential_trial{std::move(c), std::move(op)});
    trials_.push_back(t);
    if (link) {
        link->bind([raw = t.get()](asio::cancellation_type) {
            std::exchange(raw->op, {}).complete(asio::error::operation_aborted);
        });
    }
    const batch together{*this};
    tell_credentials();
    submit(make_request({.op = zk::opcode::exists, .path = "/"}, on_loss::repeat,
                        [this, t](zk::reply&& r) { end_trial(t, r.error); }));
}

void client_core::end_trial(const std::shared_ptr<credential_trial>& t, const error_code& ec)
{
    if (std::erase(trials_, t) == 0) {
        return; // they were refused
    }
    const bool accepted =
        !ec || ec == zookeeper_errc::no_node || ec == zookeeper_errc::no_auth; // about "/"
    if (accepted) {
        credentials_.accept(*t->value);
    }
    if (t->op) {
        std::exchange(t->op, {}).complete(accepted ? error_code{} : ec);
    }
}

// The next connection is opened without them.
void client_core::refuse_credentials()
{
    const std::string detail = "the servers refuse the credentials that were added";
    note_error(detail);
    log(log_level::warning, detail);
    credentials_.refuse();
    for (const auto& t : std::exchange(trials_, {})) {
        if (t->op) {
            auto op = std::exchange(t->op, {});
            op->explain(zookeeper_errc::auth_failed, detail);
            op.complete(zookeeper_errc::auth_failed);
        }
    }
}

// Tells the connection the credentials that it does not know yet. While requests wait to be written it takes no credentials, and the next
// connection is told all of them when it is opened.
void client_core::tell_credentials()
{
    if (!established_) {
        return;
    }
    while (const auto* next = credentials_.next_to_tell()) {
        if (!connection_->authenticate(*next)) {
            break_later();
            return;
        }
        credentials_.told();
        unflushed_ = true;
    }
}

} // namespace colock::detail
