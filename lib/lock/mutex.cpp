#include <colock/mutex.hpp>

#include "protocol/path.hpp"
#include "queue_member.hpp"

namespace colock {

namespace {

// The server drops the connection of whoever sends a packet of more than a megabyte (jute.maxbuffer), and
// would do so again at every repetition.
constexpr std::size_t max_owner_data = 1'000'000;

bool is_a_time(std::chrono::milliseconds t) noexcept
{
    return t >= t.zero() && t <= detail::longest_time;
}

} // namespace

mutex::mutex(client& c, std::string path) : mutex{c, std::move(path), lock_options{}}
{
}

mutex::mutex(client& c, std::string path, lock_options options)
    : core_{c.core_}, path_{std::move(path)}, options_{std::move(options)}
{
}

mutex::executor_type mutex::get_executor() const noexcept
{
    return core_->executor();
}

void mutex::start_lock(const std::shared_ptr<detail::client_core>& core,
                       detail::operation_ptr<error_code, unique_lock> op, std::string path,
                       lock_options options, detail::deadline until)
{
    core->dispatch([core, op = std::move(op), path = std::move(path), options = std::move(options),
                    until]() mutable {
        const bool try_only = until <= std::chrono::steady_clock::now();
        const auto refuse = [&](const error_code& ec, const std::string& detail) {
            core->note_error("lock " + path + ": " + detail);
            op.complete(ec, {});
        };
        if (const auto& link = op.cancellation();
            link && link->requested() != asio::cancellation_type::none) {
            op.complete(asio::error::operation_aborted, {});
        } else if (const auto fault = protocol::path_fault(path); !fault.empty()) {
            refuse(errc::invalid_path, "the path " + fault);
        } else if (options.owner_data && options.owner_data->size() > max_owner_data) {
            refuse(errc::invalid_option,
                   "the owner data is longer than " + std::to_string(max_owner_data) + " bytes");
        } else if (!is_a_time(options.lost_lead) || !is_a_time(options.body_grace)) {
            refuse(errc::invalid_option,
                   "lost_lead and body_grace must not be negative, and be below 25 days");
        } else if (const auto ec = core->unavailable(); ec) {
            refuse(ec, ec.message());
        } else if (try_only && !core->is_connected()) {
            refuse(errc::disconnected, error_code{errc::disconnected}.message());
        } else if (!core->acquire_path(path, options)) {
            refuse(errc::conflicting_use, error_code{errc::conflicting_use}.message());
        } else {
            std::make_shared<detail::queue_member>(core, std::move(path), options)
                ->lock(std::move(op), try_only, until);
        }
    });
}

} // namespace colock
