#include <colock/testing/server.hpp>

#include "serve/door.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <future>
#include <thread>

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
    explicit impl(const server_options& o)
        : way_in{context, {asio::ip::address_v4::loopback(), 0}, settings_of(o)},
          hosts{"127.0.0.1:" + std::to_string(way_in.address().port())}, thread{[this] {
              context.run();
          }}
    {
    }
    ~impl()
    {
        context.stop();
        thread.join();
    }

    // On the server's thread, and with all that follows from it.
    template <class Function>
    auto perform(Function what)
    {
        std::packaged_task<decltype(what())()> task{std::move(what)};
        std::promise<void> settled;
        asio::post(context, [&] {
            way_in.settle();
            task();
            way_in.settle();
            settled.set_value();
        });
        settled.get_future().wait();
        return task.get_future().get();
    }

    asio::io_context context{1};
    door way_in;
    std::string hosts;
    std::thread thread;
};

server::server(server_options options) : impl_{std::make_unique<impl>(options)}
{
}

server::~server() = default;

const std::string& server::hosts() const noexcept
{
    return impl_->hosts;
}

void server::expire(std::int64_t session)
{
    impl_->perform([this, session] { impl_->way_in.server().expire(session); });
}

void server::cut()
{
    impl_->perform([this] { impl_->way_in.cut(); });
}

void server::pause()
{
    impl_->perform([this] { impl_->way_in.server().pause(); });
}

void server::resume()
{
    impl_->perform([this] { impl_->way_in.server().resume(); });
}

void server::refuse(bool refuses)
{
    impl_->perform([this, refuses] { impl_->way_in.refuse(refuses); });
}

void server::delay(std::chrono::milliseconds each_way)
{
    impl_->perform([this, each_way] { impl_->way_in.server().delay(each_way); });
}

void server::remove(const std::string& path)
{
    impl_->perform([this, &path] { impl_->way_in.server().remove(path); });
}

std::vector<std::int64_t> server::sessions() const
{
    return impl_->perform([this] {
        std::vector<std::int64_t> all;
        for (const auto& [id, timeout] : impl_->way_in.server().nodes().sessions()) {
            all.push_back(id);
        }
        return all;
    });
}

std::vector<std::string> server::nodes(const std::string& path) const
{
    return impl_->perform([this, &path] {
        std::vector<std::string> all;
        if (const auto* n = impl_->way_in.server().nodes().find(path)) {
            for (const auto* child : n->children) {
                all.emplace_back(child->name());
            }
        }
        std::ranges::sort(all);
        return all;
    });
}

} // namespace colock::testing
