#include "jute.hpp"

namespace colock::testing {

std::string_view jute_reader::take(std::size_t size)
{
    if (!good_ || size > left_.size()) {
        good_ = false;
        return {};
    }
    const auto taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
}

bool jute_reader::boolean()
{
    const auto byte = take(1);
    return !byte.empty() && byte[0] != 0;
}

std::int32_t jute_reader::integer()
{
    std::uint32_t value = 0;
    for (const auto c : take(4)) {
        value = value << 8 | static_cast<unsigned char>(c);
    }
    return static_cast<std::int32_t>(value);
}

std::int64_t jute_reader::longer()
{
    std::uint64_t value = 0;
    for (const auto c : take(8)) {
        value = value << 8 | static_cast<unsigned char>(c);
    }
    return static_cast<std::int64_t>(value);
}

std::string jute_reader::text()
{
    const auto size = integer();
    if (size < -1) {
        good_ = false;
    }
    return size <= 0 ? std::string{} : std::string{take(static_cast<std::size_t>(size))};
}

std::size_t jute_reader::count(std::size_t least)
{
    const auto size = integer();
    if (size <= 0) {
        good_ = good_ && size >= -1;
        return 0;
    }
    if (static_cast<std::size_t>(size) > left_.size() / least) {
        good_ = false;
        return 0;
    }
    return static_cast<std::size_t>(size);
}

std::vector<std::string> jute_reader::texts()
{
    std::vector<std::string> all;
    for (auto more = count(4); more != 0 && good_; --more) {
        all.push_back(text());
    }
    return all;
}

jute_writer& jute_writer::boolean(bool value)
{
    to_ += value ? '\1' : '\0';
    return *this;
}

jute_writer& jute_writer::integer(std::int32_t value)
{
    for (int shift = 24; shift >= 0; shift -= 8) {
        to_ += static_cast<char>(static_cast<std::uint32_t>(value) >> shift & 0xffu);
    }
    return *this;
}

jute_writer& jute_writer::longer(std::int64_t value)
{
    for (int shift = 56; shift >= 0; shift -= 8) {
        to_ += static_cast<char>(static_cast<std::uint64_t>(value) >> shift & 0xffu);
    }
    return *this;
}

jute_writer& jute_writer::text(std::string_view value)
{
    count(value.size());
    to_ += value;
    return *this;
}

jute_writer& jute_writer::count(std::size_t value)
{
    return integer(static_cast<std::int32_t>(value));
}

} // namespace colock::testing
