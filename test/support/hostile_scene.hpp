#ifndef COLOCK_TEST_SUPPORT_HOSTILE_SCENE_HPP
#define COLOCK_TEST_SUPPORT_HOSTILE_SCENE_HPP

#include <colock/client.hpp>
#include <colock/mutex.hpp>
#include <support/hostile_server.hpp>
#include <support/jute.hpp>
#include <support/link.hpp>
#include <support/outcome.hpp>
#include <support/print.hpp>
#include <support/pulse.hpp>
#include <support/run.hpp>
#include <support/sanitizers.hpp>

#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

inline std::string number(std::int32_t value)
{
    return jute_writer{}.integer(value).bytes();
}
inline std::string text(const std::string& value)
{
    return jute_writer{}.text(value).bytes();
}
inline std::string framed(const std::string& body)
{
    return text(body);
}

/// What a server does with one reply, and what the log then has to say.
struct row {
    const char* name;
    opcode kind;
    std::function<hostile_server::answer(std::string honest)> misdeed;
    const char* why;

    friend std::ostream& operator<<(std::ostream& out, const row& r) { return out << r.name; }
};

inline hostile_server::answer with_length(std::string honest, std::int32_t length)
{
    return honest.replace(0, 4, number(length));
}

/// Bytes of this process that lie in memory.
inline std::size_t resident_memory()
{
    std::size_t size = 0;
    std::size_t resident = 0;
    std::ifstream{"/proc/self/statm"} >> size >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Sends a request of this kind about the nodes of `hostile_scene::fill()`.
template <class Done>
void request(client& zk, opcode kind, Done done)
{
    const auto with_value = [done](error_code ec, auto&&) { done(ec); };
    switch (kind) {
    case opcode::get_data: zk.async_get("/a", with_value); break;
    case opcode::exists: zk.async_exists("/a", with_value); break;
    case opcode::get_children2: zk.async_children("/a", with_value); break;
    case opcode::set_data: zk.async_set("/a", "new", any_version, with_value); break;
    case opcode::create2:
        zk.async_create("/a/c", "", create_mode::ephemeral_sequential, with_value);
        break;
    case opcode::multi: {
        std::vector<transaction_op> ops;
        ops.push_back(set_op("/a", "newer"));
        ops.push_back(check_op("/a"));
        ops.push_back(check_op("/a/x"));
        zk.async_multi(std::move(ops), with_value);
        break;
    }
    case opcode::sync: zk.async_sync("/a", done); break;
    default: throw std::logic_error{"no request of this kind"};
    }
}

/// A client of a server that misbehaves.
struct hostile_scene {
    explicit hostile_scene(std::chrono::milliseconds session_timeout = std::chrono::seconds{10})
        : zk{io, options(session_timeout)}
    {
    }

    template <class Outcome>
    void wait_for(const Outcome& o)
    {
        BOOST_REQUIRE(pulse.becomes_true([&] { return o.done(); }));
    }
    template <class Outcome>
    void succeeds(const Outcome& o)
    {
        wait_for(o);
        BOOST_REQUIRE_MESSAGE(!o.error(), o.error().message());
    }

    void connect()
    {
        const outcome<> o;
        zk.async_connect(o.handler());
        succeeds(o);
    }

    /// A node with two children.
    void fill()
    {
        for (const auto* path : {"/a", "/a/x", "/a/y"}) {
            const outcome<create_result> o;
            zk.async_create(path, "data", create_mode::persistent, o.handler());
            succeeds(o);
        }
    }

    /// The next request of this kind is answered so, all others honestly.
    void once(opcode kind, std::function<hostile_server::answer(std::string)> misdeed)
    {
        server.play([kind, misdeed, done = false](const hostile_server::request& r,
                                                  std::string honest) mutable {
            if (r.kind != kind || std::exchange(done, true)) {
                return hostile_server::answer{std::move(honest)};
            }
            return misdeed(std::move(honest));
        });
    }

    error_code ask(opcode kind)
    {
        const outcome<> o;
        request(zk, kind, o.handler());
        wait_for(o);
        return o.error();
    }

    [[nodiscard]] bool logged(const std::string& part) const
    {
        return std::ranges::any_of(
            log, [&](const auto& line) { return line.find(part) != std::string::npos; });
    }
    [[nodiscard]] std::string last_lines() const
    {
        std::string all = "log:";
        for (const auto& line : log) {
            all += "\n  " + line;
        }
        return all;
    }

    /// Requests and locks work, and the executor was never kept from other work for longer than that.
    void goes_on(std::chrono::milliseconds limit = std::chrono::milliseconds{50} * slowness)
    {
        for (const auto kind : {opcode::get_data, opcode::get_children2, opcode::set_data}) {
            BOOST_TEST(!ask(kind));
        }
        mutex m{zk, "/lock"};
        for (int i = 0; i != 2; ++i) {
            const outcome<unique_lock> locked;
            m.async_lock(locked.handler());
            succeeds(locked);
            const outcome<> unlocked;
            locked.value().async_unlock(unlocked.handler());
            wait_for(unlocked);
            BOOST_TEST(!unlocked.error());
        }
        BOOST_TEST(pulse.longest().count() / 1'000'000 < limit.count());
    }

    hostile_server server;
    link_front front{server.connect_string()};
    std::vector<std::string> log;
    asio::io_context io;
    client zk;
    test::pulse pulse{io};

private:
    client_options options(std::chrono::milliseconds session_timeout)
    {
        client_options o;
        o.hosts = front.connect_string();
        o.session_timeout = session_timeout;
        o.tick = std::min(o.tick, session_timeout / 10);
        o.close_timeout = std::max(std::chrono::milliseconds{1000}, session_timeout / 5);
        o.log = [this](log_level, std::string_view line) { log.emplace_back(line); };
        return link_client(std::move(o));
    }
};

} // namespace colock::test

#endif
