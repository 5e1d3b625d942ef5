#include "lock/lock_path.hpp"

#include "lock/local_queue.hpp"
#include "lock/option_faults.hpp"
#include "names/contender_name.hpp"
#include "names/path.hpp"
#include "queue/no_lock.hpp"

#include <optional>
#include <utility>

namespace colock::detail {

lock_path::lock_path(std::shared_ptr<client_core> c, std::string p, lock_options o,
                     const lock_kind& k)
    : core{std::move(c)}, config_{std::make_shared<lock_config>(
                              lock_config{std::move(p), with_default_layout(std::move(o), k), k})}
{
    fault none;
    queue_ = find_queue(none);
    if (queue_ && queue_->options().owner_data == options().owner_data) { // all else is equal
        config_ = queue_->config();
    }
}

std::shared_ptr<local_queue> lock_path::find_queue(fault& why) const
{
    const auto& kind = config_->kind;
    if (const auto what = protocol::path_fault(path()); !what.empty()) {
        why = {errc::invalid_path, "the path " + what};
        return nullptr;
    }
    if (!kind.has_queue && path() == "/") {
        why = {errc::invalid_path,
               "the path is that of the root, which is always there; append a name"};
        return nullptr;
    }
    if (const auto what = fault_of(options(), kind); !what.empty()) {
        why = {errc::invalid_option, what};
        return nullptr;
    }
    if (const auto& l = options().layout;
        kind.has_queue && path().size() + 1 + protocol::name_prefix(*l, {}).size() +
                                  protocol::longer_name_of_reader(*l) + protocol::number_digits >
                              protocol::max_path_length) {
        why = {errc::invalid_path, "the path is so long that the paths of nodes in it would be "
                                   "longer than " +
                                       std::to_string(protocol::max_path_length) + " bytes"};
        return nullptr;
    }
    const auto there = core->find_path(path(), [&] { return local_queue::make(core, config_); });
    why = conflict(*there, options(), kind);
    return why.error ? nullptr : std::static_pointer_cast<local_queue>(there);
}

std::shared_ptr<local_queue> lock_path::queue_for(operation_ptr<error_code, unique_lock>& op,
                                                  bool shared) const
{
    if (queue_) {
        return queue_;
    }
    fault why;
    auto found = find_queue(why); // the other users of the path may have gone
    if (!found) {
        turn_away(std::move(op), why, shared);
    }
    return found;
}

void lock_path::turn_away(operation_ptr<error_code, unique_lock> op, const fault& why,
                          bool shared) const
{
    std::optional<observed_path> fails;
    if (auto* const to = core->telemetry()) {
        fails.emplace(observed_path{*to, path(), config_->kind.observed_as});
        to->begin(op->observed, *fails, shared);
    }
    const auto text = "lock " + path() + ": " + why.detail;
    core->note_error(text);
    refuse(core, std::move(op), why.error, text);
}

void lock_path::lock(operation_ptr<error_code, unique_lock> op, deadline until) const
{
    if (queue_) { // as a rule; and without counting a reference
        queue_->lock(std::move(op), until);
    } else if (const auto queue = queue_for(op, false)) {
        queue->lock(std::move(op), until);
    }
}

void lock_path::lock_shared(operation_ptr<error_code, unique_lock> op, deadline until) const
{
    if (const auto queue = queue_for(op, true)) {
        queue->readers()->lock(std::move(op), until);
    }
}

void lock_path::downgrade(operation_ptr<error_code, unique_lock> op, unique_lock from) const
{
    auto& held = access::held(from);
    const auto driver = held.driver;
    if (!driver) {
        refuse(core, std::move(op), errc::not_held, "lock " + path() + ": the guard is empty");
    } else if (&driver->core() != core.get() || driver->path() != path() ||
               &driver->config().kind != &config_->kind) {
        refuse(core, std::move(op), errc::conflicting_use,
               "lock " + path() + ": the guard is of another lock, or of another client");
    } else {
        local_queue::of(*driver).step_down(std::move(op), std::move(held));
    }
}

} // namespace colock::detail
