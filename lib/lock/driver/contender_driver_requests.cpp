// How the commands of a contender are carried out: requests, their answers, watches.
#include <colock/queue_view.hpp>

#include "lock/driver/contender_driver_feed.hpp"
#include "lock/driver/directory_lister.hpp"
#include "lock/driver/listing.hpp"
#include "protocol/directory/data.hpp"
#include "protocol/names/contender_name.hpp"
#include "protocol/names/path.hpp"

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

// Of a transaction whose second step writes to the directory.
protocol::directory_write directory_write_in(zk::reply& r)
{
    r.results.resize(2); // it has none when the connection was lost
    return {.error = r.results[1].error, .now = directory_in(r.results[1].stat)};
}

} // namespace

// When the contender has gone, no client waits for the answer any more, and the path may be another one's.
template <class Input>
void contender_driver::submit(command_kind type, zk::call&& call, Input input)
{
    auto own = make_request(
        std::move(call), on_loss::fail,
        [this, weak = weak_from_this(), type, input = std::move(input)](zk::reply&& r) mutable {
            if (const auto self = weak.lock()) {
                note_refusal(r);
                feed_answer(
                    type, r.error,
                    [&]<class Contender>(Contender & c, protocol::commands & out) requires std::
                        invocable<Input&, Contender&, zk::reply&, protocol::commands&> {
                            input(c, r, out);
                        });
            }
        });
    own->path_is_valid = true;
    core_.submit(std::move(own));
}

void contender_driver::note_refusal(const zk::reply& r)
{
    if (r.error == zookeeper_errc::no_auth) {
        missing_permission_ = r.detail;
    }
}

// A refusal that ends the contender is the last one that it was told.
std::string contender_driver::words_for(const error_code& ec) const
{
    const bool refused = ec == zookeeper_errc::no_auth && !missing_permission_.empty();
    return refused ? missing_permission_ : ec.message();
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
    if (!has_queue()) {
        paths.pop_back(); // that is the lock's node itself
    }
    const auto made = std::make_shared<std::vector<error_code>>();
    const auto tell = [this, made](std::int64_t czxid) {
        feed_answer(command_kind::make_directory, made->empty() ? error_code{} : made->back(),
                    [&](auto& c, protocol::commands& out) {
                        if constexpr (requires { c.directory_made(*made, czxid, out); }) {
                            c.directory_made(*made, czxid, out);
                        } else {
                            c.directory_made(*made, out);
                        }
                    });
    };
    if (paths.empty()) { // the chroot is missing
        tell(0);
        return;
    }
    made->reserve(paths.size());
    for (const auto& path : paths) {
        core_.submit(make_request(
            {.op = zk::opcode::create,
             .path = path,
             .data = std::string{protocol::directory_signature},
             .mode = create_mode::container,
             .acl = acl()},
            on_loss::fail,
            [weak = weak_from_this(), made, tell, last = &path == &paths.back()](zk::reply&& r) {
                made->push_back(r.error);
                const auto self = weak.lock();
                if (self) {
                    self->note_refusal(
                        r); // the last refusal proves that all above that node is there
                }
                if (self && last) {
                    tell(r.error ? 0 : r.stat.czxid);
                }
            }));
    }
}

void contender_driver::create(const protocol::command& wanted)
{
    revoked_ = false;
    submit(wanted.type,
           {.op = zk::opcode::create,
            .path = child(wanted.name),
            .data = owner_data(),
            .mode = has_queue() ? create_mode::ephemeral_sequential : create_mode::ephemeral,
            .acl = acl()},
           [](auto& c, const zk::reply& r, protocol::commands& out) {
               c.created(r.error, protocol::last_name(r.text),
                         {r.stat.czxid, r.stat.ephemeral_owner}, out);
           });
    run_after_create();
}

void contender_driver::create_and_count(const protocol::command& wanted)
{
    revoked_ = false;
    submit(wanted.type,
           {.op = zk::opcode::multi,
            .acl = acl(),
            .ops = both(create_op(child(wanted.name), owner_data(),
                                  {.mode = create_mode::ephemeral_sequential}),
                        write_signature(wanted))},
           [this](contender& c, zk::reply& r, protocol::commands& out) {
               const auto write = directory_write_in(r);
               node_ = std::move(r.results[0].path);
               // The transaction created the one, and changed the other.
               c.counted(r.error, protocol::last_name(node_),
                         {r.results[1].stat.mzxid, core_.session()}, write, out);
           });
    run_after_create();
}

void contender_driver::run_after_create()
{
    if (const auto* const rest = std::exchange(after_create_, nullptr); rest && *rest) {
        (*rest)();
    }
}

void contender_driver::list()
{
    queue_->lister().ask(weak_from_this());
}

void contender_driver::listed(const zk::reply& r, const protocol::contender::listing& l)
{
    note_refusal(r);
    feed_answer(command_kind::list, r.error,
                [&](contender& c, protocol::commands& out) { c.listed(r.error, l, out); });
}

void contender_driver::look_at_node()
{
    submit(command_kind::look, {.op = zk::opcode::exists, .path = path()},
           [this](protocol::single_node& c, const zk::reply& r, protocol::commands& out) {
               c.looked(r.error, {r.stat.czxid, r.stat.ephemeral_owner},
                        r.stat.czxid != claimed_czxid_ && queue_->claimed.contains(r.stat.czxid),
                        out);
           });
}

void contender_driver::read_directory(command_kind as)
{
    submit(as, {.op = zk::opcode::get, .path = path()},
           [as](contender& c, const zk::reply& r, protocol::commands& out) {
               if (as == command_kind::read_directory) {
                   c.directory_read(r.error, directory_in(r.stat), r.text, out);
               } else {
                   c.directory_identified(r.error, directory_in(r.stat), r.text);
               }
           });
}

transaction_op contender_driver::write_signature(const protocol::command& wanted) const
{
    return set_op(path(), std::string{protocol::directory_signature},
                  static_cast<std::int32_t>(wanted.number));
}

void contender_driver::sign_directory(const protocol::command& wanted)
{
    submit(wanted.type,
           {.op = zk::opcode::multi,
            .ops = both(check_op(child(wanted.name)), write_signature(wanted))},
           [](contender& c, zk::reply& r, protocol::commands&) {
               c.directory_signed(r.error, directory_write_in(r));
           });
}

void contender_driver::remove(const protocol::command& wanted)
{
    submit(wanted.type, {.op = zk::opcode::remove, .path = child(wanted.name)},
           [](auto& c, const zk::reply& r, protocol::commands& out) { c.removed(r.error, out); });
}

// The node first: no client may see the mark while the node is there. Whatever version the data have: the holder before
// has changed them, too.
void contender_driver::remove_and_mark(const protocol::command& wanted)
{
    submit(wanted.type,
           {.op = zk::opcode::multi,
            .ops = both(remove_op(child(wanted.name)),
                        set_op(path(), protocol::data_with_low_water_mark(*options().layout,
                                                                          wanted.number)))},
           [](contender& c, zk::reply& r, protocol::commands& out) {
               c.removed_and_marked(r.error, directory_write_in(r).error, out);
           });
}

// The server restarts the sequence counter with a new directory. If another contender has joined, the server refuses, which
// is fine. Only the log hears the answer.
void contender_driver::remove_directory()
{
    core_.submit(make_request(
        {.op = zk::opcode::remove, .path = path()}, on_loss::fail,
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
                       !outcome_unknown(r.error)) {
                tell(log_level::warning, "cannot be deleted, to begin anew: " + r.error.message());
            }
        }));
}

void contender_driver::replace_by_readers_node(const protocol::command& wanted)
{
    submit(
        wanted.type,
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
            // A request to let go is written into the own node. The driver sees it in each read that sets that node's
            // watch.
            const bool own = target->name == self->own_name() &&
                             self->ask([](const auto& c) { return c.has_node(); });
            const bool asked = own && !r.error && r.text == revocation_request && !self->revoked_;
            self->revoked_ |= asked;
            if (!own && r.text != revocation_request && self->queue_->listens()) {
                target->data = std::make_unique<std::string>(r.text.substr(0, most_of_owner_data));
            }
            self->feed_answer(
                command_kind::watch, r.error,
                [&](auto& c, protocol::commands& out) {
                    c.watched(target->name, r.error, {r.stat.czxid, r.stat.ephemeral_owner}, out);
                },
                target->name);
            if (asked) {
                self->announce_revocation();
            }
        });
    read->subscriber = target.get();
    target->reading = read.get();
    core_.submit(std::move(read));
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

// Together with a listing: what comes behind it fires the watch.
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
            self->feed_answer(as, r.error, [&](contender& c, protocol::commands& out) {
                if (as == command_kind::list_and_watch) {
                    c.listed(r.error, l, out);
                } else {
                    known = c.newcomers_watched(r.error, l);
                }
            });
            if (known) {
                self->queue_->met(*self, *known);
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
