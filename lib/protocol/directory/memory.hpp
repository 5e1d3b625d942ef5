// What a client remembers of a lock's directory from one of its locks to the next.
#pragma once

#include <cstdint>

namespace colock::protocol {

// Whether colock has made it, and whether this client is the only one that uses it: then the next one joins by a
// transaction that also writes to the directory, and is told how many children it has (contender::counted). That spares
// a listing. It is not worth trying where others come as well, and must not be tried on what somebody else has made, or
// written to since.
class directory_memory {
public:
    // A listing shows it: the transaction that created it, and the version of its data.
    void seen(std::int64_t czxid, std::int32_t version) noexcept
    {
        if (czxid != czxid_) {
            *this = {};
            czxid_ = czxid;
        }
        current_ = current_ && version == version_;
    }

    // This client has made it.
    void made(std::int64_t czxid) noexcept
    {
        seen(czxid, 0);
        whose_ = owner::colock;
        version_ = 0;
        current_ = true;
    }

    // Its data were read, of this version.
    void read(std::int64_t czxid, std::int32_t version, bool ours) noexcept
    {
        seen(czxid, version);
        whose_ = ours ? owner::colock : owner::others;
        version_ = version;
        current_ = true;
    }

    // It was read by a contender of a long queue: the others go by that, whatever is written there from now on.
    void read_in_queue(std::int64_t czxid, std::int32_t version, bool ours) noexcept
    {
        read(czxid, version, ours);
        stood_long_ = true;
    }

    // The mark was written to it, in place of the version that was known. That may have been another directory's, if
    // one was made in place of it that has come as far.
    void marked(std::int64_t czxid, std::int32_t version) noexcept
    {
        read(czxid, version, czxid == czxid_ && whose_ == owner::colock);
    }

    // It was not written to: it is not what it was believed to be.
    void refused() noexcept
    {
        met_others();
        current_ = false;
    }

    // It is about to be written to by a contender: until that is granted nobody else of this client had better, who
    // would have to know the version that comes of it.
    void tried() noexcept { alone_ = false; }

    // Nor will it be: that is not permitted.
    void forbidden() noexcept { writable_ = false; }

    // Somebody else is there.
    void met_others() noexcept
    {
        alone_ = false;
        last_number_ = -1;
    }

    // A contender of this client was granted, and has met nobody. Numbers that follow each other leave no room for
    // anybody else.
    void granted_alone(std::int64_t number) noexcept
    {
        alone_ = last_number_ >= 0 && number == last_number_ + 1;
        last_number_ = number;
    }

    // Whether it is the one that was read in a long queue, and was colock's then.
    [[nodiscard]] bool is_ours(std::int64_t czxid) const noexcept
    {
        return czxid == czxid_ && whose_ == owner::colock && stood_long_;
    }
    [[nodiscard]] bool is_writable() const noexcept { return writable_; }

    // What would help the next one to join by that transaction: to read the data; or to write the mark, once, while a
    // node of this client keeps the directory from being replaced. Whatever is made in place of it has another version.
    [[nodiscard]] bool is_worth_reading() const noexcept
    {
        return alone_ && !current_ && whose_ != owner::others && writable_;
    }
    [[nodiscard]] bool is_worth_marking() const noexcept { return is_usable() && version_ == 0; }

    // Whether the next one had better join by it.
    [[nodiscard]] bool expects_nobody() const noexcept { return is_usable() && version_ > 0; }
    // Of the data that it may replace.
    [[nodiscard]] std::int32_t version() const noexcept { return version_; }

private:
    enum class owner : std::uint8_t { unknown, colock, others };

    [[nodiscard]] bool is_usable() const noexcept
    {
        return alone_ && current_ && whose_ == owner::colock && writable_;
    }

    std::int64_t czxid_ = 0;
    owner whose_ = owner::unknown;
    std::int32_t version_ = -1;
    bool current_ = false;          // the data are those of that version
    bool stood_long_ = false;       // a long queue, which has looked whose it is
    bool writable_ = true;          // as far as is known
    bool alone_ = false;            // the last two that were granted followed each other
    std::int64_t last_number_ = -1; // of the last one, if it has met nobody
};

} // namespace colock::protocol
