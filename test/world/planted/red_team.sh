# Faults that a red team planted, and others of further kinds. `planted.sh --red-team` looks which of them the simulated world
# finds. With `by=TEST/CASE` before it: that case finds the fault, and the world need not.
# shellcheck shell=bash disable=SC2034

# ---- faults of these kinds were noticed by nothing

by=single_answers/G3_a_release_of_several_permits_waits_for_the_last_node \
    plant "completes a release of several permits with the first node" lib/recipes/semaphore/permit_lease.cpp \
    "$(in_function removed 's/if \(--of->left == 0 \&\& of->op\)/--of->left; if (of->op)/')"
by=single_answers/G5_a_permit_is_watched_again_when_its_node_has_changed \
    plant "does not watch a permit again when its node has changed" lib/recipes/semaphore/permit_lease.cpp \
    "$(in_function look 's/self->look\(path\);/(void)self;/')"
by=single_answers/a_lost_read_is_repeated_before_a_write_that_has_waited \
    plant "repeats lost reads behind the writes that have waited" lib/session/request_queue.cpp \
    "$(in_function connected 's/place::lost, place::waiting/place::waiting, place::lost/')"
by=single_answers/one_of_two_requests_that_rest_may_be_cancelled \
    plant "ends the pause of all when one request is cancelled" lib/session/request_queue.cpp \
    "$(in_function abandon 's/if \(!lists_.has\(place::resting\)\)/if (true)/')"
by=single_answers/one_answer_that_the_session_is_elsewhere_ends_the_connection \
    plant "stays on a connection whose session has moved" lib/session/client_session.cpp \
    "$(in_function take_note_of_error 's/ec == zookeeper_errc::session_moved/false/')"
by=single_answers/of_two_proclamations_at_once_the_last_that_is_done_stands \
    plant "reports a proclamation that has lost a race as done" lib/recipes/election.cpp \
    's/if \(written.error == zookeeper_errc::bad_version\)/if (false)/; s/\} else if \(written.error \|\| driver->lost/} else if ((written.error \&\& written.error != zookeeper_errc::bad_version) || driver->lost/'
by=single_answers/a_try_without_a_connection_knows_nothing \
    plant "answers a try from memory without a connection" lib/lock/local_queue.cpp \
    "$(in_function try_lock 's/if \(core_->connection_id\(\) != 0\)/if (true)/')"
by=single_answers/each_turn_that_is_awaited_ends \
    plant "forgets other turns that are awaited when one ends" lib/queue/contender_driver.cpp \
    "$(in_function turn_over 's/turn_awaited_ = .*/turn_awaited_ = false;/')"
by=single_answers/a_node_that_is_made_anew_was_not_asked_for \
    plant "takes a node that is made anew for one that is to be let go" lib/queue/contender_requests.cpp \
    "$(in_function create 's/own_.begin_anew\(\);//')"

# ---- of other kinds, planted before there was a check for them

plant "lets a read overtake writes that wait for the barrier" lib/session/request_queue.cpp \
    "$(in_function send_in_turn 's/in_turn = !lists_.has\(place::held\) \|\| .*/in_turn = true;/')"
rare=writes plant "puts what has waited for a barrier in the reverse order" lib/session/request_queue.cpp \
    "$(in_function disconnected 's/lists_.put\(place::waiting, std::move\(r\)\)/(r->place_ = place::waiting, lists_.at(place::waiting).push_front(*r.release()))/')"
by=single_answers/what_follows_a_refused_barrier_is_not_believed \
    plant "believes a connection that it does not trust any more" lib/session/client_session.cpp \
    "$(in_function answered 's/if \(machine_.is_distrusted\(\)\)/if (false)/')"
by=busy_loop/G5_a_bound_that_has_passed_does_not_move \
    plant "moves the bound before the holders that are past it know" lib/session/liveness.cpp \
    "$(in_function answered 's/listeners_.tell\(.*check\(\).*//')"
plant "keeps a watch that was dropped while it was set again" lib/session/watch_state.cpp \
    "$(in_function renewal 's/self->end\(\); \/\/ dropped.*//')"
by=single_answers/a_watch_that_comes_with_the_end_of_its_client_ends \
    plant "waits for a watch of a client that is closed" lib/session/watch_state.cpp \
    "$(in_function begin 's/if \(core_->is_closing\(\)\)/if (false)/')"
by=watches/an_event_is_told_once_to_each \
    plant "frees a watch that has fired already" lib/zk/watch_registry.cpp \
    "$(in_function take 's/e.set = false; .*//')"
by=watches/one_that_is_told_may_remove_another \
    plant "tells a subscriber of an event that has just unsubscribed" lib/zk/watch_registry.cpp \
    "$(in_function unsubscribe 's/std::ranges::replace\(firing_, .*//')"
by=single_answers/G5_permits_are_lost_with_their_session \
    plant "does not tell the holder of permits that the session has expired" lib/recipes/semaphore/permit_lease.cpp \
    "$(in_function expired 's/lose\(errc::session_expired\);//')"
by=semaphore_cases/a_wait_for_the_loss_ends_with_the_release_of_what_was_split_off \
    plant "lets those wait on who wait for the loss of a released permit" lib/recipes/semaphore/permit_lease.cpp \
    "$(in_function release 's/lease_.end_turn\(each.number\);//')"
by=single_answers/permits_are_created_only_by_who_stands_in_the_queue \
    plant "creates permits without its node in the queue" lib/recipes/semaphore/permit_acquisition.cpp \
    's/queue_.guarded\(std::move\(ops\)\)/std::move(ops)/'
by=single_answers/permits_that_wait_for_a_connection_are_taken_back \
    plant "does not take back permits that wait for a connection" lib/recipes/semaphore/permit_acquisition.cpp \
    's/ \|\| core\(\).is_waiting\(each\)//'
by=multi_lock_faults/the_session_expires_while_it_waits \
    plant "takes all of several locks again when a session has expired" lib/recipes/multi_lock/multi_operation.cpp \
    's/!list_->in_order\[i\].target->options.rejoin_on_expiry/false/'
by=multi_lock_faults/G3_cancelled_at_any_moment_it_leaves_nothing_behind \
    plant "leaves the waiter of one of several locks behind" lib/recipes/multi_lock/multi_operation.cpp \
    's/^ +link->request\(asio::cancellation_type::terminal\);/(void)link;/'
by=single_answers/a_joint_release_ends_with_the_first_error \
    plant "completes a joint release with the last error" lib/recipes/multi_lock/multi_guard.cpp \
    's/if \(!first_\) \{/if (true) {/'
by=single_answers/a_node_that_was_asked_for_while_it_waited_serves_one_user \
    plant "does not ask a new holder that was asked while it waited" lib/lock/local_queue.cpp \
    "$(in_function granted 's/if \(driver->is_revoked\(\)\)/if (false)/')"
by=single_answers/a_try_ends_with_its_connection \
    plant "leaves a try without an answer when the connection goes" lib/queue/contender_driver.cpp \
    "$(in_function suspended 's/if \(trying_\)/if (false)/')"
by=single_answers/a_reader_was_not_asked_for_the_node_that_it_had_as_a_writer \
    plant "takes the reader's node for the writer's that was to be let go" lib/queue/contender_requests.cpp \
    "$(in_function stepped_down 's/own_.begin_anew\(\);//')"
by=single_answers/a_view_that_was_cancelled_asks_for_nothing_more \
    plant "goes on looking when the caller of a view has cancelled" lib/recipes/query.hpp \
    's/core_->abandon\(\*open_.front\(\), .*/open_.clear();/' lib/recipes/queue_view.cpp
by=busy_loop/several_locks_that_are_granted_late_are_not_taken \
    plant "waits for the next of several locks as long as for the first" lib/recipes/multi_lock/multi_operation.cpp \
    's/return until_ != never \&\& until_ <= .*/return false;/'

# ---- where the servers throttle

rare=throttled plant "does not free a watch again that a busy server has not freed" lib/session/core.cpp \
    "$(in_function forget_watches 's/if \(r.error != zookeeper_errc::throttled_op\)/if (true)/')"
rare=throttled plant "frees a watch again that was set anew meanwhile" lib/session/core.cpp \
    "$(in_function forget_watches 's/watches_.not_forgotten\(path, kind\);/forget_watches(path, kind);/')"

# ---- latches, barriers and shards

by=rendezvous_cases/one_that_arrives_again_is_counted_once \
    plant "arrives beside the arrival that it takes back" lib/recipes/rendezvous/gathering.hpp \
    's/waits_ = others_->wait\(/waits_ = false; (void)others_->wait(/' lib/recipes/rendezvous/{barrier,latch}.cpp
by=shard_troubles/an_assignment_that_is_damaged_while_nobody_leads \
    plant "takes a damaged assignment for an empty one" lib/recipes/shards/leading.cpp \
    "$(in_function found 's/if \(written\) \{/if (true) { written = written.value_or(protocol::shard_table{});/')"

# ---- shards: nothing finds these yet

rare=shards plant "ignores the assignment of the leader before it" lib/recipes/shards/leading.cpp \
    "$(in_function go_on_from 's/if \(written.owners.size\(\) != .*/if (true) {/')"
rare=shards plant "does not stand again when its term is over" lib/recipes/shards/run.cpp \
    "$(in_function stand 's/if_at_work\(&shards_run::stand\)/[] {}/')"
rare=shards plant "ignores the limit of a leave" lib/recipes/shards/run.cpp \
    "$(in_function leave 's/limit_.expires_at\(limit\);/limit_.expires_at(limit + std::chrono::hours{1});/')"
