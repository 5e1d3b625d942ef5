#include "beside.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value_to.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

namespace bench {

namespace {

namespace json = boost::json;

figure figure_in(const json::object& o)
{
    const auto text = [&](const char* key) { return json::value_to<std::string>(o.at(key)); };
    const auto number = [&](const char* key) { return o.at(key).to_number<double>(); };
    return {text("scenario"),
            text("system"),
            number("rtt_ms"),
            static_cast<int>(number("clients")),
            static_cast<int>(number("servers")),
            text("metric"),
            text("unit"),
            // Three rounds with the same median and the same ends.
            {number("min"), number("median"), number("max")}};
}

struct change {
    const figure* now;
    const figure* before;
    double times; // so many times as good as before

    // The rounds of one lie apart from those of the other, and not just by a hair: some figures have one round.
    [[nodiscard]] bool is_clear() const
    {
        return (times < 0.97 || times > 1.03) &&
               (now->min() > before->max() || now->max() < before->min());
    }
};

std::vector<change> changes(const report& now, const report& earlier, bool (*wanted)(const figure&))
{
    std::vector<change> all;
    for (const auto& f : now.figures()) {
        const auto* const before =
            wanted(f) ? earlier.find(report::heading_of(f), f.system) : nullptr;
        if (before == nullptr || before->unit != f.unit || f.median() <= 0 ||
            before->median() <= 0) {
            continue;
        }
        const auto ratio = f.median() / before->median();
        all.push_back({&f, before, more_is_better(f.unit) ? ratio : 1 / ratio});
    }
    std::ranges::stable_sort(all, {}, &change::times);
    return all;
}

std::string shown(const figure& f)
{
    char text[96];
    std::snprintf(text, sizeof text, "%.4g (%.4g to %.4g)", f.median(), f.min(), f.max());
    return text;
}

std::string line(const change& c)
{
    char times[32];
    std::snprintf(times, sizeof times, "%.2f", c.times);
    return "- " + std::string{times} +
           " times as good: " + text_of(report::heading_of(*c.now).where) + ", " + c.now->system +
           ", " + c.now->metric + ": " + shown(*c.now) + " " + c.now->unit + ", before " +
           shown(*c.before) + '\n';
}

} // namespace

report read_report(const std::string& path)
{
    std::ifstream in{path};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    if (!in) {
        throw std::runtime_error{"cannot read " + path};
    }
    try {
        report all;
        const auto parsed = json::parse(text);
        for (const auto& each : parsed.as_array()) {
            all.keep(figure_in(each.as_object()));
        }
        return all;
    } catch (const std::exception& e) {
        throw std::runtime_error{path + " is no report of colock_bench: " + e.what()};
    }
}

std::string beside(const report& now, const report& earlier, const std::string& name_of_earlier)
{
    const auto own = changes(now, earlier, [](const figure& f) {
        return f.system.starts_with("colock") &&
               f.unit != "ratio"; // those are of figures that are here
    });
    const auto machine = changes(now, earlier, [](const figure& f) {
        return f.system.starts_with("raw") && f.unit != "ratio";
    });
    std::ostringstream text;
    text << "## Beside " << name_of_earlier
         << "\n\nA figure is better or worse when no round of the one run is as that of the other. "
            "A shared machine is faster in one hour than in another";
    if (!machine.empty()) {
        text << ": the raw clients did " << shown(figure{.rounds = [&] {
            std::vector<double> times;
            for (const auto& c : machine) {
                times.push_back(c.times);
            }
            return times;
        }()}) << " times as well";
    }
    text << ".\n";
    const auto list = [&](const char* title, auto belongs) {
        text << "\n### " << title << "\n\n";
        bool any = false;
        for (const auto& c : own) {
            if (c.is_clear() && belongs(c)) {
                text << line(c);
                any = true;
            }
        }
        text << (any ? "" : "Nothing.\n");
    };
    list("Worse", [](const change& c) { return c.times < 1; });
    list("Better", [](const change& c) { return c.times > 1; });
    const auto same = std::ranges::count_if(own, [](const change& c) { return !c.is_clear(); });
    text << "\nWithin the noise: " << same << " of " << own.size() << " figures of colock.\n";
    return text.str();
}

} // namespace bench
