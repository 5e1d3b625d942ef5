// The nodes of one permit: permit_lease watches them, removes them, and tells of their loss.
#pragma once

#include "queue/lease.hpp"
#include "recipes/pauses.hpp"
#include "recipes/semaphore/semaphore_state.hpp"
#include "recipes/strand_object.hpp"
#include "session/core.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace colock::detail {

// On the strand, except where a function says otherwise. The client keeps it alive until the last node is gone.
class permit_lease final : public session_listener, public strand_object<permit_lease> {
public:
    permit_lease(std::shared_ptr<const semaphore_state> of, const std::vector<std::string>& nodes);

    void begin();
    // From here on: tells the client's observer of the end of this hold.
    void observe(const observed_hold& h) noexcept { hold_ = h; }
    // Deletes some of them. The operation, if there is one, completes when they are gone, or lost before that.
    void release(const std::vector<std::string>& nodes, operation_ptr<error_code> op);
    // For as long as this one of them is held.
    void wait_lost(operation_ptr<error_code, error_code> op, const std::string& of);

    // ---- any thread

    // The guard of these is gone. Nothing is lost where there is no memory to post it.
    void leave(std::vector<std::string>&& nodes) noexcept;
    // "semaphore /path", for people.
    [[nodiscard]] std::string what() const { return of_->of.name(); }
    [[nodiscard]] const std::string& path() const noexcept { return of_->of.path; }
    [[nodiscard]] const lease& loss() const noexcept { return lease_; }

private:
    // A release of some of the nodes.
    struct departure {
        std::size_t left; // nodes
        error_code result;
        operation_ptr<error_code> op; // until it has completed
    };
    struct node {
        std::uint64_t number; // of the operations that wait for its loss
        watch changes = {};
        std::shared_ptr<departure> leaving = {};
        request* removal = nullptr; // then
    };

    void expired() override;
    void closed(const error_code& why) override;
    void own_watch_due() override;
    void check() override;
    void catch_up() override;
    void discarded() noexcept override;

    void look(const std::string& path);
    // Null when it is gone, or is about to go.
    [[nodiscard]] node* holding(const std::string& path);
    [[nodiscard]] bool all_left() const noexcept;
    [[nodiscard]] bool is_awaited() const noexcept;
    void remove(const std::string& path, node& of);
    void removed(const std::string& path, const zk::reply& r);
    void answer(departure& of, const error_code& ec);
    void update_heartbeat_need();
    void lose(errc why);
    void end_hold(const error_code& loss) noexcept;
    void end();

    const std::shared_ptr<const semaphore_state> of_;
    std::map<std::string, node> nodes_;
    bool over_ = false;
    std::mutex mutex_;              // of those that were left:
    std::vector<std::string> left_; // there is room for all of them
    pauses pace_;                   // of watches that fire
    lease lease_;
    observed_hold hold_{}; // until it has ended; else of nobody
};

} // namespace colock::detail
