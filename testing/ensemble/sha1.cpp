#include "sha1.hpp"

#include <boost/uuid/detail/sha1.hpp>

namespace colock::simulated {

std::string sha1_of(const std::string& bytes)
{
    boost::uuids::detail::sha1 hash;
    hash.process_bytes(bytes.data(), bytes.size());
    boost::uuids::detail::sha1::digest_type words{};
    hash.get_digest(words);
    std::string digest;
    for (const auto word : words) { // bytes since Boost 1.86
        for (int shift = 8 * (static_cast<int>(sizeof word) - 1); shift >= 0; shift -= 8) {
            digest += static_cast<char>(word >> shift & 0xffu);
        }
    }
    return digest;
}

} // namespace colock::simulated
