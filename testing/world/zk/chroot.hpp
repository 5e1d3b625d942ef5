// The chroot of a connection, which only the client knows.
#pragma once

#include "zk/call.hpp"

#include <string>

namespace colock::simulated {

class chroot {
public:
    void assign(const std::string& prefix) { prefix_ = prefix == "/" ? std::string{} : prefix; }

    [[nodiscard]] std::string whole(const std::string& path) const
    {
        if (prefix_.empty()) {
            return path;
        }
        return path == "/" ? prefix_ : prefix_ + path;
    }
    [[nodiscard]] colock::zk::call whole(colock::zk::call c) const
    {
        if (!prefix_.empty()) {
            c.path = c.op == colock::zk::opcode::multi ? c.path : whole(c.path);
            for (auto& op : c.ops) {
                op.path = whole(op.path);
            }
        }
        return c;
    }
    void strip(std::string& path) const
    {
        if (!prefix_.empty() && path.starts_with(prefix_)) {
            path.size() == prefix_.size() ? path.assign("/") : path.erase(0, prefix_.size());
        }
    }

private:
    std::string prefix_;
};

} // namespace colock::simulated
