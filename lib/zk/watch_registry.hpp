// The subscribers of each watch. Frees a watch on the server when it has none.
#pragma once

#include "zk/call.hpp"

#include <array>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace colock::zk {

// Watches are one-shot, and counted by path and kind, because the server can only be asked to free every
// watch of a session on a path. A subscription begins with a watched read: announce() when it is sent,
// then subscribe() or withdraw() when it is answered. No watch of an older connection is left:
// clear() when the connection is lost.
class watch_registry {
public:
    class subscriber {
    public:
        virtual void watch_fired(const watch_event& event) noexcept = 0;

    protected:
        ~subscriber() = default;
    };

    // Sends the request that frees the watches of this kind on a path.
    using forget = std::function<void(const std::string& path, watch_kind kind)>;

    explicit watch_registry(forget f) : forget_{std::move(f)} {}

    // A watched read has been sent.
    void announce(const std::string& path, watch_kind kind);

    // It has been answered, and has set the watch. Without a subscriber nobody wants it any more.
    void subscribe(const std::string& path, watch_kind kind, subscriber* wanted);

    // It has been answered, and has set no watch.
    void withdraw(const std::string& path, watch_kind kind);

    // A server was too busy to free the watches on a path: they are freed again, unless somebody wants one by now.
    void not_forgotten(const std::string& path, watch_kind kind);

    // Only for a subscription that has neither fired nor been cleared.
    void unsubscribe(const std::string& path, watch_kind kind, subscriber& unwanted);

    // Subscribers are removed before they are told.
    void fired(const watch_event& event);

    // Whether the server has a watch, or will have one by a read that has been sent.
    [[nodiscard]] bool is_set(const std::string& path, watch_kind kind) const;

    void clear();

private:
    struct entry {
        std::size_t announced = 0;
        bool set = false; // the server has a watch
        std::vector<subscriber*> subscribers;
    };
    using table = std::unordered_map<std::string, entry>;

    table& of(watch_kind kind) noexcept { return tables_[kind == watch_kind::data ? 0 : 1]; }
    void settle(table::iterator at, watch_kind kind);
    void take(watch_kind kind, const std::string& path);

    forget forget_;
    std::array<table, 2> tables_;
    std::vector<subscriber*> firing_; // those still to be told of the event at hand
};

} // namespace colock::zk
