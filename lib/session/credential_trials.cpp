#include "session/credential_trials.hpp"

#include "session/faults.hpp"

#include <utility>

namespace colock::detail {

const std::vector<credential>& credential_trials::open() noexcept
{
    all_.open();
    return all_.all();
}

request_ptr credential_trials::add(zk::secret_credential c, operation_ptr<error_code> op)
{
    auto fault = fault_of(*c, basics_.options.max_request_size);
    if (const auto ec = requests_.unavailable(); ec && !fault.error) {
        fault = {ec, ec.message()};
    }
    if (fault.error) {
        op->explain(fault.error, fault.detail);
        basics_.log.note_error(fault.detail);
        op.complete(fault.error);
        return nullptr;
    }
    const auto link = op.cancellation();
    if (link && link->requested() != asio::cancellation_type::none) {
        op.complete(asio::error::operation_aborted);
        return nullptr;
    }
    all_.add(*c);
    const auto t = std::make_shared<trial>(trial{std::move(c), std::move(op)});
    trials_.push_back(t);
    if (link) {
        link->bind([raw = t.get()](asio::cancellation_type) {
            std::exchange(raw->op, {}).complete(asio::error::operation_aborted);
        });
    }
    return make_request({.op = zk::opcode::exists, .path = "/"}, on_loss::repeat,
                        [this, t](zk::reply&& r) { end(t, r.error); });
}

void credential_trials::end(const std::shared_ptr<trial>& t, const error_code& ec)
{
    if (std::erase(trials_, t) == 0) {
        return; // they were refused
    }
    const bool accepted =
        !ec || ec == zookeeper_errc::no_node || ec == zookeeper_errc::no_auth; // about "/"
    if (accepted) {
        all_.accept(*t->value);
    }
    if (t->op) {
        std::exchange(t->op, {}).complete(accepted ? error_code{} : ec);
    }
}

void credential_trials::refuse()
{
    const std::string detail = "the servers refuse the credentials that were added";
    basics_.log.note_error(detail);
    basics_.log.write(log_level::warning, detail);
    all_.refuse();
    for (const auto& t : std::exchange(trials_, {})) {
        if (t->op) {
            auto op = std::exchange(t->op, {});
            op->explain(zookeeper_errc::auth_failed, detail);
            op.complete(zookeeper_errc::auth_failed);
        }
    }
}

bool credential_trials::tell()
{
    while (const auto* next = all_.next_to_tell()) {
        if (!requests_.authenticate(*next)) {
            return false;
        }
        all_.told();
    }
    return true;
}

void credential_trials::discard() noexcept
{
    const auto discarded = std::exchange(trials_, {});
}

} // namespace colock::detail
