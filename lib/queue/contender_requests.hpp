// What a contender orders, as requests on the session; and their answers, as its inputs.
#pragma once

#include "queue/own_node.hpp"
#include "queue/running_contender.hpp"
#include "report/contenders_ahead.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace colock::detail {

// Once the contender is gone, nobody waits for an answer any more, and the path may be another one's. On the strand.
class contender_requests {
public:
    explicit contender_requests(running_contender& of) noexcept : contender_{of} {}

    // A request of command.hpp.
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
    template <class Answered>
    void submit(const watch_ptr& with, Answered answered);
    void fired(const watch& which, bool deleted);
    void free(watch& unwanted);
    watch_ptr drop(const watch& which);
    void node_read(watch& which, const zk::reply& r);
    void write_own_data_back(std::int32_t version);
    void note_refusal(const zk::reply& r);
    void show(protocol::contender& c, const error_code& ec, const protocol::contender::listing& l,
              protocol::commands& out);
    [[nodiscard]] client_core& core() const noexcept { return contender_.core(); }
    [[nodiscard]] const lock_config& config() const noexcept { return contender_.owner().config(); }
    [[nodiscard]] const std::string& path() const noexcept { return config().path; }
    [[nodiscard]] const access_control_list& acl() const;
    [[nodiscard]] const std::string& owner_data() const; // what the node is made with

    running_contender& contender_;
    [[no_unique_address]] own_node own_;     // its last word has room for the next one
    std::int32_t directory_version_ = 0;     // of its data, when it was looked at
    std::vector<watch_ptr> watches_;         // on nodes and on the directory, until they fire
    std::unique_ptr<const refusal> refused_; // the last one that has words of its own
};

} // namespace colock::detail
