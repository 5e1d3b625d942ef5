// The node of one contender: where it is, and what is known of its data.
#pragma once

#include "names/revocation.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace colock::detail {

// The data are the owner's, until somebody writes a request to release the lock in their place. On the strand; other threads may
// ask for path and czxid once the lock is granted. They stay then; a downgrade alone moves the path, while no guard refers to it.
class own_node {
public:
    // It is to be made, or replaced: nobody has asked for the new one.
    void begin_anew() noexcept
    {
        is_asked_for_ = false;
        data_.reset();
    }
    void move_to(std::string path) { path_ = std::move(path); }
    void granted(std::int64_t czxid) noexcept { czxid_ = static_cast<std::uint64_t>(czxid); }

    // What a server says is in it. Returns whether that is the first request for it.
    [[nodiscard]] bool read(std::string_view data, const std::string& first)
    {
        if (data == protocol::revocation_request) {
            return !std::exchange(is_asked_for_, true);
        }
        keep(protocol::without_mark(data), first);
        return false;
    }
    // What its owner has written: a leader may proclaim another identity. `first`: what it was made with.
    void keep(std::string_view data, const std::string& first)
    {
        data_ = data == first ? nullptr : std::make_unique<const std::string>(data);
    }

    [[nodiscard]] const std::string& data(const std::string& first) const noexcept
    {
        return data_ ? *data_ : first;
    }
    [[nodiscard]] bool is_asked_for() const noexcept { return is_asked_for_; }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] std::uint64_t czxid() const noexcept { return czxid_; }

private:
    std::string path_;
    std::uint64_t czxid_ = 0;
    std::unique_ptr<const std::string> data_; // where they are not the first ones
    bool is_asked_for_ = false;
};

} // namespace colock::detail
