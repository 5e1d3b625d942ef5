#ifndef COLOCK_TEST_SUPPORT_C_CLIENT_READER_HPP
#define COLOCK_TEST_SUPPORT_C_CLIENT_READER_HPP

#include "jute.hpp"
#include "zk/call.hpp"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace colock::test {

/// Reads a reply as the C client does, its length included. Throws where the C client would read what is not there, and where
/// a name or path has what would be more than that in a line of text.
inline void read_as_the_c_client(const zk::call& request, std::string_view frame)
{
    jute_reader in{frame};
    in.skip(4);
    const auto xid = in.integer();
    in.longer();
    const auto error = in.integer();
    const auto string_of = [](jute_reader& from) {
        const auto size = from.integer();
        if (size < 0) {
            throw std::runtime_error{"a negative size"};
        }
        return from.raw(static_cast<std::size_t>(size));
    };
    const auto name_of = [&](jute_reader& from) {
        for (const char character : string_of(from)) {
            const auto c = static_cast<unsigned char>(character);
            if (c < 0x1f || c > 0xf4) { // no UTF-8 has the last
                throw std::runtime_error{"a name that harms"};
            }
        }
    };
    if (xid == -1) {
        in.integer();
        in.integer();
        name_of(in);
        return;
    }
    if (xid == -2 || xid == -4 || error != 0) {
        return;
    }
    switch (request.op) {
    case zk::opcode::remove:
    case zk::opcode::set_acl:
    case zk::opcode::forget_watches: return;
    case zk::opcode::sync: name_of(in); return;
    case zk::opcode::create: name_of(in); break;
    case zk::opcode::get: {
        const auto size = in.integer();
        if (size < -1) {
            throw std::runtime_error{"a negative size"};
        }
        in.skip(size < 0 ? 0 : static_cast<std::size_t>(size));
        break;
    }
    case zk::opcode::children: {
        const auto count = in.integer();
        if (count < 0) {
            throw std::runtime_error{"a negative count"};
        }
        for (std::int32_t i = 0; i != count; ++i) {
            name_of(in);
        }
        break;
    }
    case zk::opcode::get_acl: {
        const auto count = in.integer();
        if (count < 0) {
            throw std::runtime_error{"a negative count"};
        }
        for (std::int32_t i = 0; i != count; ++i) {
            in.integer();
            string_of(in);
            string_of(in);
        }
        break;
    }
    case zk::opcode::exists:
    case zk::opcode::set: break;
    case zk::opcode::multi: {
        std::size_t steps = 0;
        for (;;) {
            const auto type = in.integer();
            const bool done = in.boolean();
            in.integer();
            if (done) {
                break;
            }
            const auto& step = request.ops.at(steps++); // the C client asserts
            if (type == -1) {
                in.integer();
            } else if (step.type == transaction_op::kind::create) {
                name_of(in);
            } else if (step.type == transaction_op::kind::set) {
                in.skip(68);
            }
        }
        if (steps != request.ops.size()) {
            throw std::runtime_error{"results are missing"};
        }
        return;
    }
    }
    in.skip(68);
}

} // namespace colock::test

#endif
