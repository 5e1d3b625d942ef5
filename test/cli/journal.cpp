#include "journal.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <utility>

namespace colock::test {

std::vector<life> read_journal(const std::string& file)
{
    std::map<std::string, std::pair<life, std::set<long>>> by_run;
    std::ifstream in{file};
    std::string run;
    long process = 0;
    for (std::int64_t at = 0; in >> run >> process >> at;) {
        auto& [life, processes] = by_run[run];
        if (life.run.empty()) {
            life = {run, at, at};
        }
        life.first = std::min(life.first, at);
        life.last = std::max(life.last, at);
        processes.insert(process);
    }
    std::vector<life> all;
    for (auto& [name, entry] : by_run) {
        entry.first.processes = static_cast<int>(entry.second.size());
        all.push_back(entry.first);
    }
    std::ranges::sort(all, {}, &life::first);
    return all;
}

int overlaps(const std::vector<life>& runs)
{
    int count = 0;
    for (std::size_t i = 0; i != runs.size(); ++i) {
        for (std::size_t j = i + 1; j != runs.size(); ++j) {
            count += runs[j].first <= runs[i].last;
        }
    }
    return count;
}

} // namespace colock::test
