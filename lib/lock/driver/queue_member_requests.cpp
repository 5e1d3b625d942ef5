// How the commands of a contender are carried out: requests, their answers, watches.
#include <colock/queue_view.hpp>

#include "lock/driver/queue_member_feed.hpp"
#include "protocol/directory/data.hpp"
#include "protocol/names/contender_name.hpp"
#include "protocol/names/path.hpp"

#include <algorithm>
#include <utility>

namespace colock::detail {

namespace {

// Without the copies that an initializer list makes.
std::vector<transaction_op> both(transaction_op&& first, transaction_op&& second)
{
    std::vector<transaction_op> ops;
    ops.reserve(2);
    ops.push_back(std::move(first));
    ops.push_back(std::move(second));
    return ops;
}

// What came of a transaction that was to write the mark.
void written_to_directory(protocol::directory_memory& memory, const error_code& ec,
                          const transaction_result& directory)
{
    if (!ec) {
        memory.marked(directory.stat.czxid, directory.stat.version);
    } else if (!outcome_unknown(ec)) {
        memory.refused();
        if (directory.error == zookeeper_errc::no_auth) {
            memory.forbidden();
        }
    }
}

} // namespace

// `answer` may refer to *this. Nobody waits for an answer who has gone, and thereby left the path to others.
template <class Answer>
void queue_member::submit(zk::call&& call, Answer answer)
{
    core_.submit(
        make_request(std::move(call), on_loss::fail,
                     [weak = weak_from_this(), answer = std::move(answer)](zk::reply&& r) mutable {
                         if (const auto self = weak.lock()) {
                             self->heed(r.error, [&] { answer(std::move(r)); });
                         }
                     }));
}

const std::string& queue_member::owner_data() const
{
    return options_.owner_data ? *options_.owner_data : default_owner_data();
}

const access_control_list& queue_member::acl() const
{
    return options_.acl ? *options_.acl : core_.options().acl;
}

// Creates the directory and whatever is missing above it, in one go. What counts is the answer for the
// directory itself: one may lack the permission to create an ancestor that exists.
void queue_member::make_directory()
{
    auto paths = protocol::path_and_ancestors(path_);
    if (!has_queue()) {
        paths.pop_back(); // that is the lock's node itself
    }
    if (paths.empty()) { // the chroot is missing
        feed([](auto& c, protocol::commands& out) {
            c.directory_made(zookeeper_errc::no_node, out);
        });
        return;
    }
    const auto obstacle = std::make_shared<error_code>(); // the first one on the way
    const auto removed = std::make_shared<bool>(false);
    for (const auto& path : paths) {
        const bool first = &path == &paths.front();
        const bool last = &path == &paths.back();
        submit({.op = zk::opcode::create,
                .path = path,
                .data = std::string{protocol::directory_mark},
                .mode = create_mode::container,
                .acl = acl()},
               [this, obstacle, removed, first, last](zk::reply&& r) {
                   const bool there = !r.error || r.error == zookeeper_errc::node_exists;
                   if (!there && !*obstacle) {
                       *obstacle = r.error;
                       *removed = r.error == zookeeper_errc::no_node && !first;
                   }
                   if (last && !r.error && has_queue()) {
                       queue_->directory().made(r.stat.czxid);
                   }
                   if (last) {
                       // A parent that was there a moment ago was removed, being empty: begin again.
                       const bool again = there || *removed;
                       feed([&](auto& c, protocol::commands& out) {
                           c.directory_made(again ? error_code{} : *obstacle, out);
                       });
                   }
               });
    }
}

void queue_member::create(const std::string& prefix)
{
    revoked_ = false;
    submit({.op = zk::opcode::create,
            .path = child(prefix),
            .data = owner_data(),
            .mode = has_queue() ? create_mode::ephemeral_sequential : create_mode::ephemeral,
            .acl = acl()},
           [this](zk::reply&& r) {
               feed([&](auto& c, protocol::commands& out) {
                   c.created(r.error, protocol::last_name(r.text),
                             {r.stat.czxid, r.stat.ephemeral_owner}, out);
               });
           });
    go_on_in_between();
}

bool queue_member::lingers() const noexcept
{
    return queue_->linger() > options_.linger.zero();
}

// Who lingers needs the watch that comes with a list.
bool queue_member::expects_nobody() const
{
    return has_queue() && !lingers() && queue_->directory().expects_nobody();
}

void queue_member::create_and_count(const std::string& prefix)
{
    revoked_ = false;
    const auto version = queue_->directory().version();
    if (version <= 0) { // it was another one before a pause; and a negative one would be any
        feed([](protocol::contender& c, protocol::commands& out) {
            c.counted(zookeeper_errc::bad_version, {}, {}, false, out);
        });
        go_on_in_between();
        return;
    }
    queue_->directory().tried();
    submit({.op = zk::opcode::multi,
            .acl = acl(),
            .ops = both(
                create_op(child(prefix), owner_data(), {.mode = create_mode::ephemeral_sequential}),
                set_op(path_, std::string{protocol::directory_mark}, version))},
           [this](zk::reply&& r) {
               r.results.resize(2);
               written_to_directory(queue_->directory(), r.error, r.results[1]);
               const auto& directory = r.results[1].stat;
               const bool alone = directory.num_children == 1;
               counted_others_ = !r.error && !alone;
               feed([&](protocol::contender& c, protocol::commands& out) {
                   // The transaction created the one, and changed the other.
                   c.counted(r.error, protocol::last_name(r.results[0].path),
                             {directory.mzxid, core_.session()}, alone, out);
               });
           });
    go_on_in_between();
}

// As long as the own node is there: nobody can replace the directory meanwhile. For those who may count.
void queue_member::get_to_know_directory()
{
    const auto* const c = std::get_if<protocol::contender>(&contender_);
    if (c == nullptr) {
        return;
    }
    auto& directory = queue_->directory();
    if (c->met_siblings() || std::exchange(counted_others_, false)) {
        directory.met_others();
        return;
    }
    directory.granted_alone(c->number());
    if (trying_ || lingers()) {
        return;
    }
    if (directory.is_worth_reading()) {
        read_directory();
    } else if (directory.is_worth_marking()) {
        mark_directory();
    }
}

void queue_member::mark_directory()
{
    submit({.op = zk::opcode::multi,
            .ops = both(check_op(node_), set_op(path_, std::string{protocol::directory_mark},
                                                queue_->directory().version()))},
           [this](zk::reply&& r) {
               r.results.resize(2);
               written_to_directory(queue_->directory(), r.error, r.results[1]);
           });
}

void queue_member::go_on_in_between()
{
    if (const auto rest = std::exchange(in_between_, nullptr)) {
        rest();
    }
}

void queue_member::list()
{
    // Who lingers wants to know from the beginning whether he is alone, and who comes.
    const auto& c = std::get<protocol::contender>(contender_);
    if (lingers() && !trying_ && !c.has_node() && !c.holds_back() && !neighbours_) {
        list_and_watch([this](const zk::reply& r) { heed(r.error, [&] { listed(r); }); });
        return;
    }
    submit({.op = zk::opcode::children, .path = path_}, [this](zk::reply&& r) { listed(r); });
}

void queue_member::look_at_node()
{
    submit({.op = zk::opcode::exists, .path = path_}, [this](zk::reply&& r) {
        feed([&](protocol::single_node& c, protocol::commands& out) {
            c.looked(r.error, {r.stat.czxid, r.stat.ephemeral_owner},
                     r.stat.czxid != own_czxid_ && queue_->is_own(r.stat.czxid), out);
        });
    });
}

void queue_member::listed(const zk::reply& r)
{
    auto& directory = queue_->directory();
    if (!r.error) {
        directory.seen(r.stat.czxid, r.stat.version);
    }
    const bool recognised = directory.is_ours(r.stat.czxid);
    feed([&](protocol::contender& c, protocol::commands& out) {
        c.listed(r.error, r.names, recognised, out);
    });
}

// `answer` may refer to *this.
template <class Answer>
void queue_member::list_and_watch(Answer answer)
{
    neighbours_ = std::make_shared<neighbourhood>(*this);
    auto read = make_request(
        {.op = zk::opcode::children,
         .path = path_,
         .watch = true,
         .kind = zk::watch_kind::children},
        on_loss::fail, [weak = weak_from_this(), target = neighbours_, answer](zk::reply&& r) {
            target->reading = nullptr;
            const auto self = weak.lock();
            if (!self) {
                return;
            }
            target->alone = protocol::contenders(self->options_.layout, r.names).size() <= 1;
            if (r.error && self->neighbours_ == target) {
                self->neighbours_.reset(); // no watch was set
            }
            answer(r);
        });
    read->subscriber = neighbours_.get();
    neighbours_->reading = read.get();
    core_.submit(std::move(read));
}

void queue_member::look()
{
    if (!holds() || over_ || !core_.is_connected()) {
        return; // behind a reconnection it is asked for again
    }
    if (neighbours_) {
        queue_->met(*this, company());
        return;
    }
    list_and_watch([this](const zk::reply& r) {
        if (!outcome_unknown(r.error)) {
            queue_->met(*this, r.error ? protocol::company::some : company());
        }
    });
}

protocol::company queue_member::company() const noexcept
{
    if (drains()) {
        return protocol::company::some; // those who hold back are not in the queue
    }
    if (neighbours_) {
        return neighbours_->reading != nullptr ? protocol::company::unknown
               : neighbours_->alone            ? protocol::company::none
                                               : protocol::company::some;
    }
    return crowded_ || ask([](const auto& c) { return c.met_others(); })
               ? protocol::company::some
               : protocol::company::unknown;
}

void queue_member::remove(const std::string& name)
{
    submit({.op = zk::opcode::remove, .path = child(name)}, [this](zk::reply&& r) {
        feed([&](auto& c, protocol::commands& out) { c.removed(r.error, out); });
    });
}

// The node first: nobody may see the note while the node is there. Whatever version the data have: who had the
// lock before has changed them, too.
void queue_member::remove_and_mark(const std::string& name)
{
    const auto number = protocol::number_of(options_.layout, name);
    if (!number || !queue_->directory().is_writable()) {
        remove(name);
        return;
    }
    submit({.op = zk::opcode::multi,
            .ops = both(remove_op(child(name)),
                        set_op(path_, protocol::noted_data(options_.layout, *number)))},
           [this](zk::reply&& r) {
               r.results.resize(2);
               if (r.results[1].error == zookeeper_errc::no_auth) {
                   queue_->directory().forbidden();
               }
               feed([&](auto& c, protocol::commands& out) { c.removed(r.error, out); });
           });
}

void queue_member::read_directory()
{
    submit({.op = zk::opcode::get, .path = path_}, [this, in_queue = !holds()](zk::reply&& r) {
        const bool ours = !r.error && protocol::is_marked(r.text);
        data_missing_ = in_queue && r.error == zookeeper_errc::no_node;
        if (!r.error && in_queue) {
            queue_->directory().read_in_queue(r.stat.czxid, r.stat.version, ours);
        } else if (!r.error) {
            queue_->directory().read(r.stat.czxid, r.stat.version, ours);
        }
        feed([&](protocol::contender& c, protocol::commands& out) {
            c.directory_read(r.error, ours, protocol::noted_number(options_.layout, r.text), out);
        });
    });
}

// So that its counter begins anew. That somebody is in it again is as good. The answer comes when nobody waits
// for it any more, and is for the log alone.
void queue_member::remove_directory()
{
    core_.submit(make_request(
        {.op = zk::opcode::remove, .path = path_}, on_loss::fail,
        [&core = core_, path = path_](zk::reply&& r) {
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

void queue_member::exchange(const std::string& name)
{
    submit({.op = zk::opcode::multi,
            .acl = acl(),
            .ops = both(create_op(child(name), owner_data(), {.mode = create_mode::ephemeral}),
                        remove_op(child(own_name())))},
           [this](zk::reply&& r) {
               feed([&](protocol::contender& c, protocol::commands& out) {
                   c.stepped_down(r.error, out);
               });
           });
}

// Reads data, never existence: that leaves no watch on a node that is gone.
void queue_member::watch(const std::string& name)
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
            }
            target->subscribed = !r.error;
            // Here as there: the read that sets the watch on the own node, and sets it again whenever it is
            // changed.
            const bool asked = !r.error && r.text == revocation_request && !self->revoked_ &&
                               target->name == self->own_name() &&
                               self->ask([](const auto& c) { return c.has_node(); });
            self->revoked_ |= asked;
            self->heed(r.error, [&] {
                self->note_watch(target->name, r.error);
                self->feed([&](auto& c, protocol::commands& out) {
                    c.watched(target->name, r.error, {r.stat.czxid, r.stat.ephemeral_owner}, out);
                });
            });
            if (asked) {
                self->announce_revocation();
            }
        });
    read->subscriber = target.get();
    target->reading = read.get();
    core_.submit(std::move(read));
}

void queue_member::unwatch(const std::string& name)
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
std::shared_ptr<queue_member::watch_target> queue_member::drop_target(const watch_target& target)
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

// The own node takes the watch along when it goes. What is left is freed.
void queue_member::forget_neighbours()
{
    if (const auto target = std::exchange(neighbours_, nullptr)) {
        if (target->reading != nullptr) {
            target->reading->subscriber = nullptr;
        } else {
            core_.watches().unsubscribe(path_, zk::watch_kind::children, *target);
        }
    }
}

} // namespace colock::detail
