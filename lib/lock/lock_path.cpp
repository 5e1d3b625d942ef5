#include "lock_path.hpp"

#include <colock/detail/initiate_lock.hpp>

#include "local_queue.hpp"
#include "protocol/naming.hpp"
#include "protocol/path.hpp"

#include <utility>

namespace colock::detail {

namespace {

// The server drops the connection of whoever sends a packet of more than a megabyte (jute.maxbuffer), and
// would do so again at every repetition.
constexpr std::size_t max_owner_data = 1'000'000;

bool is_a_time(std::chrono::milliseconds t) noexcept
{
    return t >= t.zero() && t <= longest_time;
}

std::string fault_of(const lock_options& o, lock_kind kind)
{
    if (const auto what = protocol::layout_fault(o.layout); !what.empty()) {
        return "the layout " + what;
    }
    if (kind == lock_kind::shared_mutex && o.layout.shared_marker.empty()) {
        return "the layout has no marker for those who share; see curator_shared_layout";
    }
    if (o.owner_data && o.owner_data->size() > max_owner_data) {
        return "the owner data is longer than " + std::to_string(max_owner_data) + " bytes";
    }
    for (const auto time : {o.lost_lead, o.body_grace, o.max_local_time, o.linger, o.max_linger}) {
        if (!is_a_time(time)) {
            return "lost_lead, body_grace, max_local_time, linger and max_linger must not be "
                   "negative, and be below 25 days";
        }
    }
    if (kind == lock_kind::single_node_mutex && o.linger > o.linger.zero()) {
        return "a single_node_mutex cannot linger, for it does not know whether others wait";
    }
    if (o.linger > o.max_linger) {
        return "linger is longer than max_linger";
    }
    if (o.linger > o.linger.zero() && o.max_local_grants == 0) {
        return "a node that lingers is for local grants, which max_local_grants = 0 forbids";
    }
    return {};
}

} // namespace

struct lock_path::fault {
    error_code error;
    std::string detail;
};

lock_path::lock_path(std::shared_ptr<client_core> c, std::string p, lock_options o, lock_kind k)
    : core{std::move(c)}, path{std::move(p)}, options{std::move(o)}, kind{k}
{
    fault none;
    queue_ = find_queue(none);
}

std::shared_ptr<local_queue> lock_path::find_queue(fault& why) const
{
    if (const auto what = protocol::path_fault(path); !what.empty()) {
        why = {errc::invalid_path, "the path " + what};
        return nullptr;
    }
    if (kind == lock_kind::single_node_mutex && path == "/") {
        why = {errc::invalid_path,
               "the path is that of the root, which is always there; append a name"};
        return nullptr;
    }
    if (const auto what = fault_of(options, kind); !what.empty()) {
        why = {errc::invalid_option, what};
        return nullptr;
    }
    auto found = std::dynamic_pointer_cast<local_queue>(core->find_path(
        path, [&] { return std::make_shared<local_queue>(core, path, options, kind); }));
    if (!found || !(found->options() == options) || found->kind() != kind) {
        why = {errc::conflicting_use, error_code{errc::conflicting_use}.message()};
        return nullptr;
    }
    return found;
}

std::shared_ptr<local_queue> lock_path::queue_for(operation_ptr<error_code, unique_lock>& op) const
{
    if (queue_) {
        return queue_;
    }
    fault why;
    auto found = find_queue(why); // those who used the path may have gone
    if (!found) {
        core->note_error("lock " + path + ": " + why.detail);
        op.complete(why.error, unique_lock{core, {}});
    }
    return found;
}

void lock_path::lock(operation_ptr<error_code, unique_lock> op, deadline until) const
{
    if (queue_) { // as a rule; and without counting a reference
        queue_->lock(std::move(op), until);
    } else if (const auto queue = queue_for(op)) {
        queue->lock(std::move(op), until);
    }
}

void lock_path::lock_shared(operation_ptr<error_code, unique_lock> op, deadline until) const
{
    if (const auto queue = queue_for(op)) {
        queue->readers()->lock(std::move(op), until);
    }
}

void lock_path::downgrade(operation_ptr<error_code, unique_lock> op, unique_lock from) const
{
    const auto member = from.held_.member;
    if (!member) {
        op.complete(errc::not_held, unique_lock{core, {}});
    } else if (member->queue()->core() != core || member->queue()->path() != path) {
        op.complete(errc::conflicting_use, unique_lock{core, {}});
    } else {
        member->queue()->step_down(std::move(op), std::move(from.held_));
    }
}

const asio::any_io_executor& path_to_lock::executor() const noexcept
{
    return path_->core->executor();
}

const std::shared_ptr<client_core>& path_to_lock::core() const noexcept
{
    return path_->core;
}

const asio::any_io_executor& path_to_share::executor() const noexcept
{
    return path_->core->executor();
}

const std::shared_ptr<client_core>& path_to_share::core() const noexcept
{
    return path_->core;
}

const lock_options& path_to_share::options() const noexcept
{
    return path_->options;
}

void path_to_share::downgrade(operation_ptr<error_code, unique_lock> op, unique_lock from) const
{
    path_->downgrade(std::move(op), std::move(from));
}

void path_to_share::start(operation_ptr<error_code, unique_lock> op, deadline until) const
{
    path_->lock_shared(std::move(op), until);
}

void path_to_lock::start(operation_ptr<error_code, unique_lock> op, deadline until) const
{
    path_->lock(std::move(op), until);
}

} // namespace colock::detail
