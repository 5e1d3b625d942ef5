#include <colock/multi_lock.hpp>
#include <colock/semaphore.hpp>

#include "names/path.hpp"
#include "recipes/multi_lock/lock_target.hpp"
#include "recipes/semaphore/semaphore_state.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

namespace colock {

namespace detail {

semaphore_path::semaphore_path(semaphore_config c) : semaphore_config{std::move(c)}
{
    if (auto* const to = core->telemetry()) {
        observed = std::make_shared<const observed_path>(
            observed_path{*to, path, acquisition_kind::semaphore});
    }
    fault none;
    state_ = find(none);
}

std::shared_ptr<semaphore_state> semaphore_path::find(fault& why) const
{
    if (const auto of_path = protocol::path_fault(path); !of_path.empty()) {
        why = {errc::invalid_path, "the path " + of_path};
    } else if (permits && *permits <= 0) {
        why = {errc::invalid_option, "a semaphore has at least one permit, not " + number()};
    } else if (const auto of_counter = permits ? "" : protocol::path_fault(counter);
               !of_counter.empty()) {
        why = {errc::invalid_path, "the path of the counter " + of_counter};
    } else if (const auto of_options = fault_of(options, kinds::semaphore); !of_options.empty()) {
        why = {errc::invalid_option, of_options};
    } else {
        auto found =
            core->find_path(path, [&] { return std::make_shared<semaphore_state>(*this); });
        const bool alike = &found->kind() == &kinds::semaphore;
        const auto theirs =
            alike ? static_cast<const semaphore_state&>(*found).of.number() : number();
        why = conflict(*found, options, kinds::semaphore,
                       theirs == number() ? ""
                                          : "the number of permits is " + theirs + " there and " +
                                                number() + " here");
        return why.error ? nullptr : std::static_pointer_cast<semaphore_state>(std::move(found));
    }
    return nullptr;
}

fault semaphore_path::fault_of_count(std::int64_t count) const
{
    if (count <= 0) {
        return {errc::invalid_option,
                "at least one permit is to be acquired, not " + std::to_string(count)};
    }
    if (permits && count > *permits) {
        return {errc::too_many_permits,
                std::to_string(count) + " permits of " + std::to_string(*permits)};
    }
    constexpr std::size_t guid_and_number = 50, fixed_fields = 50; // and what is around them, amply
    auto each = core->options().chroot.size() + path.size() + guid_and_number + fixed_fields +
                owner_data().size() + std::string_view{"/leases/_c_--lease-"}.size();
    for (const auto& entry : options.acl ? *options.acl : core->options().acl) {
        each += 3 * sizeof(std::int32_t) + entry.scheme.size() + entry.id.size();
    }
    const auto most = std::max<std::size_t>(core->options().max_request_size / each, 1);
    return static_cast<std::size_t>(count) <= most
               ? fault{}
               : fault{errc::invalid_option, "no more than " + std::to_string(most) +
                                                 " permits fit into one request, not " +
                                                 std::to_string(count) +
                                                 "; acquire them in portions"};
}

void semaphore_path::start_acquire(operation_ptr<error_code, permit> op, std::int64_t count,
                                   deadline until, bool for_body) const
{
    fault why;
    auto found = state_ ? state_ : find(why); // the other users of the path may have gone
    if (found && !for_body) {
        why = fault_of_guard(options);
    }
    if (why = why.error ? why : fault_of_count(count); why.error) {
        const auto text = about(why.detail);
        core->note_error(text);
        op->explain(why.error, text);
        op.complete(why.error, permit{});
        return;
    }
    op->observed.of = op->observed.of != nullptr ? found->of.observed.get() : nullptr; // lives on
    begin_to_acquire(std::move(found), std::move(op), count, until);
}

void acquire_permits(std::shared_ptr<const semaphore_path> of, operation_ptr<error_code, permit> op,
                     std::int64_t count, deadline until, bool for_body)
{
    if (of->observed) {
        of->observed->to.begin(op->observed, *of->observed, false,
                               until != never && until <= std::chrono::steady_clock::now());
    }
    const auto& core = of->core;
    core->dispatch([of, op = std::move(op), count, until,
                    for_body]() mutable { // the path outlives the operation
        of->start_acquire(std::move(op), count, until, for_body);
    });
}

} // namespace detail

using detail::access;

semaphore::semaphore(client& zk, std::string path, std::int64_t permits, lock_options options)
    : face_of{std::make_shared<detail::semaphore_path>(detail::semaphore_config{
          access::core(zk), std::move(path), permits, {}, std::move(options), nullptr})}
{
}

semaphore::semaphore(client& zk, std::string path, counter_node permits, lock_options options)
    : face_of{std::make_shared<detail::semaphore_path>(
          detail::semaphore_config{access::core(zk), std::move(path), std::nullopt,
                                   std::move(permits.path), std::move(options), nullptr})}
{
}

const std::string& semaphore::path() const noexcept
{
    return behind()->path;
}

const lock_options& semaphore::options() const noexcept
{
    return behind()->options;
}

const std::shared_ptr<detail::client_core>& semaphore::core() const noexcept
{
    return behind()->core;
}

lock_entry::lock_entry(const semaphore& of, std::int64_t count)
    : face_of{std::make_shared<detail::lock_target>(detail::lock_target{
          access::behind(of)->core, of.path(), access::behind(of)->options,
          [of, count](detail::acquisition a, detail::deadline until) {
              detail::acquire_permits(access::behind(of),
                                      detail::acquiring<permit>::make(std::move(a)), count, until,
                                      true); // the multi_lock refuses it
          }})}
{
}

} // namespace colock
