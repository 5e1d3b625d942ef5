// Who waits for what to happen to which node, at one server.
#pragma once

#include <colock/node.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace colock::simulated {

// Watches on data and those on the absence of a node are of one kind here, as for the server.
class watches {
public:
    enum class kind {
        data,
        children,
        lasting,   // these two stay when they have fired
        recursive, // of all below the node, too
    };
    static constexpr std::array kinds{kind::data, kind::children, kind::lasting, kind::recursive};

    // A connection.
    class watcher {
    public:
        // `acl`: of the node.
        virtual void notify(colock::watch_event_type type, const std::string& path,
                            const colock::access_control_list& acl) = 0;

    protected:
        ~watcher() = default;

    private:
        friend class watches;
        std::array<std::unordered_set<std::string>, kinds.size()> watched_;
    };

    void add(kind k, const std::string& path, watcher& w);
    // False when there was none.
    bool remove(kind k, const std::string& path, watcher& w);
    [[nodiscard]] static bool contains(kind k, const std::string& path, const watcher& w);
    void drop(watcher& w);

    void created(const std::string& path, const colock::access_control_list& own,
                 const colock::access_control_list& parent);
    void removed(const std::string& path, const colock::access_control_list& own,
                 const colock::access_control_list& parent);
    void changed(const std::string& path, const colock::access_control_list& own);

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; } // of their paths

private:
    using watchers = std::vector<watcher*>; // in the order in which they came
    using table = std::unordered_map<std::string, watchers>;

    [[nodiscard]] table& table_of(kind k) { return tables_[static_cast<std::size_t>(k)]; }
    [[nodiscard]] watchers take(kind k, const std::string& path);
    // The lasting ones. Each connection hears of an event once.
    void add_lasting(watchers& to, const std::string& path, colock::watch_event_type type);
    static void add_others(watchers& to, const watchers& others);
    void trigger(kind k, const std::string& path, colock::watch_event_type type,
                 const colock::access_control_list& acl);

    std::array<table, kinds.size()> tables_;
    std::size_t size_ = 0;
    std::size_t bytes_ = 0;
};

} // namespace colock::simulated
