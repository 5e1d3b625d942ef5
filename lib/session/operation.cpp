#include "session/core.hpp"

namespace colock::detail {

void cancel_link::request(asio::cancellation_type type)
{
    if (type == asio::cancellation_type::none) {
        return;
    }
    const auto core = core_.lock();
    if (is_inherited(core)) {
        return; // in the child's copy nothing ends, for its end would be the parent's business
    }
    if (in_a_room_) {
        if (const auto room = room_.lock()) {
            room->cancel(*this, type);
        }
    } else if (core) {
        core->dispatch([self = cancel_link_ptr{this}, type] { self->deliver(type); });
    }
}

void cancel_link::bind(std::function<void(asio::cancellation_type)> on_request)
{
    on_request_ = std::move(on_request);
    if (requested_ != asio::cancellation_type::none) {
        deliver(std::exchange(requested_, asio::cancellation_type::none));
    }
}

void cancel_link::unbind() noexcept
{
    on_request_ = nullptr;
}

void cancel_link::deliver(asio::cancellation_type type)
{
    if (on_request_) {
        // A copy: it unbinds itself when it completes the operation.
        const auto on_request = on_request_;
        on_request(type);
    } else {
        requested_ |= type;
    }
}

std::string words_about(const std::string& subject, const error_code& ec)
{
    return subject.empty() ? ec.message() : subject + ": " + ec.message();
}

} // namespace colock::detail
