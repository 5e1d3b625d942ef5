// The server in memory of `colock serve`, behind a socket.
#include "ground.hpp"
#include "serve/running_door.hpp"

#include <stdexcept>

namespace world::conversation {

namespace {

using namespace std::chrono_literals;
namespace testing = colock::testing;

testing::server_settings settings_with(const side_options& o)
{
    auto s = testing::fresh_settings();
    s.least_session = 1s;
    s.most_session = 10s;
    s.container_check = o.container_check;
    return s;
}

class served_ground final : public ground {
public:
    explicit served_ground(const side_options& o) : server_{settings_with(o)} {}

    const std::vector<std::string>& addresses() const override { return addresses_; }
    bool exists_needs_read() const override { return true; }
    void set_counters(const counters&) override
    {
        throw std::logic_error{"its numbers begin at 0"};
    }

private:
    testing::running_door server_;
    const std::vector<std::string> addresses_{server_.hosts};
};

} // namespace

std::unique_ptr<real_side> make_served_side(const side_options& o)
{
    return make_side_on(std::make_unique<served_ground>(o), {});
}

} // namespace world::conversation
