#include "credentials.hpp"

#include <algorithm>

namespace colock::detail {

credential_fault fault_of(const credential& c, std::size_t max_request_size)
{
    constexpr std::size_t fixed_fields = 20;
    if (c.scheme.empty()) {
        return {errc::invalid_option, "a credential has no scheme; use \"digest\""};
    }
    if (c.scheme.size() + c.secret.size() + fixed_fields > max_request_size) {
        return {errc::request_too_large, "a credential is larger than max_request_size"};
    }
    if (c.scheme == "digest" && c.secret.find(':') == std::string::npos) {
        return {errc::invalid_option,
                "the secret of a digest credential has no colon; write \"user:password\""};
    }
    return {};
}

void credentials::add(const credential& c)
{
    if (std::ranges::find(all_, c) == all_.end()) {
        all_.push_back(c);
        on_trial_.push_back(c);
    }
}

void credentials::accept(const credential& c)
{
    std::erase(on_trial_, c);
}

void credentials::refuse()
{
    for (const auto& c : on_trial_) {
        std::erase(all_, c);
    }
    on_trial_.clear();
}

} // namespace colock::detail
