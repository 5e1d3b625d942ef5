// The watches that programs have set by client::async_watch, on nodes that nobody but an operator changes.
#pragma once

#include <colock/node.hpp>

#include "findings.hpp"
#include "journal.hpp"
#include "operations.hpp"
#include "simulated.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace world::check {

class watches {
public:
    enum class kind { data, existence, children };
    struct watch {
        journal::actor who;
        std::shared_ptr<const life> owner;
        std::string path; // as the ensemble knows it
        kind of = kind::data;
        std::optional<colock::node_stat> seen; // with the answer that set it
    };

    watches(timeline& time, findings& found, journal& notes, const ensemble& servers)
        : time_{time}, found_{found}, journal_{notes}, servers_{servers}
    {
    }

    std::uint64_t begun(watch w);
    // It is heard of a change. Each event is a reason to look, so the node has to have changed.
    void fired(std::uint64_t number);
    void over(std::uint64_t number) { active_.erase(number); }

    // While there is no trouble: whose node has changed so long ago, and nobody has told it?
    void look(std::chrono::nanoseconds limit);

private:
    struct active {
        watch what;
        std::optional<instant> outdated; // since then it is known to be so
    };

    [[nodiscard]] bool is_outdated(const watch& w) const;
    [[nodiscard]] std::string text_of(const watch& w) const;

    timeline& time_;
    findings& found_;
    journal& journal_;
    const ensemble& servers_;
    std::uint64_t last_ = 0;
    std::map<std::uint64_t, active> active_;
};

} // namespace world::check
