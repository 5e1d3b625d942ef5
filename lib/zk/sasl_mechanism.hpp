// What a mechanism of SASL says in the place of the client.
#pragma once

#include "zk/sasl_exchange.hpp"
#include "zk/sasl_terms.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace colock::zk {

// May block, on a server of keys. One thread at a time.
class sasl_mechanism {
public:
    sasl_mechanism() = default;
    sasl_mechanism(const sasl_mechanism&) = delete;
    sasl_mechanism& operator=(const sasl_mechanism&) = delete;
    virtual ~sasl_mechanism() = default;

    [[nodiscard]] virtual const std::string& name() const noexcept = 0;
    [[nodiscard]] virtual sasl_word begin() = 0;
    [[nodiscard]] virtual sasl_word answer(std::string_view challenge) = 0;
};

// Null when there is none in this library.
[[nodiscard]] std::shared_ptr<sasl_mechanism> make_sasl_mechanism(sasl_terms terms);

} // namespace colock::zk
