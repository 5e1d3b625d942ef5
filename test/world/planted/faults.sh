# The faults that the simulated world has to find: test/support/planted.sh reads them. Each is an error that a change of the
# library could make. Those of what decides are in test/model/faults.sh.
#
# Not in the list, because no program can see it: local_queue::granted() gives up the node of a contender that is not
# wanted any more. A contender is told to leave in the same turn of the strand in which it is taken off, and one that
# leaves is not granted.
# shellcheck shell=bash disable=SC2034

# Found within three seeds: what CI plants.
quick=(
    "does not remove the node of a lock"
    "does not claim the node of a single_node_mutex"
    "lets others be admitted to a lock that is not released"
)

# ---- the session, and its connections

plant "sends no barrier when it resumes its session" lib/session/client_session.cpp \
    "$(in_function carry_out 's/requests_.send\(barrier\(\)\);//')"
rare=stalls plant "offers its session where an old socket is" lib/session/session_link.cpp \
    "$(in_function addresses 's/old_sockets_.is_open\(each\)/false/')"
rare=stalls plant "forgets all old sockets when it is connected again" lib/session/client_session.cpp \
    "$(in_function become_connected 's/^    requests_.connected\(\);/    requests_.connected(); link_.forget_session();/')"
rare=stalls plant "takes every old socket for closed" lib/zk/old_sockets.cpp \
    "$(in_function is_open 's/each.address == address/each.address == address \&\& each.socket->is_over()/')"
plant "does not tell anybody that the session has expired" lib/session/client_session.cpp \
    "$(in_function expire_session 's/tell\(.*expired\(\).*//')"
plant "does not tell anybody that the connection is lost" lib/session/client_session.cpp \
    "$(in_function become_suspended 's/tell\(.*suspended\(\).*//')"
plant "does not tell anybody that the client is closed" lib/session/client_session.cpp \
    "$(in_function take_leave_of_users 's/tell\(.*closed\(why\).*//')"
plant "does not tell anybody that it is connected again" lib/session/client_session.cpp \
    "$(in_function become_connected 's/tell\(.*connected\(.*//')"
plant "ends its session while answers are outstanding" lib/session/client_session.cpp \
    "$(in_function report_quiet 's/ \&\& !requests_.has_sent\(\)//')"
plant "forgets the requests that wait when it is closed" lib/session/client_session.cpp \
    "$(in_function take_leave_of_users 's/^ +requests_.fail_waiting\(why\);//')"
rare=uneven plant "counts the time-out from when the connection was made" lib/session/client_session.cpp \
    "$(in_function become_connected 's/link_.began\(\)/boot_clock::now()/')"
rare=uneven plant "does not publish the bound at once when the time-out shrinks" lib/session/liveness.cpp \
    "$(in_function connected 's/publish_bound.*//')"
plant "keeps the watches of a connection that is gone" lib/session/client_session.cpp \
    "$(in_function drop_connection 's/watches_.clear\(\);//')"
plant "keeps the session when the client is destroyed" lib/session/client.cpp \
    "$(in_function '~client' 's/core->release\(\);/(void)core;/')"

# ---- the session guard

rare=guards plant "ends a session when its client has left it, though the process lives" lib/guard/rules.cpp \
    "$(in_function decide 's/if \(died_ \&\& channel_ended_ \&\&/if (channel_ended_ \&\&/')"
rare=guards plant "ends a session that its owner has closed" lib/guard/session_guard.cpp \
    "$(in_function told 's/rules_.has_none\(client\);//')"
rare=guards plant "never ends a session" lib/guard/rules.cpp \
    "$(in_function decide 's/d.end.emplace_back.*//')"
rare=guards plant "counts the time-out from when it hears of the death" lib/guard/rules.cpp \
    "$(in_function decide 's/std::min\(heard, lived_.*\)/heard/')"
rare=guards plant "ends a session after its time-out" lib/guard/session_ending.cpp \
    "$(in_function is_too_late 's/return .*/return false;/')"

# ---- requests and watches

plant "repeats every request whose answer was lost" lib/session/request_queue.cpp \
    "$(in_function finish 's/r.policy == on_loss::repeat \&\& \(loss/r.policy != on_loss::fail \&\& (loss/')"
plant "reports the loss of a read instead of repeating it" lib/session/request_queue.cpp \
    "$(in_function finish 's/ \&\& \(loss \|\| / \&\& (/')"
plant "does not send what has waited for a connection" lib/session/request_queue.cpp \
    "$(in_function connected 's/, place::waiting\}/}/')"
plant "does not send what has waited for the barrier" lib/session/request_queue.cpp \
    "$(in_function send_turns 's/send_if_room\(lists_.take.*/(void)lists_.take(held.front()).release();/')"
plant "drops what has waited for a barrier that was not answered" lib/session/request_queue.cpp \
    "$(in_function disconnected 's/lists_.put\(place::waiting, std::move\(r\)\)/(void)r.release()/')"
plant "tells one subscriber alone that a watch has fired" lib/zk/watch_registry.cpp \
    "$(in_function take 's/e.subscribers.end\(\)\)/e.subscribers.empty() ? e.subscribers.end() : e.subscribers.begin() + 1)/')"
plant "does not set a watch again after a reconnection" lib/session/watch_state.cpp \
    "$(in_function connected 's/core_->submit.*//')"
rare=watches plant "does not look what happened while nobody watched" lib/session/watch_state.cpp \
    "$(in_function difference 's/return found->pzxid != .*/return false ? std::optional{watch_event_type::children_changed}/; s/return found->mzxid != .*/return std::nullopt;/')"

# ---- heartbeats, and the bound

rare=late plant "believes the answer to prove that the session lived until then" lib/session/liveness.cpp \
    "$(in_function answered 's/answered\(r.sent_at_, /answered(now, /')"
rare=alone plant "takes a read for a write" lib/session/liveness.cpp \
    "$(in_function answered 's/: multi \|\| r/: true || r/')"
plant "does not look at the holders when the bound passes" lib/session/liveness.cpp \
    "$(in_function beat 's/if \(orders.check\)/if (false)/')"
plant "sends no heartbeats" lib/session/liveness.cpp \
    "$(in_function beat 's/if \(orders.(read|write)\)/if (false)/')"
plant "does not publish the bound" lib/session/liveness.cpp \
    "$(in_function answered 's/publish_bound\(\);//')"
plant "does not know of the safety margins" lib/session/liveness.cpp \
    "$(in_function add_holder 's/add_holder\(margin\)/add_holder({})/'); $(in_function remove_holder 's/remove_holder\(margin\)/remove_holder({})/')"
plant "does not tell that the proof has come" lib/session/liveness.cpp \
    "$(in_function tell_proof 's/listeners_.tell\(.*proved\(\).*//')"
plant "reads a clock that stands still while the machine sleeps" lib/report/boot_clock.hpp \
    's/CLOCK_BOOTTIME, /CLOCK_MONOTONIC, /' \
    lib/session/{client_session,core,liveness,request_queue,session_link}.cpp lib/queue/{contender_driver,contender_requests,running_contender,lease}.cpp lib/recipes/semaphore/permit_lease.cpp lib/lock/{held_lock,local_contenders,local_queue,long_waits}.cpp

# ---- what a guard keeps alive

plant "does not take the margin off the bound" lib/queue/lease.cpp \
    "$(in_function remaining 's/ - margin_//')"
plant "does not tell the operations that wait for a loss" lib/queue/lease.cpp \
    "$(in_function tell_waiters 's/waiting_.complete_all.*//')"

plant "waits by a clock that stands still while the machine sleeps" lib/session/boot_timer.cpp \
    's/timerfd_create\(CLOCK_BOOTTIME/timerfd_create(CLOCK_MONOTONIC/'

# ---- a contender's node

plant "does not remove the node of a lock" lib/queue/contender_requests.cpp \
    "$(in_function send '/case kind::remove:/,/break;/ { /break;/!{ /case/!d } }')"
plant "does not tell the holder when the bound passes" lib/queue/contender_driver.cpp \
    "$(in_function check 's/lease_.asks_for_check\(\) \&\& lost\(\)/false/')"
plant "never completes an unlock" lib/queue/contender_driver.cpp \
    "$(in_function gone 's/answer_unlock.*//')"
plant "completes an unlock before the node is gone" lib/queue/contender_driver.cpp \
    "$(in_function unlock 's/unlocking_ = std::move\(op\);/op.complete({}); return leave();/')"
plant "does not leave the queue when a try is cancelled" lib/queue/contender_driver.cpp \
    "$(in_function try_join 's/^ +leave\(\);//')"
plant "does not go on after a reconnection" lib/queue/contender_driver.cpp \
    "$(in_function connected 's/^ +feed\(.*//')"
plant "does not join again when the session has expired" lib/queue/contender_driver.cpp \
    "$(in_function expired 's/^ +feed\(.*//')"
plant "ignores that the client is closed" lib/queue/contender_driver.cpp \
    "$(in_function closed 's/lose\(errc::client_closed\);//')"
plant "leaves the writer's node when it steps down" lib/queue/contender_requests.cpp \
    "$(in_function send 's/remove_op\(/check_op(/')"
plant "ignores a revocation" lib/queue/contender_driver.cpp \
    "$(in_function answered 's/waiting_for_revocation_.complete_all.*//')"
plant "does not see a revocation" lib/queue/contender_requests.cpp \
    "$(in_function node_read 's/now.asked_for = own_.read\(.*//')"
plant "never watches the node of a holder" lib/session/own_watches.hpp \
    's/listener->own_watch_due\(\);//' \
    lib/session/core.cpp lib/queue/contender_driver.cpp lib/recipes/semaphore/permit_lease.cpp
rare=together plant "watches the nodes of the first holders only" lib/session/own_watches.hpp \
    's/^ +wait\(std::max.*//' \
    lib/session/core.cpp lib/queue/contender_driver.cpp lib/recipes/semaphore/permit_lease.cpp
plant "does not claim the node of a single_node_mutex" lib/queue/running_contender.hpp \
    's/facts_->claimed.claim\(.*//' lib/queue/contender_requests.cpp
plant "keeps its watch when nobody wants it any more" lib/queue/contender_requests.cpp \
    "$(in_function free 's/core_.watches\(\).unsubscribe.*//')"

# ---- those who share a contender

plant "lets others be admitted to a lock that is not released" lib/lock/local_users.cpp \
    "$(in_function end_turn 's/const auto v = cohort_.release\(now\);/const cohort::actions v;/')"
plant "hands a lock on that is lost" lib/lock/local_queue.cpp \
    "$(in_function drop_lost_holder 's/holder->lost\(now\)/false/'); $(in_function end_turn 's/static_cast<bool>\(why\)/false/');
     $(in_function lost 's/users_.holder\(\).get\(\) ==$/nullptr ==/')"
plant "counts a waiter that was cancelled" lib/lock/local_users.cpp \
    "$(in_function withdraw 's/const auto v = cohort_.withdraw\(\);/const cohort::actions v;/')"
plant "does not end a wait at its deadline" lib/lock/local_queue.cpp \
    "$(in_function wait 's/if \(until != never\)/if (false)/')"
plant "ignores max_local_grants and max_local_time" lib/lock/local_queue.cpp \
    's/= o.max_local_grants,/= 1'"'"'000'"'"'000,/; s/= o.max_local_time,/= std::chrono::hours{1},/'
plant "does not hear who comes while it keeps the node" lib/lock/local_queue.cpp \
    "$(in_function heard 's/users_.met\(.*//')"
plant "lingers forever" lib/lock/local_contenders.cpp \
    "$(in_function reconcile 's/end \&\& !linger_timer_/false/')"
plant "forgets those who wait when the lock cannot be had" lib/lock/local_queue.cpp \
    "$(in_function fail_all 's/refuse\(core_, std::move\(op\), ec, why\);/(void)op.release();/')"
plant "does not count what is released" lib/lock/path_report.cpp \
    "$(in_function turn_ends 's/core_.count.locks_released.fetch_add.*//')"
plant "does not let others join when the holder steps down" lib/lock/local_users.cpp \
    "$(in_function step_down 's/follow\(cohort_.lost\(\), out\);//')"
plant "does not wait for the server when it unlocks" lib/lock/local_queue.cpp \
    "$(in_function unlock 's/out.unlocking = std::move\(op\);//')"
plant "does not join again for those who wait when a node goes" lib/lock/local_contenders.cpp \
    "$(in_function reconcile 's/if \(users.lacks_contender\(\)\)/if (users.lacks_contender() \&\& work.leaving.empty())/')"

# ---- guards

plant "does not release a lock whose guard is destroyed" lib/lock/held_lock.cpp \
    "$(in_function release_in_background 's/^ +queue.release\(.*//')"
plant "does not release permits whose guard is destroyed" lib/recipes/semaphore/permit.cpp \
    "$(in_function '~permit' 's/held_->leave\(std::move\(nodes_\)\);//')"
plant "releases a recursive mutex with an inner guard" lib/lock/recursion.cpp \
    "$(in_function leave 's/return \{in_order, self.over_\};/return {in_order, true};/')"
plant "never releases a recursive mutex" lib/lock/recursion.cpp \
    "$(in_function leave 's/return \{in_order, self.over_\};/return {in_order, false};/')"
rare=together plant "tells of the loss of the first of several locks only" lib/recipes/multi_lock/multi_guard.cpp \
    "$(in_function watched 's/all.parts.push_back/if (all.parts.empty()) &/')"
plant "completes a joint release with the first lock" lib/recipes/multi_lock/multi_guard.cpp \
    's/if \(--left_ == 0 \&\& op_\)/if (op_)/'

# ---- semaphores

plant "keeps the queue's lock of a semaphore when it fails" lib/recipes/semaphore/permit_acquisition.cpp \
    's/done\), take_queue\(\)\);/done), held_lock{});/'
plant "does not give back the permits that a caller does not want any more" lib/recipes/semaphore/permit_acquisition.cpp \
    's/permit_for\(c.leases\) = \{\};/new permit{permit_for(c.leases)};/'
plant "does not wait for permits that are released" lib/recipes/semaphore/permit_acquisition.cpp \
    's/\{\&list_watch_, \&limit_watch_\}/{\&limit_watch_}/'
plant "ignores the deadline of a semaphore" lib/recipes/semaphore/permit_acquisition.cpp \
    's/until_ != never/false/'
plant "does not remove the nodes of permits" lib/recipes/semaphore/permit_lease.cpp \
    "$(in_function remove 's/core_->submit\(.*/of.leaving->left = 1; removed(path, {});/')"
plant "does not repeat the removal of permits after a reconnection" lib/recipes/semaphore/permit_lease.cpp \
    "$(in_function remove 's/on_loss::repeat/on_loss::fail/')"
plant "does not tell the holder of permits when the bound passes" lib/recipes/semaphore/permit_lease.cpp \
    "$(in_function check 's/!over_ \&\& lease_.lost\(\)/false/')"
plant "does not count permits as held" lib/recipes/semaphore/permit_lease.cpp \
    "$(in_function update_heartbeat_need 's/lease_.ask_for_check\(.*/lease_.ask_for_check(false);/')"
plant "does not notice that permits were deleted" lib/recipes/semaphore/permit_lease.cpp \
    "$(in_function look '/event.type == watch_event_type::deleted/ { n; s/lose\(errc::node_deleted\);// }')"

# ---- several locks, bodies

plant "keeps what it has when one of several locks fails" lib/recipes/multi_lock/multi_operation.cpp \
    's/^ +l\.guard = \{\};/            new guard_part{std::move(l.guard)};/'
plant "does not cancel the body when the lock is lost" include/colock/detail/supervised_lock.hpp \
    's/^( +)self->stop\(asio::cancellation_type::all\);/\1(void)self;/' test/world/workload/bodies.cpp
plant "says nothing of the loss of the lock of a body" include/colock/detail/supervised_lock.hpp \
    's/if \(lost_ \&\& \(!e/if (false \&\& (!e/' test/world/workload/bodies.cpp
rare=bodies plant "delivers a lock that was lost on its way" lib/lock/guard_reports.cpp \
    's/^    const auto why = ec \? error_code\{\} : held.loss_reason\(\);/    const error_code why;/'
plant "completes within the function that starts it" include/colock/detail/operation.hpp \
    's/post_to\(work, std::move\(bound\)\);/bound();/' test/world/workload/crowd.cpp
# Only to give it back behind the post is no fault in one thread: no handler runs within the post.
plant "never gives the memory of an operation back" include/colock/detail/operation.hpp \
    's/^        free\(allocator_of\(bound.get_allocator\(\)\)\);//' \
    test/world/workload/crowd.cpp

# ---- groups

rare=shards plant "takes a second member of one name in" lib/recipes/group/member_node.cpp \
    "$(in_function entered 's/!ec \&\& !held \? error_code\{errc::name_in_use\} : ec/ec/')"
rare=shards plant "does not wait until the node of a dead member has gone" lib/recipes/group/member_node.cpp \
    "$(in_function enter 's/^ +limit,/std::chrono::milliseconds{1},/')"
rare=shards plant "does not join a group again" lib/recipes/group/member_node.cpp \
    "$(in_function lost 's/self->enter\(\);/(void)self;/')"
rare=shards plant "gives its membership up when the session has expired" lib/recipes/group/member_node.cpp \
    "$(in_function lost 's/if \(why == errc::client_closed .*/if (true) {/')"
rare=shards plant "completes an update before it is written" lib/recipes/group/member_node.cpp \
    "$(in_function update 's/^    write\(\);/    written({});/')"
rare=shards plant "takes an update for written whose answer was lost" lib/recipes/group/member_node.cpp \
    "$(in_function written 's/pace_.after_refusal\(/updating_.complete_all({}); if (false) pace_.after_refusal(/')"
rare=shards plant "completes a leave before the member's node is gone" lib/recipes/group/member_node.cpp \
    "$(in_function leave 's/if \(op \&\& held.*/if (false) {/')"
rare=shards plant "does not watch who joins a group" lib/recipes/group/group.cpp \
    's/watches_.push_back\(std::move\(all.changes\)\);/(void)all;/'
rare=shards plant "does not list members that say something" lib/recipes/group/group.cpp \
    's/if \(detail::is_of_session\(each.session\)\)/if (detail::is_of_session(each.session) \&\& each.data.empty())/'

# ---- shards

rare=shards plant "does not cancel the body of a shard that is lost" include/colock/detail/supervised_lock.hpp \
    's/^( +)self->stop\(asio::cancellation_type::all\);/\1(void)self;/' test/world/workload/{bodies,sharing}.cpp
rare=shards plant "completes a run of shards before its bodies have ended" lib/recipes/shards/run.cpp \
    "$(in_function stop_work 's/work_->stop\(\);/work_->stop(); depart();/')"
rare=shards plant "takes a shard again whose body has not ended" lib/recipes/shards/member.cpp \
    "$(in_function end 's/shards_\[at\].is = state::ending;/shards_[at].is = state::absent;/')"
rare=shards plant "does not look whether somebody waits for its shard" lib/recipes/shards/work.cpp \
    "$(in_function look_at_queue 's/r.value.names\).size\(\) > 1/r.value.names).size() > 100/')"
rare=shards plant "looks once whether somebody waits for its shard" lib/recipes/shards/work.cpp \
    "$(in_function look_at_queue 's/self->look_at_queue\(shard\);/(void)self;/')"
rare=shards plant "reads the assignment once" lib/recipes/shards/run.cpp \
    "$(in_function watch_table 's/if_at_work\(&shards_run::watch_table\)/[] {}/')"
rare=shards plant "writes the assignment when its term is over" lib/recipes/shards/leading.cpp \
    "$(in_function write 's/term_.guarded\(std::move\(step\)\)/std::vector<transaction_op>{step}/')"
rare=shards plant "lets the shards of a dead member wait until the group has settled" lib/recipes/shards/assignment.cpp \
    's/if \(owner\[s\] == nobody\)/if (owner[s] == nobody \&\& settled)/'
rare=shards plant "ignores the weight of members" lib/recipes/shards/leading.cpp \
    's/\.weight = m.weight,/.weight = 1,/'
rare=shards plant "assigns shards to members that have left" lib/recipes/shards/leader.cpp \
    "$(in_function members 's/if \(all != members_\)/for (const auto\& m : members_) { if (!std::ranges::binary_search(all, m.name, {}, \&shard_taker::name)) { all.insert(std::ranges::lower_bound(all, m.name, {}, \&shard_taker::name), m); } }\n    if (all != members_)/')"
rare=shards plant "does not see that a shard is taken" lib/recipes/shards/leading.cpp \
    "$(in_function note_taken 's/leader_->taken\(m.first\);/(void)0;/')"
rare=shards plant "waits for what prepares a shard without a limit" lib/recipes/shards/preparation.cpp \
    "$(in_function start 's/expires_after\(self->config_->options.prepare_limit\)/expires_after(std::chrono::hours{1})/')"

# ---- latches and barriers

rare=rendezvous plant "takes an arrival that was deleted for the end of its phase" lib/recipes/rendezvous/arrival.cpp \
    "$(in_function found 's/mine \&\& \*mine < phase :/phase_ \&\& !now.waits :/')"
rare=rendezvous plant "does not arrive again when its session has expired" lib/recipes/rendezvous/arrival.cpp \
    "$(in_function take_part 's/if \(!now.waits \&\& !now.is_counted\)/if (!phase_)/')"
rare=rendezvous plant "keeps the arrival of a dead process" lib/recipes/rendezvous/gathering.hpp \
    's/\{\.mode = create_mode::ephemeral\}/{.mode = create_mode::persistent}/' lib/recipes/rendezvous/{barrier,latch}.cpp
rare=rendezvous plant "does not end a wait for others that is cancelled" lib/recipes/rendezvous/gathering.hpp \
    's/case kind::cut_short: cut_short\(\); break;/case kind::cut_short: break;/' lib/recipes/rendezvous/{barrier,latch}.cpp
rare=rendezvous plant "watches the node of an arrival that is gone" lib/recipes/rendezvous/gathering.hpp \
    's/if \(ec \|\| !r.value \|\| cut_\)/if (ec || cut_)/' lib/recipes/rendezvous/{barrier,latch}.cpp
