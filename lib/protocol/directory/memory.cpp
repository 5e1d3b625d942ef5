#include "memory.hpp"

#include "protocol/planted.hpp"

namespace colock::protocol {

void directory_memory::seen(std::int64_t czxid, std::int32_t version) noexcept
{
    if (czxid != czxid_ && !planted("another directory taken for the same")) {
        *this = {};
        czxid_ = czxid;
    }
    current_ = current_ && (version == version_ || planted("foreign write not noticed"));
}

void directory_memory::made(std::int64_t czxid) noexcept
{
    seen(czxid, 0);
    whose_ = owner::colock;
    version_ = 0;
    current_ = true;
}

void directory_memory::read(std::int64_t czxid, std::int32_t version, bool ours) noexcept
{
    seen(czxid, version);
    whose_ = ours || planted("any data are ours") ? owner::colock : owner::others;
    version_ = version;
    current_ = true;
}

void directory_memory::read_in_queue(std::int64_t czxid, std::int32_t version, bool ours) noexcept
{
    read(czxid, version, ours);
    read_in_queue_ = true;
}

void directory_memory::wrote_signature(std::int64_t czxid, std::int32_t version) noexcept
{
    const bool same = czxid == czxid_ || planted("signature makes it ours");
    read(czxid, version, same && whose_ == owner::colock);
}

void directory_memory::refused() noexcept
{
    if (planted("count insisted on")) {
        return;
    }
    met_others();
    current_ = false;
}

void directory_memory::met_others() noexcept
{
    alone_ = planted("others forgotten");
    last_number_ = -1;
}

void directory_memory::granted_alone(std::int64_t number) noexcept
{
    alone_ = last_number_ >= 0 &&
             (number == last_number_ + 1 || planted("numbers in between forgotten"));
    last_number_ = number;
}

bool directory_memory::is_ours(std::int64_t czxid) const noexcept
{
    return czxid == czxid_ && whose_ == owner::colock &&
           (read_in_queue_ || planted("recognised by another contender's read"));
}

bool directory_memory::is_worth_reading() const noexcept
{
    return alone_ && !current_ && whose_ != owner::others && writable_;
}

bool directory_memory::is_worth_signing() const noexcept
{
    return is_usable() && version_ == 0;
}

bool directory_memory::expects_alone() const noexcept
{
    return is_usable() && (version_ > 0 || planted("first version trusted"));
}

bool directory_memory::is_usable() const noexcept
{
    return alone_ && current_ && whose_ == owner::colock && writable_;
}

} // namespace colock::protocol
