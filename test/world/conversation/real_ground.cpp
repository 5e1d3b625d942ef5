// Real servers.
#include <support/snapshot.hpp>
#include <support/zookeeper_server.hpp>

#include "ground.hpp"

#include <cstdio>
#include <stdexcept>
#include <string>
#include <tuple>

namespace world::conversation {

namespace {

using namespace std::chrono_literals;
using colock::test::zookeeper_ensemble;
using colock::test::zookeeper_options;
using colock::test::zookeeper_server;

zookeeper_options options_with(const side_options& wanted)
{
    zookeeper_options o;
    o.tick_time = 500ms;
    o.extended_types = true;
    o.container_check_interval = wanted.container_check;
    o.jvm_flags = {"-Dzookeeper.digest.enabled=false"};
    return o;
}

class real_ground final : public ground {
public:
    explicit real_ground(const side_options& o)
    {
        if (o.servers == 1) {
            alone_ = std::make_unique<zookeeper_server>(options_with(o));
            addresses_.push_back(alone_->connect_string());
            return;
        }
        ensemble_ = std::make_unique<zookeeper_ensemble>(options_with(o), o.servers);
        for (std::size_t i = 0; i != o.servers; ++i) {
            addresses_.push_back((*ensemble_)[i].connect_string());
        }
    }

    const std::vector<std::string>& addresses() const override { return addresses_; }

    std::string name() const override
    {
        const auto [major, minor, patch] = version();
        return "ZooKeeper " + std::to_string(major) + '.' + std::to_string(minor) + '.' +
               std::to_string(patch);
    }
    bool exists_needs_read() const override
    {
        const auto [major, minor, patch] = version();
        return std::tuple{major, minor} > std::tuple{3, 9} ||
               (minor == 9 ? patch >= 2 : minor == 8 && patch >= 4);
    }

    void set_counters(const counters& c) override
    {
        colock::test::set_sequence_counters(*alone_, c);
    }

private:
    [[nodiscard]] std::tuple<int, int, int> version() const
    {
        const auto text = (ensemble_ ? (*ensemble_)[0] : *alone_).four_letter_word("srvr");
        int major = 0, minor = 0, patch = 0;
        if (std::sscanf(text.c_str(), "Zookeeper version: %d.%d.%d", &major, &minor, &patch) != 3) {
            throw std::runtime_error{"the server does not tell its version: " + text};
        }
        return {major, minor, patch};
    }

    std::unique_ptr<zookeeper_server> alone_; // or
    std::unique_ptr<zookeeper_ensemble> ensemble_;
    std::vector<std::string> addresses_;
};

} // namespace

std::unique_ptr<real_side> make_real_side(const side_options& o)
{
    return make_side_on(std::make_unique<real_ground>(o), o.from);
}

} // namespace world::conversation
