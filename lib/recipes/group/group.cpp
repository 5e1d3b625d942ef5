#include <colock/group.hpp>

#include "names/node_owner.hpp"
#include "names/path.hpp"
#include "recipes/change_watcher.hpp"
#include "recipes/group/member_node.hpp"
#include "recipes/group/member_text.hpp"
#include "recipes/query.hpp"

#include <algorithm>
#include <utility>

namespace colock {

namespace detail {

namespace {

member_view member_of(std::string name, std::string_view text,
                      std::chrono::system_clock::time_point since, std::int64_t session,
                      std::int64_t own_session)
{
    auto said = protocol::member_text_in(text);
    return {.name = std::move(name),
            .data = std::move(said.data),
            .weight = said.weight,
            .since = since,
            .session = session,
            .own = session == own_session};
}

// Each member's node is watched, and the directory.
class change_of_members final : public change_watcher<std::vector<member_view>> {
public:
    change_of_members(std::shared_ptr<client_core> core,
                      operation_ptr<error_code, std::vector<member_view>> op, std::string path,
                      std::vector<member_view> seen)
        : change_watcher{std::move(core), std::move(op)}, path_{std::move(path)}, seen_{std::move(
                                                                                      seen)}
    {
    }

private:
    void look() override
    {
        found_.clear();
        watches_.clear();
        zk().async_watch_children(path_,
                                  guarded<watched<children_result>>(
                                      [this](const error_code& ec, watched<children_result>&& all) {
                                          if (ec == zookeeper_errc::no_node) {
                                              watch_for_directory();
                                          } else if (ec) {
                                              fail(ec, path_);
                                          } else {
                                              watches_.push_back(std::move(all.changes));
                                              unread_ = std::move(all.value.names);
                                              under_way_ = 0;
                                              go_on();
                                          }
                                      }));
    }

    void go_on()
    {
        for (; under_way_ != most_under_way && !unread_.empty(); ++under_way_) {
            read(std::move(unread_.back()));
            unread_.pop_back();
        }
        if (under_way_ == 0) {
            compare();
        }
    }

    void read(std::string&& name)
    {
        auto node = protocol::join_path(path_, name);
        zk().async_watch(
            std::move(node),
            guarded<watched<get_result>>(
                [this, name = std::move(name)](const error_code& ec, watched<get_result>&& r) {
                    if (ec && ec != zookeeper_errc::no_node) {
                        fail(ec, protocol::join_path(path_, name));
                        return;
                    }
                    // Else it has just left, and the directory's watch fires.
                    const auto& stat = r.value.stat;
                    if (!ec && detail::is_of_session(stat.ephemeral_owner)) {
                        watches_.push_back(std::move(r.changes));
                        found_.push_back(member_of(name, r.value.data, time_of(stat.ctime),
                                                   stat.ephemeral_owner, zk().session_id()));
                    }
                    --under_way_;
                    go_on();
                }));
    }

    void watch_for_directory()
    {
        if (seen_.empty()) {
            look_again_when_created(path_);
        } else {
            finish({});
        }
    }

    void compare()
    {
        std::ranges::sort(found_, {}, &member_view::name);
        if (found_ != seen_) {
            watches_.clear();
            finish(std::move(found_));
            return;
        }
        look_again_after_any(std::exchange(watches_, {}));
    }

    const std::string path_;
    const std::vector<member_view> seen_;
    std::vector<member_view> found_;
    std::vector<watch> watches_;
    std::vector<std::string> unread_;
    std::size_t under_way_ = 0;
};

void tell_members(query<std::vector<member_view>>& of, const queue_view& found)
{
    std::vector<member_view> members;
    for (const auto& each : found.entries) {
        if (detail::is_of_session(each.session)) {
            members.push_back(
                member_of(each.name, each.data, each.since, each.session, of.core()->session()));
        }
    }
    std::ranges::sort(members, {}, &member_view::name);
    of.finish({}, std::move(members));
}

} // namespace

} // namespace detail

group::group(client& zk, std::string path) : place_{detail::access::core(zk), std::move(path)}
{
}

group::executor_type group::get_executor() const noexcept
{
    return place_.core->executor();
}

void group::start_members(const std::shared_ptr<detail::client_core>& core,
                          detail::operation_ptr<error_code, std::vector<member_view>> op,
                          std::string path)
{
    const auto q = detail::make_query(core, std::move(op));
    q->start([raw = q.get(), path = std::move(path)] {
        raw->ask({.op = zk::opcode::children, .path = path}, [raw, path](zk::reply&& r) {
            if (r.error && r.error != zookeeper_errc::no_node) {
                raw->fail(r.error);
                return;
            }
            std::vector<queue_entry> nodes;
            for (auto& name : r.names) {
                auto node = protocol::join_path(path, name);
                nodes.push_back({.name = std::move(name), .path = std::move(node)});
            }
            detail::read_entries(raw->shared_from_this(), std::move(nodes),
                                 [raw](queue_view&& found) { detail::tell_members(*raw, found); });
        });
    });
}

void group::start_wait_change(const std::shared_ptr<detail::client_core>& core,
                              detail::operation_ptr<error_code, std::vector<member_view>> op,
                              std::string path, std::vector<member_view> seen)
{
    detail::watch_changes<detail::change_of_members>(core, std::move(op), std::move(path),
                                                     std::move(seen));
}

void group::start_join(const std::shared_ptr<detail::client_core>& core,
                       detail::operation_ptr<error_code, membership> op, std::string path,
                       member_options options)
{
    core->dispatch(
        [core, op = std::move(op), path = std::move(path), options = std::move(options)]() mutable {
            detail::member_node::join(core, std::move(op), std::move(path), std::move(options));
        });
}

// ---- the membership

membership::membership(std::shared_ptr<detail::client_core> core,
                       std::shared_ptr<detail::member_node> node) noexcept
    : core_{std::move(core)}, node_{std::move(node)}
{
}

membership& membership::operator=(membership&& other) noexcept
{
    membership taken{std::move(other)};
    core_.swap(taken.core_);
    node_.swap(taken.node_);
    return *this;
}

membership::~membership()
{
    if (node_) {
        detail::member_node::leave_in_background(node_);
    }
}

membership::operator bool() const noexcept
{
    return node_ && !detail::is_inherited(core_) && node_->is_member();
}

const std::string& membership::name() const noexcept
{
    static const std::string none;
    return node_ ? node_->name() : none;
}

std::uint64_t membership::joins() const noexcept
{
    return node_ ? node_->joins() : 0;
}

membership::executor_type membership::get_executor() const noexcept
{
    return detail::executor_of(core_);
}

void membership::start_update(const std::shared_ptr<detail::client_core>& core,
                              detail::operation_ptr<error_code> op,
                              std::shared_ptr<detail::member_node> node, std::string data,
                              std::uint32_t weight)
{
    if (!node) {
        op.complete(errc::not_held);
        return;
    }
    core->dispatch([node = std::move(node), op = std::move(op), data = std::move(data),
                    weight]() mutable { node->update(std::move(op), std::move(data), weight); });
}

void membership::start_wait_rejoin(const std::shared_ptr<detail::client_core>& core,
                                   detail::operation_ptr<error_code, std::uint64_t> op,
                                   std::shared_ptr<detail::member_node> node, std::uint64_t seen)
{
    if (!node) {
        op.complete(errc::not_held, 0);
        return;
    }
    core->dispatch([node = std::move(node), op = std::move(op), seen]() mutable {
        node->wait_rejoin(std::move(op), seen);
    });
}

void membership::start_leave(const std::shared_ptr<detail::client_core>& core,
                             detail::operation_ptr<error_code> op, membership who)
{
    if (!who.node_) {
        op.complete(errc::not_held);
        return;
    }
    // Where the call cannot be made, the member leaves as `who` is destroyed.
    core->dispatch([who = std::move(who), op = std::move(op)]() mutable {
        std::exchange(who.node_, nullptr)->leave(std::move(op));
    });
}

} // namespace colock
