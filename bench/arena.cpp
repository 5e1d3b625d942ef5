#include "arena.hpp"

#include <support/private_network.hpp>
#include <support/tcp_proxy.hpp>
#include <support/zookeeper_server.hpp>

#include "systems/etcd_server.hpp"
#include "systems/redis_server.hpp"

#include <cstddef>
#include <cstdio>
#include <exception>
#include <optional>
#include <utility>

namespace bench {

using colock::test::lan;
using colock::test::opcode;
using colock::test::private_network;
using colock::test::tcp_proxy;
using colock::test::zookeeper_ensemble;
using colock::test::zookeeper_server;

struct arena::servers_and_proxies {
    std::optional<private_network> network; // first those for ZooKeeper, then those for etcd
    std::optional<zookeeper_server> zookeeper;
    std::optional<zookeeper_ensemble> ensemble;
    std::optional<etcd_server> etcd;
    std::optional<redis_server> redis;
    std::vector<std::string> zookeeper_hosts;
    std::vector<std::string> secure_hosts; // of the same servers
    std::vector<std::string> etcd_hosts;
    std::vector<std::unique_ptr<tcp_proxy>> zookeeper_proxies;
    std::vector<std::unique_ptr<tcp_proxy>>
        secure_proxies; // which forward what they do not understand
    std::vector<std::unique_ptr<tcp_proxy>> etcd_proxies;
    std::size_t chosen_zookeeper = 0;
    std::size_t chosen_etcd = 0;
    bool cut = false;

    [[nodiscard]] const std::vector<std::string>& hosts(server_kind kind) const
    {
        return kind == server_kind::etcd ? etcd_hosts : zookeeper_hosts;
    }
    [[nodiscard]] std::size_t chosen(server_kind kind) const
    {
        return kind == server_kind::etcd ? chosen_etcd : chosen_zookeeper;
    }
    // The hosts of the network on which those are that were chosen.
    [[nodiscard]] std::vector<std::size_t> chosen_places() const
    {
        std::vector<std::size_t> all{chosen_zookeeper};
        if (etcd) {
            all.push_back(zookeeper_hosts.size() + chosen_etcd);
        }
        return all;
    }
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
    std::vector<colock::test::server_place> places(static_cast<std::size_t>(options.servers));
    std::vector<colock::test::server_place> etcd_places;
    if (options.apart) {
        all_->network.emplace(2 * places.size());
        const auto hosts = all_->network->places();
        const auto first_of_etcd = hosts.begin() + options.servers;
        places.assign(hosts.begin(), first_of_etcd);
        etcd_places.assign(first_of_etcd, hosts.end());
    }
    if (options.servers == 1) {
        all_->zookeeper.emplace(server);
        all_->zookeeper_hosts = {all_->zookeeper->connect_string()};
        all_->secure_hosts = {all_->zookeeper->secure_connect_string()};
    } else {
        all_->ensemble.emplace(server, places);
        for (std::size_t i = 0; i != all_->ensemble->size(); ++i) {
            all_->zookeeper_hosts.push_back((*all_->ensemble)[i].connect_string());
            all_->secure_hosts.push_back((*all_->ensemble)[i].secure_connect_string());
        }
    }
    if (options.etcd && !launch_command(etcd_system, run.self).empty()) {
        try {
            all_->etcd.emplace(etcd_options{.servers = options.servers,
                                            .places = etcd_places,
                                            .on_disk = run.fsync,
                                            .log = run.log});
            for (int i = 0; i != options.servers; ++i) {
                all_->etcd_hosts.push_back(all_->etcd->address(i));
            }
        } catch (const std::exception& e) { // its client will find none, and is left out
            std::fprintf(stderr, "etcd does not start: %s\n", e.what());
        }
    }
    if (options.redis) {
        all_->redis.emplace(run.log);
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
    case server_kind::redis: return all_->redis->address();
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
    if (all_->redis) {
        all_->redis->stop();
    }
    all_->zookeeper->stop_process();
}

void arena::resume_servers()
{
    if (all_->etcd) {
        all_->etcd->resume(0);
    }
    if (all_->redis) {
        all_->redis->resume();
    }
    all_->zookeeper->continue_process();
}

void arena::choose(bool leader)
{
    const auto& servers = *all_->ensemble;
    all_->chosen_zookeeper = leader ? servers.wait_for_leader() : servers.followers().front();
    if (all_->etcd) {
        const auto first = static_cast<std::size_t>(all_->etcd->leader());
        all_->chosen_etcd = leader ? first : (first + 1) % all_->etcd_hosts.size();
    }
}

std::string arena::chosen(server_kind kind) const
{
    const auto& all = all_->hosts(kind);
    return all.empty() ? "" : all.at(all_->chosen(kind));
}

std::string arena::others(server_kind kind) const
{
    auto all = all_->hosts(kind);
    if (!all.empty()) {
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(all_->chosen(kind)));
    }
    return join(all);
}

void arena::cut_off()
{
    all_->cut = true;
    for (const auto host : all_->chosen_places()) {
        all_->network->cut(host, lan::peers);
    }
}

void arena::restore()
{
    if (all_->cut) {
        for (const auto host : all_->chosen_places()) {
            all_->network->restore(host, lan::peers);
        }
        all_->cut = false;
    }
    all_->ensemble->wait_until_complete();
    if (all_->etcd) {
        all_->etcd->wait_until_complete();
    }
}

std::vector<std::string> arena::launcher() const
{
    return all_->network ? all_->network->launcher() : std::vector<std::string>{};
}

// ------------------------------------------------------------------------------------------- field

field::field(report& out, const run_options& run, const arena& where, std::string scenario,
             const std::vector<lock_system>& systems, int processes)
    : scenario_{std::move(scenario)}
{
    for (const auto& s : systems) {
        try {
            const peer_options options{.self = run.self,
                                       .log = run.log,
                                       .session_timeout = run.session_timeout,
                                       .launcher = where.launcher()};
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
