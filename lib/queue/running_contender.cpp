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
        return protocol::single_node{{.rejoin_on_expiry = o.rejoin_on_expiry}};
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

running_contender::running_contender(contender_owner& owner, const lock_config_ptr& config,
                                     bool shared, bool lingers)
    : owner_{owner}, contender_{make_contender(config, shared, lingers)},
      repetition_{config->kind.has_queue}
{
}

void running_contender::end_pause()
{
    if (pause_.end()) {
        was_paused_ = true;
        const auto self = owner_.shared_from_this();
        carry_out();
    }
}

void running_contender::stop() noexcept
{
    over_ = true;
    runner_.forget();
    pause_.end();
}

void running_contender::claim()
{
    if (const auto* const c = std::get_if<protocol::single_node>(&contender_)) {
        owner_.claimed().claim(*this, c->identity().czxid);
    }
}

void running_contender::carry_out()
{
    // The end of a batch may bring answers.
    const bool done =
        pause_.runs() || runner_.run([this](const protocol::command& c) { return carry_out(c); },
                                     [this] { return client_core::batch{core()}; });
    if (done) {
        owner_.carried_out();
    }
}

bool running_contender::carry_out(const protocol::command& c)
{
    using cause = protocol::repetition::cause;
    const auto why = c.is_request() && !std::exchange(was_paused_, false)
                         ? repetition_.is_repetition(c.type)
                         : cause::none;
    if (why != cause::none && pause_.begin(core().strand(), why, [this] { end_pause(); })) {
        return false;
    }
    owner_.carry_out(c);
    return true;
}

} // namespace colock::detail
