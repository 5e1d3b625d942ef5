// Walks through everything that can happen to contenders for a single node.
#pragma once

#include "single_node_world.hpp"

namespace colock::model::single {

// Depth first through all states that can be reached.
class exhaustive_walk {
public:
    explicit exhaustive_walk(const scenario& s) : lab_{s} {}

    outcome operator()()
    {
        try {
            visit(world{lab_.rules});
        } catch (const std::exception& found) {
            result_.violated = found.what();
            for (const auto& s : path_) {
                result_.violated += "\n    " + to_string(s);
            }
        }
        result_.states = visited_.size();
        return result_;
    }

private:
    static constexpr std::size_t max_depth = 400; // every step uses something up

    void visit(const world& from)
    {
        buffer_.clear();
        from.write(buffer_);
        if (!visited_.insert(digest_of(buffer_))) {
            return;
        }
        result_.depth = std::max(result_.depth, path_.size());
        if (path_.size() == max_depth) {
            throw violation{"G4: it does not end"};
        }
        const auto all = from.possible();
        if (std::ranges::all_of(all, &step::is_adverse)) {
            from.check_end(lab_);
        }
        result_.ends += all.empty() ? 1u : 0u;
        for (const auto& s : all) {
            path_.push_back(s);
            ++result_.transitions;
            world to = from;
            to.take(s, lab_);
            visit(to);
            path_.pop_back();
        }
    }

    laboratory lab_;
    visited_states visited_;
    std::vector<step> path_;
    std::string buffer_;
    outcome result_;
};

} // namespace colock::model::single
