// An operation of which a function inside this library is told, instead of a user's handler.
#pragma once

#include <colock/detail/operation.hpp>

#include "session/core.hpp"

#include <functional>
#include <memory>
#include <tuple>
#include <utility>

namespace colock::detail {

// Whatever it comes to is told on the strand, and never inside the call that brought it about: what is told in this
// way is told in the order in which it happened there.
template <class... Results>
class function_operation final : public operation<Results...> {
public:
    using function = std::function<void(Results...)>;

    [[nodiscard]] static operation_ptr<Results...> make(std::shared_ptr<client_core> core,
                                                        cancel_link_ptr link, function then)
    {
        return operation_ptr<Results...>{
            new function_operation{std::move(core), std::move(link), std::move(then)}};
    }

    void complete(Results&&... results) override
    {
        const auto core = std::move(core_);
        core->post([then = std::move(then_),
                    all = std::tuple<Results...>{std::move(results)...}]() mutable {
            std::apply([&](auto&... each) { then(std::move(each)...); }, all);
        });
        delete this;
    }
    void destroy() noexcept override { delete this; }

private:
    function_operation(std::shared_ptr<client_core>&& core, cancel_link_ptr&& link, function&& then)
        : operation<Results...>{std::move(link)}, core_{std::move(core)}, then_{std::move(then)}
    {
    }
    ~function_operation() = default;

    std::shared_ptr<client_core> core_;
    function then_;
};

} // namespace colock::detail
