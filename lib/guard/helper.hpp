// The session guard of this process, as its clients see it.
#pragma once

#include "guard/guarded_session.hpp"
#include "zk/strand.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace colock::guard {

// One for all clients of a process that name the same program. Any thread, except where a function says otherwise. It exits
// when the last client that uses it has gone.
class helper {
public:
    helper() = default;
    helper(const helper&) = delete;
    helper& operator=(const helper&) = delete;
    virtual ~helper() = default;

    // Never waits. False when the message is lost: the helper is dead, or reads nothing. `tls_material`: "" for none.
    virtual bool send(const guarded_session& s, std::string_view tls_material) = 0;

    // Of one that has died: why, if it could say that.
    [[nodiscard]] virtual std::string last_words() const { return {}; }

    // Waits for the end of a helper, for one client. On its strand.
    class watcher {
    public:
        watcher() = default;
        watcher(const watcher&) = delete;
        watcher& operator=(const watcher&) = delete;
        virtual ~watcher() = default; // calls nothing
    };
    [[nodiscard]] virtual std::unique_ptr<watcher> watch(const zk::strand_type& strand,
                                                         std::function<void()> died) = 0;
};

struct started_helper {
    std::shared_ptr<helper> process; // null when there is none
    std::string fault = {};          // why
};

// Uses the helper that runs, or starts one. `consent`: see client_options. The simulated world (testing/world) has its own
// definition.
[[nodiscard]] started_helper find_helper(const std::string& program, int consent);

} // namespace colock::guard
