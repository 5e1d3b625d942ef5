// What recipes that are made of the client's own operations have in common.
#pragma once

#include "recipes/borrowed_client.hpp"
#include "session/core.hpp"

#include <boost/asio/bind_executor.hpp>

#include <memory>
#include <utility>

namespace colock::detail {

// Lives on the strand of a client. What is under way keeps it alive.
template <class Self>
class strand_object : public std::enable_shared_from_this<Self> {
protected:
    explicit strand_object(std::shared_ptr<client_core> core) : core_{std::move(core)} {}
    ~strand_object() = default;

    // A handler on the strand.
    template <class... Results, class Then>
    [[nodiscard]] auto on_strand(Then then)
    {
        return asio::bind_executor(
            core_->strand(),
            [self = this->shared_from_this(), then = std::move(then)](
                error_code ec, Results... results) mutable { then(ec, std::move(results)...); });
    }

    const std::shared_ptr<client_core> core_;
    borrowed_client client_{core_};
};

} // namespace colock::detail
