#include "ensemble.hpp"

#include "server.hpp"

#include <utility>

namespace colock::simulated {

struct ensemble::impl {
    common shared;
    std::vector<std::unique_ptr<server>> servers = {};
};

ensemble::ensemble(timeline& time, network& net, random chance, ensemble_options options)
    : impl_{std::make_unique<impl>(impl{{time, net, std::move(options)}})}
{
    for (std::size_t i = 0; i != impl_->shared.options.servers; ++i) {
        impl_->servers.push_back(std::make_unique<server>(impl_->shared, i, chance.branch()));
    }
    for (const auto& s : impl_->servers) {
        s->boot();
    }
}

ensemble::~ensemble() = default;

std::string ensemble::hosts() const
{
    std::string all;
    for (const auto& s : impl_->servers) {
        all += (all.empty() ? "" : ",") + s->address();
    }
    return all;
}

const std::string& ensemble::address(std::size_t i) const
{
    return impl_->servers[i]->address();
}

std::size_t ensemble::size() const noexcept
{
    return impl_->servers.size();
}

const ensemble_options& ensemble::options() const noexcept
{
    return impl_->shared.options;
}

void ensemble::set_pauses(pauses p) noexcept
{
    impl_->shared.options.threads = p;
}

machine& ensemble::machine_of(std::size_t i)
{
    return impl_->servers[i]->host();
}

void ensemble::start(std::size_t i)
{
    impl_->servers[i]->host().start();
    impl_->servers[i]->boot();
}

std::optional<std::size_t> ensemble::leader() const
{
    std::optional<std::size_t> found;
    std::int64_t newest = -1;
    for (std::size_t i = 0; i != size(); ++i) {
        auto* r = impl_->servers[i]->role();
        if (serves(i) && r->doing() == peer_message::doing::leading && r->epoch() > newest) {
            newest = r->epoch();
            found = i;
        }
    }
    return found;
}

bool ensemble::serves(std::size_t i) const
{
    auto* r = impl_->servers[i]->role();
    return r != nullptr && r->clients() != nullptr;
}

const tree& ensemble::decided() const noexcept
{
    return impl_->shared.decided;
}

void ensemble::observe(observer* told) noexcept
{
    impl_->shared.told = told;
}

const tree& ensemble::seen_by(std::size_t i) const
{
    return impl_->servers[i]->store().applied;
}

// Of all servers that serve.
std::size_t ensemble::sum_of(std::size_t (front::*count)() const noexcept) const
{
    std::size_t sum = 0;
    for (std::size_t i = 0; i != size(); ++i) {
        sum += serves(i) ? (impl_->servers[i]->role()->clients()->*count)() : 0;
    }
    return sum;
}

std::size_t ensemble::watches() const
{
    return sum_of(&front::watch_count);
}

std::size_t ensemble::watch_bytes() const
{
    return sum_of(&front::watch_bytes);
}

std::size_t ensemble::connections() const
{
    return sum_of(&front::connection_count);
}

bool ensemble::by_hand(operation c)
{
    const auto i = leader();
    return i && machine_of(*i).is_running() && impl_->servers[*i]->role()->by_hand(std::move(c));
}

bool ensemble::end_session(std::int64_t id)
{
    const auto i = leader();
    return i && machine_of(*i).is_running() && impl_->servers[*i]->role()->end_session(id);
}

bool ensemble::set_acl_by_hand(std::string path, colock::access_control_list acl)
{
    return by_hand({.op = opcode::set_acl, .path = std::move(path), .acl = std::move(acl)});
}

void ensemble::set_counter(const std::string& path, std::int32_t next)
{
    impl_->shared.decided.set_counter(path, next);
    for (const auto& s : impl_->servers) {
        s->store().applied.set_counter(path, next);
    }
}

} // namespace colock::simulated
