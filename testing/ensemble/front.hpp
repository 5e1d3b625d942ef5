// The part of a server that clients see: connections, the order of answers, watches.
#pragma once

#include "disk.hpp"
#include "ensemble.hpp"
#include "machine.hpp"
#include "network.hpp"
#include "random.hpp"
#include "stage.hpp"
#include "submitted.hpp"
#include "watches.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace colock::simulated {

class connection final : public watches::watcher {
public:
    void notify(colock::watch_event_type type, const std::string& path,
                const colock::access_control_list& acl) override;

private:
    friend class front;

    const front* at_ = nullptr;
    std::shared_ptr<stream> link_; // empty once closed
    std::int64_t session_ = 0;
    std::chrono::milliseconds timeout_{10'000};
    std::chrono::milliseconds idle_until_{};
    bool asked_ = false;    // for a session
    bool receiving_ = true; // not while the session is being set up
    std::deque<message> unread_;
    bool end_unread_ = false;
    bool touched_ = false; // since the follower has last told its leader
    shared_identities who_;
};

// What a front needs of the role of its server: the leader or a follower.
class upstream {
public:
    // In the order of arrival, of reads, too. It comes back by front::enqueue().
    virtual void process(shared_request r) = 0;
    // The session is in use. False when it is over: its request is dropped.
    virtual bool touch(std::int64_t session, std::chrono::milliseconds timeout) = 0;
    // Overtakes what is being processed. Answered by front::revalidated().
    virtual void revalidate(std::int64_t session, std::chrono::milliseconds timeout) = 0;
    // The server has carried it out.
    virtual void applied(const transaction& t) = 0;
    // That of the ensemble, or null.
    [[nodiscard]] virtual observer* told() const noexcept = 0;

protected:
    ~upstream() = default;
};

// Lives while the server serves.
class front final : public std::enable_shared_from_this<front>, private tree::witness {
public:
    front(machine& host, std::size_t index, const ensemble_options& options, random chance,
          std::uint64_t& origins, disk& store, upstream& role, bool follows);
    ~front();

    // To be called once, when it is owned. `decided`: up to where the history is.
    void start(std::int64_t decided);
    void accept(std::shared_ptr<stream> link);
    void end(); // closes all connections

    // A request that the role has seen. `refused`: a reader's session is not what it should be.
    void enqueue(shared_request r, status refused = {});
    // All up to this is decided, and logged here.
    void commit(std::int64_t zxid) { apply_.put(zxid); }
    // The leader has answered the next `sync`, behind all that it had told to commit.
    void synced() { apply_.put(sync_answered); }
    void revalidated(std::int64_t session, bool valid);

    // The sessions that were used since the last time.
    [[nodiscard]] std::vector<std::pair<std::int64_t, std::chrono::milliseconds>> take_touched();

    [[nodiscard]] std::size_t watch_count() const noexcept { return watches_.size(); }
    [[nodiscard]] std::size_t watch_bytes() const noexcept { return watches_.bytes(); }
    [[nodiscard]] std::size_t connection_count() const noexcept { return connections_.size(); }

private:
    friend class connection;
    using shared_connection = std::shared_ptr<connection>;
    struct pending {
        shared_request request;
        status refused;
    };

    void received(const shared_connection& c, message&& m);
    void handle(const shared_connection& c, message&& m);
    void connect(const shared_connection& c, const connect_request& m);
    void submit(const shared_connection& c, submitted::kind what, std::int32_t number,
                operation&& call);
    void finish_session(const shared_connection& c, bool valid);
    void close(const shared_connection& c);
    void close_session_of(std::int64_t session);
    void look_for_idle();

    [[nodiscard]] bool waits_for_commit(const submitted& r) const noexcept;
    static constexpr std::int64_t sync_answered = -1; // in place of a zxid
    void apply(std::int64_t zxid);
    void answer_sync();
    void go_on(std::int64_t session);
    void finish(const submitted& r, status error, const transaction* t,
                std::vector<tree::result>* results);
    [[nodiscard]] response read(const submitted& r, connection& c);
    [[nodiscard]] status about_watches(const operation& call, connection& c);
    void restore(const former_watches& all, connection& c);

    void created(const std::string& path, const shared_acl& own, const shared_acl& parent) override
    {
        watches_.created(path, *own, *parent);
    }
    void removed(const std::string& path, const shared_acl& own, const shared_acl& parent) override
    {
        watches_.removed(path, *own, *parent);
    }
    void changed(const std::string& path, const shared_acl& own) override
    {
        watches_.changed(path, *own);
    }

    machine& host_;
    const ensemble_options& options_;
    random random_;
    std::uint64_t& origins_;
    disk& disk_;
    upstream& role_;
    bool follows_; // a leader, which answers a sync, and has to hear of sessions
    std::int64_t next_session_;
    bool over_ = false;
    std::int64_t applying_ = -1; // the transaction that is being carried out

    std::vector<shared_connection> connections_;
    std::unordered_map<std::int64_t, std::weak_ptr<connection>> by_session_;
    std::unordered_map<std::int64_t, std::weak_ptr<connection>> revalidating_;
    std::vector<std::pair<std::int64_t, std::chrono::milliseconds>> touched_;
    std::vector<shared_connection> touched_connections_;
    watches watches_;
    std::unordered_map<std::int64_t, std::deque<pending>> pending_; // by session, behind a write
    std::deque<shared_request> syncs_;
    stage<std::int64_t> apply_;
};

} // namespace colock::simulated
