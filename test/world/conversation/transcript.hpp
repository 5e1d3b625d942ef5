// What was said, as text that is the same with any servers: transactions are counted from the first one that is seen,
// sessions are numbered as they come, and times are left out.
#pragma once

#include "side.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace world::conversation {

class transcript {
public:
    void note(std::string line) { lines_.push_back(std::move(line)); }
    void asked(std::size_t session, std::size_t number, const colock::zk::call& c);
    void opened(std::size_t session, const colock::zk::session_identity& as, bool known);
    void acl_set(const std::string& path, const colock::access_control_list& acl,
                 std::int32_t version, const colock::zk::reply& r);
    // `in_order`: the order means something. The server ends a session's nodes in any order.
    void told(std::vector<heard> what, bool in_order);

    [[nodiscard]] const std::vector<std::string>& lines() const noexcept { return lines_; }

private:
    [[nodiscard]] std::string text_of(const heard& h);
    [[nodiscard]] std::string text_of(const colock::node_stat& s);
    [[nodiscard]] std::string zxid(std::int64_t z);

    std::vector<std::string> lines_;
    std::map<std::int64_t, std::string> sessions_;
    std::optional<std::int64_t> first_;
};

} // namespace world::conversation
