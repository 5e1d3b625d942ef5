// A protected node for locks: created, or checked.
#include <colock/lock_root.hpp>

#include "core.hpp"
#include "on_cancel.hpp"
#include "protocol/access/exposure.hpp"
#include "protocol/names/guid.hpp"
#include "protocol/names/path.hpp"
#include "zk/entropy.hpp"

#include <algorithm>
#include <array>
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
class ensuring final : public session_listener, public std::enable_shared_from_this<ensuring> {
public:
    ensuring(std::shared_ptr<client_core> core, operation_ptr<error_code> op, std::string path,
             access_control_list acl)
        : core_{std::move(core)}, op_{std::move(op)}, path_{std::move(path)}, acl_{std::move(acl)},
          keeper_{protocol::join_path(path_, ".keep")}, probe_{protocol::join_path(path_,
                                                                                   probe_name())}
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
    [[nodiscard]] static std::string probe_name()
    {
        protocol::guid g;
        zk::random_bytes(&g, sizeof g);
        std::string name = ".probe-";
        protocol::append(name, g);
        return name + '-';
    }

    // How often other clients may come in between.
    static constexpr int most_rounds = 8;

    struct node_list {
        error_code error;
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
                                  self->lost_ |= outcome_unknown(reply.error);
                                  answer(reply);
                                  self->go_on();
                              });
        *at = r.get();
        core_->submit(std::move(r));
    }

    // Sends several requests together. `then` is called behind the last answer, if none was lost.
    template <class Send>
    void batch(void (ensuring::*then)(), Send send)
    {
        then_ = then;
        lost_ = false;
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
        core_->post([self = shared_from_this()] {
            if (!self->op_) {
                self->clean_up();
            } else if (self->lost_) {
                self->begin();
            } else {
                (*self.*self->then_)();
            }
        });
    }

    void begin() { path_ == "/" ? check() : create(); }

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
        batch(&ensuring::created, [this] {
            std::vector<transaction_op> ops;
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
            check(); // the servers look for the permission first
        } else {
            fail(ec, created_.detail);
        }
    }

    void create_parents()
    {
        parents_ = {};
        batch(&ensuring::created_parents, [this] {
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

    void check()
    {
        batch(&ensuring::checked, [this] {
            read_list(path_, before_);
            submit({.op = zk::opcode::create,
                    .path = probe_,
                    .mode = create_mode::ephemeral,
                    .acl = acl_},
                   on_loss::report, [this](const zk::reply& r) { keep(probed_, r); });
            read_list(probe_, own_);
            remove_probe();
            submit({.op = zk::opcode::create,
                    .path = keeper_,
                    .data = std::string{keeper_data},
                    .acl = acl_},
                   on_loss::report, [this](const zk::reply& r) { keep(kept_, r); });
            read_list(keeper_, keepers_);
            read_list(path_, after_);
        });
    }

    void remove_probe()
    {
        submit({.op = zk::opcode::remove, .path = probe_}, on_loss::report,
               [this](const zk::reply& r) { probe_remains_ = outcome_unknown(r.error); });
    }

    // Of a caller who has gone.
    void clean_up()
    {
        if (std::exchange(probe_remains_, false)) {
            batch(nullptr, [this] { remove_probe(); });
        }
    }

    void read_list(const std::string& path, node_list& into)
    {
        submit({.op = zk::opcode::get_acl, .path = path}, on_loss::repeat,
               [this, &into](const zk::reply& r) {
                   into = {r.error, r.acl, r.stat};
                   into_detail(into) = r.detail;
               });
    }

    void checked()
    {
        if (after_.error == zookeeper_errc::no_node) {
            // It is not there. Then the refusal to create it counts, if there was one.
            created_.error == zookeeper_errc::no_auth ? fail(created_.error, created_.detail)
                                                      : disturbed(after_.error, details_[3]);
        } else if (after_.error) {
            fail(after_.error, details_[3]);
        } else if (probed_.error && probed_.error != zookeeper_errc::node_exists) {
            fail(probed_.error, probed_.detail);
        } else if (kept_.error && kept_.error != zookeeper_errc::node_exists) {
            fail(kept_.error, kept_.detail);
        } else if (!(before_ == after_)) {
            disturbed(zookeeper_errc::node_exists,
                      about("others change this node or its access control list"));
        } else if (own_.error || keepers_.error) {
            disturbed(own_.error ? own_.error : keepers_.error,
                      own_.error ? details_[1] : details_[2]);
        } else if (const auto open = protocol::entry_for_others(after_.acl, own_.acl)) {
            expose(path_, *open);
        } else if (const auto theirs = protocol::entry_for_others(keepers_.acl, own_.acl)) {
            expose(keeper_, *theirs); // who may have made it so that it does not stay
        } else if (keepers_.stat.ephemeral_owner != 0) {
            refuse(errc::unprotected, keeper_ + " is ephemeral; delete it");
        } else {
            finish({});
        }
    }

    void expose(const std::string& of, const acl_entry& open)
    {
        refuse(errc::unprotected,
               "the access control list of " + of +
                   " is not that of this client: " + protocol::entry_words(open) +
                   (protocol::is_masked(open)
                        ? "; without ADMIN this client cannot tell whether that is itself"
                        : "; replace it by client::async_set_acl, or use another path"));
    }

    // ---- the outcome

    struct refusal {
        error_code error;
        std::string detail;
    };

    static void keep(refusal& in, const zk::reply& r) { in = {r.error, r.detail}; }

    [[nodiscard]] std::string& into_detail(const node_list& of)
    {
        return details_[&of == &before_ ? 0 : &of == &own_ ? 1 : &of == &keepers_ ? 2 : 3];
    }

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
    const std::string probe_;

    std::list<request*> under_way_;
    void (ensuring::*then_)() = nullptr;
    bool listens_ = false; // to the client
    bool sending_ = false;
    bool lost_ = false;     // an answer to one of them
    bool answered_ = false; // something has been sent
    bool probe_remains_ = false;
    int rounds_ = 0; // in which others came in between

    refusal created_, parents_, probed_, kept_;
    node_list before_, own_, keepers_, after_;
    std::array<std::string, 4> details_; // of their errors
};

} // namespace

void lock_roots::ensure(const std::shared_ptr<client_core>& core, operation_ptr<error_code> op,
                        std::string path, std::optional<access_control_list> acl)
{
    core->dispatch([core, op = std::move(op), path = std::move(path),
                    acl = std::move(acl)]() mutable {
        std::make_shared<ensuring>(core, std::move(op), std::move(path),
                                   acl ? std::move(*acl) : access_control_list{core->options().acl})
            ->start();
    });
}

} // namespace colock::detail
