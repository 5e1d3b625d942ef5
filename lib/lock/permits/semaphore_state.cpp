#include "lock/permits/semaphore_state.hpp"

#include <colock/queue_view.hpp>

#include "lock/local/option_faults.hpp"
#include "protocol/names/path.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace colock::detail {

namespace {

std::string permits_of(const semaphore_path& p)
{
    return p.permits ? std::to_string(*p.permits) : "in " + p.counter;
}

} // namespace

semaphore_state::semaphore_state(const semaphore_path& p)
    : of{p}, leases{protocol::join_path(p.path, "leases")}
{
}

std::string semaphore_state::difference_to(const semaphore_path& other) const
{
    if (of.permits != other.permits || of.counter != other.counter) {
        return "the number of permits is " + permits_of(of) + " there and " + permits_of(other) +
               " here";
    }
    return difference(of.options, other.options, lock_kind::semaphore);
}

const lock_path& semaphore_state::queue_lock()
{
    if (!queue_lock_) {
        queue_lock_.emplace(of.core, protocol::join_path(of.path, "locks"), of.options,
                            lock_kind::semaphore_queue);
    }
    return *queue_lock_;
}

semaphore_path::semaphore_path(std::shared_ptr<client_core> c, std::string p,
                               std::optional<std::int64_t> n, std::string from, lock_options o)
    : core{std::move(c)}, path{std::move(p)}, permits{n}, counter{std::move(from)}, options{
                                                                                        std::move(
                                                                                            o)}
{
    if (auto* const to = core->telemetry()) {
        observed = std::make_shared<const observed_path>(
            observed_path{*to, path, acquisition_kind::semaphore});
    }
    error_code ignored;
    std::string detail;
    state = find(ignored, detail);
}

std::int64_t semaphore_path::most_at_once() const
{
    constexpr std::size_t guid_and_number = 50, fixed_fields = 50; // and what is around them, amply
    auto each = core->options().chroot.size() + path.size() + guid_and_number + fixed_fields +
                (options.owner_data ? *options.owner_data : default_owner_data()).size();
    each += std::string_view{"/leases/_c_--lease-"}.size();
    for (const auto& entry : options.acl ? *options.acl : core->options().acl) {
        each += 3 * sizeof(std::int32_t) + entry.scheme.size() + entry.id.size();
    }
    return static_cast<std::int64_t>(
        std::max<std::size_t>(core->options().max_request_size / each, 1));
}

std::shared_ptr<semaphore_state> semaphore_path::find(error_code& why, std::string& detail) const
{
    if (const auto what = protocol::path_fault(path); !what.empty()) {
        why = errc::invalid_path;
        detail = "the path " + what;
    } else if (permits && *permits <= 0) {
        why = errc::invalid_option;
        detail = "a semaphore has at least one permit, not " + std::to_string(*permits);
    } else if (const auto fault = permits ? std::string{} : protocol::path_fault(counter);
               !fault.empty()) {
        why = errc::invalid_path;
        detail = "the path of the counter " + fault;
    } else if (const auto wrong = fault_of(options, lock_kind::semaphore); !wrong.empty()) {
        why = errc::invalid_option;
        detail = wrong;
    }
    if (why) {
        return nullptr;
    }
    const auto there =
        core->find_path(path, [&] { return std::make_shared<semaphore_state>(*this); });
    std::shared_ptr<semaphore_state> found;
    auto what = difference(*there, lock_kind::semaphore);
    if (what.empty()) {
        found = std::static_pointer_cast<semaphore_state>(there);
        what = found->difference_to(*this);
    }
    if (!what.empty()) {
        why = errc::conflicting_use;
        detail = why.message() + ": " + what;
        return nullptr;
    }
    return found;
}

void semaphore_path::begin(operation<error_code, permit>& op, deadline until) const
{
    if (observed) {
        observed->to.begin(op.observed, *observed, false,
                           until != never && until <= std::chrono::steady_clock::now());
    }
}

void semaphore_path::start_acquire(operation_ptr<error_code, permit> op, std::int64_t count,
                                   deadline until) const
{
    error_code why;
    std::string detail;
    const auto found = state ? state : find(why, detail);
    if (!why && count <= 0) {
        why = errc::invalid_option;
        detail = "at least one permit is to be acquired, not " + std::to_string(count);
    } else if (!why && permits && count > *permits) {
        why = errc::too_many_permits;
        detail = std::to_string(count) + " permits of " + std::to_string(*permits);
    } else if (const auto most = why ? count : most_at_once(); count > most) {
        why = errc::invalid_option;
        detail = "no more than " + std::to_string(most) + " permits fit into one request, not " +
                 std::to_string(count) + "; acquire them in portions";
    }
    if (why) {
        const auto text = "semaphore " + path + ": " + detail;
        core->note_error(text);
        op->explain(why, text);
        op.complete(why, permit{});
        return;
    }
    op->observed.of = op->observed.of != nullptr ? found->of.observed.get() : nullptr; // lives on
    found->acquire(std::move(op), count, until);
}

} // namespace colock::detail
