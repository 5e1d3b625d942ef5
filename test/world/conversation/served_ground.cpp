// The server in memory of `colock serve`, behind a socket.
#include "ground.hpp"
#include "serve/running_door.hpp"

#include <stdexcept>

namespace world::conversation {

namespace {

using namespace std::chrono_literals;
namespace testing = colock::testing;

testing::server_settings settings_with(const side_options& o, bool exists_needs_read)
{
    auto s = testing::fresh_settings();
    s.least_session = 1s;
    s.most_session = 10s;
    s.container_check = o.container_check;
    s.exists_needs_read = exists_needs_read;
    return s;
}

class served_ground final : public ground {
public:
    explicit served_ground(const testing::server_settings& s)
        : exists_needs_read_{s.exists_needs_read}, server_{s}
    {
    }

    std::string name() const override { return "colock serve"; }
    const std::vector<std::string>& addresses() const override { return addresses_; }
    bool exists_needs_read() const override { return exists_needs_read_; }
    void set_counters(const counters&) override
    {
        throw std::logic_error{"its numbers begin at 0"};
    }

private:
    bool exists_needs_read_;
    testing::running_door server_;
    const std::vector<std::string> addresses_{server_.hosts};
};

} // namespace

std::unique_ptr<real_side> make_served_side(const side_options& o, bool exists_needs_read)
{
    return make_side_on(std::make_unique<served_ground>(settings_with(o, exists_needs_read)), {});
}

} // namespace world::conversation
