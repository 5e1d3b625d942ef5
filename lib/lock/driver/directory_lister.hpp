// The listings of a lock's directory for all contenders of a client.
#pragma once

#include "client/core.hpp"
#include "protocol/queue/context.hpp"

#include <memory>
#include <string>
#include <vector>

namespace colock::detail {

class contender_driver;

// On the strand. One listing at a time is under way. Those who ask meanwhile share the next one: a thousand contenders
// that join at once need a few listings, and not one each, of a thousand names. A listing is never sent before the
// contender has asked for it, so it comes behind all that the contender has sent before.
class directory_lister : public std::enable_shared_from_this<directory_lister> {
public:
    directory_lister(client_core& core, std::string path) : core_{core}, path_{std::move(path)} {}

    // Calls listed() of the contender, if that is there still.
    void ask(std::weak_ptr<contender_driver> who);

private:
    using drivers = std::vector<std::weak_ptr<contender_driver>>;

    void send();
    void answered(drivers& served, const zk::reply& r);

    client_core& core_; // which the contenders keep
    const std::string path_;
    drivers asking_; // for the next one
    bool under_way_ = false;
};

} // namespace colock::detail
