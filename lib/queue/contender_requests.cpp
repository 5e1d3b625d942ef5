#include "queue/contender_requests.hpp"

#include <colock/queue_view.hpp>

#include "names/contender_name.hpp"
#include "queue/contender_driver.hpp"

#include <algorithm>
#include <utility>

namespace colock::detail {

using protocol::contender;

namespace {

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

// On a node, or on the directory, which has no name here. In the list of the contender until it fires, or nobody wants it any
// more; outlives that when its answer is still to come.
struct contender_requests::watch final : zk::watch_registry::subscriber {
    watch(contender_requests& r, protocol::node_name on) : of{r}, name{std::move(on)} {}

    void watch_fired(const watch_event& event) noexcept override
    {
        of.fired(*this, event.type == watch_event_type::deleted);
    }
    [[nodiscard]] bool is_on_node() const noexcept
    {
        return !name.empty() || !of.config_.kind.has_queue;
    }
    [[nodiscard]] zk::watch_kind kind() const noexcept
    {
        return is_on_node() ? zk::watch_kind::data : zk::watch_kind::children;
    }
    [[nodiscard]] std::string path() const
    {
        return is_on_node() ? of.config_.node(name) : of.path();
    }

    contender_requests& of;
    const protocol::node_name name;
    request* reading = nullptr;        // until it is answered
    std::unique_ptr<std::string> data; // then, or its beginning; while somebody listens
};

// A command that only one kind of contender gives has an input for that kind alone.
void contender_requests::send(const protocol::command& c)
{
    using protocol::commands;
    using kind = protocol::command::kind;
    switch (c.type) {
    case kind::make_directory: make_directory(); break;
    case kind::create: create(c); break;
    case kind::list:
    case kind::list_again:
        submit({.op = zk::opcode::children, .path = path()},
               [this](contender& of, const zk::reply& r, commands& out) {
                   take_listing(of, r.error, listing_in(r), out);
               });
        break;
    case kind::list_and_watch:
    case kind::watch_newcomers: list_and_watch(c.type); break;
    case kind::look:
        submit({.op = zk::opcode::exists, .path = path()},
               [this](protocol::single_node& of, const zk::reply& r, commands& out) {
                   const auto& claimed = contender_.facts().claimed;
                   of.looked(r.error, identity_in(r.stat),
                             claimed.has_another(&contender_, r.stat.czxid), out);
               });
        break;
    case kind::watch: // reads data, never existence: that leaves no watch on a node that is gone
        submit_watch(c.name,
                     [this](watch& which, const zk::reply& r) { return node_read(which, r); });
        break;
    case kind::unwatch: unwatch(c.name); break;
    case kind::remove:
        submit({.op = zk::opcode::remove, .path = config_.node(c.name)},
               [](auto& of, const zk::reply& r, commands& out) { of.removed(r.error, out); });
        break;
    case kind::step_down: {
        zk::recycled_vector<transaction_op> both(2);
        both[0] = create_op(config_.node(c.name), owner_data(), {.mode = create_mode::ephemeral});
        both[1] = remove_op(config_.node(contender_.own_name()));
        submit({.op = zk::opcode::multi, .acl = acl(), .ops = std::move(both)},
               [](contender& of, const zk::reply& r, commands& out) {
                   of.stepped_down(r.error, out);
               });
        break;
    }
    case kind::read_directory: read_directory(c); break;
    case kind::remove_directory: remove_directory(); break;
    case kind::prove: core_.await_proof(); break;
    default: break; // a report
    }
}

template <class Input>
void contender_requests::submit(zk::call&& call, Input input, std::size_t room_kept)
{
    auto answered = [this, whose = owner_.weak_from_this(),
                     input = std::move(input)](zk::reply&& r) mutable {
        if (const auto owner = whose.lock()) {
            note_refusal(r);
            contender_.answered(r.error);
            contender_.feed([&](auto& c, protocol::commands& out) requires std::invocable<
                            Input&, decltype(c), zk::reply&, protocol::commands&> {
                input(c, r, out);
            });
            owner->answered({});
        }
    };
    auto own = make_request(std::move(call), on_loss::fail, std::move(answered));
    own->of_lock = true;
    own->room_kept = room_kept;
    own->owner_hears = true;
    core_.submit(std::move(own));
}

// A read that sets a watch. `input` gives the contender the answer, and returns the news.
template <class Input>
void contender_requests::submit_watch(protocol::node_name on, Input input)
{
    const auto& with = watches_.emplace_back(std::make_shared<watch>(*this, std::move(on)));
    auto answered = [this, with, whose = owner_.weak_from_this(), input](zk::reply&& r) {
        with->reading = nullptr;
        const auto owner = whose.lock();
        if (!owner || std::ranges::find(watches_, with) == watches_.end()) {
            return; // nobody wants it any more
        }
        if (r.error) {
            std::erase(watches_, with); // no watch was set
            note_refusal(r);
        }
        owner->answered(input(*with, r));
    };
    const auto op = with->is_on_node() ? zk::opcode::get : zk::opcode::children;
    auto read = make_request({.op = op, .path = with->path(), .watch = true, .kind = with->kind()},
                             on_loss::fail, std::move(answered));
    read->subscriber = with.get();
    with->reading = read.get();
    core_.submit(std::move(read));
}

void contender_requests::note_refusal(const zk::reply& r)
{
    if (r.error == zookeeper_errc::no_auth || r.error == errc::session_full) {
        refused_ = std::make_unique<const refusal>(refusal{r.error, r.detail});
    }
}

std::string contender_requests::words_for(const error_code& ec) const
{
    return refused_ && ec == refused_->error && !refused_->words.empty() ? refused_->words
                                                                         : ec.message();
}

const access_control_list& contender_requests::acl() const
{
    return config_.options.acl ? *config_.options.acl : core_.options().acl;
}

const std::string& contender_requests::owner_data() const
{
    return config_.options.owner_data ? *config_.options.owner_data : default_owner_data();
}

// ---- the directory

// All ancestors at once, and the directory itself: one may lack the permission to create an ancestor that exists.
void contender_requests::make_directory()
{
    auto paths = protocol::path_and_ancestors(path());
    if (!config_.kind.has_queue || paths.front() == "/") {
        paths.pop_back(); // that is the lock's node itself; or the chroot, which is not made
    }
    const auto made = std::make_shared<std::vector<error_code>>();
    made->reserve(paths.size());
    for (const auto& each : paths) {
        submit(
            {.op = zk::opcode::create, .path = each, .mode = create_mode::container, .acl = acl()},
            [made, last = &each == &paths.back()](auto& c, const zk::reply& r,
                                                  protocol::commands& out) {
                made->push_back(r.error);
                if (last) {
                    c.directory_made(*made, out);
                }
            });
    }
    if (paths.empty()) { // the chroot is missing
        contender_.answered({});
        contender_.feed([](auto& c, protocol::commands& out) { c.directory_made({}, out); });
        owner_.answered({});
    }
}

// A listing may lack the own node, which others have deleted while no watch was set.
void contender_requests::take_listing(contender& c, const error_code& ec,
                                      const contender::listing& l, protocol::commands& out)
{
    const auto before = c.node();
    c.listed(ec, l, out);
    if (!before.empty() && !c.has_node() && !c.is_gone()) {
        core_.node_gone(config_.node(before));
    }
}

// Together with a listing: what comes after it fires the watch.
void contender_requests::list_and_watch(protocol::command::kind as)
{
    submit_watch({}, [this, as](const watch&, const zk::reply& r) {
        auto l = listing_in(r);
        l.watched = true;
        news now;
        contender_.answered(r.error);
        contender_.feed([&](contender& c, protocol::commands& out) {
            if (as == protocol::command::kind::list_and_watch) {
                take_listing(c, r.error, l, out);
            } else {
                now.contention = c.newcomers_watched(r.error, l);
            }
        });
        return now;
    });
}

// Whether nothing is lost when somebody makes another one. The servers made the list of the own node from that of this client,
// as they would make that of a new directory. A client's root is not made again.
void contender_requests::read_directory(const protocol::command& wanted)
{
    const auto list = std::make_shared<access_control_list>();
    submit({.op = zk::opcode::get_acl, .path = path()},
           [this, list](contender&, zk::reply& r, protocol::commands&) {
               if (!r.error && r.stat.data_length == 0 && path() != "/") {
                   *list = std::move(r.acl);
                   directory_version_ = r.stat.version;
               }
           });
    submit({.op = zk::opcode::get_acl, .path = config_.node(wanted.name)},
           [list](contender& c, const zk::reply& r, protocol::commands&) {
               c.directory_read(!r.error && r.acl == *list);
           });
}

// The server restarts the sequence counter with a new directory. If another contender has joined, or somebody has written data, the
// server refuses, which is fine. (A list that was changed meanwhile cannot be a condition.) Only the log hears the answer.
void contender_requests::remove_directory()
{
    core_.submit(make_request(
        {.op = zk::opcode::remove, .path = path(), .version = directory_version_}, on_loss::fail,
        [&core = core_, path = path()](zk::reply&& r) {
            const auto why =
                "lock " + path + ": the numbers of its directory are nearly used up; it ";
            if (!r.error) {
                core.log(log_level::info, why + "was deleted, to begin anew");
            } else if (r.error != zookeeper_errc::not_empty && r.error != zookeeper_errc::no_node &&
                       r.error != zookeeper_errc::bad_version && !outcome_unknown(r.error)) {
                core.log(log_level::warning,
                         why + "cannot be deleted, to begin anew: " + r.error.message());
            }
        }));
}

// ---- the own node

void contender_requests::create(const protocol::command& wanted)
{
    own_.begin_anew();
    const bool in_queue = config_.kind.has_queue;
    submit(
        {.op = zk::opcode::create,
         .path = config_.node(wanted.name),
         .data = owner_data(),
         .mode = in_queue ? create_mode::ephemeral_sequential : create_mode::ephemeral,
         .acl = acl()},
        [this](auto& c, zk::reply& r, protocol::commands& out) {
            own_.move_to(std::move(r.text));
            c.created(r.error, protocol::last_name(own_.path()),
                      {r.stat.czxid, r.stat.ephemeral_owner}, out);
        },
        // A writer that becomes a reader has a node with another name.
        in_queue ? protocol::longer_name_of_reader(*config_.options.layout) : 0);
}

void contender_requests::granted()
{
    own_.granted(contender_.ask([](const auto& c) { return c.identity(); }).czxid);
    if (!config_.kind.has_queue ||
        protocol::last_name(own_.path()) != contender_.own_name()) { // it was found in a listing
        own_.move_to(config_.node(contender_.own_name()));
    }
}

void contender_requests::stepped_down()
{
    own_.begin_anew();
    own_.move_to(config_.node(contender_.own_name()));
}

// The request has taken the place of the data, which tell others whose node it is. Refused where somebody has written again, and
// then the watch tells of that; or where this client lacks WRITE, and then the data are gone. The name of a single node does not
// tell whose it is: another client's may have taken its place.
void contender_requests::write_own_data_back(std::int32_t version)
{
    if (config_.kind.has_queue) {
        core_.submit(make_request({.op = zk::opcode::set,
                                   .path = config_.node(contender_.own_name()),
                                   .data = protocol::marked(own_.data(owner_data())),
                                   .version = version},
                                  on_loss::fail, [](zk::reply&&) {}));
    }
}

// ---- watches

// A request to release the lock is written into the own node: each read that sets that node's watch shows it.
contender_requests::news contender_requests::node_read(watch& which, const zk::reply& r)
{
    news now;
    const bool own = contender_.ask(
        [&](const auto& c) { return c.has_node() && c.name() == std::string_view{which.name}; });
    const bool request = r.text == protocol::revocation_request;
    if (own && !r.error) {
        now.asked_for = own_.read(r.text, owner_data());
        if (request) {
            write_own_data_back(r.stat.version);
        }
    } else if (!request && contender_.facts().listens) {
        which.data = std::make_unique<std::string>(
            protocol::without_mark(r.text).substr(0, most_of_owner_data));
    }
    const bool of_another = r.stat.ephemeral_owner != core_.session();
    contender_.watched(r.error, of_another ? r.stat.czxid : 0);
    contender_.feed([&](auto& c, protocol::commands& out) {
        c.watched(which.name, r.error, identity_in(r.stat), out);
    });
    return now;
}

void contender_requests::fired(const watch& which, bool deleted)
{
    const auto over = take([&](const watch_ptr& each) { return each.get() == &which; });
    if (!over) {
        return; // all of them were dropped: the client is closed
    }
    news now;
    if (over->is_on_node()) {
        contender_.fired(deleted);
        contender_.feed(
            [&](auto& c, protocol::commands& out) { c.fired(over->name, deleted, out); });
    } else {
        contender_.feed([&](contender& c, protocol::commands&) { now.contention = c.newcomer(); });
    }
    owner_.answered(now);
}

void contender_requests::unwatch(const protocol::node_name& name)
{
    if (const auto found = take([&](const watch_ptr& each) { return each->name == name; })) {
        free(*found);
    }
}

// A watch that fired, or was never set, must not be found again under its name, which a later one may have.
template <class Predicate>
contender_requests::watch_ptr contender_requests::take(Predicate&& is_it)
{
    const auto at = std::ranges::find_if(watches_, is_it);
    if (at == watches_.end()) {
        return nullptr;
    }
    auto taken = std::move(*at);
    watches_.erase(at);
    return taken;
}

void contender_requests::free(watch& unwanted)
{
    if (unwanted.reading != nullptr) {
        unwanted.reading->subscriber = nullptr;
    } else {
        core_.watches().unsubscribe(unwanted.path(), unwanted.kind(), unwanted);
    }
}

void contender_requests::gone()
{
    for (const auto& each : watches_) {
        if (!each->is_on_node()) {
            free(*each);
        }
    }
    watches_.clear();
}

contenders_ahead contender_requests::ahead() const
{
    const auto known = contender_.ask([](const auto& c) { return c.blockers(); });
    contenders_ahead now{
        .count = known.count, .all_watched = known.all_watched, .stands_by = known.stands_by};
    if (known.holder) {
        now.holder_node = config_.node(*known.holder);
        const auto at = std::ranges::find_if(
            watches_, [&](const auto& each) { return each->name == *known.holder; });
        if (at != watches_.end()) {
            now.asking = (*at)->reading != nullptr;
            if ((*at)->data) {
                now.holder = *(*at)->data;
            }
        }
    }
    return now;
}

} // namespace colock::detail
