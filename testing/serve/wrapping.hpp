// What the bytes of a connection are wrapped in: TLS. It does no I/O.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace colock::testing {

class wrapping {
public:
    wrapping() = default;
    wrapping(const wrapping&) = delete;
    wrapping& operator=(const wrapping&) = delete;
    virtual ~wrapping() = default;

    // What has come from the client, without its wrapping.
    [[nodiscard]] virtual std::string unwrap(std::string_view bytes) = 0;
    // The client says no more, or it makes no sense.
    [[nodiscard]] virtual bool is_over() const noexcept = 0;
    // The name in the certificate that the client has shown.
    [[nodiscard]] virtual const std::optional<std::string>& subject() const noexcept = 0;

    // What the client is to get, with what the wrapping itself has to say. Nothing comes after the last one.
    [[nodiscard]] virtual std::string wrap(std::string_view said, bool last) = 0;
    // What the wrapping itself has to say.
    [[nodiscard]] virtual std::size_t unsent() const noexcept = 0;
};

// One for each connection.
using make_wrapping = std::function<std::unique_ptr<wrapping>()>;

} // namespace colock::testing
