#include "credentials.hpp"

#include "zk/secret.hpp"

#include <algorithm>
#include <iterator>

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

credentials::~credentials()
{
    zk::wipe(all_);
    zk::wipe(on_trial_);
}

namespace {

// A vector that grows or closes a gap would leave parts of secrets behind.
template <class Keep>
void replace(std::vector<credential>& all, const credential* added, Keep keep)
{
    struct wiped_vector : std::vector<credential> {
        ~wiped_vector() { zk::wipe(*this); } // what was copied when there is no memory for the rest
    } now;
    now.reserve(all.size() + 1);
    std::ranges::copy_if(all, std::back_inserter(now), keep);
    if (added != nullptr) {
        now.push_back(*added);
    }
    zk::wipe(all);
    all.swap(now);
}

constexpr auto all_of_them = [](const credential&) { return true; };

} // namespace

void credentials::add(const credential& c)
{
    if (std::ranges::find(all_, c) == all_.end()) {
        replace(all_, &c, all_of_them);
        replace(on_trial_, &c, all_of_them);
    }
}

void credentials::accept(const credential& c)
{
    replace(on_trial_, nullptr, [&](const credential& each) { return each != c; });
}

void credentials::refuse()
{
    replace(all_, nullptr, [this](const credential& each) {
        return std::ranges::find(on_trial_, each) == on_trial_.end();
    });
    zk::wipe(on_trial_);
}

} // namespace colock::detail
