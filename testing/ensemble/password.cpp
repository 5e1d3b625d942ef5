#include "password.hpp"

#include "random.hpp"
#include "sha1.hpp"

#include <algorithm>

namespace colock::simulated {

std::array<char, 16> password_of(std::int64_t session, const std::string& secret)
{
    std::array<char, 16> password{};
    if (secret.empty()) {
        random guessed{static_cast<std::uint64_t>(session) ^ 0xb3415c00u};
        for (auto& c : password) {
            c = static_cast<char>(guessed() & 0xff);
        }
    } else {
        const auto digest = sha1_of(secret + std::to_string(session) + secret);
        std::copy_n(digest.begin(), password.size(), password.begin());
    }
    return password;
}

} // namespace colock::simulated
