// The client's own interface, for a recipe inside this library that is made of its operations.
#pragma once

#include <colock/client.hpp>
#include <colock/detail/access.hpp>

#include <memory>
#include <utility>

namespace colock::detail {

// As good as the user's object, but that it is not the one whose end is the end of the session.
class borrowed_client {
public:
    explicit borrowed_client(std::shared_ptr<client_core> core) noexcept
        : client_{access::make<client>(std::move(core))}
    {
    }
    borrowed_client(const borrowed_client&) = delete;
    borrowed_client& operator=(const borrowed_client&) = delete;
    ~borrowed_client() { access::core(client_).reset(); }

    [[nodiscard]] client& operator*() noexcept { return client_; }
    [[nodiscard]] client* operator->() noexcept { return &client_; }

private:
    client client_;
};

} // namespace colock::detail
