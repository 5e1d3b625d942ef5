#include "summary.hpp"

#include "systems/catalogue.hpp"

#include <algorithm>
#include <cstdio>
#include <span>

namespace bench {

namespace {

std::string number(double value)
{
    char text[32];
    std::snprintf(text, sizeof text, value >= 1e5 ? "%.3g" : value >= 100 ? "%.0f" : "%.3g", value);
    return text;
}

bool better(const figure& a, const figure& b)
{
    return more_is_better(a.unit) ? a.median() > b.median() : a.median() < b.median();
}

// Those of which there are figures, in the order in which they came first.
template <class Value, class Get>
std::vector<Value> distinct(const report& r, Get get)
{
    std::vector<Value> all;
    for (const auto& f : r.figures()) {
        const Value value = get(f);
        if (std::ranges::find(all, value) == all.end()) {
            all.push_back(value);
        }
    }
    return all;
}

// The limit, and colock's own variants of a herd, are no peers.
std::string where_peers_win(const report& r)
{
    std::string text;
    for (const auto& h : distinct<report::heading>(r, &report::heading_of)) {
        const auto* own = r.find(h, "colock");
        std::string winners;
        for (const auto& peer : peers) {
            const auto* other = r.find(h, std::string{peer.name});
            // The round trip is what others are measured in; ratios are of figures that count already.
            if (other != nullptr && !other->of_arrangement && h.metric != "round trip" &&
                other->unit != "ratio" && (own == nullptr || better(*other, *own))) {
                winners += "**" + std::string{peer.name} + "** " + number(other->median()) + ", ";
            }
        }
        if (!winners.empty()) {
            text += "- " + text_of(h.where) + ": " + h.metric + ": " + winners + "colock " +
                    (own != nullptr ? number(own->median()) + ' ' + own->unit : "has no figure") +
                    '\n';
        }
    }
    return text.empty() ? "Nowhere.\n" : text;
}

std::string row(std::span<const std::string> cells)
{
    std::string text = "|";
    for (const auto& cell : cells) {
        text += ' ' + cell + " |";
    }
    return text + '\n';
}

// One table a scenario: the median of each system, and the least and most of its rounds.
std::string table(const report& r, const std::string& scenario)
{
    std::vector<std::string> systems;
    std::vector<const figure*> lines; // the first of each
    for (const auto& f : r.figures()) {
        if (f.scenario != scenario) {
            continue;
        }
        if (std::ranges::find(systems, f.system) == systems.end()) {
            systems.push_back(f.system);
        }
        const auto h = report::heading_of(f);
        if (std::ranges::none_of(
                lines, [&](const figure* known) { return report::heading_of(*known) == h; })) {
            lines.push_back(&f);
        }
    }
    if (const auto own = std::ranges::find(systems, "colock"); own != systems.end()) {
        std::rotate(systems.begin(), own, own + 1);
    }

    std::vector<std::string> head{"round trip", "clients", "servers", "metric", "unit"};
    head.insert(head.end(), systems.begin(), systems.end());
    auto text = row(head) + row(std::vector<std::string>(head.size(), "---"));
    for (const auto* first : lines) {
        const auto h = report::heading_of(*first);
        std::vector<std::string> cells{number(first->rtt_ms) + " ms",
                                       std::to_string(first->clients),
                                       std::to_string(first->servers), first->metric, first->unit};
        for (const auto& s : systems) {
            const auto* f = r.find(h, s);
            cells.push_back(f == nullptr ? ""
                                         : "**" + number(f->median()) + "** " + number(f->min()) +
                                               "–" + number(f->max()));
        }
        text += row(cells);
    }
    return text;
}

} // namespace

std::string summary(const report& r, const std::vector<verdict>& verdicts, const run_facts& facts)
{
    auto text = "# What was measured\n\n## Where a peer was better\n\n" + where_peers_win(r) +
                "\n## Targets\n\n```\n";
    for (const auto& v : verdicts) {
        text += v.text + '\n'; // `./dev test local` looks for these lines
    }
    text += "```\n\n## Remarks\n\n";
    const auto before_remarks = text.size();
    if (std::ranges::any_of(r.figures(),
                            [](const figure& f) { return f.system == "zookeeper-recipe"; })) {
        text +=
            "- zookeeper-recipe: `WriteLock` waits for ever when its predecessor leaves between "
            "its two reads. The program that is measured notices that, and asks again at once; "
            "its figures are better than the library's.\n";
    }
    if (std::ranges::any_of(r.figures(), [](const figure& f) { return f.system == "etcd"; })) {
        text += "- etcd is another server, in another language: a reference, no peer on the same "
                "ground. It keeps its data in memory as ZooKeeper does here, or on the disk with "
                "`--fsync`, and always syncs.\n";
    }
    for (const auto& remark : r.remarks()) {
        text += "- " + remark + '\n';
    }
    if (text.size() == before_remarks) {
        text += "None.\n";
    }
    text += "\n## The run\n\n" + row(std::vector<std::string>{"", ""}) +
            row(std::vector<std::string>{"---", "---"});
    for (const auto& [what, value] : facts) {
        text += row(std::vector{what, value});
    }
    text += "\n## Figures\n\nThe median of the rounds, the least and the most.\n";
    for (const auto& scenario :
         distinct<std::string>(r, [](const figure& f) { return f.scenario; })) {
        text += "\n### " + scenario + "\n\n" + table(r, scenario);
    }
    return text;
}

} // namespace bench
