// How the commands of a contender are carried out: requests, their answers, watches.
#include <colock/queue_view.hpp>

#include "names/contender_name.hpp"
#include "names/path.hpp"
#include "names/revocation.hpp"
#include "queue/contender_driver_feed.hpp"

#include <algorithm>
#include <utility>

namespace colock::detail {

using protocol::contender;

namespace {

// Without the copies that an initializer list makes.
zk::recycled_vector<transaction_op> both(transaction_op&& first, transaction_op&& second)
{
    zk::recycled_vector<transaction_op> ops;
    ops.reserve(2);
    ops.push_back(std::move(first));
    ops.push_back(std::move(second));
    return ops;
}

protocol::node_identity identity_in(const node_stat& s)
{
    return {s.czxid, s.ephemeral_owner, s.num_children != 0};
}

// Refers to the reply.
contender::listing listing_in(const zk::reply& r)
{
    return {.children = r.names, .directory = r.stat.czxid};
}

} // namespace

// When the contender has gone, no client waits for the answer any more, and the path may be another one's.
template <class Input>
void contender_driver::submit(zk::call&& call, Input input, std::size_t room_kept)
{
    auto own = make_request(
        std::move(call), on_loss::fail,
        [this, weak = weak_from_this(), input = std::move(input)](zk::reply&& r) mutable {
            if (const auto self = weak.lock()) {
                note_refusal(r);
                feed_answer(
                    r.error, [&]<class Contender>(
                                 Contender & c,
                                 protocol::commands &
                                     out) requires std::invocable<Input&, Contender&, zk::reply&,
                                                                  protocol::commands&> {
                        input(c, r, out);
                    });
            }
        });
    own->of_lock = true;
    own->room_kept = room_kept;
    own->owner_hears = true;
    core_.submit(std::move(own));
}

void contender_driver::note_refusal(const zk::reply& r)
{
    if (r.error == zookeeper_errc::no_auth || r.error == errc::session_full) {
        refused_ = std::make_unique<const refusal>(refusal{r.error, r.detail});
    }
}

// A refusal that ends the contender is the last one that it was told.
std::string contender_driver::words_for(const error_code& ec) const
{
    return refused_ && ec == refused_->error && !refused_->words.empty() ? refused_->words
                                                                         : ec.message();
}

// A writer that becomes a reader has a node with another name.
std::size_t contender_driver::room_to_step_down() const noexcept
{
    return has_queue() ? protocol::longer_name_of_reader(*options().layout) : 0;
}

const std::string& contender_driver::owner_data() const
{
    return options().owner_data ? *options().owner_data : default_owner_data();
}

const access_control_list& contender_driver::acl() const
{
    return options().acl ? *options().acl : core_.options().acl;
}

// All ancestors at once, and the directory itself: one may lack the permission to create an ancestor that exists.
void contender_driver::make_directory()
{
    auto paths = protocol::path_and_ancestors(path());
    if (!has_queue() || paths.front() == "/") {
        paths.pop_back(); // that is the lock's node itself; or the chroot, which is not made
    }
    const auto made = std::make_shared<std::vector<error_code>>();
    const auto tell = [this, made] {
        feed_answer(made->empty() ? error_code{} : made->back(),
                    [&](auto& c, protocol::commands& out) { c.directory_made(*made, out); });
    };
    if (paths.empty()) { // the chroot is missing
        tell();
        return;
    }
    made->reserve(paths.size());
    for (const auto& path : paths) {
        core_.submit(make_request(
            {.op = zk::opcode::create, .path = path, .mode = create_mode::container, .acl = acl()},
            on_loss::fail,
            [weak = weak_from_this(), made, tell, last = &path == &paths.back()](zk::reply&& r) {
                made->push_back(r.error);
                const auto self = weak.lock();
                if (self) {
                    self->note_refusal(
                        r); // the last refusal proves that all above that node is there
                }
                if (self && last) {
                    tell();
                }
            }));
    }
}

void contender_driver::create(const protocol::command& wanted)
{
    revoked_ = false;
    own_data_.reset();
    submit(
        {.op = zk::opcode::create,
         .path = child(wanted.name),
         .data = owner_data(),
         .mode = has_queue() ? create_mode::ephemeral_sequential : create_mode::ephemeral,
         .acl = acl()},
        [this](auto& c, zk::reply& r, protocol::commands& out) {
            node_ = std::move(r.text);
            c.created(r.error, protocol::last_name(node_), {r.stat.czxid, r.stat.ephemeral_owner},
                      out);
        },
        room_to_step_down());
}

void contender_driver::list()
{
    submit({.op = zk::opcode::children, .path = path()},
           [this](contender& c, const zk::reply& r, protocol::commands& out) {
               show(c, r.error, listing_in(r), out);
           });
}

// A listing may lack the own node, which others have deleted while no watch was set.
void contender_driver::show(contender& c, const error_code& ec,
                            const protocol::contender::listing& l, protocol::commands& out)
{
    const auto before = c.node();
    c.listed(ec, l, out);
    if (!before.empty() && !c.has_node() && !c.is_gone()) {
        core_.node_gone(child(before));
    }
}

void contender_driver::look_at_node()
{
    submit({.op = zk::opcode::exists, .path = path()},
           [this](protocol::single_node& c, const zk::reply& r, protocol::commands& out) {
               c.looked(r.error, identity_in(r.stat),
                        r.stat.czxid != claimed_czxid_ && user_->claimed.contains(r.stat.czxid),
                        out);
           });
}

// Whether nothing is lost when somebody makes another one. The servers made the list of the own node from that of this client,
// as they would make that of a new directory. A client's root is not made again.
void contender_driver::read_directory(const protocol::command& wanted)
{
    const auto list = std::make_shared<access_control_list>();
    submit({.op = zk::opcode::get_acl, .path = path()},
           [this, list](contender&, zk::reply& r, protocol::commands&) {
               if (!r.error && r.stat.data_length == 0 && path() != "/") {
                   *list = std::move(r.acl);
                   directory_version_ = r.stat.version;
               }
           });
    submit({.op = zk::opcode::get_acl, .path = child(wanted.name)},
           [list](contender& c, const zk::reply& r, protocol::commands&) {
               c.directory_read(!r.error && r.acl == *list);
           });
}

void contender_driver::remove(const protocol::command& wanted)
{
    submit({.op = zk::opcode::remove, .path = child(wanted.name)},
           [](auto& c, const zk::reply& r, protocol::commands& out) { c.removed(r.error, out); });
}

// The server restarts the sequence counter with a new directory. If another contender has joined, or somebody has written data, the
// server refuses, which is fine. (A list that was changed meanwhile cannot be a condition.) Only the log hears the answer.
void contender_driver::remove_directory()
{
    core_.submit(make_request(
        {.op = zk::opcode::remove, .path = path(), .version = directory_version_}, on_loss::fail,
        [&core = core_, path = path()](zk::reply&& r) {
            const auto tell = [&](log_level level, const std::string& what) {
                core.log(level, "lock " + path +
                                    ": the numbers of its directory are nearly "
                                    "used up; it " +
                                    what);
            };
            if (!r.error) {
                tell(log_level::info, "was deleted, to begin anew");
            } else if (r.error != zookeeper_errc::not_empty && r.error != zookeeper_errc::no_node &&
                       r.error != zookeeper_errc::bad_version && !outcome_unknown(r.error)) {
                tell(log_level::warning, "cannot be deleted, to begin anew: " + r.error.message());
            }
        }));
}

void contender_driver::replace_by_readers_node(const protocol::command& wanted)
{
    submit(
        {.op = zk::opcode::multi,
         .acl = acl(),
         .ops = both(create_op(child(wanted.name), owner_data(), {.mode = create_mode::ephemeral}),
                     remove_op(child(own_name())))},
        [](contender& c, const zk::reply& r, protocol::commands& out) {
            c.stepped_down(r.error, out);
        });
}

// Reads data, never existence: that leaves no watch on a node that is gone.
void contender_driver::watch(const protocol::node_name& name)
{
    const auto target = std::make_shared<watch_target>(*this, name);
    watches_.push_back(target);
    auto read = make_request(
        {.op = zk::opcode::get, .path = child(name), .watch = true}, on_loss::fail,
        [weak = weak_from_this(), target](zk::reply&& r) {
            target->reading = nullptr;
            const auto self = weak.lock();
            if (!self || !target->wanted) {
                return;
            }
            if (r.error) {
                self->drop_target(*target); // no watch was set
                self->note_refusal(r);
            }
            target->subscribed = !r.error;
            // A request to release the lock is written into the own node. The driver sees it in each read that sets that node's
            // watch.
            const bool own = target->name == self->own_name() &&
                             self->ask([](const auto& c) { return c.has_node(); });
            const bool request = own && !r.error && r.text == protocol::request_to_let_go;
            const bool asked = request && !self->revoked_;
            self->revoked_ |= asked;
            if (request) {
                self->write_own_data_back(r.stat.version);
            } else if (own && !r.error) {
                self->keep_own_data(protocol::without_mark(r.text));
            } else if (r.text != protocol::request_to_let_go && self->user_->listens) {
                target->data = std::make_unique<std::string>(
                    protocol::without_mark(r.text).substr(0, most_of_owner_data));
            }
            const bool of_another = r.stat.ephemeral_owner != self->core_.session();
            if (self->repetition_.watched(r.error, of_another ? r.stat.czxid : 0) && self->pace_) {
                self->pace_->progressed();
            }
            self->feed_follows([&](auto& c, protocol::commands& out) {
                c.watched(target->name, r.error, identity_in(r.stat), out);
            });
            if (asked) {
                self->announce_revocation();
            }
        });
    read->subscriber = target.get();
    target->reading = read.get();
    core_.submit(std::move(read));
}

// The request has taken the place of the data, which tell others whose node it is. Refused where somebody has written again, and
// then the watch tells of that; or where this client lacks WRITE, and then the data are gone. The name of a single node does not
// tell whose it is: another client's may have taken its place.
void contender_driver::write_own_data_back(std::int32_t version)
{
    if (!has_queue()) {
        return;
    }
    core_.submit(make_request({.op = zk::opcode::set,
                               .path = child(own_name()),
                               .data = protocol::marked(own_data_ ? *own_data_ : owner_data()),
                               .version = version},
                              on_loss::fail, [](zk::reply&&) {}));
}

// A leader may have proclaimed another identity.
void contender_driver::keep_own_data(std::string_view data)
{
    if (data == owner_data()) {
        own_data_.reset();
    } else {
        own_data_ = std::make_unique<const std::string>(data);
    }
}

void contender_driver::unwatch(const protocol::node_name& name)
{
    const auto at =
        std::ranges::find_if(watches_, [&](const auto& w) { return w->wanted && w->name == name; });
    if (at == watches_.end()) {
        return;
    }
    const auto target = *at;
    watches_.erase(at);
    target->wanted = false;
    if (target->reading != nullptr) {
        target->reading->subscriber = nullptr;
    } else if (std::exchange(target->subscribed, false)) {
        core_.watches().unsubscribe(child(name), zk::watch_kind::data, *target);
    }
}

// A target that fired, or was never set, must not be found again under its name, which a later watch
// may have.
std::shared_ptr<contender_driver::watch_target>
contender_driver::drop_target(const watch_target& target)
{
    const auto at =
        std::ranges::find_if(watches_, [&](const auto& w) { return w.get() == &target; });
    if (at == watches_.end()) {
        return nullptr; // all of them were dropped: the client is closed
    }
    auto dropped = *at;
    watches_.erase(at);
    return dropped;
}

// Together with a listing: what comes after it fires the watch.
void contender_driver::list_and_watch(command_kind as)
{
    newcomers_ = std::make_shared<newcomer_target>(*this);
    auto read = make_request(
        {.op = zk::opcode::children,
         .path = path(),
         .watch = true,
         .kind = zk::watch_kind::children},
        on_loss::fail, [weak = weak_from_this(), target = newcomers_, as](zk::reply&& r) {
            target->reading = nullptr;
            const auto self = weak.lock();
            if (!self) {
                return;
            }
            if (r.error && self->newcomers_ == target) {
                self->newcomers_.reset(); // no watch was set
            }
            self->note_refusal(r);
            auto l = listing_in(r);
            l.watched = true;
            std::optional<protocol::remote_contention> known;
            self->feed_answer(r.error, [&](contender& c, protocol::commands& out) {
                if (as == command_kind::list_and_watch) {
                    self->show(c, r.error, l, out);
                } else {
                    known = c.newcomers_watched(r.error, l);
                }
            });
            if (known) {
                self->tell(*known);
            }
        });
    read->subscriber = newcomers_.get();
    newcomers_->reading = read.get();
    core_.submit(std::move(read));
}

// The own node takes its watch along when it goes. That of the directory is freed.
void contender_driver::forget_newcomers()
{
    if (const auto target = std::exchange(newcomers_, nullptr)) {
        if (target->reading != nullptr) {
            target->reading->subscriber = nullptr;
        } else {
            core_.watches().unsubscribe(path(), zk::watch_kind::children, *target);
        }
    }
}

} // namespace colock::detail
