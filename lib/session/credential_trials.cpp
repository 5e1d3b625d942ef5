#include "session/credential_trials.hpp"

#include "session/faults.hpp"

#include <algorithm>
#include <utility>

namespace colock::detail {

const std::vector<credential>& credential_trials::open() noexcept
{
    told_ = all_.size();
    return all_;
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
    if (std::ranges::find(all_, *c) == all_.end()) {
        keep(*c);
    }
    const auto at = std::ranges::find(all_, *c);
    const auto number = static_cast<std::size_t>(at - all_.begin()) + 1;
    const auto t = std::make_shared<trial>(trial{number, std::move(op)});
    trials_.push_back(t);
    if (link) {
        link->bind([raw = t.get()](asio::cancellation_type) {
            std::exchange(raw->op, {}).complete(asio::error::operation_aborted);
        });
    }
    return make_request({.op = zk::opcode::exists, .path = "/"}, on_loss::repeat,
                        [this, t](zk::reply&& r) { end(t, r.error); });
}

// A vector that grows would leave copies of secrets.
void credential_trials::keep(const credential& c)
{
    secrets more;
    more.reserve(all_.size() + 1);
    more.assign(all_.begin(), all_.end());
    more.push_back(c);
    all_.swap(more);
}

void credential_trials::end(const std::shared_ptr<trial>& t, const error_code& ec)
{
    if (std::erase(trials_, t) == 0) {
        return; // they were refused
    }
    const bool accepted =
        !ec || ec == zookeeper_errc::no_node || ec == zookeeper_errc::no_auth; // about "/"
    if (accepted) {
        accepted_ = std::max(accepted_, t->number);
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
    for (auto i = accepted_; i != all_.size(); ++i) {
        zk::wipe(all_[i].secret);
    }
    all_.resize(accepted_);
    for (const auto& t : std::exchange(trials_, {})) {
        if (t->op) {
            auto op = std::exchange(t->op, {});
            op->explain(errc::credentials_refused, detail);
            op.complete(errc::credentials_refused);
        }
    }
}

bool credential_trials::tell()
{
    for (; told_ < all_.size(); ++told_) {
        if (!requests_.authenticate(all_[told_])) {
            return false;
        }
    }
    return true;
}

void credential_trials::discard() noexcept
{
    const auto discarded = std::exchange(trials_, {});
}

} // namespace colock::detail
