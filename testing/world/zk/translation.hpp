// What the library asks for and hears, as the simulated servers have it.
#pragma once

#include <colock/client_options.hpp>
#include <colock/error.hpp>

#include "ensemble/wire.hpp"
#include "zk/call.hpp"

#include <utility>
#include <vector>

namespace colock::simulated {

static_assert(static_cast<int>(opcode::set_acl) == static_cast<int>(colock::zk::opcode::set_acl));

[[nodiscard]] inline operation to_servers(colock::zk::call c)
{
    return {.op = static_cast<opcode>(c.op),
            .path = std::move(c.path),
            .data = std::move(c.data),
            .watch = c.watch,
            .kind =
                c.kind == colock::zk::watch_kind::data ? watch_kind::data : watch_kind::children,
            .version = c.version,
            .mode = c.mode,
            .ttl = c.ttl,
            .acl = std::move(c.acl),
            .ops = colock::zk::moved_to<std::vector<colock::transaction_op>>(std::move(c.ops))};
}

[[nodiscard]] inline session_identity to_servers(const colock::zk::session_identity& s)
{
    return {s.id, s.password};
}

[[nodiscard]] inline auth_request to_servers(colock::credential c)
{
    return {{std::move(c.scheme), std::move(c.secret)}};
}

[[nodiscard]] inline colock::error_code to_library(status s)
{
    return s ? colock::error_code{static_cast<colock::zookeeper_errc>(s.value())}
             : colock::error_code{};
}

[[nodiscard]] inline colock::zk::reply to_library(response&& r)
{
    colock::zk::reply made{.error = to_library(r.error),
                           .text = std::move(r.text),
                           .stat = r.stat,
                           .names = std::move(r.names),
                           .acl = std::move(r.acl)};
    made.results.reserve(r.results.size());
    for (auto& step : r.results) {
        // The library's creates in a transaction are such as are answered with a path alone.
        const auto stat = step.path.empty() ? step.stat : colock::node_stat{};
        made.results.push_back({to_library(step.error), std::move(step.path), stat});
    }
    return made;
}

[[nodiscard]] inline colock::zk::session_identity to_library(const session_identity& s)
{
    return {s.id, s.password};
}

} // namespace colock::simulated
