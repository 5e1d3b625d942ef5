// Secrets are overwritten before their memory is freed.
#pragma once

#include <colock/client_options.hpp>

#include "zk/call.hpp"

#include <string.h> // explicit_bzero

#include <string>
#include <utility>
#include <vector>

namespace colock::zk {

// A string of a few characters holds them itself, also when it was moved from.
inline void wipe(std::string& text) noexcept
{
    text.resize(text.capacity());
    ::explicit_bzero(text.data(), text.size());
    text.clear();
}

inline void wipe(std::vector<credential>& all) noexcept
{
    for (auto& each : all) {
        wipe(each.secret);
    }
    all.clear();
}

inline void wipe(session_identity& session) noexcept
{
    ::explicit_bzero(session.password.data(), session.password.size());
}

// A credential on its way.
class secret_credential {
public:
    // A short secret stays in the string that was moved from.
    explicit secret_credential(credential&& c) noexcept : value_{std::move(c)}
    {
        wipe(c.secret); // NOLINT(bugprone-use-after-move): see above
    }
    secret_credential(secret_credential&& other) noexcept : value_{std::move(other.value_)}
    {
        wipe(other.value_.secret);
    }
    secret_credential& operator=(secret_credential&&) = delete;
    ~secret_credential() { wipe(value_.secret); }

    [[nodiscard]] const credential& operator*() const noexcept { return value_; }

private:
    credential value_;
};

} // namespace colock::zk
