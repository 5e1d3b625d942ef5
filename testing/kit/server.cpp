#include <colock/testing/server.hpp>

#include "serve/running_door.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <unistd.h>

#include <algorithm>
#include <stdexcept>

namespace colock::testing {

namespace asio = boost::asio;

namespace {

server_settings settings_of(const server_options& o)
{
    auto s = fresh_settings();
    s.least_session = o.least_session;
    s.most_session = std::max(o.least_session, o.most_session);
    return s;
}

} // namespace

struct server::impl {
    explicit impl(const server_options& o) : at{settings_of(o)} {}

    // On the server's thread, and with all that follows from it.
    template <class Function>
    auto perform(Function what)
    {
        struct settling {
            door& after;
            ~settling() { after.settle(); }
        };
        return asio::post(at.context, asio::use_future([&] {
                              at.way_in.settle();
                              const settling then{at.way_in};
                              return what();
                          }))
            .get();
    }

    running_door at;
    const ::pid_t owner = ::getpid();
};

server::server(server_options options)
{
    if (options.least_session <= options.least_session.zero() ||
        options.most_session < options.least_session) {
        throw std::invalid_argument{
            "server_options: least_session has to be positive, and most_session at least as long"};
    }
    impl_ = std::make_unique<impl>(options);
}

server::~server()
{
    // In a forked child the sockets are the parent's, and there is no thread to join.
    if (impl_->owner != ::getpid()) {
        static_cast<void>(impl_.release());
    }
}

const std::string& server::hosts() const noexcept
{
    return impl_->at.hosts;
}

void server::expire(std::int64_t session)
{
    if (session == 0) {
        throw std::invalid_argument{"server::expire: 0 is no session: the client has none yet"};
    }
    impl_->perform([this, session] { impl_->at.way_in.server().expire(session); });
}

void server::cut()
{
    impl_->perform([this] { impl_->at.way_in.cut(); });
}

void server::pause()
{
    impl_->perform([this] { impl_->at.way_in.server().pause(); });
}

void server::resume()
{
    impl_->perform([this] { impl_->at.way_in.server().resume(); });
}

void server::refuse(bool refuses)
{
    impl_->perform([this, refuses] { impl_->at.way_in.refuse(refuses); });
}

void server::delay(std::chrono::milliseconds each_way)
{
    if (each_way < each_way.zero()) {
        throw std::invalid_argument{"server::delay: the time is negative"};
    }
    impl_->perform([this, each_way] { impl_->at.way_in.server().delay(each_way); });
}

void server::remove(const std::string& path)
{
    impl_->perform([this, &path] { impl_->at.way_in.server().remove(path); });
}

std::vector<std::int64_t> server::sessions() const
{
    return impl_->perform([this] {
        std::vector<std::int64_t> all;
        for (const auto& [id, timeout] : impl_->at.way_in.server().nodes().sessions()) {
            all.push_back(id);
        }
        return all;
    });
}

std::vector<std::string> server::nodes(const std::string& path) const
{
    return impl_->perform(
        [this, &path] { return impl_->at.way_in.server().nodes().children(path); });
}

} // namespace colock::testing
