// What all parts of a client have in common.
#pragma once

#include <colock/client_options.hpp>

#include "report/client_log.hpp"
#include "report/counters.hpp"
#include "report/telemetry.hpp"
#include "session/client_strand.hpp"
#include "session/session_state.hpp"
#include "zk/secret.hpp"

#include <cstddef>
#include <memory>
#include <utility>

namespace colock::detail {

struct client_basics {
    client_basics(asio::any_io_executor executor, client_options o)
        : strand{std::move(executor)}, options{std::move(o)},
          telemetry{options.observer || options.histograms
                        ? std::make_unique<detail::telemetry>(options.observer, options.histograms)
                        : nullptr}
    {
    }
    ~client_basics() { zk::wipe(options.credentials); }

    // What the C client writes before each path.
    [[nodiscard]] std::size_t chroot_size() const noexcept
    {
        return options.chroot.size() > 1 ? options.chroot.size() : 0;
    }

    client_strand strand;
    // Not changed before the end, but for `hosts`, which belong to the strand.
    client_options options;
    const std::unique_ptr<detail::telemetry> telemetry; // null when nobody observes the client
    client_log log{options};
    counters count;
    session_state session;
};

} // namespace colock::detail
