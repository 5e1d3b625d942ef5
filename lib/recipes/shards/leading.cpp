#include "recipes/shards/leading.hpp"

#include "names/contender_name.hpp"
#include "names/path.hpp"
#include "recipes/group/member_text.hpp"
#include "report/boot_clock.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>

#include <algorithm>
#include <utility>

namespace colock::detail {

shards_leading::shards_leading(std::shared_ptr<client_core> core,
                               std::shared_ptr<const shards_config> config, leadership term)
    : strand_object{std::move(core)}, config_{std::move(config)}, term_{std::move(term)},
      group_{*client_, config_->paths.members}, timer_{core_->strand()}
{
}

template <class... Results, class Then>
auto shards_leading::guarded(Then then)
{
    return on_strand<Results...>(
        [this, then = std::move(then)](const error_code& ec, Results... results) mutable {
            if (!over_) {
                then(ec, std::move(results)...);
            }
        });
}

void shards_leading::begin()
{
    read();
    watch_members();
}

void shards_leading::end()
{
    over_ = true;
    timer_.cancel();
    waiting_.emit(asio::cancellation_type::terminal);
    moves_.clear();
    term_ = {};
}

void shards_leading::read()
{
    client_->async_get(config_->paths.assignment,
                       guarded<get_result>([this](const error_code& ec, get_result&& r) {
                           if (ec == zookeeper_errc::no_node) {
                               version_.reset();
                               go_on_from({});
                           } else if (!ec) {
                               version_ = r.stat.version;
                               found(protocol::shard_table_in(r.data));
                           } else {
                               try_again(ec, config_->paths.assignment + ": " + ec.message(),
                                         told_of_table_, &shards_leading::read);
                           }
                       }));
}

// What is not an assignment of these shards is one of others, or damaged: it is replaced. Who holds the locks keeps them.
void shards_leading::found(std::optional<protocol::shard_table> written)
{
    is_damaged_ = !written;
    if (written) {
        go_on_from(std::move(*written));
        return;
    }
    shards{*client_, config_->path, config_->options}.async_owners(
        guarded<std::vector<shard_owner>>(
            [this](const error_code& ec, std::vector<shard_owner>&& all) {
                if (ec) { // else owners that were not read would lose their shards
                    try_again(ec, config_->paths.locks + ": " + ec.message(), told_of_table_,
                              &shards_leading::read);
                    return;
                }
                protocol::shard_table held{.owners = protocol::shard_owners(all.size())};
                for (auto& each : all) {
                    held.owners[each.shard.index] = std::move(each.owner).value_or("");
                }
                go_on_from(std::move(held));
            }));
}

void shards_leading::go_on_from(protocol::shard_table written)
{
    if (written.owners.size() != config_->shards.size()) {
        written = {.owners = protocol::shard_owners(config_->shards.size())};
    }
    const auto& o = config_->options;
    leader_.emplace(protocol::shard_leader::rules{.settle = o.settle,
                                                  .prepare = o.prepare_limit,
                                                  .take = o.prepare_limit + o.take_limit,
                                                  .moves_at_a_time = o.moves_at_a_time},
                    std::move(written), boot_clock::now());
    watch_moves();
    decide();
}

void shards_leading::watch_members()
{
    auto changed = guarded<std::vector<member_view>>(
        [this](const error_code& ec, std::vector<member_view>&& now) {
            if (ec) { // whoever may create a node there can make one that others may not read
                try_again(ec, unread_.message(), told_of_members_, &shards_leading::watch_members);
                return;
            }
            told_of_members_.clear();
            members_ = std::move(now);
            knows_members_ = true;
            decide();
            watch_members();
        });
    group_.async_wait_change(
        members_, bind_diagnostics(
                      unread_, asio::bind_cancellation_slot(waiting_.slot(), std::move(changed))));
}

// The log has each cause once, but not that another leader was quicker, or that an answer was lost.
void shards_leading::try_again(const error_code& ec, const std::string& why, std::string& told,
                               void (shards_leading::*what)())
{
    if (ec == errc::client_closed || ec == asio::error::operation_aborted) {
        return; // the term is over, or will be
    }
    const bool passes = is_retryable(ec) || outcome_unknown(ec) ||
                        ec == zookeeper_errc::bad_version || ec == zookeeper_errc::node_exists ||
                        ec == zookeeper_errc::no_node;
    if (!passes && std::exchange(told, why) != why) {
        core_->log(log_level::error, "shards " + config_->path + ": no shard moves: " + why);
    }
    pace_.after_refusal(*core_, [self = shared_from_this(), what] {
        if (!self->over_) {
            (*self.*what)();
        }
    });
}

namespace {

protocol::shard_taker taker_of(const member_view& m, std::size_t shards)
{
    auto refused = protocol::numbers_in(m.data, shards);
    return {.name = m.name,
            .weight = m.weight,
            .refused = refused ? std::move(*refused) : std::vector<protocol::shard_index>{}};
}

} // namespace

void shards_leading::decide()
{
    if (!leader_ || !knows_members_ || writing_) {
        return;
    }
    std::vector<protocol::shard_taker> takers;
    for (const auto& m : members_) {
        // With another name in it no member could read the assignment.
        if (protocol::member_name_fault(m.name).empty()) {
            takers.push_back(taker_of(m, config_->shards.size()));
        }
    }
    const auto now = boot_clock::now();
    leader_->members(std::move(takers), now);
    note_taken();
    if (leader_->decide(now) || is_damaged_) {
        write(leader_->table());
    } else {
        wake_at(leader_->next(now));
    }
}

// Each decision is about all shards, and many answers come together.
void shards_leading::decide_soon()
{
    if (!std::exchange(decides_soon_, true)) {
        core_->post([self = shared_from_this()] {
            self->decides_soon_ = false;
            if (!self->over_) {
                self->decide();
            }
        });
    }
}

// Whose lock its new owner holds. The owner may have come again with another session, or be another one by now.
void shards_leading::note_taken()
{
    std::erase_if(moves_, [&](const auto& m) {
        const auto owner =
            std::ranges::find(members_, leader_->table().owners[m.first], &member_view::name);
        const bool is_taken =
            owner != members_.end() && m.second.first != 0 && m.second.first == owner->session;
        if (is_taken) {
            leader_->taken(m.first);
        }
        return is_taken;
    });
}

void shards_leading::wake_at(protocol::shard_leader::time_point when)
{
    if (when == protocol::shard_leader::time_point::max()) {
        timer_.cancel();
        return;
    }
    timer_.expires_after(std::max(when - boot_clock::now(), std::chrono::nanoseconds{0}));
    timer_.async_wait(guarded<>([this](const error_code& ec) {
        if (!ec) {
            decide();
        }
    }));
}

// Only a leader may write: the servers check its node.
void shards_leading::write(const protocol::shard_table& table)
{
    writing_ = true;
    is_damaged_ = false;
    auto text = protocol::text_of(table);
    auto step = version_ ? set_op(config_->paths.assignment, std::move(text), *version_)
                         : create_op(config_->paths.assignment, std::move(text),
                                     {.acl = config_->options.acl});
    client_->async_multi(term_.guarded(std::move(step)),
                         guarded<std::vector<transaction_result>>(
                             [this](const error_code& ec, std::vector<transaction_result>&& steps) {
                                 written(ec, steps.empty() ? 0 : steps.back().stat.version);
                             }));
}

void shards_leading::written(const error_code& ec, std::int32_t version)
{
    writing_ = false;
    if (!ec) {
        version_ = version; // 0 of one that was created
        told_of_table_.clear();
        watch_moves();
        decide();
        return;
    }
    // Goes on from what is there. If the leadership is lost, its guard says so.
    leader_.reset();
    try_again(ec, config_->paths.assignment + " cannot be written: " + ec.message(), told_of_table_,
              &shards_leading::read);
}

void shards_leading::seen(std::optional<std::int32_t> version)
{
    if (leader_ && !writing_ && version != version_) {
        version_ = version;
        write(leader_->table());
    }
}

// ---- whether the new owner of a shard has its lock

void shards_leading::watch_moves()
{
    const auto& moving = leader_->table().moving;
    std::erase_if(moves_,
                  [&](const auto& m) { return !std::ranges::binary_search(moving, m.first); });
    for (const auto shard : moving) {
        if (moves_.try_emplace(shard).second) {
            look_at_move(shard);
        }
    }
}

void shards_leading::look_at_move(protocol::shard_index shard)
{
    if (over_ || !moves_.contains(shard)) {
        return;
    }
    const auto path = lock_path_of(config_->paths, config_->shards[shard]);
    client_->async_watch_children(
        path, guarded<watched<children_result>>(
                  [this, shard, path](const error_code& ec, watched<children_result>&& r) {
                      const auto at = moves_.find(shard);
                      if (at == moves_.end()) {
                          return;
                      }
                      if (ec == zookeeper_errc::no_node) {
                          await_directory(shard, path);
                          return;
                      }
                      if (ec) {
                          at->second.pace.after_refusal(*core_, [self = shared_from_this(), shard] {
                              self->look_at_move(shard);
                          });
                          return;
                      }
                      const auto queue = protocol::contenders(curator_layout(), r.value.names);
                      if (queue.empty()) {
                          await_change(shard, std::move(r.changes));
                      } else {
                          look_at_first(shard, protocol::join_path(path, queue.front().name),
                                        std::move(r.changes));
                      }
                  }));
}

void shards_leading::look_at_first(protocol::shard_index shard, const std::string& node,
                                   watch&& changes)
{
    client_->async_exists(node,
                          guarded<std::optional<node_stat>>(
                              [this, shard, changes = std::move(changes)](
                                  const error_code& ec, std::optional<node_stat>&& first) mutable {
                                  if (const auto at = moves_.find(shard); at != moves_.end()) {
                                      at->second.first = !ec && first ? first->ephemeral_owner : 0;
                                      await_change(shard, std::move(changes));
                                      decide_soon(); // it may be the one
                                  }
                              }));
}

// Nobody has queued yet, or the servers have removed it, because it was empty.
void shards_leading::await_directory(protocol::shard_index shard, const std::string& path)
{
    client_->async_watch_exists(
        path, guarded<watched<std::optional<node_stat>>>(
                  [this, shard](const error_code&, watched<std::optional<node_stat>>&& r) {
                      const auto at = moves_.find(shard);
                      if (at == moves_.end()) {
                          return;
                      }
                      if (!r.value) {
                          await_change(shard, std::move(r.changes));
                          return;
                      }
                      at->second.pace.after_event(*core_, [self = shared_from_this(), shard] {
                          self->look_at_move(shard);
                      });
                  }));
}

void shards_leading::await_change(protocol::shard_index shard, watch&& changes)
{
    const auto at = moves_.find(shard);
    if (at == moves_.end()) {
        return;
    }
    at->second.changes = std::move(changes);
    at->second.changes.async_wait(
        guarded<watch_event>([this, shard](const error_code& over, watch_event&&) {
            const auto still = moves_.find(shard);
            if (!over && still != moves_.end()) {
                still->second.pace.after_event(
                    *core_, [self = shared_from_this(), shard] { self->look_at_move(shard); });
            }
        }));
}

} // namespace colock::detail
