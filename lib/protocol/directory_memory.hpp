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

    // Its data are known, of this version.
    void known(std::int64_t czxid, std::int32_t version, bool ours) noexcept
    {
        seen(czxid, version);
        whose_ = ours ? owner::colock : owner::others;
        version_ = version;
        current_ = true;
    }

    // It was not written to, as it is not what it was believed to be.
    void refused() noexcept
    {
        current_ = alone_ = false;
        last_number_ = -1;
    }

    // A contender of this client was granted. Numbers that follow each other leave no room for anybody else.
    void granted(std::int64_t number, bool met_others) noexcept
    {
        alone_ = !met_others && last_number_ >= 0 && number == last_number_ + 1;
        last_number_ = met_others ? -1 : number;
    }

    [[nodiscard]] bool is_ours(std::int64_t czxid) const noexcept
    {
        return czxid == czxid_ && whose_ == owner::colock;
    }

    // Whether the next one had better join by that transaction.
    [[nodiscard]] bool expects_nobody() const noexcept
    {
        return alone_ && current_ && whose_ == owner::colock;
    }
    [[nodiscard]] std::int32_t version() const noexcept { return version_; }

    // Whether the next one could, if the data are what they should be.
    [[nodiscard]] bool is_worth_a_look() const noexcept
    {
        return alone_ && !current_ && whose_ != owner::others;
    }

private:
    enum class owner : std::uint8_t { unknown, colock, others };

    std::int64_t czxid_ = 0;
    owner whose_ = owner::unknown;
    std::int32_t version_ = -1;
    bool current_ = false;          // the data are those of that version
    bool alone_ = false;            // the last two that were granted followed each other
    std::int64_t last_number_ = -1; // of the last one, if it has met nobody
};

} // namespace colock::protocol
