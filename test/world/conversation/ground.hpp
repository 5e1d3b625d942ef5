// Servers that sessions of the C client can speak to.
#pragma once

#include "side.hpp"

#include <memory>
#include <string>
#include <vector>

namespace world::conversation {

class ground {
public:
    virtual ~ground() = default;

    [[nodiscard]] virtual const std::vector<std::string>& addresses() const = 0;
    [[nodiscard]] virtual std::string name() const = 0;
    [[nodiscard]] virtual bool exists_needs_read() const = 0;
    virtual void set_counters(const counters& c) = 0;
};

std::unique_ptr<real_side> make_side_on(std::unique_ptr<ground> servers, const counters& from);

} // namespace world::conversation
