#include "queue/running_contender.hpp"

#include "queue/random_guid.hpp"

namespace colock::detail {

namespace {

using any_contender = std::variant<protocol::contender, protocol::single_node>;

// In place: GCC 12 warns of the destructor of one that was moved from.
any_contender make_contender(const lock_config_ptr& config, bool shared, bool lingers)
{
    using protocol::contender;
    const auto& o = config->options;
    if (!config->kind.has_queue) {
        return protocol::single_node{o.rejoin_on_expiry};
    }
    return any_contender{std::in_place_type<contender>,
                         contender::settings{.layout = layout_of(config),
                                             .holders = config->kind.holders,
                                             .shared = shared,
                                             .rejoin_on_expiry = o.rejoin_on_expiry,
                                             .lingers = lingers},
                         random_guid()};
}

} // namespace

running_contender::running_contender(const lease& held, path_facts& facts,
                                     const lock_config_ptr& config, bool shared, bool lingers)
    : held_{held}, facts_{&facts}, contender_{make_contender(config, shared, lingers)},
      repetition_{config->kind.has_queue}
{
}

void running_contender::stop() noexcept
{
    over_ = true;
    runner_.forget();
    pause_.end();
}

} // namespace colock::detail
