# The faults of what decides (lib/CMakeLists.txt, colock_protocol) that the walks of test/model, and some tests of test/unit, have to find: test/support/planted.sh
# reads them.
# shellcheck shell=bash

# ---- names

# It looks for its own node by the number, does not find it, and makes another one.
by=interleavings/G1_G2_G4_undisturbed:G3 \
    plant "orders by name" lib/names/contender_name.cpp \
    's/sort\(all, \{\}, /sort(all, std::greater{}, /; s/std::pair\{e.number, e.shared\}/e.name/'

# ---- repetitions

by=repeating/what_follows_from_a_refusal_is_one:check \
    plant "refused, and repeated at once" lib/queue/repetition.cpp \
    "$(in_function answered 's/refused \? /false ? /')"
by=repeating/in_a_queue_each_further_create_is_one:check \
    plant "created again at once" lib/queue/repetition.cpp \
    "$(in_function is_repetition 's/made_directory_, false\) && again/made_directory_, false) \&\& false/')"
by=repeating/in_a_queue_a_node_that_is_missing_twice_is_one:check \
    plant "missing node watched at once" lib/queue/repetition.cpp \
    "$(in_function watched 's/if \(!has_queue_ \|\| !one_less\(\)\)/if (one_less(), false)/')"

# ---- the end of the sequence numbers

by=sequence_end/G3_one_cancels:contract \
    plant "forgets that the caller has left while it makes way" lib/queue/leaving.cpp \
    "$(in_function leave 's/makes_way_ = false;//')"
by=sequence_end/G1_G4_undisturbed_near_the_end:G4 \
    plant "never removes the directory" lib/queue/leaving.cpp \
    "$(in_function remove 's/out.push_back\(\{command::kind::remove_directory\}\);//')"
by=sequence_end/G2_G4_a_directory_that_is_to_stay:contract \
    plant "removes any directory" lib/queue/leaving.cpp \
    "$(in_function remove 's/directory_replaceable.value_or\(false\)/directory_replaceable/')"
by=sequence_end/who_finds_another_one_makes_way_until_the_queue_is_empty:check \
    plant "stands by, and lists no more" lib/queue/joining.cpp \
    "$(in_function stood_by 's/return stand_by\(c, out\)/return stay()/')"
by=sequence_end/G1_G4_undisturbed_near_the_end:G4 \
    plant "stands by though the queue is empty" lib/queue/joining.cpp \
    "$(in_function stood_by 's/contenders\(c.options.layout, l.children\).empty\(\)/false/')"
by=sequence_end/G4_connections_break_near_the_end:G4 \
    plant "stands by, and does not list after a reconnection" lib/queue/joining.cpp \
    "$(in_function connected 's/return stand_by\(c, out\)/return stay()/')"
by=newcomer_watch/near_the_end_others_may_wait_without_a_place:check \
    plant "forgets those who make way" lib/queue/contender.cpp \
    "$(in_function contention 's/is_late\(\)/false/')"

# ---- a contender of a queue

by=interleavings/G4_a_connection_breaks:G3 \
    plant "own node not looked for" lib/queue/joining.cpp \
    "$(in_function recover 's/if \(own.empty\(\)\)/if (true)/')"
by=hand_off/G2_G3_G4_the_connection_breaks:G1 \
    plant "sibling's node taken for its own" lib/queue/joining.cpp \
    "$(in_function recover 's/const std::string prefix\{c.name_prefix\(\)\};/std::string prefix{c.name_prefix()}; prefix.resize(prefix.size() \/ 2);/; s/ && detail::is_appended_number.*/;/')"
by=interleavings/G3_one_cancels_at_any_moment:G3 \
    plant "create forgotten" lib/queue/joining.cpp \
    "$(in_function leave 's/at_ == step::creating \|\| //')"
by=interleavings/G3_cancel_break_deletion:G3 \
    plant "lost create forgotten" lib/queue/joining.cpp \
    "$(in_function leave 's/ \|\| at_ == step::lost_track//')"
by=interleavings/G4_two_refusals_and_the_directory_is_missing:contract \
    plant "directory not retried" lib/queue/joining.cpp \
    "$(in_function directory_made 's/if \(is_retryable\(ec\)\)/if (false)/')"
by=making_directory/what_comes_of_making_a_directory:check \
    plant "removed ancestor not made again" lib/queue/making_directory.cpp \
    's/return absent \? error_code\{\} : \*obstacle;/return *obstacle;/'
by=sequence_end/G1_G3_at_the_end:G1 \
    plant "numbers that repeat" lib/queue/place.cpp \
    "$(in_function obstacle 's/ \|\| number >= last_number//')"
by=interleavings/G1_break_write_deletion:G1 \
    plant "unwatched grant" lib/queue/waiting.cpp \
    "$(in_function granted_if_there 's/me_.watch.is_armed\(\) && //')"
by=interleavings/G1_G5_a_node_is_deleted_by_somebody:G1 \
    plant "own watch last" lib/queue/waiting.cpp \
    "$(in_function evaluate 's/^    if \(!me_.watch\) \{/    before_->update(b, out);\n&/'); $(in_function granted_if_there 's/me_.watch.is_armed\(\) && //')"
by=interleavings/G4_a_node_is_written_to:G4 \
    plant "no list for a grant" lib/queue/waiting.cpp \
    "$(in_function granted_if_there 's/if \(!c.listings\)/if (false)/')"
by=interleavings/G4_a_connection_breaks:G4 \
    plant "no list when connected again" lib/queue/waiting.cpp \
    "$(in_function connected 's/c.listings.send\(out\);//')"
by=interleavings/G1_G5_a_node_is_deleted_by_somebody:G4 \
    plant "missing own node ignored" lib/queue/waiting.cpp \
    "$(in_function own_node_vanished 's/return joining::again\(c, out\);/return stay();/')"
by=interleavings/try_two_of_three_one_cancels:G3 \
    plant "busy, and stays" lib/queue/waiting.cpp \
    "$(in_function evaluate 's/return leave\(c, out\);/return finish({}, out);/')"
by=interleavings/G1_a_node_is_deleted_while_a_proof_is_awaited:G5 \
    plant "granted while unsafe" lib/queue/waiting.cpp \
    "$(in_function granted 's/if \(!c.safe\)/if (false)/')"
by=interleavings/G1_a_node_is_deleted_while_a_proof_is_awaited:G1 \
    plant "proof proves the node" lib/queue/waiting.cpp \
    "$(in_function proved 's/if \(me_.watch.is_armed\(\)\)/if (true)/')"
by=interleavings/G3_one_cancels_while_a_proof_is_awaited:G4 \
    plant "proof forgotten" lib/queue/waiting.cpp \
    "$(in_function proved 's/c.listings.send\(out\);//')"
by=interleavings/G4_a_node_is_written_to:G4 \
    plant "no watch behind a change" lib/queue/waiting_watches.cpp \
    "$(in_function fired 's/node->arm\(node->name\(\), out\);/node->forget();/')"
by=interleavings/G1_G2_G4_undisturbed:G4 \
    plant "missing predecessor ignored" lib/queue/waiting_watches.cpp \
    "$(in_function watched 's/return departed\(.*/return stay();/')"
by=interleavings/G1_G2_G4_undisturbed:G1 \
    plant "unseen counts as gone" lib/queue/waiting_watches.cpp \
    "$(in_function departed 's/before_.count\(\) == 0/*before_.count() <= 1/')"
by=interleavings/G7_one_of_four_cancels:G4 \
    plant "no list behind a departure" lib/queue/waiting_watches.cpp \
    "$(in_function departed 's/if \(before_.in_sight\(\) < \*before_.count\(\) \+ c.options.holders - 1 && !c.listings\)/if (false)/')"
by=sharing/G1_G4_a_writer_becomes_a_reader:G1 \
    plant "writer that stepped down ignored" lib/queue/waiting_watches.cpp \
    "$(in_function departed 's/if \(!c.is_reader && /if (false \&\& /')"
by=interleavings/G3_one_cancels_at_any_moment:G3 \
    plant "watch not forgotten" lib/queue/watched_node.cpp \
    "$(in_function drop 's/out.push_back\(\{command::kind::unwatch.*//')"
by=interleavings/G1_break_write_deletion:G5 \
    plant "own node not watched again" lib/queue/holding.cpp \
    "$(in_function connected 's/me_.watch.arm\(.*//')"
by=interleavings/G5_two_refusals_and_a_deletion:G5 \
    plant "own watch not retried" lib/queue/holding.cpp \
    "$(in_function watched 's/me_.watch.arm\(.*//')"
by=interleavings/G3_cancel_break_expiry:contract \
    plant "expiry not told" lib/queue/holding.cpp \
    "$(in_function expired 's/if \(!abandoned_\)/if (false)/')"
by=sharing/G1_G2_G4_one_steps_down:G \
    plant "writer's name kept" lib/queue/holding.cpp \
    "$(in_function became_reader 's/me_.name = readers_name\(c\);//')"
by=sharing/G3_one_steps_down_and_one_cancels_or_loses_its_connection:G3 \
    plant "stepping down forgotten" lib/queue/holding.cpp \
    "$(in_function connected 's/c.listings.send\(out\);//')"
by=sharing/G3_one_steps_down_and_may_list_no_more:G3 \
    plant "stepped down, and does not know" lib/queue/holding.cpp \
    "$(in_function stepped_down 's/unlisted_ && ec == zookeeper_errc::node_exists/false/')"
by=sharing/G1_G2_G4_one_steps_down:G5 \
    plant "left while stepping down" lib/queue/holding.cpp \
    "$(in_function leave 's/if \(stepping_down_\)/if (false)/')"
by=interleavings/G4_a_connection_breaks:G3 \
    plant "remove not repeated" lib/queue/leaving.cpp \
    "$(in_function connected 's/remove\(out\);//')"

# ---- remote contenders

by=newcomer_watch/a_holder_asks_once_and_knows_until_the_watch_fires:check \
    plant "newcomer forgotten" lib/queue/newcomer_watch.cpp \
    "$(in_function contention 's/has_fired_ \|\| //')"
by=newcomer_watch/a_client_that_lingers_knows_from_the_listing_of_its_join_on:check \
    plant "lingers without a watch" lib/queue/context.cpp \
    "$(in_function list_to_join 's/watches = .*/watches = false;/')"
by=newcomer_watch/a_holder_asks_once_and_knows_until_the_watch_fires:check \
    plant "newcomers watched twice" lib/queue/contender.cpp \
    "$(in_function look_around 's/if \(newcomers\)/if (false)/')"
by=newcomer_watch/behind_a_reconnection_it_has_to_be_asked_again:check \
    plant "newcomer watch kept without a connection" lib/queue/contender.cpp \
    "$(in_function suspended 's/context_.newcomers.suspended\(\);//')"
by=newcomer_watch/what_cannot_be_watched_counts_as_contention:check \
    plant "unwatched directory taken for empty" lib/queue/contender.cpp \
    "$(in_function newcomers_watched 's/ec \? remote_contention::some : contention\(\)/contention()/')"
by=hand_off/G2_G3_G4_the_connection_breaks:contract \
    plant "looks around without a connection" lib/queue/contender.cpp \
    "$(in_function look_around 's/ \|\| !context_.connected//')"
by=hand_off/G2_G3_G4_the_connection_breaks:G2 \
    plant "open question taken for an answer" lib/queue/contender.cpp \
    "$(in_function look_around 's/asked \? std::nullopt : //')"
by=hand_off/G2_G3_a_node_lingers:G2 \
    plant "newcomer before the grant forgotten" lib/queue/contender.cpp \
    "$(in_function newcomer 's/context_.newcomers.fired\(\);/if (holds()) &/')"

# ---- those who share a contender

by=cohort_walk/G1_G2_G3_G4_whatever_happens:G1 \
    plant "lets in a second user" lib/lock/cohort.cpp \
    "$(in_function arrive 's/ && has_room\(\)//')"
by=cohort_walk/G1_G2_G3_G4_whatever_happens:G2 \
    plant "lets in without a bound" lib/lock/cohort.cpp \
    "$(in_function bounds_reached 's/grants_left_ == 0/false/')"
by=cohort_walk/G1_G2_G3_G4_whatever_happens:G2 \
    plant "does not count those who come while others are there" lib/lock/cohort.cpp \
    "$(in_function let_in 's/--grants_left_;//')"
by=cohort_walk/G1_G2_G3_G4_whatever_happens:G4 \
    plant "gives the node up without joining again for those who wait" lib/lock/cohort.cpp \
    "$(in_function give_up 's/want_contender\(out\);//')"
by=cohort_walk/G1_G2_G3_G4_whatever_happens:G4 \
    plant "loses its waiters with the lock" lib/lock/cohort.cpp \
    "$(in_function lost 's/want_contender\(out\);//')"
by=cohort_walk/G1_G2_G3_G4_whatever_happens:G3 \
    plant "keeps its contender when the last one has gone" lib/lock/cohort.cpp \
    "$(in_function withdraw 's/std::exchange\(wants_contender_, false\)/false/')"
by=cohort_walk/G1_G2_G3_G4_whatever_happens:G3 \
    plant "keeps a node for the news of those who have failed" lib/lock/cohort.cpp \
    "$(in_function failed 's/give_up\(out\);//')"
by=cohort_walk/G1_G2_G3_G4_whatever_happens:G3 \
    plant "keeps a node that nobody may linger on" lib/lock/cohort.cpp \
    "$(in_function release 's/out.idle = .*/out.idle = waiting_ == 0;/')"
by=hand_off/G2_G3_G4_the_connection_breaks:G2 \
    plant "no look behind a reconnection" lib/lock/cohort.cpp \
    "$(in_function look_again 's/want_look\(out\);//')"
by=hand_off/G2_G3_a_node_lingers:G2 \
    plant "idle node kept when others come" lib/lock/cohort.cpp \
    "$(in_function met 's/is_idle\(\) && c == remote_contention::some/false/')"
by=hand_off/G2_G3_a_node_lingers:G2 \
    plant "lingers without knowing of others" lib/lock/cohort.cpp \
    "$(in_function release 's/ && remote_ == remote_contention::none//')"
by=hand_off/G3_waiters_cancel_at_any_moment:G3 \
    plant "granted for nobody, and kept" lib/lock/cohort.cpp \
    "$(in_function granted 's/^        give_up\(out\);//')"
by=hand_off/G1_G2_G4_undisturbed:G4 \
    plant "wanted contender not told" lib/lock/cohort.cpp \
    "$(in_function want_contender 's/out.reconcile \|= (.*);/\1;/')"
by=hand_off/G4_some_only_try:G \
    plant "unwanted contender not told" lib/lock/cohort.cpp \
    "$(in_function fill 's/out.reconcile \|= (.*);/\1;/')"

# ---- permits

by=permits_model/G1_G2_G4_undisturbed:G1 \
    plant "one permit too many" lib/recipes/semaphore/acquisition.cpp \
    "$(in_function go_on 's/else if \(fits\(\)\)/else if (fits() || *attempt_.leases <= limit_)/')"
by=permits_model/G1_G2_G4_undisturbed:G1 \
    plant "list older than the grant" lib/recipes/semaphore/acquisition.cpp \
    "$(in_function listed 's/ && \(at_ != step::queueing_up \|\| a.has_queue\)//')"
by=permits_model/G1_others_have_another_number:G1 \
    plant "another maximum ignored" lib/recipes/semaphore/acquisition.cpp \
    "$(in_function answered 's/a.maximum && a.maximum != options_.permits/false/')"
by=permits_model/G1_clients_have_different_numbers:G1 \
    plant "does not compare with those who have queued up meanwhile" lib/recipes/semaphore/acquisition.cpp \
    "$(in_function go_on 's/!now_.compared && a.leases_in != directory::unreadable/false/')"
by=permits/without_a_directory_it_is_made_and_then_compared:check \
    plant "compared without a directory" lib/recipes/semaphore/acquisition.cpp \
    "$(in_function maximum_read 's/ec == zookeeper_errc::no_node \? directory::absent/false ? directory::absent/')"
by=permits_model/G3_one_cancels_at_any_moment:G3 \
    plant "cancelled with the queue" lib/recipes/semaphore/acquisition.cpp \
    "$(in_function end 's/!attempt_.has_queue/true/')"
by=permits_model/G3_one_cancels_at_any_moment:contract \
    plant "cancelled in the create" lib/recipes/semaphore/acquisition.cpp \
    "$(in_function leave 's/out.push_back\(\{kind::cut_short\}\);/&} else { end({kind::cancelled}, out);/')"
by=permits_model/G3_one_cancels_at_any_moment:G4 \
    plant "queue kept at a failure" lib/recipes/semaphore/acquisition.cpp \
    "$(in_function end 's/ask\(step::giving_back, .*//')"
by=permits_model/G3_one_cancels_at_any_moment:G3 \
    plant "unwanted permits kept" lib/recipes/semaphore/acquisition.cpp \
    "$(in_function grant 's/out.push_back\(\{.type = kind::give_back.*//')"
by=permits_model/G1_G3_G4_a_connection_breaks:G3 \
    plant "lost create not looked for" lib/recipes/semaphore/acquisition.cpp \
    "$(in_function created 's/else if \(outcome_unknown\(ec\)\)/else if (false)/')"
by=permits_model/G1_G5_a_session_expires_and_its_nodes_go_later:G5 \
    plant "leases of an earlier session" lib/recipes/semaphore/acquisition.cpp \
    "$(in_function recover 's/now_.session == attempt_.creating_session/true/')"
by=permits_model/G2_G4_a_place_in_the_queue_is_deleted_by_somebody:G4 \
    plant "loss of the queue ignored" lib/recipes/semaphore/acquisition.cpp \
    "$(in_function go_on 's/if \(now_.queue_lost\)/if (false)/')"
by=permits_model/G3_expiry_is_an_error:contract \
    plant "expiry is no failure" lib/recipes/semaphore/acquisition.cpp \
    "$(in_function queue_lost 's/!options_.rejoin_on_expiry/false/')"
by=permits_model/G4_the_directory_is_missing_and_may_vanish_again:check \
    plant "directory not made" lib/recipes/semaphore/acquisition.cpp \
    "$(in_function go_on 's/a.leases_in == directory::absent/false/')"
by=permits_model/G1_G2_G4_undisturbed:G4 \
    plant "waits without a watch" lib/recipes/semaphore/acquisition.cpp \
    "$(in_function go_on 's/kind::list_and_watch/kind::list/')"
by=permits_model/G1_G4_the_limit_rises:G4 \
    plant "limit read once" lib/recipes/semaphore/acquisition.cpp \
    "$(in_function count_again 's/attempt_.limit_version.reset\(\);//')"
by=permits_model/G1_G4_the_limit_falls:G1 \
    plant "permits of another limit" lib/recipes/semaphore/acquisition.cpp \
    "$(in_function create 's/.number = attempt_.limit_version.value_or\(0\)/.number = -1/')"
by=permits_model/try_beside_one_who_waits:contract \
    plant "a try waits" lib/recipes/semaphore/acquisition.cpp \
    "$(in_function go_on 's/else if \(options_.try_only\)/else if (false)/')"

# ---- the lock without a queue

by=single_node_walks/G1_G3_G4_a_connection_breaks_twice:G1 \
    plant "repeats a remove without looking whose the node is" lib/queue/single_node.cpp \
    "$(in_function connected 's/(case state::leaving: out.push_back)\(\{command::kind::look\}/\1({has_node() ? command::kind::remove : command::kind::look}/')"
by=single_node_walks/G1_G3_G4_a_connection_breaks_twice:G1 \
    plant "takes somebody else's node for its own" lib/queue/single_node_owner.cpp \
    "$(in_function recover 's/identity.owner == session_ && //')"
by=single_node_walks/G1_G3_several_of_one_session:G1 \
    plant "takes the node of another one of its session" lib/queue/single_node_owner.cpp \
    "$(in_function recover 's/ && !spoken_for//')"
by=single_node_walks/G1_G3_several_of_one_session:G1 \
    plant "removes the node of another one of its session" lib/queue/single_node_owner.cpp \
    "$(in_function settle_leaving 's/ && !spoken_for//')"
by=single_node_walks/G1_G3_G4_a_connection_breaks_twice:G4 \
    plant "does not recognise its node" lib/queue/single_node_owner.cpp \
    "$(in_function recover 's/exists && identity.owner == session_/false/')"
by=single_node_walks/G3_two_cancels_and_two_breaks:G3 \
    plant "forgets the create that is under way when it leaves" lib/queue/single_node.cpp \
    "$(in_function leave 's/case state::creating:.*/case state::creating: finish({}, out); break;/')"
by=single_node_walks/G3_two_cancels_and_two_breaks:G3 \
    plant "forgets the create of unknown outcome when it leaves" lib/queue/single_node.cpp \
    "$(in_function leave 's/case state::lost_track:.*/state_ = state::leaving; break; case state::lost_track: finish({}, out); break;/')"
by=single_node_walks/G4_it_is_written_to_and_a_connection_breaks:G4 \
    plant "does not watch again after a change" lib/queue/single_node_watch.cpp \
    "$(in_function fired 's/arm\(out\);//')"
by=single_node_walks/G1_G4_undisturbed:G4 \
    plant "does not try again when the node has gone" lib/queue/single_node_watch.cpp \
    "$(in_function fired 's/create\(out\);//')"
by=single_node_walks/G1_G4_undisturbed:G4 \
    plant "ignores that the node is gone when it is to be watched" lib/queue/single_node_watch.cpp \
    "$(in_function watched 's/create\(out\);//')"
by=single_node_walks/G1_G3_G4_a_connection_breaks_twice:G4 \
    plant "does not watch again after a reconnection" lib/queue/single_node.cpp \
    "$(in_function connected 's/case state::waiting:$/case state::waiting: break;/')"
by=single_node_walks/G1_G3_the_foreign_service_a_cancel_a_deletion:G \
    plant "takes whatever is at the path for its node" lib/queue/single_node_watch.cpp \
    "$(in_function watched 's/ \|\| \(!ec && identity != identity_\)//')"
by=single_node_walks/G1_G5_the_node_is_deleted_by_somebody:G1 \
    plant "removes its node when it has heard that it is gone" lib/queue/single_node_watch.cpp \
    "$(in_function own_node_vanished 's/finish\(\{\}, out\);/start_leaving(out);/')"
by=single_node_walks/G1_proofs_are_awaited:G1 \
    plant "takes its node for granted when the proof has come" lib/queue/single_node_watch.cpp \
    "$(in_function proved 's/watch_ == watch_state::armed/true/')"
by=single_node_walks/G3_two_cancels_and_two_breaks:G3 \
    plant "watches a node that it does not want any more" lib/queue/single_node_watch.cpp \
    "$(in_function drop_watch 's/out.push_back.*;//')"

# ---- several locks

by=several_locks/G4_two_users_want_two_locks:G4 \
    plant "no probe" lib/recipes/multi_lock/joint_acquisition.cpp \
    "$(in_function start 's/out.push_back\(\{kind::probe\}\);//')"
by=several_locks/G4_three_locks_in_a_circle:contract \
    plant "keeps a grant that came first" lib/recipes/multi_lock/joint_acquisition.cpp \
    "$(in_function granted 's/given_up && !waits_for\(lock\)/false/')"
by=several_locks/G4_two_users_want_two_locks:contract \
    plant "keeps the places behind the one that is missing" lib/recipes/multi_lock/joint_acquisition.cpp \
    "$(in_function probed 's/give_up_from\(next \+ 1, out\);//')"
by=several_locks/G3_one_cancels_at_any_moment:G3 \
    plant "does not wait until it is gone" lib/recipes/multi_lock/joint_acquisition.cpp \
    "$(in_function cancel 's/if \(at_once\)/if (true)/')"
by=several_locks/G3_one_cancels_at_any_moment:G \
    plant "keeps the first when cancelled" lib/recipes/multi_lock/joint_acquisition.cpp \
    "$(in_function cancel 's/give_up_from\(0, /give_up_from(1, /')"
by=several_locks/G5_nodes_are_deleted_by_somebody:G5 \
    plant "delivers a lock that is lost" lib/recipes/multi_lock/joint_acquisition.cpp \
    "$(in_function held 's/if \(lost\)/if (false)/')"
by=several_locks/G4_two_users_want_two_locks:G4 \
    plant "does not join behind its own departure" lib/recipes/multi_lock/joint_acquisition.cpp \
    "$(in_function gone 's/else if \(waits_for\(lock\)\)/else if (false)/')"
by=several_locks/G4_two_users_want_two_locks:contract \
    plant "joins what it is leaving" lib/recipes/multi_lock/joint_acquisition.cpp \
    "$(in_function join_next 's/if \(at == place::abandoning \|\| at == place::releasing\)/if (false)/')"
by=several_locks/G5_nodes_are_deleted_by_somebody:contract \
    plant "keeps the places behind a lost lock" lib/recipes/multi_lock/joint_acquisition.cpp \
    "$(in_function take_again 's/give_up_from\(/give_up(/')"
by=several_locks/G4_three_locks_in_a_circle:contract \
    plant "keeps what is held behind the one that is missing" lib/recipes/multi_lock/joint_acquisition.cpp \
    "$(in_function give_up 's/else if \(places_\[lock\] == place::held\)/else if (false)/')"
by=several_locks/G3_one_cancels_at_any_moment:G3 \
    plant "ends with the first that is gone" lib/recipes/multi_lock/joint_acquisition.cpp \
    "$(in_function end_without_trace 's/all_of/any_of/')"

# ---- the session

by=session_walk/connections_break_and_sessions_expire:G1 \
    plant "barrier forgotten" lib/session/reconnect_connections.cpp \
    "$(in_function become_connected 's/out.push_back\(\{resumed \? kind::send_barrier : kind::writable\}\);/if (!resumed) &/')"
by=session_walk/connections_break_and_sessions_expire:G1 \
    plant "barrier behind the news" lib/session/reconnect_connections.cpp \
    "$(in_function become_connected 's/^.*kind::send_barrier.*//; s/^\}/    out.push_back({resumed ? kind::send_barrier : kind::writable});\n}/')"
by=session_walk/connections_break_and_sessions_expire:G1 \
    plant "writes in front of the barrier's answer" lib/session/reconnect_connections.cpp \
    "$(in_function become_connected 's/std::move\(where\), !resumed/std::move(where), true/; s/out.push_back\(\{resumed \? kind::send_barrier : kind::writable\}\);/if (resumed) out.push_back({kind::send_barrier}); out.push_back({kind::writable});/')"
by=session_walk/connections_break_and_sessions_expire:G4 \
    plant "no write any more" lib/session/reconnect_connections.cpp \
    "$(in_function barrier_answered 's/out.push_back\(\{kind::writable\}\);//')"
by=session_walk/servers_refuse_the_barrier:G1 \
    plant "refused barrier accepted" lib/session/reconnect_connections.cpp \
    "$(in_function barrier_answered 's/if \(!ec \|\| /if (true || /')"
by=session_walk/the_only_server_refuses_the_barrier:G4 \
    plant "no pause behind a refused barrier" lib/session/reconnect_connections.cpp \
    "$(in_function broken 's/if \(refused_barrier\)/if (false)/')"
by=session_walk/servers_keep_old_connections:G1 \
    plant "old connection ignored" lib/session/old_connections.cpp \
    "$(in_function resume 's/return at->is_unread;/return false;/')"
by=session_walk/servers_keep_old_connections:G1 \
    plant "lost write forgotten" lib/session/old_connections.cpp \
    "$(in_function lost 's/if \(write_lost\)/if (false)/')"
by=session_walk/servers_keep_old_connections:G4 \
    plant "no server is left" lib/session/old_connections.cpp \
    "$(in_function resume 's/!std::ranges::all_of\(found.untried, is_late\)/true/')"
by=session_walk/servers_keep_old_connections:G1 \
    plant "any server will do" lib/session/old_connections.cpp \
    "$(in_function resume 's/leave_only\(latest_\);//')"
by=session_walk/servers_read_an_attempt_late:G1 \
    plant "unanswered attempt forgotten" lib/session/old_connections.cpp \
    "$(in_function attempted 's/if \(writes\)/if (false)/')"
by=session_walk/servers_read_an_attempt_late:G1 \
    plant "an attempt that nobody can read binds" lib/session/reconnect_connections.cpp \
    "$(in_function broken 's/if \(attempted->reached == attempting::progress::offered\)/if (true)/')"
by=session_walk/the_name_service_drops_servers_that_keep_old_connections:G1 \
    plant "any only server is tried" lib/session/old_connections.cpp \
    "$(in_function resume 's/found.untried == std::vector\{home\}/found.size == 1/')"
by=session_walk/servers_keep_old_connections:G4 \
    plant "never over" lib/session/old_connections.cpp \
    "$(in_function resume 's/if \(over \|\| /if (/')"
by=session_walk/the_only_server_keeps_old_connections:G4 \
    plant "the only server is left out" lib/session/old_connections.cpp \
    "$(in_function resume 's/if \(over \|\| .*\)/if (over)/')"
by=session_offers/the_server_that_was_lost_last_is_tried_last:check \
    plant "latest server tried first" lib/session/old_connections.cpp \
    "$(in_function begin 's/if \(at != found.untried.end\(\)\)/if (false)/')"
by=session_walk/connections_break_and_sessions_expire:G5 \
    plant "suspension not told" lib/session/reconnect_connections.cpp \
    "$(in_function broken 's/out.push_back\(\{kind::suspended\}\);//')"
by=session_walk/connections_break_and_sessions_expire:G5 \
    plant "end of a session not told" lib/session/reconnect.cpp \
    "$(in_function expire 's/out.push_back\(\{kind::expired\}\);//')"
by=session_walk/connections_break_and_sessions_expire:contract \
    plant "ended session kept" lib/session/reconnect.cpp \
    "$(in_function expire 's/session_ = 0;//')"
by=session_walk/connections_break_and_sessions_expire:G5 \
    plant "larger time-out believed" lib/session/reconnect_connections.cpp \
    "$(in_function established 's/resumed \? std::min\(timeout_, timeout\) : timeout/timeout/')"
by=session_walk/connections_break_and_sessions_expire:G5 \
    plant "smaller time-out ignored" lib/session/reconnect_connections.cpp \
    "$(in_function established 's/std::min\(timeout_, timeout\)/timeout_/')"
by=session_walk/chroot_and_credentials_are_tried:contract \
    plant "options not tried" lib/session/reconnect_connections.cpp \
    "$(in_function established 's/settings_.tries_options && /false \&\& /')"
by=session_walk/chroot_and_credentials_are_tried:contract \
    plant "bad credentials tried again" lib/session/reconnect_connections.cpp \
    "$(in_function broken 's/ \|\| why == loss::credentials_refused//')"
by=session_walk/callers_come_and_go:G4 \
    plant "callers not answered" lib/session/reconnect_connections.cpp \
    "$(in_function become_connected 's/out.push_back\(\{.type = kind::answer\}\);//')"
by=session_walk/callers_come_and_go:G4 \
    plant "no deadline for a caller" lib/session/reconnect.cpp \
    "$(in_function connect 's/out.push_back\(\{.type = kind::start_deadline, .*//')"
by=session_walk/callers_come_and_go:contract \
    plant "session given up with its last caller" lib/session/reconnect.cpp \
    "$(in_function nobody_waits 's/if \(!was_connected_\)/if (true)/')"
by=session_walk/callers_come_and_go:contract \
    plant "session given up at a deadline" lib/session/reconnect.cpp \
    "$(in_function deadline_due 's/if \(!was_connected_\)/if (true)/')"
by=session_walk/names_are_looked_up:contract \
    plant "late look-up heeded" lib/session/reconnect_connections.cpp \
    "$(in_function resolved 's/if \(!at\)/if (false)/')"
by=session_walk/names_are_looked_up:G4 \
    plant "unknown hosts waited for" lib/session/reconnect_connections.cpp \
    "$(in_function resolved 's/if \(!more\)/if (false)/')"
by=session_walk/servers_refuse_and_are_silent:G4 \
    plant "attempt without a limit" lib/session/reconnect_connections.cpp \
    "$(in_function attempt 's/out.push_back\(\{.type = kind::start_timer, .*//')"
by=session_walk/servers_refuse_and_are_silent:G4 \
    plant "no attempt behind a failure" lib/session/reconnect_connections.cpp \
    "$(in_function attempt_failed 's/pause\(std::move\(rest\), now, out\);/stage_ = pausing{std::move(rest)};/')"
by=session_walk/servers_refuse_and_are_silent:G4 \
    plant "no pause between passes" lib/session/reconnect_connections.cpp \
    "$(in_function attempt_failed 's/backoff_.next_pass\(\);//')"
by=session_walk/connections_break_and_sessions_expire:G4 \
    plant "no pause after a new session that is over" lib/session/reconnect_connections.cpp \
    "$(in_function broken 's/was_of_use = has_ended/was_of_use = why == loss::expired/')"
by=session_walk/servers_refuse_and_are_silent:contract \
    plant "silent server not dropped" lib/session/reconnect_connections.cpp \
    "$(in_function timer_due 's/out.push_back\(\{kind::drop\}\);//')"
by=session_walk/the_client_is_closed:contract \
    plant "connection kept when closed" lib/session/reconnect.cpp \
    "$(in_function close 's/out.push_back\(\{kind::take_leave\}\);//')"
by=session_walk/the_client_is_closed:G4 \
    plant "no deadline for the end" lib/session/reconnect.cpp \
    "$(in_function close 's/out.push_back\(\{.type = kind::start_deadline, .*//')"
by=session_walk/the_client_is_closed:G4 \
    plant "end not told" lib/session/reconnect.cpp \
    "$(in_function ended 's/if \(holds<ending>\(\)\)/if (false)/')"
by=session_walk/the_client_is_closed:contract \
    plant "a broken connection is an end" lib/session/reconnect_connections.cpp \
    "$(in_function broken 's/is_over = why == loss::expired/is_over = true/')"

# ---- another list of hosts

by=session_machine/another_list_replaces_the_rest_of_a_pass:check \
    plant "rest of the former list tried" lib/session/reconnect.cpp \
    "$(in_function hosts_changed 's/at.rest.untried.clear\(\);//')"
by=session_walk/the_user_gives_other_lists_while_servers_keep_old_connections:G1 \
    plant "old writes forgotten with the former list" lib/session/reconnect.cpp \
    "$(in_function hosts_changed 's/place_ = place::unknown;/& old_.forget();/')"
by=session_walk/the_user_gives_other_lists_while_servers_keep_old_connections:contract \
    plant "session dropped with the former list" lib/session/reconnect.cpp \
    "$(in_function hosts_changed 's/place_ = place::unknown;/& session_ = 0;/')"
by=session_walk/the_user_gives_other_lists_while_servers_keep_old_connections:contract \
    plant "another list in use at once" lib/session/reconnect.cpp \
    "$(in_function hosts_changed 's/place_ = place::unknown;/& out.push_back({.type = kind::hosts_in_use});/')"
by=session_machine/a_connection_to_a_server_of_the_other_list_stays:check \
    plant "server of both lists left" lib/session/reconnect_connections.cpp \
    "$(in_function compare_hosts 's/if \(std::ranges::find\(.*\{/if (false) {/')"
by=session_machine/a_server_that_is_not_in_the_other_list_is_left_when_all_is_answered:check \
    plant "server left before all names are looked up" lib/session/reconnect_connections.cpp \
    "$(in_function compare_hosts 's/if \(more\)/if (false)/')"
by=session_walk/the_user_gives_other_lists_while_servers_keep_old_connections:G4 \
    plant "other hosts in use, and nobody told" lib/session/reconnect_connections.cpp \
    "$(in_function become_connected 's/if \(place_ == place::awaited\)/if (false)/')"

# ---- latches and barriers

by=rendezvous/two_arrive:"a phase ends before" \
    plant "ends a phase before all have arrived" lib/recipes/rendezvous/arrival.cpp \
    "$(in_function take_part 's/now.arrivals.size\(\) >= rules_.count/now.arrivals.size() + 1 >= rules_.count/')"
by=rendezvous/two_arrive:"G4" \
    plant "does not count itself when it arrives" lib/recipes/rendezvous/arrival.cpp \
    "$(in_function take_part 's/now.arrivals.size\(\) >= rules_.count/now.arrivals.size() > rules_.count/')"
by=rendezvous/two_count_down:"G4" \
    plant "begins the first phase twice" lib/recipes/rendezvous/arrival.cpp \
    "$(in_function begin_first 's/if \(!now.has_begun\)/if (false)/')"
by=rendezvous/one_waits_and_one_counts_down:"G4" \
    plant "counts down for as long as its session lives" lib/recipes/rendezvous/arrival.cpp \
    "$(in_function take_part 's/else if \(rules_.what == role::count_down\) \{/else if (rules_.what == role::count_down) { finish({.type = kind::done}, out); return;/')"
by=rendezvous/one_is_cancelled:"G3" \
    plant "leaves the arrival of one that was cancelled" lib/recipes/rendezvous/arrival.cpp \
    "$(in_function listed 's/remove_own\(now, \{kind::cancelled\}, out\);/finish({kind::cancelled}, out);/')"
by=rendezvous/a_barrier_of_two:"goes" \
    plant "goes on when it has arrived" lib/recipes/rendezvous/arrival.cpp \
    "$(in_function found 's/mine \&\& \*mine < phase/mine \&\& *mine <= phase/')"
by=rendezvous/a_barrier_and_one_is_replaced:"G4" \
    plant "arrives in the phase after the one that is over" lib/recipes/rendezvous/arrival.cpp \
    "$(in_function found 's/rules_.phase \? rules_.phase : phase_/phase_/')"
by=rendezvous/one_may_not_list:"G3" \
    plant "leaves the arrival of one that may not list" lib/recipes/rendezvous/arrival.cpp \
    "$(in_function listed 's/fail\(ec, out\);/phase_.reset(); fail(ec, out);/')"
by=rendezvous/one_may_not_remove_its_arrival:"G3" \
    plant "does not tell of an arrival that remains" lib/recipes/rendezvous/arrival.cpp \
    "$(in_function answered 's/out.push_back\(\{.type = kind::remains, .error = ec\}\);//')"

# ---- shards

by=shards/three_members:"gives up" \
    plant "gives a shard up without a confirmation" lib/recipes/shards/member.cpp \
    "$(in_function leave 's/if \(confirmed \|\| !to_somebody\)/if (true)/; s/case state::contended:/case state::contended: end(at, out); break;/')"
by=shards/a_shard_moves:"a member has not" \
    plant "never looks whether somebody waits for a shard" lib/recipes/shards/member.cpp \
    "$(in_function leave 's/out.push_back\(\{command::kind::watch, at\}\);//')"
by=shards/a_shard_moves_there_and_back:"a member has not" \
    plant "does not take a shard again that came back" lib/recipes/shards/member.cpp \
    "$(in_function ended 's/if \(s.mine \&\& !stopped_\)/if (false)/')"
by=shards/a_shard_moves_there_and_back:contract \
    plant "queues for a shard before its body has ended" lib/recipes/shards/member.cpp \
    "$(in_function end 's/shards_\[at\].is = state::ending;/shards_[at].is = state::absent;/')"
by=shards/three_members:"a member has not" \
    plant "waits for a shard that is another member's by now" lib/recipes/shards/member.cpp \
    "$(in_function leave 's/case state::queued: end\(at, out\); break;/case state::queued: break;/')"
by=shards/nobody_shall_have_it:"a member has not" \
    plant "keeps a shard that nobody shall have" lib/recipes/shards/member.cpp \
    "$(in_function leave 's/if \(to_somebody\)/if (true)/')"
by=shards/a_shard_moves_that_is_prepared:"a member has not" \
    plant "forgets that it was told to stop preparing" lib/recipes/shards/member.cpp \
    "$(in_function leave 's/is = state::stopping;//')"
by=shards/a_shard_moves_there_and_back:"a watch is left" \
    plant "leaves the watch on a shard that came back" lib/recipes/shards/member.cpp \
    "$(in_function want 's/out.push_back\(\{command::kind::unwatch, at\}\);//')"
by=shards/the_session_of_an_owner_expires:contract \
    plant "confirms twice at a time" lib/recipes/shards/member.cpp \
    "$(in_function confirm_next 's/if \(confirming_ \|\| stopped_\)/if (stopped_)/')"
by=shards/a_member_leaves:contract \
    plant "begins anew after it was stopped" lib/recipes/shards/member.cpp \
    "$(in_function stop 's/stopped_ = true;//')"
by=shards_redefined/a_new_one_waits_for_the_old_ones:"a shard" \
    plant "replaces the shards' definition beside members" lib/recipes/shards/entry.cpp \
    "$(in_function found 's/return command::alone;/return command::share;/')"
by=shards_redefined/a_session_is_lost_meanwhile:"a shard" \
    plant "stays a member though it has lost what members hold" lib/recipes/shards/entry.cpp \
    "$(in_function lost 's/is_ == state::inside/false/')"
by=shards_redefined/the_first_ones_agree:"a shard" \
    plant "takes its own definition for the written one" lib/recipes/shards/entry.cpp \
    "$(in_function written 's/command::read/command::enter/')"
by=shard_assignment/no_more_moves_than_balance_asks_for:critical \
    plant "rounds up whoever comes first" lib/recipes/shards/assignment.cpp \
    's/return keeps_a != keeps_b/return false/'
by=shard_assignment/before_it_has_settled_only_what_has_no_owner_moves:check \
    plant "moves everything at once" lib/recipes/shards/assignment.cpp \
    's/whole\[s\] != now\[s\] \&\& most != 0/whole[s] != now[s]/'
by=shard_assignment/before_it_has_settled_only_what_has_no_owner_moves:check \
    plant "moves owned shards before it has settled" lib/recipes/shards/assignment.cpp \
    's/\(settled \|\| members/(true || members/'
by=shard_assignment/a_leader_gives_to_others_what_a_member_does_not_take:critical \
    plant "waits for a member that does not take a shard" lib/recipes/shards/leader.cpp \
    's/const bool late = now >= how.since \+ rules_.take;/const bool late = false;/'
by=shard_assignment/a_leader_waits_until_the_group_has_settled_and_moves_a_few_at_a_time:critical \
    plant "a preparation without end holds up all moves" lib/recipes/shards/leader.cpp \
    's/m.second.planned \&\& now < m.second.since \+ rules_.prepare/m.second.planned/'
