// A protected node for locks: created, or checked.
#include <colock/lock_root.hpp>

#include "names/guid.hpp"
#include "names/path.hpp"
#include "names/shown.hpp"
#include "recipes/exposure.hpp"
#include "session/core.hpp"
#include "session/on_cancel.hpp"
#include "session/pauses.hpp"
#include "zk/entropy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
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
        : core_{std::move(core)}, op_{std::move(op)}, path_{std::move(path)}, acl_{std::move(acl)},
          keeper_{protocol::join_path(path_, ".keep")}
    {
    }

    void start()
    {
        if (!is_sound()) {
            return;
        }
        if (const auto& link = op_.cancellation()) {
            if (link->requested() != asio::cancellation_type::none) {
                return finish(asio::error::operation_aborted);
            }
            link->bind([raw = this](asio::cancellation_type type) { raw->cancel(type); });
        }
        core_->add(shared_from_this());
        listens_ = true;
        begin();
    }

private:
    // ---- the session: requests go on by themselves

    void connected(std::int64_t) override {}
    void suspended() override {}
    void expired() override {}
    void given_up(const error_code& why) override { end(why); }
    void closed(const error_code& why) override { end(why); }
    void discarded() noexcept override { const auto dropped = std::move(op_); }

    void end(const error_code& why)
    {
        if (op_) {
            fail(why, about(why.message()));
        }
    }

    // No number at its end: it is no contender's.
    [[nodiscard]] std::string another_probe() const
    {
        protocol::guid g;
        zk::random_bytes(&g, sizeof g);
        std::string name = ".probe-";
        protocol::append(name, g);
        return protocol::join_path(path_, name + '-');
    }

    // How often other clients may come in between.
    static constexpr int most_rounds = 8;
    // How many lists are read below a root whose list was replaced, and how many at a time.
    static constexpr std::size_t most_below = 100'000;
    static constexpr std::size_t most_at_once = 1'000;

    struct node_list {
        error_code error;
        std::string detail; // of the error
        access_control_list acl;
        node_stat stat;
        bool operator==(const node_list& other) const // of the same node, and not changed meanwhile
        {
            return !error && !other.error && stat.czxid == other.stat.czxid &&
                   stat.aversion == other.stat.aversion;
        }
    };

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

    template <class Answer>
    void submit(zk::call&& call, on_loss policy, Answer answer)
    {
        const auto at = under_way_.insert(under_way_.end(), nullptr);
        auto r = make_request(std::move(call), policy,
                              [self = shared_from_this(), at, answer](zk::reply&& reply) {
                                  self->under_way_.erase(at);
                                  self->note_loss(reply.error);
                                  answer(reply);
                                  self->go_on();
                              });
        *at = r.get();
        core_->submit(std::move(r));
    }

    [[nodiscard]] static bool is_lost(const error_code& ec)
    {
        return outcome_unknown(ec) || is_loss(ec);
    }

    void note_loss(const error_code& ec)
    {
        lost_ |= is_lost(ec);
        throttled_ |= ec == zookeeper_errc::throttled_op;
    }

    // Sends several requests together. `then` is called after the last answer, if none was lost.
    template <class Send>
    void batch(void (lock_root_operation::*then)(), Send send)
    {
        then_ = then;
        lost_ = throttled_ = false;
        sending_ = true;
        {
            const client_core::batch together{*core_};
            send();
        }
        sending_ = false;
        go_on();
    }

    void go_on()
    {
        if (sending_ || !under_way_.empty()) {
            return;
        }
        answered_ = true;
        // Not within the answer: all may be refused at once, again and again.
        core_->post([self = shared_from_this(), again = lost_ || throttled_] {
            const auto go = [self] { self->go_further(); };
            again ? self->pace_.after_refusal(*self->core_, go) : go();
        });
    }

    void go_further()
    {
        if (op_) {
            proceed();
        }
        if (!op_ && under_way_.empty()) {
            clean_up();
        }
    }

    // A request that a server was too busy for is not repeated by itself: it would come after those that have to follow it.
    void proceed()
    {
        if (lost_) {
            begin();
        } else if (throttled_) {
            disturbed(zookeeper_errc::throttled_op, about("the server has too much to do"));
        } else {
            (this->*then_)();
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

    // ---- to create the root

    void create()
    {
        batch(&lock_root_operation::created, [this] {
            zk::recycled_vector<transaction_op> ops;
            ops.push_back(create_op(path_));
            ops.push_back(create_op(keeper_, std::string{keeper_data}));
            submit({.op = zk::opcode::multi, .acl = acl_, .ops = std::move(ops)}, on_loss::report,
                   [this](const zk::reply& r) { keep(created_, r); });
        });
    }

    void created()
    {
        const auto& ec = created_.error;
        if (!ec) {
            finish({});
        } else if (ec == zookeeper_errc::no_node && protocol::parent_path(path_) != "/") {
            create_parents();
        } else if (ec == zookeeper_errc::node_exists || ec == zookeeper_errc::no_auth) {
            examine(); // the servers look for the permission first
        } else {
            fail(ec, created_.detail);
        }
    }

    void create_parents()
    {
        parents_ = {};
        batch(&lock_root_operation::created_parents, [this] {
            for (const auto& each : protocol::path_and_ancestors(protocol::parent_path(path_))) {
                submit({.op = zk::opcode::create, .path = each, .acl = acl_}, on_loss::report,
                       [this](const zk::reply& r) {
                           const bool there = !r.error || r.error == zookeeper_errc::node_exists;
                           if (there) {
                               parents_ = {}; // then those above are there, too
                           } else if (!parents_.error || r.error != zookeeper_errc::no_node) {
                               keep(parents_, r);
                           }
                       });
            }
        });
    }

    void created_parents()
    {
        if (parents_.error && parents_.error != zookeeper_errc::no_node) {
            fail(parents_.error, parents_.detail);
        } else {
            disturbed(created_.error, created_.detail);
        }
    }

    // ---- to check it

    void examine()
    {
        probe_ = another_probe();
        removed_ = {};
        batch(&lock_root_operation::checked, [this] {
            read_list(path_, before_);
            probes_.push_back(probe_);
            submit({.op = zk::opcode::create,
                    .path = probe_,
                    .mode = create_mode::ephemeral,
                    .acl = acl_},
                   on_loss::report, [this](const zk::reply& r) {
                       keep(probed_, r);
                       probe_czxid_ = r.stat.czxid;
                   });
            read_list(probe_, own_);
            remove_probes();
            submit({.op = zk::opcode::create,
                    .path = keeper_,
                    .data = std::string{keeper_data},
                    .acl = acl_},
                   on_loss::report, [this](const zk::reply& r) { keep(kept_, r); });
            read_list(keeper_, keepers_);
            read_list(path_, after_);
        });
    }

    // Those of former rounds, too, if no answer to their removal has come; a few at a time, the youngest first.
    void remove_probes()
    {
        std::vector<std::string> some{probes_.rbegin(), probes_.rend()};
        some.resize(std::min<std::size_t>(some.size(), most_rounds));
        for (const auto& name : some) {
            submit({.op = zk::opcode::remove, .path = name}, on_loss::report,
                   [this, name](const zk::reply& r) {
                       const bool again = op_ && r.error == zookeeper_errc::throttled_op;
                       if (!is_lost(r.error) && !again) {
                           std::erase(probes_, name);
                       }
                       if (r.error == zookeeper_errc::no_auth) {
                           keep(removed_, r);
                       }
                   });
        }
    }

    // Of a caller who has gone.
    void clean_up()
    {
        if (!probes_.empty()) {
            batch(nullptr, [this] { remove_probes(); });
        }
    }

    // Never repeated by the client: the order of the requests counts.
    void read_list(const std::string& path, node_list& into)
    {
        submit({.op = zk::opcode::get_acl, .path = path}, on_loss::report,
               [&into](const zk::reply& r) {
                   into = {r.error, r.detail, r.acl, r.stat};
               });
    }

    void checked()
    {
        if (after_.error == zookeeper_errc::no_node) {
            // It is not there. Then the refusal to create it counts, if there was one.
            created_.error == zookeeper_errc::no_auth ? fail(created_.error, created_.detail)
                                                      : disturbed(after_.error, after_.detail);
        } else if (after_.error) {
            fail(after_.error, after_.detail);
        } else if (!(before_ == after_)) {
            disturbed(zookeeper_errc::node_exists,
                      about("others change this node or its access control list"));
        } else if (probed_.error && probed_.error != zookeeper_errc::node_exists) {
            fail(probed_.error, probed_.detail);
        } else if (kept_.error && kept_.error != zookeeper_errc::node_exists) {
            fail(kept_.error, kept_.detail);
        } else if (probed_.error || own_.error) {
            disturbed(probed_.error ? probed_.error : own_.error,
                      probed_.error ? probed_.detail : own_.detail);
        } else if (own_.stat.czxid != probe_czxid_) {
            disturbed(zookeeper_errc::node_exists,
                      about("others replace the node by which this client learns its identity"));
        } else if (keepers_.error) {
            disturbed(keepers_.error, keepers_.detail);
        } else if (const auto open = protocol::entry_for_others(after_.acl, own_.acl)) {
            expose(path_, *open);
        } else if (const auto everybody = protocol::entry_for_everybody(own_.acl)) {
            expose(path_, *everybody); // such a list was refused, so no server should show it
        } else if (const auto theirs = protocol::entry_for_others(keepers_.acl, own_.acl)) {
            expose(keeper_, *theirs); // who may have made it so that it does not stay
        } else if (keepers_.stat.ephemeral_owner != 0) {
            refuse(errc::unprotected, keeper_ + " is ephemeral, or has a time to live; delete it");
        } else if (removed_.error) {
            fail(removed_.error, removed_.detail); // each call would leave a probe
        } else if (after_.stat.aversion != 0) {
            replace_keeper();
        } else {
            finish({});
        }
    }

    // ---- what is below a list that was replaced

    // Others may have made it while they could. Servers show a container like a node that stays, and delete it when it has
    // lost its last child.
    void replace_keeper()
    {
        batch(&lock_root_operation::replaced_keeper, [this] {
            zk::recycled_vector<transaction_op> ops;
            ops.push_back(remove_op(keeper_));
            ops.push_back(create_op(keeper_, std::string{keeper_data}));
            submit({.op = zk::opcode::multi, .acl = acl_, .ops = std::move(ops)}, on_loss::report,
                   [this](const zk::reply& r) { keep(kept_, r); });
        });
    }

    void replaced_keeper()
    {
        if (kept_.error == zookeeper_errc::not_empty) {
            refuse(errc::unprotected, keeper_ + " has children; delete them");
        } else if (kept_.error == zookeeper_errc::no_node) {
            disturbed(kept_.error, kept_.detail);
        } else if (kept_.error) {
            fail(kept_.error, kept_.detail);
        } else {
            look_below();
        }
    }

    void look_below()
    {
        unread_.clear();
        unlisted_.assign(1, path_);
        looked_at_ = 0;
        look_further();
    }

    void look_further()
    {
        if (!unread_.empty()) {
            batch(&lock_root_operation::looked_at_lists, [this] {
                const auto number = std::min(unread_.size(), most_at_once);
                looked_at_ += number;
                below_.assign(number, {});
                for (auto& each : below_) {
                    each.path = std::move(unread_.back());
                    unread_.pop_back();
                    read_list(each.path, each.list);
                }
            });
        } else if (!unlisted_.empty()) {
            batch(&lock_root_operation::looked_at_children, [this] {
                listed_ = std::move(unlisted_.back());
                unlisted_.pop_back();
                submit({.op = zk::opcode::children, .path = listed_}, on_loss::report,
                       [this](const zk::reply& r) {
                           keep(children_, r);
                           names_ = r.names;
                       });
            });
        } else {
            finish({});
        }
    }

    void looked_at_children()
    {
        if (children_.error && children_.error != zookeeper_errc::no_node) {
            return fail(children_.error, children_.detail);
        }
        if (looked_at_ + names_.size() > most_below) {
            return refuse(errc::unprotected,
                          "the access control list of " + protocol::shown(listed_) +
                              " was replaced, and too many nodes are below to look at; use "
                              "another path, or delete it");
        }
        for (const auto& name : names_) {
            auto path = protocol::join_path(listed_, name);
            // The servers' own. They keep it open, and no lock is there.
            if (path != "/zookeeper" || !core_->options().chroot.empty()) {
                unread_.push_back(std::move(path));
            }
        }
        look_further();
    }

    void looked_at_lists()
    {
        for (const auto& [path, list] : below_) {
            if (list.error == zookeeper_errc::no_node) {
                continue; // a contender that has gone, say
            }
            if (list.error) {
                return fail(list.error, list.detail);
            }
            if (const auto open = protocol::entry_for_others(list.acl, own_.acl)) {
                return expose(path, *open);
            }
            if (list.stat.aversion != 0) {
                unlisted_.push_back(path);
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

    struct refusal {
        error_code error;
        std::string detail;
    };

    static void keep(refusal& in, const zk::reply& r) { in = {r.error, r.detail}; }

    [[nodiscard]] std::string about(const std::string& what) const
    {
        return "lock root " + path_ + ": " + what;
    }

    void refuse(errc ec, const std::string& why)
    {
        core_->note_error(about(why));
        fail(ec, about(why));
    }

    void fail(const error_code& ec, const std::string& why)
    {
        op_->explain(ec, why);
        finish(ec == zookeeper_errc::session_expired ? error_code{errc::session_expired} : ec);
    }

    void finish(const error_code& ec)
    {
        const auto self = shared_from_this();
        if (std::exchange(listens_, false)) {
            core_->remove(*this);
        }
        std::exchange(op_, {}).complete(ec);
    }

    void cancel(asio::cancellation_type type)
    {
        const auto self = shared_from_this();
        const auto waits = [this](request* each) { return core_->is_waiting(*each); };
        if (!ends_at_once(type) && (answered_ || !std::ranges::all_of(under_way_, waits))) {
            return;
        }
        finish(asio::error::operation_aborted);
        // What was sent cannot be taken back, and the removal of the probe belongs to it.
        while (!under_way_.empty() && waits(under_way_.back())) {
            core_->abandon(*under_way_.back(), asio::error::operation_aborted);
        }
    }

    const std::shared_ptr<client_core> core_;
    operation_ptr<error_code> op_; // until it completes
    const std::string path_;
    const access_control_list acl_;
    const std::string keeper_;

    std::list<request*> under_way_;
    void (lock_root_operation::*then_)() = nullptr;
    bool listens_ = false; // to the client
    bool sending_ = false;
    bool lost_ = false;      // an answer to one of them
    bool throttled_ = false; // one of them
    bool answered_ = false;  // something has been sent
    int rounds_ = 0;         // in which others came in between
    pauses pace_;

    refusal created_, parents_, probed_, removed_, kept_, children_;
    node_list before_, own_, keepers_, after_;

    std::string probe_;               // of this round
    std::int64_t probe_czxid_ = 0;    // when it was created
    std::vector<std::string> probes_; // that may still be there

    struct node_below {
        std::string path;
        node_list list;
    };
    std::vector<node_below> below_;              // whose lists are being read
    std::string listed_;                         // whose children are being read
    std::vector<std::string> names_;             // of these
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
