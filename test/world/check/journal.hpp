// What happened, in virtual time: hashed for the comparison of two runs, and kept as text for people.
#pragma once

#include "simulated.hpp"

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace world::check {

enum class deed : std::uint8_t {
    // machines and links
    started,
    killed,
    stopped,
    resumed,
    paused,
    trouble,
    calm,
    // of the ensemble, in ZooKeeper's order
    session_opened,
    session_closed,
    session_expired,
    node_created,
    node_deleted,
    node_changed,
    by_hand,
    // of the programs
    connected,
    closed,
    destroyed,
    waiting,
    refused,
    granted,
    lost,
    let_go,
    wrote,
    remark,
    violation,
};

[[nodiscard]] std::string_view name(deed what) noexcept;

class journal {
public:
    using actor = std::uint32_t;

    struct entry {
        instant when;
        deed what;
        actor who;
        std::int64_t subject;
        std::string text;
    };

    // `keeps`: all entries, with their texts. The hash is the same with and without.
    journal(timeline& time, bool keeps) : time_{time}, keeps_{keeps} {}
    journal(const journal&) = delete;
    journal& operator=(const journal&) = delete;

    // Someone who does something: a machine, or a client on it, which then is in the lane of its machine.
    actor add_actor(std::string name);
    actor add_actor(std::string name, actor lane);

    // `subject` tells things of one kind apart: the number of a hold or of a lock, a transaction.
    void note(deed what, actor who, std::int64_t subject = 0)
    {
        note(what, who, subject, [] { return std::string{}; });
    }
    // `text()` is asked only when entries are kept.
    template <class Text>
    void note(deed what, actor who, std::int64_t subject, Text&& text)
    {
        mix(static_cast<std::uint64_t>(time_.now().count()));
        mix(static_cast<std::uint64_t>(what) << 32 | who);
        mix(static_cast<std::uint64_t>(subject));
        if (keeps_) {
            entries_.push_back({time_.now(), what, who, subject, std::forward<Text>(text)()});
        }
    }

    [[nodiscard]] bool keeps() const noexcept { return keeps_; }
    [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
    [[nodiscard]] const std::vector<entry>& entries() const noexcept { return entries_; }
    [[nodiscard]] const std::string& name_of(actor who) const { return actors_[who].name; }
    // The machine of an actor, which is an actor itself.
    [[nodiscard]] actor lane_of(actor who) const { return actors_[who].lane; }
    [[nodiscard]] std::size_t actors() const noexcept { return actors_.size(); }

    // One line an entry.
    void print(std::ostream& out) const;

private:
    struct named {
        std::string name;
        actor lane;
    };

    void mix(std::uint64_t value) noexcept
    {
        hash_ = (hash_ ^ value) * 0x9e3779b97f4a7c15u;
        hash_ ^= hash_ >> 29;
    }

    timeline& time_;
    bool keeps_;
    std::uint64_t hash_ = 0;
    std::vector<named> actors_;
    std::vector<entry> entries_;
};

// "12.345678901"
[[nodiscard]] std::string text_of(instant when);

} // namespace world::check
