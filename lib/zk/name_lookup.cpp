#include "zk/name_lookup.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

namespace colock::zk {

namespace {

// Threads that are started meanwhile take no signal of the program.
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

std::vector<std::string> resolve(const std::string& name, error_code& ec)
{
    using asio::ip::tcp;
    asio::io_context own; // Asio has no resolver without one; nothing runs in it
    tcp::resolver resolver{own};
    std::vector<std::string> addresses;
    for (const auto& found :
         resolver.resolve(name, "0", asio::ip::resolver_base::numeric_service, ec)) {
        addresses.push_back(found.endpoint().address().to_string());
    }
    return addresses;
}

} // namespace

std::shared_ptr<name_lookup> name_lookup::start(const strand_type& strand, std::string name,
                                                answer then)
{
    const std::shared_ptr<name_lookup> lookup{new name_lookup{strand, std::move(then)}};
    const blocked_signals none;
    try {
        std::thread{[lookup, name = std::move(name)] {
            error_code ec;
            auto addresses = resolve(name, ec);
            lookup->complete(ec, std::move(addresses));
        }}.detach();
    } catch (const std::system_error& e) { // no more threads
        lookup->complete(e.code(), {});
    }
    return lookup;
}

void name_lookup::forget() noexcept
{
    const std::lock_guard lock{mutex_};
    strand_.reset();
    then_ = nullptr;
}

void name_lookup::complete(const error_code& ec, std::vector<std::string> addresses)
{
    const std::lock_guard lock{mutex_}; // the strand's context lives as long as it is locked
    if (strand_) {
        asio::post(*strand_, [then = std::exchange(then_, nullptr), ec,
                              addresses = std::move(addresses)] { then(ec, addresses); });
        strand_.reset();
    }
}

} // namespace colock::zk
