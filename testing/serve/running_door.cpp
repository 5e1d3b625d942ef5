#include "running_door.hpp"

#include <csignal>
#include <utility>

namespace colock::testing {

namespace {

// A thread that is started meanwhile takes no signal of the program.
class blocked_signals {
public:
    blocked_signals()
    {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, &before_);
    }
    blocked_signals(const blocked_signals&) = delete;
    ~blocked_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_{};
};

} // namespace

running_door::running_door(server_settings settings)
    : way_in{context, {boost::asio::ip::address_v4::loopback(), 0}, std::move(settings)},
      hosts{text_of(way_in.address())}
{
    const blocked_signals none;
    thread_ = std::thread{[this] { context.run(); }};
}

running_door::~running_door()
{
    context.stop();
    thread_.join();
}

} // namespace colock::testing
