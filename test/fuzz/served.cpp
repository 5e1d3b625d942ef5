// Any bytes from any clients: `colock serve` answers in whole frames, keeps to its bounds, and goes on serving others.
#include "input.hpp"
#include "protocol/jute.hpp"
#include "protocol/types.hpp"
#include "serve/client_port.hpp"
#include "serve/memory_server.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <string>

using namespace colock;
using namespace std::chrono_literals;

namespace {

std::string framed(std::string_view frame)
{
    std::string bytes;
    testing::jute_writer{bytes}.text(frame);
    return bytes;
}

std::string hello()
{
    std::string bytes;
    testing::jute_writer{bytes}.integer(0).longer(0).integer(9000).longer(0).text(
        std::string(16, '\0'));
    return framed(bytes);
}

// A header that a server knows before bytes that it may not.
std::string some_request(fuzz::input& in)
{
    namespace type = testing::type;
    constexpr std::array types{type::create,
                               type::remove,
                               type::exists,
                               type::get,
                               type::set,
                               type::get_acl,
                               type::set_acl,
                               type::children,
                               type::sync,
                               type::ping,
                               type::children2,
                               type::check,
                               type::multi,
                               type::create2,
                               type::check_watches,
                               type::remove_watches,
                               type::create_container,
                               type::create_ttl,
                               type::auth,
                               type::set_watches,
                               type::ephemerals,
                               type::all_children_number,
                               type::set_watches2,
                               type::add_watch,
                               type::who_am_i,
                               type::close,
                               4711};
    std::string bytes;
    testing::jute_writer out{bytes};
    out.integer(in.byte()).integer(types[in.byte() % types.size()]);
    if (in.flag()) {
        std::string path = "/";
        path += static_cast<char>('a' + in.byte() % 3);
        out.text(path);
    }
    bytes += in.text();
    return framed(bytes);
}

void look_at_frames(std::string& said)
{
    testing::jute_reader in{said};
    while (in.left() != 0) {
        static_cast<void>(in.text());
        fuzz::require(in.is_good());
    }
    said.clear();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fuzz::input in{data, size};
    testing::server_settings settings;
    settings.since_1970 = std::chrono::hours{24 * 365 * 56};
    settings.secret = "nobody knows";
    settings.limits = {.nodes = 50, .bytes = 5'000, .unread = 2'000, .most_unread = 20'000};
    testing::memory_server server{settings};
    std::array<std::unique_ptr<testing::client_port>, 3> clients;
    while (!in.at_end()) {
        auto& c = clients[in.byte() % clients.size()];
        const unsigned what = in.byte();
        const bool is_new = !c || what % 16 == 0;
        if (is_new) {
            c = std::make_unique<testing::client_port>(server, "127.0.0.1", "127.0.0.1:1");
        }
        switch (what / 16 % 8) {
        case 0: c->receive(in.text()); break;
        case 1: server.advance(server.now() + std::chrono::milliseconds{100 * in.byte()}); break;
        case 2: c->end(); break;
        default:
            if (is_new) {
                c->receive(hello());
            }
            c->receive(some_request(in));
            break;
        }
        fuzz::require(server.nodes().size() <= settings.limits.nodes);
        fuzz::require(c->out().size() <= settings.limits.most_unread);
        // An operator's answer is no frame, and the last one.
        if (!c->is_over()) {
            look_at_frames(c->out());
            c->work();
        }
    }
    testing::client_port witness{server, "127.0.0.2", "127.0.0.2:1"};
    witness.receive(hello());
    fuzz::require(!witness.is_over() && !witness.out().empty());
    return 0;
}
