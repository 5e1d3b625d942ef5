// How the operation of an acquisition tells the client's observer what it came to.
#include <colock/detail/access.hpp>
#include <colock/detail/observation.hpp>
#include <colock/multi_guard.hpp>
#include <colock/permit.hpp>
#include <colock/unique_lock.hpp>

#include "queue/contender_driver.hpp"
#include "report/telemetry.hpp"

namespace colock::detail {

namespace {

// Of one that was not granted.
acquisition_outcome outcome_of(const observation& o, const error_code& ec) noexcept
{
    using enum acquisition_outcome;
    return ec == asio::error::operation_aborted ? cancelled
           : ec                                 ? failed
           : o.tries                            ? busy
                                                : timed_out;
}

void end(observation& o, const error_code& ec, bool granted) noexcept
{
    o.of->to.end(o, granted ? acquisition_outcome::granted : outcome_of(o, ec), ec);
}

} // namespace

void end_observation(observation& o, const error_code& ec, const unique_lock& held) noexcept
{
    const auto& grant = access::held(held);
    if (grant.driver) {
        o.of->to.end(o, acquisition_outcome::granted, ec, {grant.driver->czxid(), grant.turn},
                     &grant.driver->node());
    } else {
        end(o, ec, false);
    }
}

void end_observation(observation& o, const error_code& ec, const permit& held) noexcept
{
    end(o, ec, access::held(held) != nullptr);
}

void end_observation(observation& o, const error_code& ec, const multi_guard& held) noexcept
{
    end(o, ec, held.size() != 0);
}

void drop_observation(observation& o) noexcept
{
    o.of->to.end(o, acquisition_outcome::dropped, asio::error::operation_aborted);
}

} // namespace colock::detail
