// The identities that a client presents on each of its connections.
#pragma once

#include <colock/client_options.hpp>

#include <cstddef>
#include <vector>

namespace colock::detail {

// Those of the options, and those that came later. A server that refuses one closes the connection, and does not say
// which one it means. So those that came later are on trial until a server has accepted them: a refusal is about them.
class credentials {
public:
    explicit credentials(const std::vector<credential>& of_options) : all_{of_options} {}
    credentials(const credentials&) = delete;
    credentials& operator=(const credentials&) = delete;
    ~credentials();

    [[nodiscard]] const std::vector<credential>& all() const noexcept { return all_; }

    // Does nothing when it is there already.
    void add(const credential& c);
    void accept(const credential& c);
    [[nodiscard]] bool has_on_trial() const noexcept { return !on_trial_.empty(); }
    // Forgets those that are on trial.
    void refuse();

    // What the connection of now has been told: all(), when it is opened.
    void open() noexcept { told_ = all_.size(); }
    [[nodiscard]] const credential* next_to_tell() const noexcept
    {
        return told_ < all_.size() ? &all_[told_] : nullptr;
    }
    void told() noexcept { ++told_; }

private:
    std::vector<credential> all_;
    std::vector<credential> on_trial_; // of them
    std::size_t told_ = 0;
};

} // namespace colock::detail
