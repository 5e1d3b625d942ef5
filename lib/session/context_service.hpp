// Tells the clients of an execution context that it is being destroyed.
#pragma once

#include <boost/asio/execution_context.hpp>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace colock::detail {

class client_core;

// Services are shut down in the reverse order of their creation, and before any of them is destroyed. A
// client creates the ones that it needs first, and then this one: so it can still release them here.
class context_service final : public boost::asio::execution_context::service {
public:
    using key_type = context_service;
    static boost::asio::execution_context::id id;

    explicit context_service(boost::asio::execution_context& context);

    void add(const std::shared_ptr<client_core>& core);
    void remove(client_core& core) noexcept;

private:
    void shutdown() override;

    std::mutex mutex_;
    // In the order of their creation: that of their addresses is another one in each run.
    std::vector<std::pair<client_core*, std::weak_ptr<client_core>>> cores_;
};

} // namespace colock::detail
