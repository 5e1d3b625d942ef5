#include "side.hpp"
#include "simulated.hpp"
#include "world/process.hpp"

#include <chrono>
#include <utility>

namespace world {

namespace {

using namespace std::chrono_literals;

class simulated_side final : public side {
public:
    [[nodiscard]] boost::asio::any_io_executor executor() override
    {
        return program_.context().get_executor();
    }
    [[nodiscard]] std::string address() const override { return "10.0.0.1:2181"; }
    void run(std::function<void()> what) override { program_.enter(std::move(what)); }
    [[nodiscard]] bool until(std::function<bool()> reached) override
    {
        const auto latest = time_.now() + 60s;
        while (!reached()) {
            if (time_.now() > latest || !time_.run_next()) {
                return false;
            }
        }
        return true;
    }

    void listen(listener heard) override
    {
        net_.listen(server_, address(), [this, heard](std::shared_ptr<stream> s) {
            accepted_ = std::move(s);
            accepted_->handle({.received = [heard](message&& m) { heard(std::move(m)); },
                               .ended = [heard] { heard({}); }});
        });
    }
    void refuse() override { server_.kill(); }
    void send(std::vector<message> all) override
    {
        for (auto& m : all) {
            accepted_->send(std::move(m));
        }
    }
    void close() override { accepted_.reset(); }

private:
    timeline time_;
    network net_{time_, random{1}};
    machine server_{time_, "server"};
    machine client_{time_, "client"};
    std::shared_ptr<stream> accepted_;
    process program_{client_, net_, random{2}};
};

} // namespace

std::unique_ptr<side> make_side()
{
    return std::make_unique<simulated_side>();
}

} // namespace world
