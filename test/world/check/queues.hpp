// The locks as the ensemble sees them, in ZooKeeper's order: G2, G3, G4 and G7.
#pragma once

#include "findings.hpp"
#include "journal.hpp"
#include "simulated.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace world::check {

enum class mode : std::uint8_t { exclusive, shared, permits };

class queues final : public observer {
public:
    enum class kind : std::uint8_t { queue, single_node, leases };
    enum class cause : std::uint8_t { client, session_over, hand };

    struct place {
        kind type = kind::queue;
        std::string path; // of the directory, or of the single node
        std::string marker;
        std::string shared_marker = {};
        std::int64_t permits = 1;
        std::string counter = {}; // a node that holds the number of permits instead
        bool ending = false;      // the numbers of the directory come to their end: see G7
        // Holders write their tokens into this node, with the condition that they hold the lock.
        std::string written = {};
        // Others than contenders have watches there, and are woken too.
        bool has_onlookers = false;
        bool silent = false; // nobody tells of its holders
    };

    // Is told behind the queues.
    class witness {
    public:
        virtual void node_gone(const std::string& path, std::int64_t session, cause why) = 0;
        virtual void session_over(std::int64_t session, bool expired) = 0;

    protected:
        ~witness() = default;
    };

    struct contender {
        std::string path;
        std::int64_t session = 0;
        bool shared = false;
        instant since{};
        instant asked{}; // to let go; zero: never
    };

    queues(timeline& time, findings& found, journal& notes, journal::actor ensemble)
        : time_{time}, found_{found}, journal_{notes}, ensemble_{ensemble}
    {
    }

    std::size_t add(place p);
    // The numbers of this directory come to their end.
    void ends(const std::string& directory) { places_[by_path_.at(directory)].what.ending = true; }
    void set_witness(witness* w) noexcept { witness_ = w; }
    [[nodiscard]] const place& of(std::size_t number) const { return places_[number].what; }
    [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }

    void committed(const transaction& t) override;
    // G7: a deletion wakes at most two others in a queue of writers.
    void woken(std::int64_t session, colock::watch_event_type type,
               const std::string& path) override;

    // ---- for the other checks

    [[nodiscard]] bool exists(const std::string& path) const;
    [[nodiscard]] bool lives(std::int64_t session) const { return sessions_.contains(session); }
    // Somebody whom this node has to wait for.
    [[nodiscard]] const contender* blocking(std::size_t in, const std::string& path) const;
    // Of another session, right behind this node: somebody who waits for it.
    [[nodiscard]] const contender* waiting_beside(std::size_t in, const std::string& path,
                                                  std::int64_t session) const;
    // When the first one came to be the first.
    [[nodiscard]] instant moved(std::size_t in) const { return places_[in].moved; }
    // How many permits there were then, at most: the number may have changed at that instant.
    [[nodiscard]] std::int64_t most_permits(std::size_t in, instant then) const;
    // When the node was made, or nothing.
    [[nodiscard]] std::optional<instant> made(const std::string& path) const;
    // When this session made the last of the nodes that its end has taken along, or nothing. `shared`: of readers' nodes.
    [[nodiscard]] std::optional<instant> last_lost(std::size_t in, std::int64_t session,
                                                   bool shared) const;
    // When somebody has asked the owner of this node to let go.
    [[nodiscard]] std::optional<instant> asked(const std::string& path) const;
    // The one at this position of the queue, or null.
    [[nodiscard]] const contender* at(std::size_t in, std::size_t position) const;
    [[nodiscard]] std::size_t count(std::size_t in) const { return places_[in].contenders.size(); }
    // While there is no trouble. G4: who has been the first one for so long, and does not hold the lock? G3: which
    // permit has been there for so long, and nobody has it?
    template <class Holds>
    void report_waiting(std::chrono::nanoseconds limit, Holds&& holds);

    // G3: nobody is left.
    void report_left();
    [[nodiscard]] std::size_t left() const;

private:
    struct entry {
        place what;
        std::map<std::int64_t, contender> contenders; // by number
        // Nodes that went with their session: see last_lost().
        std::map<std::pair<std::int64_t, bool>, instant> lost;
        bool tampered = false; // operators have deleted nodes
        instant moved{};       // another one is the first since then
    };
    // How many permits there are since then.
    struct counted_from {
        instant since;
        std::int64_t permits;
    };
    struct gone {
        std::string path;
        std::int64_t session;
        std::set<std::int64_t> woken; // others
        std::size_t place;
        instant when;
    };
    struct location {
        std::size_t place;
        std::int64_t number;
        bool shared;
    };

    [[nodiscard]] std::optional<location> find(std::string_view path) const;
    [[nodiscard]] bool has_just_left(std::int64_t session, std::size_t in) const;
    void created(const change& c);
    void deleted(const std::string& path, std::int64_t session, cause why);
    void changed(const change& c, std::int64_t session);
    void permits_counted(const std::string& path, std::string_view data);

    timeline& time_;
    findings& found_;
    journal& journal_;
    journal::actor ensemble_;
    witness* witness_ = nullptr;
    std::vector<entry> places_;
    std::unordered_map<std::string, std::size_t> by_path_;
    std::unordered_map<std::string, std::string> written_; // by node: the greatest token
    std::unordered_map<std::string, std::vector<counted_from>> counts_; // by node
    std::set<std::int64_t> sessions_;
    std::deque<gone> gone_; // the last ones
};

template <class Holds>
void queues::report_waiting(std::chrono::nanoseconds limit, Holds&& holds)
{
    for (auto& p : places_) {
        if (p.what.type == kind::leases) {
            for (auto& [number, permit] : p.contenders) {
                if (time_.now() - permit.since >= limit && !holds(permit.path)) {
                    found_.add("G3 permit", permit.path + " of session " +
                                                std::to_string(permit.session) +
                                                " is there since " + text_of(permit.since) +
                                                ", and nobody has it");
                    permit.since = time_.now(); // tell it once
                }
            }
            continue;
        }
        if (p.what.silent || p.contenders.empty() || time_.now() - p.moved < limit) {
            continue;
        }
        if (const auto& first = p.contenders.begin()->second; !holds(first.path)) {
            found_.add("G4 lost wake-up", first.path + " of session " +
                                              std::to_string(first.session) +
                                              " has been the first one since " + text_of(p.moved) +
                                              ", and is not granted");
            p.moved = time_.now(); // tell it once
        }
    }
}

} // namespace world::check
