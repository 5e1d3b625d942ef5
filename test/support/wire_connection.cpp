#include "wire_connection.hpp"

#include "jute.hpp"

#include <stdexcept>

namespace colock::test {

namespace {

constexpr std::int32_t ping_xid = -2;
constexpr std::int32_t auth_xid = -4;
constexpr std::int32_t largest_answer = 64 << 20;

} // namespace

wire_connection::wire_connection(host_and_port const& where, session_identity const& wanted,
                                 time_limit until)
    : socket_(where, until)
{
    auto const password = wanted.id ? wanted.password : std::string(16, '\0');
    send_frame(jute_writer()
                   .integer(0) // protocol version
                   .longer(0)  // last zxid seen: any server is fresh enough
                   .integer(static_cast<std::int32_t>(wanted.timeout.count()))
                   .longer(wanted.id)
                   .text(password)
                   .boolean(false) // read-only
                   .bytes(),
               until);
    auto const frame = receive_frame(until);
    jute_reader in(frame);
    in.integer();
    session_.timeout = std::chrono::milliseconds(in.integer());
    session_.id = in.longer();
    session_.password = in.text();
    // The server says "no such session" with a time-out of zero.
    if (session_.timeout.count() <= 0)
        session_.id = 0;
}

void wire_connection::send_frame(std::string_view bytes, time_limit until)
{
    socket_.send(jute_writer().text(bytes).bytes(), until);
}

std::string wire_connection::receive_frame(time_limit until)
{
    auto const header = socket_.receive(4, until);
    auto const size = jute_reader(header).integer();
    if (size < 0 || size > largest_answer)
        throw std::runtime_error("a ZooKeeper frame announces " + std::to_string(size) + " bytes");
    return socket_.receive(static_cast<std::size_t>(size), until);
}

wire_connection::reply wire_connection::call(opcode which, std::string_view body, time_limit until)
{
    auto const xid = which == opcode::ping   ? ping_xid
                     : which == opcode::auth ? auth_xid
                                             : next_xid_++;
    jute_writer request;
    request.integer(xid).integer(static_cast<std::int32_t>(which));
    send_frame(request.bytes() + std::string(body), until);
    for (;;) {
        auto const frame = receive_frame(until);
        jute_reader in(frame);
        auto const answered = in.integer();
        in.longer(); // zxid
        auto const error = in.integer();
        if (answered == xid)
            return {error, frame.substr(16)};
    }
}

} // namespace colock::test
