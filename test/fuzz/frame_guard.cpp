// Any bytes from a server: what the guard lets pass, the C client can read. The same bytes end an exchange by SASL.
#include "zk/frame_guard.hpp"

#include <support/c_client_reader.hpp>

#include "input.hpp"
#include "zk/sasl_exchange.hpp"

#include <deque>
#include <string_view>
#include <vector>

using namespace colock;
using zk::frame_guard;
using zk::opcode;

namespace {

zk::call request_of(fuzz::input& in)
{
    constexpr auto kinds = static_cast<unsigned>(opcode::set_acl) + 1;
    const auto mode_of = [](unsigned byte) {
        return byte < 0x80 ? create_mode::persistent : create_mode::ephemeral_sequential;
    };
    const unsigned first = in.byte();
    zk::call c{.op = static_cast<opcode>(first % kinds), .path = "/a", .mode = mode_of(first)};
    if (c.op == opcode::multi) {
        for (int steps = 1 + in.byte() % 4; steps != 0; --steps) {
            const unsigned step = in.byte();
            switch (step % 4) {
            case 0: c.ops.push_back(create_op("/a", "", {.mode = mode_of(step)})); break;
            case 1: c.ops.push_back(set_op("/a", "x")); break;
            case 2: c.ops.push_back(check_op("/a")); break;
            default: c.ops.push_back(remove_op("/a")); break;
            }
        }
    }
    return c;
}

void speak_sasl(std::string_view stream)
{
    zk::sasl_exchange exchange{{.token = "word"}};
    constexpr std::size_t largest_frame = zk::sasl_exchange::largest_token + 64;
    int words = 1;
    while (const auto wanted = exchange.wanted()) {
        fuzz::require(wanted <= largest_frame);
        if (stream.empty()) {
            return;
        }
        const auto piece = stream.substr(0, wanted);
        stream.remove_prefix(piece.size());
        exchange.take(piece);
        if (exchange.now() == zk::sasl_exchange::stage::thinking) {
            fuzz::require(++words <= zk::sasl_exchange::most_rounds);
            exchange.spoke({.token = "word", .complete = exchange.challenge().size() % 2 != 0});
        }
        exchange.sent(exchange.unsent().size());
    }
    const bool over = exchange.now() == zk::sasl_exchange::stage::over;
    fuzz::require(over ? exchange.has_answer() : !exchange.fault().empty());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fuzz::input in{data, size};
    frame_guard guard{in.flag() ? 7 : 0, in.byte() % 3u};
    std::deque<zk::call> outstanding;
    for (int requests = in.byte() % 8; requests != 0; --requests) {
        outstanding.push_back(request_of(in));
        guard.sent(outstanding.back());
    }
    const std::size_t piece = 1u + in.byte();
    const auto stream = in.rest();
    speak_sasl(stream);
    std::size_t begin = 0;
    std::size_t end = 0;
    bool in_handshake = true;
    while (end != stream.size()) {
        end = std::min(end + piece, stream.size());
        for (;;) {
            // In memory of its own, so that the sanitizer sees what is read behind its end.
            const std::vector<char> shown(stream.begin() + static_cast<std::ptrdiff_t>(begin),
                                          stream.begin() + static_cast<std::ptrdiff_t>(end));
            const auto verdict = guard.look({shown.data(), shown.size()});
            if (verdict.found == frame_guard::finding::refused) {
                fuzz::require(!verdict.why.empty());
                return 0;
            }
            if (verdict.found == frame_guard::finding::endless) { // what follows is not shown
                test::read_as_the_c_client(outstanding.front(),
                                           guard.cut_off({shown.data(), shown.size()}));
                return 0;
            }
            if (verdict.found == frame_guard::finding::partial) {
                fuzz::require(verdict.size > shown.size());
                break;
            }
            fuzz::require(verdict.size <= shown.size());
            const auto frame = stream.substr(begin, verdict.size);
            begin += verdict.size;
            if (!in_handshake) {
                const bool is_reply = guard.outstanding() != outstanding.size();
                const auto request = is_reply ? outstanding.front() : zk::call{};
                test::read_as_the_c_client(request, frame); // throws where it could not
                if (is_reply) {
                    outstanding.pop_front();
                }
            }
            in_handshake = guard.in_handshake();
            fuzz::require(!in_handshake);
            fuzz::require(guard.outstanding() == outstanding.size());
        }
    }
    return 0;
}
