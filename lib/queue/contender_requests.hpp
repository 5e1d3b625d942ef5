// What a contender orders, as requests on the session; and their answers, as its inputs.
#pragma once

#include "queue/own_node.hpp"
#include "queue/running_contender.hpp"
#include "report/contenders_ahead.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::detail {

class contender_driver;

// Once the owner is gone, nobody waits for an answer any more, and the path may be another one's. On the strand.
class contender_requests {
public:
    // What an answer, or the event of a watch, tells beside what the contender decides on it.
    struct news {
        std::optional<protocol::remote_contention> contention = {};
        bool asked_for = false; // somebody has asked for the own node, for the first time
    };

    contender_requests(client_core& core, const lock_config& config, running_contender& of,
                       contender_driver& owner) noexcept
        : core_{core}, config_{config}, contender_{of}, owner_{owner}
    {
    }

    // A request of command.hpp. Its answer, and then the event of its watch, is an input of the contender; the owner's answered()
    // is called after it, as long as the owner is there.
    void send(const protocol::command& c);

    // The lock is granted: the own node is what it is from now on.
    void granted();
    // A reader's node has taken its place.
    void stepped_down();
    // The client has cleared the watches.
    void forget_watches() noexcept { watches_.clear(); }
    // The contender is gone. The own node has taken its watch along; that of the directory is freed.
    void gone();

    [[nodiscard]] const own_node& own() const noexcept { return own_; }
    void keep_own_data(std::string_view data) { own_.keep(data, owner_data()); }
    // For people: who blocks it.
    [[nodiscard]] contenders_ahead ahead() const;
    // An error that ended the contender. A refusal is the last one that it was told.
    [[nodiscard]] std::string words_for(const error_code& ec) const;

private:
    struct watch;
    using watch_ptr = std::shared_ptr<watch>;
    struct refusal {
        error_code error;
        std::string words;
    };

    void make_directory();
    void create(const protocol::command& wanted);
    void read_directory(const protocol::command& wanted);
    void remove_directory();
    void list_and_watch(protocol::command::kind as);
    void unwatch(const protocol::node_name& name);

    template <class Input>
    void submit(zk::call&& call, Input input, std::size_t room_kept = 0);
    template <class Input>
    void submit_watch(protocol::node_name on, Input input);
    void fired(const watch& which, bool deleted);
    void free(watch& unwanted);
    template <class Predicate>
    watch_ptr take(Predicate&& is_it);
    [[nodiscard]] news node_read(watch& which, const zk::reply& r);
    void write_own_data_back(std::int32_t version);
    void note_refusal(const zk::reply& r);
    void take_listing(protocol::contender& c, const error_code& ec,
                      const protocol::contender::listing& l, protocol::commands& out);
    [[nodiscard]] const std::string& path() const noexcept { return config_.path; }
    [[nodiscard]] const access_control_list& acl() const;
    [[nodiscard]] const std::string& owner_data() const; // what the node is made with

    client_core& core_;
    const lock_config& config_;
    running_contender& contender_;
    contender_driver& owner_; // this is a part of it
    own_node own_;
    std::int32_t directory_version_ = 0;     // of its data, when it was looked at
    std::vector<watch_ptr> watches_;         // on nodes and on the directory, until they fire
    std::unique_ptr<const refusal> refused_; // the last one that has words of its own
};

} // namespace colock::detail
