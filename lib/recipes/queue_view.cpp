#include <colock/queue_view.hpp>
#include <colock/semaphore.hpp>

#include "names/standing.hpp"
#include "queue/blocking_rule.hpp"
#include "recipes/change_watcher.hpp"
#include "recipes/query.hpp"
#include "recipes/semaphore/numbers.hpp"
#include "recipes/semaphore/semaphore_state.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace colock {

namespace detail {

bool listing::work()
{
    // A slice of a processor that is busy otherwise takes a few milliseconds.
    constexpr std::size_t slice = 2'000;
    const auto end = std::min(parsed_ + slice, names_.size());
    for (; parsed_ != end; ++parsed_) {
        const auto& name = names_[parsed_];
        if (const auto found = standing_of(layout_, name)) {
            order_.emplace(std::pair{found->number, found->shared}, parsed_);
        }
    }
    if (parsed_ != names_.size()) {
        return false;
    }
    auto& entries = found_.entries;
    if (entries.empty()) {
        entries.reserve(order_.size());
    }
    for (std::size_t i = 0; i != slice && !order_.empty(); ++i) {
        const auto first = order_.begin();
        const auto [number, shared] = first->first;
        auto& name = names_[first->second];
        auto path = protocol::join_path(path_, name);
        entries.push_back(
            {.name = std::move(name), .path = std::move(path), .number = number, .shared = shared});
        order_.erase(first);
    }
    if (!order_.empty()) {
        return false;
    }
    mark_holders(entries);
    return true;
}

void mark_holders(std::vector<queue_entry>& entries) noexcept
{
    const auto held = holders_at_front(entries, &queue_entry::shared);
    for (std::size_t i = 0; i != entries.size(); ++i) {
        entries[i].holds = i < held;
    }
}

void take_answer(queue_entry& entry, zk::reply&& r)
{
    entry.unreadable = r.error;
    entry.data = std::move(r.text);
    entry.czxid = r.stat.czxid;
    entry.session = r.stat.ephemeral_owner;
    entry.since = time_of(r.stat.ctime);
}

void queue_queries::view(const std::shared_ptr<client_core>& core,
                         operation_ptr<error_code, queue_view> op, std::string path, layout names,
                         view_options options)
{
    const auto q = make_query(core, std::move(op));
    q->start([raw = q.get(), path = std::move(path), names = std::move(names), options] {
        read_queue(raw->shared_from_this(), path, names, everybody, options.most_read,
                   [raw](queue_view&& found) { raw->finish({}, std::move(found)); });
    });
}

queue_place place_of(const semaphore& of)
{
    return {access::behind(of)->core, of.path(), {}};
}

// The leases are listed after the waiters: who is granted permits in between is among both, instead of among neither.
void queue_queries::view_permits(const std::shared_ptr<client_core>& core,
                                 operation_ptr<error_code, queue_view> op, std::string path,
                                 view_options options)
{
    struct parts {
        std::vector<queue_entry> leases, waiters;
        std::size_t open = 2;
    };
    const auto q = make_query(core, std::move(op));
    q->start([raw = q.get(), path = std::move(path), options, found = std::make_shared<parts>()] {
        const auto take = [raw, found](std::vector<queue_entry> parts::*into, bool holds) {
            return [raw, found, into, holds](queue_view&& part) {
                for (auto& each : part.entries) {
                    each.holds = holds;
                }
                (*found).*into = std::move(part.entries);
                if (--found->open != 0) {
                    return;
                }
                auto& all = found->leases;
                std::ranges::move(found->waiters, std::back_inserter(all));
                raw->finish({}, {std::move(all)});
            };
        };
        const auto self = raw->shared_from_this();
        read_queue(self, protocol::join_path(path, "locks"), curator_layout(), everybody,
                   options.most_read, take(&parts::waiters, false));
        if (!raw->is_over()) {
            read_queue(self, protocol::join_path(path, "leases"), protocol::permits::lease_layout(),
                       everybody, options.most_read, take(&parts::leases, true));
        }
    });
}

namespace {

// Told by the list of contenders: each that goes may be one that is waited for.
class change_of_position final : public change_watcher<std::size_t> {
public:
    change_of_position(std::shared_ptr<client_core> core, operation_ptr<error_code, std::size_t> op,
                       std::string node, layout names, std::optional<std::size_t> seen)
        : change_watcher{std::move(core), std::move(op)}, node_{std::move(node)},
          layout_{std::move(names)}, seen_{seen}
    {
    }

private:
    void begin() override
    {
        if (const auto fault = protocol::layout_fault(layout_); !fault.empty()) {
            refuse(errc::invalid_option, "the position of " + node_ + ": the layout " + fault);
        } else if (!protocol::number_of(layout_, protocol::last_name(node_))) {
            refuse(errc::invalid_path, "the position of " + node_ +
                                           ": that is not the node of a contender of the layout");
        } else if (const auto bad = protocol::path_fault(node_); !bad.empty()) {
            // Only the path of the directory is sent: that of "//x-lock-0000000007" is "/".
            refuse(errc::invalid_path, "the position of " + node_ + ": that " + bad);
        } else {
            look();
        }
    }

    void look() override
    {
        zk().async_watch_children(
            std::string{protocol::parent_path(node_)},
            guarded<watched<children_result>>([this](const error_code& ec,
                                                     watched<children_result>&& found) {
                if (ec) {
                    fail(ec);
                    return;
                }
                const auto queue = protocol::contenders(layout_, found.value.names);
                const auto own =
                    std::ranges::find(queue, protocol::last_name(node_), &protocol::entry::name);
                if (own == queue.end()) {
                    refuse(zookeeper_errc::no_node,
                           "the position of " + node_ + ": it is not there");
                    return;
                }
                const auto now =
                    protocol::position_of(queue, static_cast<std::size_t>(own - queue.begin()));
                if (now != seen_) {
                    finish(now);
                } else {
                    look_again_after(std::move(found.changes));
                }
            }));
    }

    const std::string node_;
    const layout layout_;
    const std::optional<std::size_t> seen_;
};

} // namespace

void queue_queries::wait_position(const std::shared_ptr<client_core>& core,
                                  operation_ptr<error_code, std::size_t> op, std::string node,
                                  layout names, std::optional<std::size_t> seen)
{
    watch_changes<change_of_position>(core, std::move(op), std::move(node), std::move(names), seen);
}

namespace {

// Not the directory of a lock, nor anything else that is not a contender's.
bool is_a_contenders(std::string_view node)
{
    const auto name = protocol::last_name(node);
    return name.size() > protocol::number_digits &&
           number_in(name.substr(name.size() - protocol::number_digits));
}

zk::call revocation_of(std::string node)
{
    return {.op = zk::opcode::set,
            .path = std::move(node),
            .data = std::string{revocation_request},
            .version = any_version};
}

} // namespace

void queue_queries::revoke(const std::shared_ptr<client_core>& core, operation_ptr<error_code> op,
                           std::string node)
{
    const auto q = make_query(core, std::move(op));
    q->start([raw = q.get(), node = std::move(node)] {
        if (!is_a_contenders(node)) {
            raw->refuse(errc::invalid_path,
                        "revoke " + node +
                            ": that is not the node of a contender; async_revoke_holders takes the "
                            "path of a lock");
            return;
        }
        raw->ask(revocation_of(node), [raw](zk::reply&& r) {
            if (r.error && r.error != zookeeper_errc::no_node) {
                raw->fail(r.error);
            } else {
                raw->finish({});
            }
        });
    });
}

void queue_queries::revoke_holders(const std::shared_ptr<client_core>& core,
                                   operation_ptr<error_code, std::size_t> op, std::string path,
                                   layout names)
{
    const auto q = make_query(core, std::move(op));
    q->start([raw = q.get(), path = std::move(path), names = std::move(names)] {
        list_queue(raw->shared_from_this(), path, names, [raw](queue_view&& found) {
            struct answers {
                std::size_t open = 0;
                std::size_t asked = 0;
            };
            const auto holders = found.holders();
            const auto all = std::make_shared<answers>(answers{holders.size(), 0});
            if (holders.empty()) {
                raw->finish({}, 0);
            }
            const client_core::batch together{*raw->core()};
            for (std::size_t i = 0; i != holders.size() && !raw->is_over(); ++i) {
                raw->ask(revocation_of(holders[i].path), [raw, all](zk::reply&& r) {
                    if (r.error && r.error != zookeeper_errc::no_node) {
                        raw->fail(r.error);
                        return;
                    }
                    all->asked += r.error ? 0 : 1;
                    if (--all->open == 0) {
                        raw->finish({}, std::size_t{all->asked});
                    }
                });
            }
        });
    });
}

} // namespace detail

// ---- queues

std::span<const queue_entry> queue_view::holders() const noexcept
{
    const auto end = std::ranges::find(entries, false, &queue_entry::holds);
    return {entries.begin(), end};
}

std::span<const queue_entry> queue_view::waiters() const noexcept
{
    return std::span{entries}.subspan(holders().size());
}

} // namespace colock
