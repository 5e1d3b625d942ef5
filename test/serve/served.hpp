// A server in memory and clients of it that are made by hand, in bytes; time is what the test says.
#pragma once

#include "protocol/jute.hpp"
#include "protocol/types.hpp"
#include "serve/client_port.hpp"
#include "serve/memory_server.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::testing::test {

using namespace std::chrono_literals;

inline server_settings some_settings(std::chrono::milliseconds since_1970 = 1'800'000'000s)
{
    server_settings s;
    s.since_1970 = since_1970;
    s.secret = "nobody knows";
    return s;
}

[[nodiscard]] inline std::string framed(std::string_view frame)
{
    std::string bytes;
    jute_writer{bytes}.text(frame);
    return bytes;
}

struct answer {
    std::int32_t number = 0;
    std::int64_t transaction = 0;
    std::int32_t error = 0;
    std::string body = {};
};

class hand_client {
public:
    explicit hand_client(memory_server& s, std::string address = "127.0.0.1")
        : server{s}, port{s, address, address + ":1234"}
    {
    }

    // The session that was begun or taken over; 0: refused.
    std::int64_t greet(std::chrono::milliseconds timeout = 10s, std::int64_t session = 0,
                       std::string secret = std::string(16, '\0'))
    {
        std::string bytes;
        jute_writer{bytes}
            .integer(0)
            .longer(0)
            .integer(static_cast<std::int32_t>(timeout.count()))
            .longer(session)
            .text(secret)
            .boolean(false);
        port.receive(framed(bytes));
        const auto said = frames();
        if (said.size() != 1) {
            return 0;
        }
        jute_reader in{said.front()};
        in.integer();
        granted = std::chrono::milliseconds{in.integer()};
        const auto id = in.longer();
        password = in.text();
        return id;
    }

    void ask(std::int32_t number, std::int32_t type,
             const std::function<void(jute_writer&)>& body = {})
    {
        std::string bytes;
        jute_writer out{bytes};
        out.integer(number).integer(type);
        if (body) {
            body(out);
        }
        port.receive(framed(bytes));
    }
    void create(std::int32_t number, std::string_view path, std::int32_t mode = 0,
                std::string_view data = {}, std::int32_t type = type::create)
    {
        ask(number, type, [&](jute_writer& out) {
            out.text(path).text(data).count(1).integer(31).text("world").text("anyone");
            out.integer(mode);
        });
    }
    void about(std::int32_t number, std::int32_t type, std::string_view path)
    {
        ask(number, type, [&](jute_writer& out) { out.text(path).boolean(false); });
    }

    // What has been said since the last time.
    std::vector<std::string> frames()
    {
        std::vector<std::string> all;
        jute_reader in{port.out()};
        while (in.left() != 0) {
            all.push_back(in.text());
        }
        port.out().clear();
        return all;
    }
    std::vector<answer> answers()
    {
        std::vector<answer> all;
        for (const auto& frame : frames()) {
            jute_reader in{frame};
            answer a;
            a.number = in.integer();
            a.transaction = in.longer();
            a.error = in.integer();
            a.body = frame.substr(frame.size() - in.left());
            all.push_back(std::move(a));
        }
        return all;
    }
    answer only_answer()
    {
        auto all = answers();
        return all.size() == 1 ? std::move(all.front()) : answer{.error = -9999};
    }

    memory_server& server;
    client_port port;
    std::chrono::milliseconds granted{};
    std::string password;
};

} // namespace colock::testing::test
