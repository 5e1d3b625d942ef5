#include <colock/detail/access.hpp>
#include <colock/shards.hpp>

#include "lock/option_faults.hpp"
#include "names/path.hpp"
#include "names/revocation.hpp"
#include "recipes/query.hpp"
#include "recipes/shards/assignment.hpp"
#include "recipes/shards/places.hpp"
#include "recipes/shards/run.hpp"

#include <boost/system/system_error.hpp>

#include <utility>

namespace colock {

namespace detail {

namespace {

bool is_undefined(const shards_options& o)
{
    return o.count == 0 && o.names.empty();
}

// Completes the operation when the path or the options are bad.
template <class Operation, class Refuse>
bool refused(const shards_place& place, Operation& op, bool only_looks, Refuse refuse)
{
    auto ec = errc::invalid_path;
    auto fault = protocol::path_fault(place.path);
    if (fault.empty() && place.path == "/") {
        fault = "it must not be \"/\"";
    }
    if (fault.empty()) {
        ec = errc::invalid_option;
        fault = only_looks && is_undefined(place.options) ? "" : fault_of(place.options);
    }
    if (fault.empty()) {
        return false;
    }
    const auto words = "the shards " + place.path + ": " + fault;
    place.core->note_error(words);
    op->explain(ec, words);
    refuse(ec, words);
    return true;
}

std::exception_ptr failure(const error_code& ec, const std::string& words = "async_run")
{
    return std::make_exception_ptr(boost::system::system_error{ec, words});
}

// Reads the queue of each shard's lock, some at a time.
class reading_owners final : public std::enable_shared_from_this<reading_owners> {
public:
    using owners_query = query<std::vector<shard_owner>>;

    reading_owners(owners_query& of, const shards_place& place)
        : of_{of}, paths_{shard_paths_of(place.path)}
    {
        define(place.options);
    }

    void begin()
    {
        if (!found_.empty()) {
            read_assignment();
            return;
        }
        of_.ask({.op = zk::opcode::get, .path = paths_.definition},
                [self = shared_from_this()](zk::reply&& r) {
                    if (r.error && r.error != zookeeper_errc::no_node) {
                        self->of_.fail(r.error);
                        return;
                    }
                    self->define(defined_in(r.text));
                    self->read_assignment();
                });
    }

private:
    void define(const shards_options& o)
    {
        for (auto& each : shards_of(o)) {
            found_.push_back({.shard = std::move(each), .owner = {}, .assigned = {}});
        }
    }

    void read_assignment()
    {
        of_.ask({.op = zk::opcode::get, .path = paths_.assignment},
                [self = shared_from_this()](zk::reply&& r) {
                    if (r.error && r.error != zookeeper_errc::no_node) {
                        self->of_.fail(r.error);
                        return;
                    }
                    const auto table = protocol::shard_table_in(r.text);
                    for (auto& each : self->found_) {
                        if (table && table->owners.size() == self->found_.size() &&
                            !table->owners[each.shard.index].empty()) {
                            each.assigned = table->owners[each.shard.index];
                        }
                    }
                    self->go_on();
                });
    }

    void go_on()
    {
        while (under_way_ != most_under_way && next_ != found_.size() && !of_.is_over()) {
            ++under_way_;
            read(next_++);
        }
        if (under_way_ == 0 && !of_.is_over()) {
            of_.finish({}, std::move(found_));
        }
    }

    void read(std::size_t i)
    {
        read_queue(of_.shared_from_this(), lock_path_of(paths_, found_[i].shard), curator_layout(),
                   1, 1, [self = shared_from_this(), i](queue_view&& queue) {
                       if (!queue.entries.empty()) {
                           const auto& first = queue.entries.front();
                           if (first.unreadable) {
                               self->of_.fail(first.unreadable);
                               return;
                           }
                           self->found_[i].owner = protocol::said_by_owner(first.data);
                           self->found_[i].since = first.since;
                       }
                       --self->under_way_;
                       self->go_on();
                   });
    }

    owners_query& of_; // each answer keeps it
    const shard_paths paths_;
    std::vector<shard_owner> found_;
    std::size_t next_ = 0;
    std::size_t under_way_ = 0;
};

} // namespace

void shards_place::start_run(const std::shared_ptr<client_core>& core,
                             operation_ptr<std::exception_ptr> op,
                             std::shared_ptr<shards_place> place,
                             std::unique_ptr<shard_bodies> bodies)
{
    if (is_inherited(core)) {
        op.complete(failure(errc::forked));
        return;
    }
    core->dispatch([core, op = std::move(op), place = std::move(place),
                    bodies = std::shared_ptr<shard_bodies>{std::move(bodies)}]() mutable {
        if (refused(*place, op, false, [&](const error_code& ec, const std::string& words) {
                op.complete(failure(ec, words));
            })) {
            return;
        }
        const auto entry = core->find_path(
            place->path, [&] { return std::make_shared<shards_in_client>(core, place->path); });
        auto what = conflict(*entry, lock_options{}, kinds::shards).detail;
        std::shared_ptr<shards_in_client> here;
        if (what.empty()) {
            here = std::static_pointer_cast<shards_in_client>(entry);
            const auto other = here->run.lock();
            what = other && !other->is_over() ? "this client runs them already" : "";
        }
        if (!what.empty()) {
            const auto words = "the shards " + place->path + ": " + what;
            core->note_error(words);
            op->explain(errc::conflicting_use, words);
            op.complete(failure(errc::conflicting_use, words));
            return;
        }
        const auto run = std::make_shared<shards_run>(
            core, here, std::make_shared<shards_config>(place->path, place->options),
            std::move(bodies), std::move(op));
        here->run = place->current = run;
        run->start();
    });
}

void shards_place::start_leave(const std::shared_ptr<client_core>& core,
                               operation_ptr<error_code> op, std::shared_ptr<shards_place> place,
                               deadline limit)
{
    core->dispatch([op = std::move(op), place = std::move(place), limit]() mutable {
        if (const auto run = place->current.lock()) {
            run->leave(std::move(op), limit);
        } else {
            op.complete(errc::not_held);
        }
    });
}

void shards_place::start_owners(const std::shared_ptr<client_core>& core,
                                operation_ptr<error_code, std::vector<shard_owner>> op,
                                std::shared_ptr<shards_place> place)
{
    if (refused(*place, op, true,
                [&](const error_code& ec, const std::string&) { op.complete(ec, {}); })) {
        return;
    }
    const auto q = make_query(core, std::move(op));
    q->start([raw = q.get(), place = std::move(place)] {
        std::make_shared<reading_owners>(*raw, *place)->begin();
    });
}

} // namespace detail

shards::shards(client& zk, std::string path, shards_options options)
    : place_{std::make_shared<detail::shards_place>(
          detail::shards_place{detail::access::core(zk), std::move(path), std::move(options), {}})}
{
}

shards::executor_type shards::get_executor() const noexcept
{
    return place_->core->executor();
}

const std::string& shards::path() const noexcept
{
    return place_->path;
}

} // namespace colock
