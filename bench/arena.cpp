#include "arena.hpp"

#include <support/tcp_proxy.hpp>
#include <support/zookeeper_server.hpp>

#include "systems/etcd_server.hpp"

#include <cstdio>
#include <exception>
#include <optional>
#include <utility>

namespace bench {

using colock::test::opcode;
using colock::test::tcp_proxy;
using colock::test::zookeeper_ensemble;
using colock::test::zookeeper_server;

struct arena::servers_and_proxies {
    std::optional<zookeeper_server> zookeeper;
    std::optional<zookeeper_ensemble> ensemble;
    std::optional<etcd_server> etcd;
    std::vector<std::string> zookeeper_hosts;
    std::vector<std::string> secure_hosts; // of the same servers
    std::vector<std::string> etcd_hosts;
    std::vector<std::unique_ptr<tcp_proxy>> zookeeper_proxies;
    std::vector<std::unique_ptr<tcp_proxy>>
        secure_proxies; // which forward what they do not understand
    std::vector<std::unique_ptr<tcp_proxy>> etcd_proxies;
};

namespace {

std::vector<std::unique_ptr<tcp_proxy>> put_before(std::vector<std::string>& hosts)
{
    std::vector<std::unique_ptr<tcp_proxy>> proxies;
    for (auto& host : hosts) {
        proxies.push_back(std::make_unique<tcp_proxy>(host));
        host = proxies.back()->connect_string();
    }
    return proxies;
}

std::string join(const std::vector<std::string>& hosts)
{
    std::string all;
    for (const auto& host : hosts) {
        all += (all.empty() ? "" : ",") + host;
    }
    return all;
}

} // namespace

colock::test::zookeeper_options server_options(const run_options& run)
{
    colock::test::zookeeper_options server;
    server.optimising_jvm = true;
    server.force_sync = run.fsync;
    server.tls = run.tls;
    // Directories of locks stay while another system is measured.
    server.container_check_interval = std::chrono::hours{1};
    return server;
}

arena::arena(const run_options& run, arena_options options)
    : options_{options}, all_{std::make_unique<servers_and_proxies>()}
{
    const auto server = server_options(run);
    if (options.servers == 1) {
        all_->zookeeper.emplace(server);
        all_->zookeeper_hosts = {all_->zookeeper->connect_string()};
        all_->secure_hosts = {all_->zookeeper->secure_connect_string()};
    } else {
        all_->ensemble.emplace(server, static_cast<std::size_t>(options.servers));
        for (std::size_t i = 0; i != all_->ensemble->size(); ++i) {
            all_->zookeeper_hosts.push_back((*all_->ensemble)[i].connect_string());
            all_->secure_hosts.push_back((*all_->ensemble)[i].secure_connect_string());
        }
    }
    if (options.etcd && !launch_command(etcd_system, run.self).empty()) {
        try {
            all_->etcd.emplace(
                etcd_options{.servers = options.servers, .on_disk = run.fsync, .log = run.log});
            for (int i = 0; i != options.servers; ++i) {
                all_->etcd_hosts.push_back(all_->etcd->address(i));
            }
        } catch (const std::exception& e) { // its client will find none, and is left out
            std::fprintf(stderr, "etcd does not start: %s\n", e.what());
        }
    }
    if (options.proxied) {
        all_->zookeeper_proxies = put_before(all_->zookeeper_hosts);
        if (run.tls) {
            all_->secure_proxies = put_before(all_->secure_hosts);
        }
        all_->etcd_proxies = put_before(all_->etcd_hosts);
    }
}

arena::~arena() = default;

std::string arena::hosts(server_kind kind) const
{
    switch (kind) {
    case server_kind::etcd: return join(all_->etcd_hosts);
    case server_kind::zookeeper_tls: return join(all_->secure_hosts);
    case server_kind::zookeeper: break;
    }
    return join(all_->zookeeper_hosts);
}

void arena::set_round_trip(std::chrono::milliseconds time)
{
    for (auto* proxies : {&all_->zookeeper_proxies, &all_->secure_proxies, &all_->etcd_proxies}) {
        for (auto& proxy : *proxies) {
            proxy->set_delay(std::chrono::microseconds{time} / 2);
        }
    }
}

arena::traffic arena::seen() const
{
    traffic sum;
    for (const auto& proxy : all_->zookeeper_proxies) {
        const auto count = [](std::size_t n) { return static_cast<std::int64_t>(n); };
        const auto pings = count(proxy->requests(opcode::ping));
        const auto requests = count(proxy->requests()) - pings;
        sum.requests += requests;
        sum.notifications += count(proxy->replies(opcode::notification));
        sum.packets += requests + count(proxy->replies()) - count(proxy->replies(opcode::ping));
        sum.bytes += count(proxy->bytes());
    }
    return sum;
}

void arena::kill_leader(server_kind kind)
{
    if (kind == server_kind::etcd) {
        if (all_->etcd) {
            all_->etcd->kill(all_->etcd->leader());
        }
    } else {
        (*all_->ensemble)[all_->ensemble->wait_for_leader()].kill();
    }
}

void arena::stop_servers()
{
    if (all_->etcd) {
        all_->etcd->stop(0);
    }
    all_->zookeeper->stop_process();
}

void arena::resume_servers()
{
    if (all_->etcd) {
        all_->etcd->resume(0);
    }
    all_->zookeeper->continue_process();
}

// ------------------------------------------------------------------------------------------- field

field::field(report& out, const run_options& run, const arena& where, std::string scenario,
             const std::vector<lock_system>& systems, int processes)
    : scenario_{std::move(scenario)}
{
    for (const auto& s : systems) {
        try {
            const peer_options options{run.self, run.log, run.session_timeout};
            all_.push_back(
                {s, std::make_unique<peer_group>(s, where.hosts(s.server), options, processes)});
        } catch (const std::exception& e) {
            leave_out(out, scenario_, s.name, e.what());
        }
    }
}

void field::warm_up(report& out, const std::function<void(entrant&)>& what)
{
    std::erase_if(all_, [&](entrant& e) {
        try {
            what(e);
            return false;
        } catch (const std::exception& failure) {
            leave_out(out, scenario_, e.system.name, failure.what());
            return true;
        }
    });
}

std::vector<contestant>
field::contestants(const std::function<std::vector<double>(entrant&)>& slice)
{
    std::vector<contestant> all;
    for (auto& e : all_) {
        all.push_back({std::string{e.system.name}, [&e, slice] { return slice(e); }});
    }
    return all;
}

std::vector<contestant>
field::contestants(const std::function<std::vector<double>(entrant&, const arrangement&)>& slice)
{
    std::vector<contestant> all;
    for (const auto& how : arrangements) {
        for (auto& e : all_) {
            all.push_back({std::string{e.system.name}, [&e, &how, slice] { return slice(e, how); },
                           how.name});
        }
    }
    return all;
}

std::vector<lock_system> colock_and_peers(bool with_etcd)
{
    std::vector<lock_system> all;
    for (const auto& s : peers) {
        if (with_etcd || s.server != server_kind::etcd) {
            all.push_back(s);
        }
    }
    all.push_back(colock_system);
    return all;
}

std::vector<lock_system> colock_both_ways()
{
    return {colock_tls, colock_system};
}

std::string path_of(const lock_system& s, const std::string& what)
{
    auto path = "/bench/" + std::string{s.name};
    path.resize(24, '-');
    return path + '/' + what;
}

} // namespace bench
