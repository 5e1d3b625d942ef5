// A process that takes locks, one after the other, and keeps them until it is killed.
//
//   look_holder HOSTS TIMEOUT_MS OWNER KIND PATH...
//
// KIND is mutex, writer, reader, semaphore (of one permit), election or single_node; a directory is no lock, but has a time to
// live. OWNER is the data of its nodes, "-" for the usual ones. It prints "held" when it has a lock, and goes on to the next
// one with each line on its input.
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>

#include <unistd.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

using guards = std::vector<std::shared_ptr<void>>;

template <class Guard>
void keep(guards& all, Guard g)
{
    all.push_back(std::make_shared<Guard>(std::move(g)));
}

asio::awaitable<void> take(colock::client& zk, std::string kind, std::string path,
                           colock::lock_options options, guards& all)
{
    if (kind == "semaphore") {
        colock::semaphore s{zk, path, 1, options};
        auto held = co_await s.async_acquire();
        keep(all, std::move(held));
    } else if (kind == "writer" || kind == "reader") {
        options.layout = colock::curator_shared_layout();
        colock::shared_mutex m{zk, path, options};
        if (kind == "writer") {
            auto held = co_await m.async_lock();
            keep(all, std::move(held));
        } else {
            auto held = co_await m.async_lock_shared();
            keep(all, std::move(held));
        }
    } else if (kind == "election") {
        colock::election e{zk, path, "a candidate"};
        auto held = co_await e.async_campaign();
        keep(all, std::move(held));
    } else if (kind == "single_node") {
        colock::single_node_mutex m{zk, path};
        auto held = co_await m.async_lock();
        keep(all, std::move(held));
    } else if (kind == "directory") {
        co_await zk.async_create(path, "",
                                 {.mode = colock::create_mode::persistent_with_ttl, .ttl = 1h});
    } else {
        colock::mutex m{zk, path, options};
        auto held = co_await m.async_lock();
        keep(all, std::move(held));
    }
}

asio::awaitable<void> work(asio::io_context& io, std::vector<std::string> words)
{
    colock::client_options who;
    who.hosts = words[0];
    who.session_timeout = std::chrono::milliseconds{std::stoi(words[1])};
    who.tick = 100ms;
    colock::client zk{io, who};
    co_await zk.async_connect();
    colock::lock_options options;
    if (words[2] != "-") {
        options.owner_data = words[2];
    }
    guards all;
    asio::posix::stream_descriptor input{io, ::dup(STDIN_FILENO)};
    std::string lines;
    for (std::size_t i = 4; i != words.size(); ++i) {
        if (i != 4) {
            const auto n = co_await asio::async_read_until(input, asio::dynamic_buffer(lines), '\n',
                                                           asio::deferred);
            lines.erase(0, n);
        }
        co_await take(zk, words[3], words[i], options, all);
        std::cout << "held" << std::endl;
    }
    asio::steady_timer forever{io, asio::steady_timer::time_point::max()};
    co_await forever.async_wait(asio::deferred);
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 6) {
        return 2;
    }
    asio::io_context io;
    int status = 0;
    asio::co_spawn(io, work(io, {argv + 1, argv + argc}), [&](std::exception_ptr thrown) {
        try {
            if (thrown) {
                std::rethrow_exception(thrown);
            }
        } catch (const std::exception& e) {
            std::cerr << "look_holder: " << e.what() << '\n';
            status = 1;
        }
    });
    io.run();
    return status;
}
