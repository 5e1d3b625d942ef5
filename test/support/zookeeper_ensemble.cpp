#include "admin_session.hpp"
#include "wait_until.hpp"
#include "zookeeper_membership.hpp"
#include "zookeeper_server.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace colock::test {

struct zookeeper_ensemble::reservations {
    explicit reservations(std::vector<server_place> const& where)
        : members(where.size()), places(where)
    {
    }

    std::vector<zookeeper_server::membership::ports> members;
    std::vector<server_place> places;
    std::set<std::size_t> gone;

    bool lost_to_a_stranger() const
    {
        return std::any_of(members.begin(), members.end(), [](auto const& ports) {
            return ports.client.occupied() || ports.secure.occupied() || ports.quorum.occupied() ||
                   ports.election.occupied();
        });
    }
};

zookeeper_ensemble::zookeeper_ensemble(zookeeper_options options, std::size_t size)
    : zookeeper_ensemble(std::move(options), std::vector<server_place>(size))
{
}

zookeeper_ensemble::zookeeper_ensemble(zookeeper_options options, std::vector<server_place> places)
    : options_(std::move(options))
{
    for (int attempt = 1;; ++attempt) {
        ports_ = std::make_unique<reservations>(places);
        try {
            launch_all();
            return;
        } catch (std::exception const&) {
            members_.clear();
            if (attempt == start_attempts || !ports_->lost_to_a_stranger())
                throw;
        }
    }
}

zookeeper_ensemble::~zookeeper_ensemble() = default;

void zookeeper_ensemble::launch_all()
{
    for (std::size_t number = 1; number <= ports_->members.size(); ++number) {
        zookeeper_server::membership const place{number, ports_->members, ports_->places,
                                                 ports_->gone};
        members_.push_back(std::make_unique<zookeeper_server>(options_, place));
        members_.back()->launch();
    }
    for (auto const& member : members_)
        member->wait_until_serving();
    wait_until_complete(options_.start_timeout);
}

std::string zookeeper_ensemble::connect_string() const
{
    std::string all;
    for (auto const& member : members_)
        all += (all.empty() ? "" : ",") + member->connect_string();
    return all;
}

std::string zookeeper_ensemble::secure_connect_string() const
{
    std::string all;
    for (auto const& member : members_)
        all += (all.empty() ? "" : ",") + member->secure_connect_string();
    return all;
}

std::optional<std::size_t> zookeeper_ensemble::leader() const
{
    for (std::size_t i = 0; i < members_.size(); ++i)
        if (members_[i]->mode() == "leader")
            return i;
    return std::nullopt;
}

std::vector<std::size_t> zookeeper_ensemble::followers() const
{
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < members_.size(); ++i)
        if (members_[i]->mode() == "follower")
            found.push_back(i);
    return found;
}

std::size_t zookeeper_ensemble::wait_for_leader(std::chrono::milliseconds timeout) const
{
    std::optional<std::size_t> found;
    if (!wait_until([&] { return (found = leader()).has_value(); }, timeout))
        throw std::runtime_error("zookeeper_ensemble: no leader after " + number(timeout) + " ms");
    return *found;
}

void zookeeper_ensemble::wait_until_complete(std::chrono::milliseconds timeout) const
{
    std::string modes;
    auto const complete = [&] {
        std::size_t leaders = 0, followers = 0;
        modes.clear();
        for (auto const& member : members_) {
            auto const mode = member->mode();
            leaders += mode == "leader";
            followers += mode == "follower";
            modes += (modes.empty() ? "" : ", ") + (mode.empty() ? "none" : mode);
        }
        return leaders == 1 && followers == members_.size() - 1;
    };
    if (!wait_until(complete, timeout))
        throw std::runtime_error("zookeeper_ensemble: not complete after " + number(timeout) +
                                 " ms: " + modes);
}

zookeeper_options zookeeper_ensemble::reconfigurable(zookeeper_options options)
{
    options.config_lines.push_back("reconfigEnabled=true");
    options.config_lines.push_back("standaloneEnabled=false");
    options.jvm_flags.push_back("-Dzookeeper.skipACL=yes");
    return options;
}

std::size_t zookeeper_ensemble::replace(std::size_t index)
{
    auto const& ports = ports_->members.emplace_back();
    ports_->places.emplace_back();
    auto const number = ports_->members.size();
    zookeeper_server::membership const place{number, ports_->members, ports_->places, ports_->gone};
    auto const& added = members_.emplace_back(std::make_unique<zookeeper_server>(options_, place));
    added->start();
    admin_session(members_[wait_for_leader()]->connect_string())
        .reconfigure(place.line(number) + ";127.0.0.1:" + std::to_string(ports.client.number()),
                     std::to_string(index + 1));
    ports_->gone.insert(index + 1);
    return number - 1;
}

void zookeeper_ensemble::start_missing()
{
    for (auto const& member : members_)
        if (!member->running())
            member->launch();
    wait_until_complete();
}

} // namespace colock::test
