// Latches and barriers: who has arrived, who waits, and who goes on.
#pragma once

#include "findings.hpp"
#include "journal.hpp"
#include "operations.hpp"
#include "simulated.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace world::check {

class rendezvous {
public:
    using number = std::uint64_t;

    struct place {
        std::string latches; // the directory of all: 0, 1, and so on; empty: this world has none
        std::string barrier;
        std::size_t count = 1;
    };
    enum class role : std::uint8_t { arrive, count_down, wait };
    // One operation at a latch or a barrier.
    struct part {
        std::string at; // the directory
        role what = role::arrive;
        journal::actor who = 0;
        std::shared_ptr<const life> owner;
        std::function<std::int64_t()> session; // that of its client now, or 0
    };

    rendezvous(timeline& time, findings& found, journal& notes)
        : time_{time}, found_{found}, journal_{notes}
    {
    }

    void add(place p) { what_ = std::move(p); }

    // ---- from the programs
    // The first latch that is not open.
    [[nodiscard]] std::string present_latch() const;
    // From now on the barrier refuses another count.
    [[nodiscard]] bool has_begun() const;
    number begins(part p);
    // The handler of the operation runs; of a latch `phase` is 0.
    void passes(number n, std::uint64_t phase);
    void ends(number n); // likewise, with an error
    void process_over(const life& of);
    // Somebody is told so.
    void told_open(journal::actor who, const std::string& latch);
    void told_phase(journal::actor who, std::uint64_t phase);

    // ---- from the ensemble
    void committed(const transaction& t);

    void calm() noexcept { calm_ = time_.now(); }
    // Now and then, in the calm.
    void look();

private:
    struct arrival {
        std::uint64_t phase = 0;
        std::int64_t session = 0;           // 0: it stays, whatever becomes of the process
        std::optional<instant> lonely = {}; // since then nobody waits who has made it
    };
    struct directory {
        bool has_begun = false;
        std::optional<std::uint64_t> phase = {}; // that which is under way
        std::map<std::string, arrival> arrivals = {};
        std::size_t begun = 0;            // operations that count down
        std::size_t done = 0;             // those that have completed
        std::size_t taken_out = 0;        // what they have counted, by an operator
        std::optional<instant> full = {}; // since then all are there
    };
    // Kept when it has ended without the end of the phase: its node may be there for a while.
    struct taking_part : part {
        std::set<std::int64_t> sessions = {};    // that it has had
        std::optional<std::uint64_t> until = {}; // the phase in which it has ended
        bool is_dead = false;                    // with its process
        std::optional<instant> late = {}; // since then it ought to have gone on, or to have a node

        [[nodiscard]] bool is_under_way() const noexcept { return !until; }
    };
    using arrivals = std::vector<arrival>;

    void created(const std::string& path, std::string_view name, const change& c,
                 const arrivals& removed);
    void phase_begins(const std::string& path, std::uint64_t phase, const arrivals& removed);
    [[nodiscard]] std::size_t makers_of(std::int64_t session, const std::string& path,
                                        std::uint64_t phase) const;
    void end(taking_part& p);
    void look_at_directory(const std::string& path, directory& d);
    void look_at_part(taking_part& p);

    timeline& time_;
    findings& found_;
    journal& journal_;
    place what_;
    number last_ = 0;
    std::map<number, taking_part> parts_;
    std::map<std::string, directory> places_;
    std::optional<instant> calm_;
};

} // namespace world::check
