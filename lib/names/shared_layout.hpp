// The names of a lock's nodes, which all contenders of a client for that lock share.
#pragma once

#include <colock/layout.hpp>

#include <memory>
#include <utility>

namespace colock::protocol {

class shared_layout {
public:
    shared_layout(layout l) : of_{std::make_shared<const layout>(std::move(l))} {}
    shared_layout(std::shared_ptr<const layout> of) noexcept : of_{std::move(of)} {}

    operator const layout&() const noexcept { return *of_; }
    const layout* operator->() const noexcept { return of_.get(); }

    friend bool operator==(const shared_layout& a, const shared_layout& b)
    {
        return a.of_ == b.of_ || *a.of_ == *b.of_;
    }

private:
    std::shared_ptr<const layout> of_;
};

} // namespace colock::protocol
