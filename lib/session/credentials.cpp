#include "session/credentials.hpp"

#include "zk/secret.hpp"

#include <algorithm>
#include <iterator>

namespace colock::detail {

credentials::~credentials()
{
    zk::wipe(all_);
    zk::wipe(on_trial_);
}

namespace {

// A vector that grows or closes a gap would leave copies of parts of secrets.
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
