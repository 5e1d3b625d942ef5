#include <colock/detail/access.hpp>
#include <colock/election.hpp>
#include <colock/queue_view.hpp>

#include "lock/lock_path.hpp"
#include "names/revocation.hpp"
#include "queue/contender_driver.hpp"
#include "recipes/change_watcher.hpp"
#include "recipes/pauses.hpp"
#include "recipes/query.hpp"

#include <algorithm>
#include <utility>

namespace colock {

namespace detail {

namespace {

using identity = std::optional<std::string>;

// Another leader: told by a watch on the node of the one who leads, whom nobody can overtake; when there is none, by
// one on the directory.
class change_of_leaders final : public change_watcher<identity> {
public:
    change_of_leaders(std::shared_ptr<client_core> core, operation_ptr<error_code, identity> op,
                      std::string path, identity seen)
        : change_watcher{std::move(core), std::move(op)}, path_{std::move(path)}, seen_{std::move(
                                                                                      seen)}
    {
    }

private:
    void look() override
    {
        zk().async_children(
            path_, guarded<children_result>([this](const error_code& ec, children_result&& found) {
                const auto all = protocol::contenders(curator_latch_layout(), found.names);
                if (ec && ec != zookeeper_errc::no_node) {
                    fail(ec);
                } else if (!all.empty()) {
                    watch_leader(protocol::join_path(path_, all.front().name));
                } else if (seen_) {
                    finish({});
                } else if (ec) {
                    look_again_when_created(path_);
                } else {
                    watch_directory();
                }
            }));
    }

    void watch_leader(const std::string& node)
    {
        zk().async_watch(
            node, guarded<watched<get_result>>([this, node](const error_code& ec,
                                                            watched<get_result>&& found) {
                if (ec == zookeeper_errc::no_node) {
                    look_again(); // the next one leads now
                } else if (ec) {
                    fail(ec);
                } else if (node == node_ && found.value.data == protocol::revocation_request) {
                    look_again_after(std::move(found.changes)); // it is asked to resign
                } else if (auto who = protocol::said_by_owner(found.value.data); who != seen_) {
                    finish(std::move(who));
                } else {
                    node_ = node;
                    look_again_after(std::move(found.changes));
                }
            }));
    }

    void watch_directory()
    {
        zk().async_watch_children(
            path_, guarded<watched<children_result>>([this](const error_code& ec,
                                                            watched<children_result>&& found) {
                if (ec && ec != zookeeper_errc::no_node) {
                    fail(ec);
                } else if (ec || !protocol::contenders(curator_latch_layout(), found.value.names)
                                      .empty()) {
                    look_again();
                } else {
                    look_again_after(std::move(found.changes));
                }
            }));
    }

    const std::string path_;
    const identity seen_;
    std::string node_; // of the leader, when it was seen to be that one
};

} // namespace

std::shared_ptr<const lock_path> election_path::stand() const
{
    return std::make_shared<lock_path>(core, path, options, kinds::election);
}

void election_path::leader(const std::shared_ptr<client_core>& core,
                           operation_ptr<error_code, identity> op, std::string path)
{
    const auto q = make_query(core, std::move(op));
    q->start([raw = q.get(), path = std::move(path)] {
        read_queue(raw->shared_from_this(), path, curator_latch_layout(), 1, 1,
                   [raw](queue_view&& found) {
                       if (found.entries.empty()) {
                           raw->finish({}, {});
                       } else if (auto& first = found.entries.front(); first.unreadable) {
                           raw->fail(first.unreadable);
                       } else {
                           raw->finish({}, protocol::said_by_owner(first.data));
                       }
                   });
    });
}

void election_path::participants(const std::shared_ptr<client_core>& core,
                                 operation_ptr<error_code, std::vector<std::string>> op,
                                 std::string path)
{
    const auto q = make_query(core, std::move(op));
    q->start([raw = q.get(), path = std::move(path)] {
        read_queue(raw->shared_from_this(), path, curator_latch_layout(), everybody, everybody,
                   [raw](queue_view&& found) {
                       std::vector<std::string> all;
                       for (auto& each : found.entries) {
                           if (each.unreadable) {
                               raw->fail(each.unreadable);
                               return;
                           }
                           all.push_back(protocol::said_by_owner(each.data));
                       }
                       raw->finish({}, std::move(all));
                   });
    });
}

queue_place place_of(const election& e)
{
    const auto& of = *access::election_path(e);
    return {of.core, of.path, *of.options.layout};
}

void election_path::wait_change(const std::shared_ptr<client_core>& core,
                                operation_ptr<error_code, identity> op, std::string path,
                                identity seen)
{
    watch_changes<change_of_leaders>(core, std::move(op), std::move(path), std::move(seen));
}

} // namespace detail

election::election(client& zk, std::string path, std::string identity)
    : election{zk, std::move(path), std::move(identity), election_options{}}
{
}

election::election(client& zk, std::string path, std::string identity, election_options options)
    : path_{std::make_shared<detail::election_path>(detail::election_path{
          detail::access::core(zk), std::move(path),
          lock_options{.layout = curator_latch_layout(),
                       .acl = std::move(options.acl),
                       .owner_data = std::move(identity),
                       .rejoin_on_expiry = options.rejoin_on_expiry,
                       .safety_margin = options.safety_margin,
                       .body_grace = options.body_grace,
                       .max_local_grants = 0}})} // each has a place of its own
{
}

election::executor_type election::get_executor() const noexcept
{
    return path_->core->executor();
}

const std::string& election::path() const noexcept
{
    return path_->path;
}

const std::string& election::identity() const noexcept
{
    return *path_->options.owner_data;
}

namespace detail {

namespace {

// A request to resign is the node's data, too: it must not be overwritten.
void proclaim(query<>* raw, std::shared_ptr<contender_driver> driver, std::string name,
              std::shared_ptr<pauses> pace)
{
    const auto failed = [raw, driver](const error_code& ec) {
        const auto lost = driver->lost();
        raw->fail(lost ? lost : ec == zookeeper_errc::no_node ? errc::node_deleted : ec);
    };
    raw->ask({.op = zk::opcode::get, .path = driver->node()}, [=](zk::reply&& r) {
        if (r.error) {
            failed(r.error);
        } else if (protocol::was_asked_for(r.text)) {
            raw->refuse(errc::revoked,
                        "proclaim " + name + ": somebody has asked for the leadership; resign it");
        } else {
            raw->ask({.op = zk::opcode::set,
                      .path = driver->node(),
                      .data = name,
                      .version = r.stat.version},
                     [=](zk::reply&& written) {
                         if (written.error == zookeeper_errc::bad_version) {
                             // Somebody was quicker.
                             pace->after_event(*raw->core(), [=, self = raw->shared_from_this()] {
                                 if (!raw->is_over()) {
                                     proclaim(raw, driver, name, pace);
                                 }
                             });
                         } else if (written.error || driver->lost()) {
                             failed(written.error);
                         } else {
                             driver->keep_own_data(name);
                             raw->finish({});
                         }
                     });
        }
    });
}

} // namespace

} // namespace detail

void leadership::start_proclaim(const std::shared_ptr<detail::client_core>& core,
                                detail::operation_ptr<error_code> op,
                                std::shared_ptr<detail::contender_driver> driver,
                                std::string identity)
{
    if (!driver) {
        op.complete(errc::not_held);
        return;
    }
    const auto q = detail::make_query(core, std::move(op));
    q->start([raw = q.get(), driver = std::move(driver), identity = std::move(identity)] {
        if (const auto why = driver->lost()) {
            raw->fail(why);
        } else if (protocol::was_asked_for(identity)) {
            raw->refuse(errc::invalid_option, "proclaim " + identity +
                                                  ": that asks the leader to resign; use another "
                                                  "identity");
        } else {
            detail::proclaim(raw, driver, identity, std::make_shared<detail::pauses>());
        }
    });
}

} // namespace colock
