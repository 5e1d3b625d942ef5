// A protected node for locks: created, or checked.
#include <colock/lock_root.hpp>

#include "names/path.hpp"
#include "names/shown.hpp"
#include "queue/random_guid.hpp"
#include "recipes/exposure.hpp"
#include "recipes/pauses.hpp"
#include "session/core.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::detail {

namespace {

constexpr std::string_view keeper_data =
    "keeps its parent from being deleted by clients that may not write there";

// On the strand. What is under way keeps it alive.
//
// The root and its keeper are created by one transaction, so there is no moment in which a client that may write to the
// parent could delete the root. A root that is there is checked between two readings of its list: if the version of the
// list is the same, nobody else could delete the keeper that was seen, or made, in between.
//
// What "auth" stands for is read from a probe. While the root is open to others, they may forge it. So its name is a new
// one in each round, and it is believed only where the node that was read is the one that was created.
//
// A list that was never replaced has been there since the node was created, so nobody else has created anything below. If
// it was replaced, the lists of the children are read, and so on downwards. Each list is read when the parent is safe, so
// nobody else can change what was read.
class lock_root_operation final : public session_listener,
                                  public std::enable_shared_from_this<lock_root_operation> {
public:
    lock_root_operation(std::shared_ptr<client_core> core, operation_ptr<error_code> op,
                        std::string path, access_control_list acl)
        : core_{std::move(core)}, op_{std::move(op)}, path_{std::move(path)}, acl_{std::move(acl)}
    {
    }

    void start()
    {
        if (!is_sound()) {
            return;
        }
        if (const auto link = op_.cancellation()) {
            link->bind([raw = this](asio::cancellation_type type) { raw->cancel(type); });
        }
        if (op_) { // else it was cancelled before
            core_->add(shared_from_this());
            begin();
        }
    }

private:
    using replies = std::vector<zk::reply>;

    // Requests that are sent together, with their answers in the same order. `then` gets these after the last one, unless one
    // was lost or throttled, or the caller has gone.
    struct batch {
        std::vector<request*> open; // null where it is answered
        replies answers;
        std::size_t unanswered;
        std::function<void(replies&)> then;
    };

    // How often other clients may come in between.
    static constexpr int most_rounds = 8;
    // How many lists are read below a root whose list was replaced, and how many at a time.
    static constexpr std::size_t most_below = 100'000;
    static constexpr std::size_t most_at_once = 1'000;

    // ---- the session: requests go on by themselves

    void given_up(const error_code& why) override { end(why); }
    void closed(const error_code& why) override { end(why); }
    void discarded() noexcept override { const auto dropped = std::move(op_); }

    void end(const error_code& why)
    {
        if (op_) {
            fail(why, about(why.message()));
        }
    }

    bool is_sound()
    {
        if (const auto fault = protocol::path_fault(path_); !fault.empty()) {
            refuse(errc::invalid_path, "the path " + fault);
        } else if (acl_.empty()) {
            refuse(errc::invalid_option, "the access control list is empty; set "
                                         "client_options::acl to creator_acl()");
        } else if (const auto open = protocol::entry_for_everybody(acl_)) {
            refuse(
                errc::invalid_option,
                "the access control list protects nothing: " + protocol::entry_words(*open) +
                    "; set client_options::acl to creator_acl(), and client_options::credentials "
                    "to an identity");
        } else if (std::ranges::none_of(acl_, [](const acl_entry& e) {
                       return (e.permissions & permission_delete) != 0;
                   })) {
            refuse(errc::invalid_option, "the access control list gives nobody DELETE, so the "
                                         "nodes of locks would remain; add permission_delete");
        }
        return static_cast<bool>(op_);
    }

    // ---- requests

    [[nodiscard]] std::string keeper() const { return protocol::join_path(path_, ".keep"); }
    // Servers look for containers without children, and delete them later, by path: also a node that was made there meanwhile,
    // unless it has a child. So the keeper has a child, with a name that nobody could know.
    [[nodiscard]] std::string child_of_keeper() const
    {
        std::string name;
        protocol::append(name, random_guid());
        return protocol::join_path(keeper(), name);
    }
    [[nodiscard]] zk::call keep(zk::recycled_vector<transaction_op> after = {}) const
    {
        after.push_back(create_op(keeper(), std::string{keeper_data}));
        after.push_back(create_op(child_of_keeper()));
        return {.op = zk::opcode::multi, .acl = acl_, .ops = std::move(after)};
    }
    [[nodiscard]] static zk::call read_list(const std::string& of)
    {
        return {.op = zk::opcode::get_acl, .path = of};
    }

    // None is repeated by the client: their order counts.
    void send(std::vector<zk::call> calls, std::function<void(replies&)> then)
    {
        const auto size = calls.size();
        const auto all = std::make_shared<batch>(
            batch{std::vector<request*>(size), replies(size), size, std::move(then)});
        batch_ = all;
        const client_core::batch together{*core_};
        for (std::size_t i = 0; i != size; ++i) {
            const bool removes = calls[i].op == zk::opcode::remove;
            auto r =
                make_request(std::move(calls[i]), on_loss::report,
                             [self = shared_from_this(), all, i,
                              probe = removes ? calls[i].path : std::string{}](zk::reply&& reply) {
                                 if (!probe.empty()) {
                                     self->removed(probe, reply.error);
                                 }
                                 all->open[i] = nullptr;
                                 all->answers[i] = std::move(reply);
                                 if (--all->unanswered == 0) {
                                     self->answered(*all);
                                 }
                             });
            all->open[i] = r.get();
            core_->submit(std::move(r));
        }
    }

    [[nodiscard]] static bool is_lost(const error_code& ec)
    {
        return outcome_unknown(ec) || is_loss(ec);
    }
    [[nodiscard]] static bool is_throttled(const error_code& ec)
    {
        return ec == zookeeper_errc::throttled_op;
    }

    void answered(const batch& all)
    {
        answered_ = true;
        const bool lost = std::ranges::any_of(all.answers, is_lost, &zk::reply::error);
        const bool throttled = std::ranges::any_of(all.answers, is_throttled, &zk::reply::error);
        // Not within the answer: all may be refused at once, again and again.
        core_->post([self = shared_from_this(), lost, throttled] {
            const auto go = [self, lost, throttled] { self->go_on(lost, throttled); };
            lost || throttled ? self->pace_.after_refusal(*self->core_, go) : go();
        });
    }

    // A request that a server was too busy for is not repeated by itself: it would come after those that have to follow it.
    void go_on(bool lost, bool throttled)
    {
        const auto last = std::move(batch_);
        if (op_ && lost) {
            begin();
        } else if (op_ && throttled) {
            disturbed(zookeeper_errc::throttled_op, about("the server has too much to do"));
        } else if (op_) {
            last->then(last->answers);
        }
        if (!op_ && !batch_ && !probes_.empty()) { // of a caller who has gone
            send(removals(), [](replies&) {});
        }
    }

    void begin() { path_ == "/" ? examine() : create(); }

    // Another client has changed something between two requests.
    void disturbed(const error_code& ec, const std::string& why)
    {
        if (++rounds_ == most_rounds) {
            fail(ec, why);
        } else {
            begin();
        }
    }
    void disturbed(const zk::reply& by) { disturbed(by.error, by.detail); }

    // ---- to create the root

    void create()
    {
        zk::recycled_vector<transaction_op> root;
        root.push_back(create_op(path_));
        send({keep(std::move(root))}, [this](replies& r) { created(std::move(r[0])); });
    }

    void created(zk::reply&& r)
    {
        creation_ = std::move(r);
        const auto& ec = creation_.error;
        if (!ec) {
            finish({});
        } else if (ec == zookeeper_errc::no_node && protocol::parent_path(path_) != "/") {
            create_parents();
        } else if (ec == zookeeper_errc::node_exists || ec == zookeeper_errc::no_auth) {
            examine(); // the servers look for the permission first
        } else {
            fail(creation_);
        }
    }

    void create_parents()
    {
        std::vector<zk::call> calls;
        for (const auto& each : protocol::path_and_ancestors(protocol::parent_path(path_))) {
            calls.push_back({.op = zk::opcode::create, .path = each, .acl = acl_});
        }
        send(std::move(calls), [this](replies& of_each) {
            const zk::reply* refusal = nullptr;
            for (const auto& r : of_each) {
                if (!r.error || r.error == zookeeper_errc::node_exists) {
                    refusal = nullptr; // then those above are there, too
                } else if (refusal == nullptr || r.error != zookeeper_errc::no_node) {
                    refusal = &r;
                }
            }
            refusal != nullptr && refusal->error != zookeeper_errc::no_node ? fail(*refusal)
                                                                            : disturbed(creation_);
        });
    }

    // ---- to check it

    void examine()
    {
        std::string name = ".probe-";
        protocol::append(name, random_guid());
        const auto probe =
            protocol::join_path(path_, name + '-'); // without a number: it is no contender's
        probes_.push_back(probe);
        auto calls = removals();
        const std::initializer_list<zk::call> before = {
            read_list(path_),
            {.op = zk::opcode::create, .path = probe, .mode = create_mode::ephemeral, .acl = acl_},
            read_list(probe)};
        calls.insert(calls.begin(), before);
        send(std::move(calls), [this](replies& r) { learned_identity(r); });
    }

    // Of the probes of former rounds, too, if no answer to their removal has come; a few at a time, the youngest first.
    [[nodiscard]] std::vector<zk::call> removals() const
    {
        std::vector<zk::call> some;
        for (auto at = probes_.rbegin(); at != probes_.rend() && some.size() != most_rounds; ++at) {
            some.push_back({.op = zk::opcode::remove, .path = *at});
        }
        return some;
    }
    void removed(const std::string& probe, const error_code& ec)
    {
        const bool taken_back = ec == asio::error::operation_aborted; // by cancel()
        if (!is_lost(ec) && !taken_back && !(op_ && is_throttled(ec))) {
            std::erase(probes_, probe);
        }
    }

    // A root that others can write to gets no keeper: it stays as it was.
    void learned_identity(replies& all)
    {
        const auto& probed = all[1];
        const auto unremoved = std::ranges::find(
            all.begin() + 3, all.end(), error_code{zookeeper_errc::no_auth}, &zk::reply::error);
        before_ = std::move(all[0]);
        own_ = std::move(all[2]);
        if (before_.error == zookeeper_errc::no_node) {
            vanished(before_);
        } else if (before_.error) {
            fail(before_);
        } else if (probed.error && probed.error != zookeeper_errc::node_exists) {
            fail(probed);
        } else if (probed.error || own_.error) {
            disturbed(probed.error ? probed : own_);
        } else if (own_.stat.czxid != probed.stat.czxid) {
            disturbed(zookeeper_errc::node_exists,
                      about("others replace the node by which this client learns its identity"));
        } else if (const auto open = protocol::entry_for_others(before_.acl, own_.acl)) {
            expose(path_, *open);
        } else if (const auto everybody = protocol::entry_for_everybody(own_.acl)) {
            expose(path_, *everybody); // such a list was refused, so no server should show it
        } else if (unremoved != all.end()) {
            fail(*unremoved); // each call would leave a probe
        } else {
            send({keep(), read_list(keeper()), read_list(path_)},
                 [this](replies& r) { checked(r[0], r[1], r[2]); });
        }
    }

    void checked(const zk::reply& kept, const zk::reply& keepers, const zk::reply& after)
    {
        if (after.error == zookeeper_errc::no_node) {
            vanished(after);
        } else if (after.error) {
            fail(after);
        } else if (before_.stat.czxid != after.stat.czxid ||
                   before_.stat.aversion != after.stat.aversion) {
            disturbed(zookeeper_errc::node_exists,
                      about("others change this node or its access control list"));
        } else if (kept.error && kept.error != zookeeper_errc::node_exists) {
            fail(kept);
        } else if (keepers.error) {
            disturbed(keepers);
        } else if (const auto theirs = protocol::entry_for_others(keepers.acl, own_.acl)) {
            expose(keeper(), *theirs); // who may have made it so that it does not stay
        } else if (keepers.stat.ephemeral_owner != 0) {
            refuse(errc::unprotected, keeper() + " is ephemeral, or has a time to live; delete it");
        } else if (after.stat.aversion != 0) {
            hold_keeper();
        } else {
            finish({});
        }
    }

    // The root is not there. Then the refusal to create it counts, if there was one.
    void vanished(const zk::reply& look)
    {
        creation_.error == zookeeper_errc::no_auth ? fail(creation_) : disturbed(look);
    }

    // ---- what is below a list that was replaced

    // Others may have made it while they could, and servers show a container like a node that stays. With a child it stays.
    // What children it had are deleted, so that there is one. Of several clients each creates before it deletes what it has
    // seen before, so the last child always stays.
    void hold_keeper()
    {
        send({{.op = zk::opcode::children, .path = keeper()}}, [this](replies& r) {
            std::vector<zk::call> calls{
                {.op = zk::opcode::create, .path = child_of_keeper(), .acl = acl_}};
            r[0].names.resize(std::min(r[0].names.size(), most_at_once));
            for (const auto& name : r[0].names) {
                calls.push_back(
                    {.op = zk::opcode::remove, .path = protocol::join_path(keeper(), name)});
            }
            send(std::move(calls), [this](replies& all) { held_keeper(all[0]); });
        });
    }

    void held_keeper(const zk::reply& created)
    {
        if (created.error == zookeeper_errc::no_node) {
            disturbed(created);
        } else if (created.error) {
            fail(created);
        } else {
            unread_.clear();
            unlisted_.assign(1, path_);
            looked_at_ = 0;
            look_further();
        }
    }

    void look_further()
    {
        if (!unread_.empty()) {
            const auto first =
                unread_.end() - static_cast<std::ptrdiff_t>(std::min(unread_.size(), most_at_once));
            std::vector<std::string> paths{first, unread_.end()};
            unread_.erase(first, unread_.end());
            looked_at_ += paths.size();
            std::vector<zk::call> calls;
            std::ranges::transform(paths, std::back_inserter(calls), read_list);
            send(std::move(calls),
                 [this, paths = std::move(paths)](replies& r) { looked_at_lists(paths, r); });
        } else if (!unlisted_.empty()) {
            auto path = std::move(unlisted_.back());
            unlisted_.pop_back();
            send({{.op = zk::opcode::children, .path = path}},
                 [this, path](replies& r) { looked_at_children(path, r[0]); });
        } else {
            finish({});
        }
    }

    void looked_at_children(const std::string& of, const zk::reply& r)
    {
        if (r.error && r.error != zookeeper_errc::no_node) {
            return fail(r);
        }
        if (looked_at_ + r.names.size() > most_below) {
            return refuse(errc::unprotected,
                          "the access control list of " + protocol::shown(of) +
                              " was replaced, and too many nodes are below to look at; use "
                              "another path, or delete it");
        }
        for (const auto& name : r.names) {
            auto path = protocol::join_path(of, name);
            // The servers' own. They keep it open, and no lock is there.
            if (path != "/zookeeper" || !core_->options().chroot.empty()) {
                unread_.push_back(std::move(path));
            }
        }
        look_further();
    }

    void looked_at_lists(const std::vector<std::string>& paths, const replies& lists)
    {
        for (std::size_t i = 0; i != paths.size(); ++i) {
            const auto& r = lists[i];
            if (r.error == zookeeper_errc::no_node) {
                continue; // a contender that has gone, say
            }
            if (r.error) {
                return fail(r);
            }
            if (const auto open = protocol::entry_for_others(r.acl, own_.acl)) {
                return expose(paths[i], *open);
            }
            if (r.stat.aversion != 0) {
                unlisted_.push_back(paths[i]);
            }
        }
        look_further();
    }

    void expose(const std::string& of, const acl_entry& open)
    {
        refuse(errc::unprotected,
               "the access control list of " + protocol::shown(of) +
                   " is not that of this client: " + protocol::entry_words(open) +
                   (protocol::is_masked(open)
                        ? "; without ADMIN this client cannot tell whether that is itself"
                        : "; look what is below it first, then replace the list by "
                          "client::async_set_acl; or delete it, or use another path"));
    }

    // ---- the outcome

    [[nodiscard]] std::string about(const std::string& what) const
    {
        return "lock root " + path_ + ": " + what;
    }

    void refuse(errc ec, const std::string& why)
    {
        core_->note_error(about(why));
        fail(ec, about(why));
    }

    void fail(const zk::reply& r) { fail(r.error, r.detail); }
    void fail(const error_code& ec, const std::string& why)
    {
        op_->explain(ec, why);
        finish(ec == zookeeper_errc::session_expired ? error_code{errc::session_expired} : ec);
    }

    void finish(const error_code& ec)
    {
        const auto self = shared_from_this();
        core_->remove(*this);
        std::exchange(op_, {}).complete(ec);
    }

    void cancel(asio::cancellation_type type)
    {
        const auto self = shared_from_this();
        const auto under_way = batch_ ? batch_->open : std::vector<request*>{};
        const auto waits = [this](request* r) { return r == nullptr || core_->is_waiting(*r); };
        if (!ends_at_once(type) && (answered_ || !std::ranges::all_of(under_way, waits))) {
            return;
        }
        finish(asio::error::operation_aborted);
        // What was sent cannot be taken back, and the removal of the probe belongs to it.
        for (auto* const r : under_way) {
            if (r != nullptr && core_->is_waiting(*r)) {
                core_->abandon(*r, asio::error::operation_aborted);
            }
        }
    }

    const std::shared_ptr<client_core> core_;
    operation_ptr<error_code> op_; // until it completes
    const std::string path_;
    const access_control_list acl_;

    std::shared_ptr<batch> batch_; // until its answers have been looked at
    bool answered_ = false;        // something has been sent
    int rounds_ = 0;               // in which others came in between
    pauses pace_;

    zk::reply creation_;              // what came of creating the root
    zk::reply before_;                // the root's list, before the keeper is made
    zk::reply own_;                   // the list that this client's nodes get
    std::vector<std::string> probes_; // that may still be there

    std::vector<std::string> unread_, unlisted_; // that are still to be looked at
    std::size_t looked_at_ = 0;                  // how many lists
};

} // namespace

void lock_roots::ensure(const std::shared_ptr<client_core>& core, operation_ptr<error_code> op,
                        std::string path, std::optional<access_control_list> acl)
{
    core->dispatch(
        [core, op = std::move(op), path = std::move(path), acl = std::move(acl)]() mutable {
            std::make_shared<lock_root_operation>(core, std::move(op), std::move(path),
                                                  acl ? std::move(*acl)
                                                      : access_control_list{core->options().acl})
                ->start();
        });
}

} // namespace colock::detail
