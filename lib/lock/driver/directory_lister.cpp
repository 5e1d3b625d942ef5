#include "lock/driver/directory_lister.hpp"

#include "lock/driver/contender_driver.hpp"
#include "lock/driver/listing.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace colock::detail {

namespace {

// Other handlers of the executor get their turn before more contenders are told.
constexpr std::ptrdiff_t most_told_at_once = 256;

} // namespace

void directory_lister::ask(std::weak_ptr<contender_driver> who)
{
    asking_.push_back(std::move(who));
    if (!under_way_) {
        send();
    }
}

void directory_lister::send()
{
    under_way_ = true;
    const auto count = std::min(std::ssize(asking_), most_told_at_once);
    drivers served{std::make_move_iterator(asking_.begin()),
                   std::make_move_iterator(asking_.begin() + count)};
    asking_.erase(asking_.begin(), asking_.begin() + count);
    if (asking_.empty()) {
        asking_ = drivers{}; // without its memory
    }
    auto list = make_request({.op = zk::opcode::children, .path = path_}, on_loss::fail,
                             [self = shared_from_this(), served = std::move(served)](
                                 zk::reply&& r) mutable { self->answered(served, r); });
    list->path_is_valid = true;
    core_.submit(std::move(list));
}

void directory_lister::answered(drivers& served, const zk::reply& r)
{
    under_way_ = false;
    const client_core::batch together{core_};
    if (is_loss(r.error)) { // theirs will not be sent
        std::ranges::move(std::exchange(asking_, {}), std::back_inserter(served));
    } else if (!asking_.empty()) {
        send(); // first: its answer is on the way meanwhile
    }
    const auto shown = listing_in(r);
    for (const auto& each : served) {
        if (const auto driver = each.lock()) {
            driver->listed(r, shown);
        }
    }
}

} // namespace colock::detail
