// A client's memory of a lock's directory, from one of its contenders to the next. It belongs to the uncontended fast
// path; waiters in long queues use it, too. Skip this at first reading.
#pragma once

#include <cstdint>

namespace colock::protocol {

// Two questions decide whether a contender may join by the uncontended fast path (fast_path.hpp):
// - Is the fast path worth trying? Only where this client was granted the lock the last two times, and nobody else in
//   between. Other clients gain nothing by it.
// - May the directory be written to? Only if colock has made it, and nobody else has written to it since.
class directory_memory {
public:
    // A listing shows it: the transaction that created it, and the version of its data.
    void seen(std::int64_t czxid, std::int32_t version) noexcept;
    // This client has made it.
    void made(std::int64_t czxid) noexcept;
    // Its data were read, of this version. `ours`: they begin with colock's signature.
    void read(std::int64_t czxid, std::int32_t version, bool ours) noexcept;
    // As read(), by a waiter in a long queue. Later contenders of this client rely on it, and do not read again.
    void read_in_queue(std::int64_t czxid, std::int32_t version, bool ours) noexcept;
    // This client has written the signature. With another czxid the write went into a new directory, which does not count as
    // colock's.
    void wrote_signature(std::int64_t czxid, std::int32_t version) noexcept;
    // A write was refused: the directory is not what it was believed to be.
    void refused() noexcept;
    // Writing to it is not permitted.
    void forbidden() noexcept { writable_ = false; }
    // A contender takes the fast path. Until it is granted no other one of this client does: it would have to know the
    // version that comes of the first one's write.
    void tried() noexcept { alone_ = false; }

    // Other contenders, or other children of the directory, are there.
    void met_others() noexcept;
    // A contender of this client was granted the lock, and has met nobody. Sequence numbers that follow each other leave
    // no room for anybody else in between.
    void granted_alone(std::int64_t number) noexcept;

    // Whether it is the directory that a waiter in a long queue has read, and was colock's then.
    [[nodiscard]] bool is_ours(std::int64_t czxid) const noexcept;
    // Whether it may be written to, as far as is known.
    [[nodiscard]] bool is_writable() const noexcept { return writable_ && whose_ != owner::others; }

    // What would help the next contender to take the fast path: to read the data; or to write the signature once, because each
    // directory begins with version 0. A directory that is made in its place then has another version.
    [[nodiscard]] bool is_worth_reading() const noexcept;
    [[nodiscard]] bool is_worth_signing() const noexcept;
    // Whether the next contender had better take the fast path.
    [[nodiscard]] bool expects_alone() const noexcept;
    // Of the data that it may replace.
    [[nodiscard]] std::int32_t version() const noexcept { return version_; }

    friend bool operator==(const directory_memory&, const directory_memory&) = default;

private:
    enum class owner : std::uint8_t { unknown, colock, others };

    [[nodiscard]] bool is_usable() const noexcept;

    std::int64_t czxid_ = 0;
    owner whose_ = owner::unknown;
    std::int32_t version_ = -1;
    bool current_ = false;          // the data are those of that version
    bool read_in_queue_ = false;    // by a waiter in a long queue
    bool writable_ = true;          // as far as is known
    bool alone_ = false;            // the last two grants followed each other
    std::int64_t last_number_ = -1; // of the last grant, if it has met nobody
};

// A client's memory, lent to a contender for one input. Two contenders are equal whatever they were lent.
class lent_memory {
public:
    void lend(directory_memory& of_client) noexcept { memory_ = &of_client; }
    [[nodiscard]] directory_memory& operator*() const noexcept { return *memory_; }
    [[nodiscard]] directory_memory* operator->() const noexcept { return memory_; }

    friend bool operator==(const lent_memory&, const lent_memory&) noexcept { return true; }

private:
    directory_memory* memory_ = nullptr;
};

} // namespace colock::protocol
