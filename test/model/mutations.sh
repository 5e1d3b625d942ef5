#!/usr/bin/env bash
# Proves that the walks of test/model, and some tests of test/unit, find faults: plants one after the other in the protocol,
# and expects the walk or the test named beside it to fail with the guarantee named.
#
#   mutations.sh SOURCE_DIR WORK_DIR COMPILER [FLAG...]
#   mutations.sh SOURCE_DIR --places   looks whether the sources have the places where the faults go, and plants nothing
#
# With ONLY=REGEX in the environment, only the faults whose names match this regular expression. The flags have to suffice for
# compiling and linking a Boost.Test program.
set -euo pipefail
unset COLOCK_WALKS # the faults are found without the large walks

source_dir=$1 only_places=''
# shellcheck source=test/support/planting.sh
. "$source_dir/test/support/planting.sh"
if [[ $2 == --places ]]; then
    only_places=1
else
    work=$2 compiler=$3
    flags=(-std=c++20 -O1 -DBOOST_TEST_DYN_LINK "-I$source_dir/include" "${@:4}")
    mkdir -p "$work"
fi

compile() # SOURCE OBJECT [FLAG...]
{
    "$compiler" "${flags[@]}" "-I$source_dir/lib" "-I$source_dir/test" "${@:3}" -c "$1" -o "$2"
}

# All of the protocol and all of the walks, as paths without their ends.
mapfile -t protocol < <(cd "$source_dir" && find lib/protocol -name '*.cpp' | sed 's/\.cpp$//' | sort)
protocol+=(lib/error lib/fencing_token)
mapfile -t walks < <(cd "$source_dir" && find test/model -name '*.cpp' | sed 's/\.cpp$//' | sort)
walks+=(test/main test/unit/{cohort,fast_path,newcomer_watch,reconnect,reconnect_offers,repetition})

object() # PATH
{
    echo "$work/${1//\//-}.o"
}

if [[ -z $only_places ]]; then
    echo "compiling the walks and the protocol"
    for file in "${protocol[@]}" "${walks[@]}"; do
        compile "$source_dir/$file.cpp" "$(object "$file")"
    done
fi

planted=0 missed=0

# Runs a mutant, and looks whether the walk finds it.
judge() # NAME MUTANT WALK GUARANTEE
{
    local name=$1 mutant=$2 walk=$3 guarantee=$4
    test "${walk#*/}" != "$walk" || walk="*/$walk"
    if "$mutant" "--run_test=$walk" > "$mutant.txt" 2>&1; then
        echo "MISSED  $name: $walk passes"
        missed=$((missed + 1))
    elif ! grep -q "error: in .*\": $guarantee" "$mutant.txt"; then
        echo "MISSED  $name: $walk fails, but not with $guarantee:"
        grep "error: " "$mutant.txt" || tail -n 5 "$mutant.txt"
        missed=$((missed + 1))
    else
        echo "found   $name: $(sed -n 's/.*error: in .*": //p' "$mutant.txt" | head -n 1)"
    fi
}

is_wanted() # NAME
{
    [[ $1 =~ ${ONLY:-} ]]
}

# Links a mutant: these objects, in the place of those of the same names.
link() # MUTANT [PATH OBJECT]...
{
    local mutant=$1 file
    local -A objects=()
    shift
    for file in "${protocol[@]}" "${walks[@]}"; do
        objects[$file]=$(object "$file")
    done
    while test $# != 0; do
        objects[$1]=$2
        shift 2
    done
    "$compiler" "${flags[@]}" "${objects[@]}" -lboost_unit_test_framework -o "$mutant"
}

has_walk() # NAME WALK
{
    local suite=${2%/*} file
    for file in "${walks[@]}"; do
        if grep -qE "TEST_CASE\((.*, )?${2##*/}[,)]" "$source_dir/$file.cpp" &&
            { [[ $suite == "$2" ]] || grep -q "TEST_SUITE(${suite}[,)]" "$source_dir/$file.cpp"; }; then
            return
        fi
    done
    echo "MISSED  $1: there is no test $2"
    return 1
}

# One of the faults that lib/protocol names.
fault() # NAME WALK GUARANTEE
{
    is_wanted "$1" || return 0
    local name=$1 where mutant other replaced=()
    planted=$((planted + 1))
    where=$(grep -rlF "planted(\"$name\")" "$source_dir/lib/protocol" || true)
    if test -z "$where"; then
        echo "MISSED  $name: no file in lib/protocol knows this fault"
        missed=$((missed + 1))
        return
    fi
    has_walk "$name" "$2" || {
        missed=$((missed + 1))
        return 0
    }
    [[ -z $only_places ]] || return 0
    mutant=$work/mutant
    for other in "${protocol[@]}"; do
        # Each that has the fault, or may include a header that has it.
        if [[ $where == *.hpp* || $where == *"/$other.cpp"* ]]; then
            compile "$source_dir/$other.cpp" "$mutant-${other//\//-}.o" "-DCOLOCK_PLANTED=\"$name\""
            replaced+=("$other" "$mutant-${other//\//-}.o")
        fi
    done
    link "$mutant" "${replaced[@]}"
    judge "$name" "$mutant" "$2" "$3"
}

# Applies a sed script to a file of the protocol.
plant() # NAME FILE SCRIPT WALK GUARANTEE
{
    is_wanted "$1" || return 0
    local name=$1 file=lib/protocol/$2 script=$3 walk=$4 guarantee=$5 mutant
    planted=$((planted + 1))
    { has_place "$name" "$file.cpp" "$script" && has_walk "$name" "$walk"; } || {
        missed=$((missed + 1))
        return 0
    }
    [[ -z $only_places ]] || return 0
    mutant=$work/mutant
    sed -E "$script" "$source_dir/$file.cpp" > "$mutant.cpp"
    # A mutant includes what stands beside its original.
    compile "$mutant.cpp" "$mutant.o" -iquote "$(dirname "$source_dir/$file")"
    link "$mutant" "$file" "$mutant.o"
    judge "$name" "$mutant" "$walk" "$guarantee"
}

fault "unwatched grant" G1_break_write_deletion G1
fault "own watch last" G1_G5_a_node_is_deleted_by_somebody G1
fault "no list behind a departure" G7_one_of_four_cancels G4
fault "no list for a grant" G4_a_node_is_written_to G4
fault "unseen counts as gone" G1_G2_G4_undisturbed G1
fault "own node not looked for" G4_a_connection_breaks G3
fault "create forgotten" G3_one_cancels_at_any_moment G3
fault "lost create forgotten" G3_cancel_break_deletion G3
fault "expiry not told" G3_cancel_break_expiry contract
fault "no list when connected again" G4_a_connection_breaks G4
fault "own node not watched again" G1_break_write_deletion G5
fault "remove not repeated" G4_a_connection_breaks G3
fault "no watch behind a change" G4_a_node_is_written_to G4
fault "missing predecessor ignored" G1_G2_G4_undisturbed G4
fault "missing own node ignored" G1_G5_a_node_is_deleted_by_somebody G4
fault "watch not forgotten" G3_one_cancels_at_any_moment G3
fault "busy, and stays" try_two_of_three_one_cancels G3
fault "directory not retried" G4_two_refusals_and_the_directory_is_missing contract
fault "own watch not retried" G5_two_refusals_and_a_deletion G5
fault "proof proves the node" G1_a_node_is_deleted_while_a_proof_is_awaited G1
fault "granted while unsafe" G1_a_node_is_deleted_while_a_proof_is_awaited G5
fault "proof forgotten" G3_one_cancels_while_a_proof_is_awaited G4
fault "writer that stepped down ignored" G1_G4_a_writer_becomes_a_reader G1
fault "writer's name kept" G1_G2_G4_one_steps_down G
fault "stepping down forgotten" G3_one_steps_down_and_one_cancels_or_loses_its_connection G3
fault "left while stepping down" G1_G2_G4_one_steps_down G5

fault "the first one drains" sequence_end/G1_G4_undisturbed_near_the_end G4
fault "joins while it drains" sequence_end/G1_G4_undisturbed_near_the_end G4
fault "waits behind nobody" sequence_end/G1_G4_undisturbed_near_the_end G4
fault "draining node forgotten" sequence_end/G3_two_cancel_and_connections_break G3
fault "directory before the node" sequence_end/G1_G4_undisturbed_near_the_end G4
fault "any directory is disposable" sequence_end/G2_G4_a_directory_that_is_to_stay contract
fault "numbers that repeat" sequence_end/G1_G3_at_the_end G1

fault "the only child" counting_the_children/G1_G2_G4_undisturbed G1
fault "no list beside others" counting_the_children/G1_G2_G4_undisturbed G4
fault "counts near the end" counting_the_children/G1_G4_its_numbers_end G
fault "count insisted on" remembering/G1_G4_somebody_writes_to_the_directory contract

fault "any mark will do" low_water_mark/G1_G2_G4_undisturbed G1
fault "no mark, no queue" low_water_mark/G1_G2_G4_undisturbed G1
fault "mark covers the next-in-line" low_water_mark/G1_G2_G4_undisturbed G1
fault "false mark trusted" low_water_mark/G1_a_mark_cannot_be_true G1
fault "no list behind a mark" low_water_mark/G1_G2_G4_undisturbed G4
fault "mark behind the last departure" low_water_mark/G1_G2_G4_undisturbed G4
fault "mark without a hold" low_water_mark/G3_one_cancels contract
fault "mark of an earlier connection awaited" low_water_mark/G4_a_connection_breaks G4
fault "node kept with the mark" low_water_mark/G3_the_directory_must_not_be_written_to G3
fault "somebody else's directory" low_water_mark/somebody_elses_directory_is_not_written_to contract

fault "foreign write not noticed" remembering/G1_G4_somebody_writes_to_the_directory contract
fault "another directory taken for the same" remembering/G1_G4_somebody_puts_another_directory_there contract
fault "signature makes it ours" remembering/G1_G4_somebody_puts_another_directory_there contract
fault "first version trusted" remembering/G1_G4_somebody_puts_another_directory_there contract
fault "any data are ours" remembering/G1_G4_somebody_elses_directory contract
fault "any version replaced" remembering/G1_G4_one_client_alone contract
fault "others forgotten" remembering/G1_G2_G4_two_clients contract
fault "numbers in between forgotten" remembering/G1_G2_G4_two_clients contract
fault "listed siblings forgotten" remembering/G1_G2_G4_two_clients contract
fault "counted siblings forgotten" fast_path/who_has_counted_others_does_not_count_again check
fault "fast path tried twice" remembering/G1_G4_one_client_alone contract
fault "refused for good, and tried again" remembering/G1_G4_it_must_not_be_written_to contract
fault "mark denied, and written again" remembering/G1_G4_it_must_not_be_written_to contract
fault "recognised by another contender's read" remembering/G1_G2_G4_long_queues contract
fault "removed ancestor not made again" fast_path/what_comes_of_making_a_directory check
fault "counted beside the own node" fast_path/who_counts_joins_behind_the_own_removal check
fault "directory kept by the next contender" newcomer_watch/near_the_end_others_may_wait_without_a_place check

fault "newcomer forgotten" newcomer_watch/a_holder_asks_once_and_knows_until_the_watch_fires check
fault "newcomers watched twice" newcomer_watch/a_holder_asks_once_and_knows_until_the_watch_fires check
fault "newcomer watch kept without a connection" newcomer_watch/behind_a_reconnection_it_has_to_be_asked_again check
fault "unwatched directory taken for empty" newcomer_watch/what_cannot_be_watched_counts_as_contention check
fault "lingers without a watch" newcomer_watch/a_client_that_lingers_knows_from_the_listing_of_its_join_on check
fault "draining contenders forgotten" newcomer_watch/near_the_end_others_may_wait_without_a_place check

fault "refused, and repeated at once" repeating/what_follows_from_a_refusal_is_one check
fault "created again at once" repeating/in_a_queue_each_further_create_is_one check
fault "missing directory read at once" repeating/a_directory_that_was_missing_is_read_again_after_a_pause check
fault "missing node watched at once" repeating/in_a_queue_a_node_that_is_missing_twice_is_one check

fault "one permit too many" permits_model/G1_G2_G4_undisturbed G1
fault "list older than the grant" permits_model/G1_G2_G4_undisturbed G1
fault "another maximum ignored" permits_model/G1_others_have_another_number G1
fault "cancelled with the queue" permits_model/G3_one_cancels_at_any_moment G3
fault "cancelled in the create" permits_model/G3_one_cancels_at_any_moment contract
fault "queue kept at a failure" permits_model/G3_one_cancels_at_any_moment G4
fault "unwanted permits kept" permits_model/G3_one_cancels_at_any_moment G3
fault "lost create not looked for" permits_model/G1_G3_G4_a_connection_breaks G3
fault "leases of an earlier session" permits_model/G1_G5_a_session_expires_and_its_nodes_go_later G5
fault "loss of the queue ignored" permits_model/G2_G4_a_place_in_the_queue_is_deleted_by_somebody G4
fault "expiry is no failure" permits_model/G3_expiry_is_an_error contract
fault "directory not made" permits_model/G4_the_directory_is_missing_and_may_vanish_again G4
fault "waits without a watch" permits_model/G1_G2_G4_undisturbed G4
fault "limit read once" permits_model/G1_G4_the_limit_rises G4
fault "permits of another limit" permits_model/G1_G4_the_limit_falls G1
fault "limit watched at the end" permits_model/try_with_a_counter G3
fault "a try waits" permits_model/try_beside_one_who_waits contract

fault "sibling's node taken for its own" hand_off/G2_G3_G4_the_connection_breaks G1
fault "looks around without a connection" hand_off/G2_G3_G4_the_connection_breaks contract
fault "open question taken for an answer" hand_off/G2_G3_G4_the_connection_breaks G2
fault "newcomer before the grant forgotten" hand_off/G2_G3_a_node_lingers G2
fault "no look behind a reconnection" hand_off/G2_G3_G4_the_connection_breaks G2
fault "idle node kept when others come" hand_off/G2_G3_a_node_lingers G2
fault "lingers without knowing of others" hand_off/G2_G3_a_node_lingers G2
fault "granted for nobody, and kept" hand_off/G3_waiters_cancel_at_any_moment G3
fault "wanted contender not told" hand_off/G1_G2_G4_undisturbed G4
fault "unwanted contender not told" hand_off/G4_some_only_try G

# It looks for its own node by the number, does not find it, and makes another one.
plant "orders by name" names/contender_name \
    's/sort\(all, \{\}, /sort(all, std::greater{}, /; s/std::pair\{e.number, e.shared\}/e.name/' \
    G1_G2_G4_undisturbed G3

plant "lets in a second user" cohort \
    "$(in_function arrive 's/ && has_room\(\)//')" \
    G1_G2_G3_G4_whatever_happens G1
plant "lets in without a bound" cohort \
    "$(in_function bounds_reached 's/grants_left_ == 0/false/')" \
    G1_G2_G3_G4_whatever_happens G2
plant "does not count those who come while others are there" cohort \
    "$(in_function let_in 's/--grants_left_;//')" \
    G1_G2_G3_G4_whatever_happens G2
plant "gives the node up without joining again for those who wait" cohort \
    "$(in_function give_up 's/want_contender\(out\);//')" \
    G1_G2_G3_G4_whatever_happens G4
plant "loses its waiters with the lock" cohort \
    "$(in_function lost 's/want_contender\(out\);//')" \
    G1_G2_G3_G4_whatever_happens G4
plant "keeps its contender when the last one has gone" cohort \
    "$(in_function withdraw 's/std::exchange\(wants_contender_, false\)/false/')" \
    G1_G2_G3_G4_whatever_happens G3
plant "keeps a node for the news of those who have failed" cohort \
    "$(in_function failed 's/give_up\(out\);//')" \
    G1_G2_G3_G4_whatever_happens G3
plant "keeps a node that nobody may linger on" cohort \
    "$(in_function release 's/out.idle = .*/out.idle = waiting_ == 0;/')" \
    G1_G2_G3_G4_whatever_happens G3

plant "repeats a remove without looking whose the node is" single_node \
    "$(in_function connected 's/(case state::leaving: out.push_back)\(\{command::kind::look\}/\1({has_node() ? command::kind::remove : command::kind::look}/')" \
    G1_G3_G4_a_connection_breaks_twice G1
plant "takes somebody else's node for its own" single_node_owner \
    "$(in_function recover 's/identity.owner == session_ && //')" \
    G1_G3_G4_a_connection_breaks_twice G1
plant "takes the node of another one of its session" single_node_owner \
    "$(in_function recover 's/ && !spoken_for//')" \
    G1_G3_several_of_one_session G1
plant "removes the node of another one of its session" single_node_owner \
    "$(in_function settle_leaving 's/ && !spoken_for//')" \
    G1_G3_several_of_one_session G1
plant "does not recognise its node" single_node_owner \
    "$(in_function recover 's/exists && identity.owner == session_/false/')" \
    G1_G3_G4_a_connection_breaks_twice G4
plant "forgets the create that is under way when it leaves" single_node \
    "$(in_function leave 's/case state::creating:.*/case state::creating: finish({}, out); break;/')" \
    G3_two_cancels_and_two_breaks G3
plant "forgets the create of unknown outcome when it leaves" single_node \
    "$(in_function leave 's/case state::lost_track:.*/state_ = state::leaving; break; case state::lost_track: finish({}, out); break;/')" \
    G3_two_cancels_and_two_breaks G3
plant "does not watch again after a change" single_node_watch \
    "$(in_function fired 's/arm\(out\);//')" \
    G4_it_is_written_to_and_a_connection_breaks G4
plant "does not try again when the node has gone" single_node_watch \
    "$(in_function fired 's/create\(out\);//')" \
    G1_G4_undisturbed G4
plant "ignores that the node is gone when it is to be watched" single_node_watch \
    "$(in_function watched 's/create\(out\);//')" \
    G1_G4_undisturbed G4
plant "does not watch again after a reconnection" single_node \
    "$(in_function connected 's/case state::waiting:$/case state::waiting: break;/')" \
    G1_G3_G4_a_connection_breaks_twice G4
plant "takes whatever is at the path for its node" single_node_watch \
    "$(in_function watched 's/ \|\| \(!ec && identity != identity_\)//')" \
    G1_G3_the_foreign_service_a_cancel_a_deletion G
plant "removes its node when it has heard that it is gone" single_node_watch \
    "$(in_function own_node_vanished 's/finish\(\{\}, out\);/start_leaving(out);/')" \
    G1_G5_the_node_is_deleted_by_somebody G1
plant "takes its node for granted when the proof has come" single_node_watch \
    "$(in_function proved 's/watch_ == watch_state::armed/true/')" \
    G1_proofs_are_awaited G1
plant "watches a node that it does not want any more" single_node_watch \
    "$(in_function drop_watch 's/out.push_back.*;//')" \
    G3_two_cancels_and_two_breaks G3

fault "no probe" several_locks/G4_two_users_want_two_locks G4
fault "keeps a grant that came first" several_locks/G4_three_locks_in_a_circle contract
fault "keeps the places behind the one that is missing" several_locks/G4_two_users_want_two_locks contract
fault "does not wait until it is gone" several_locks/G3_one_cancels_at_any_moment G3
fault "keeps the first when cancelled" several_locks/G3_one_cancels_at_any_moment G
fault "delivers a lock that is lost" several_locks/G5_nodes_are_deleted_by_somebody G5
fault "does not join behind its own departure" several_locks/G4_two_users_want_two_locks G4
fault "joins what it is leaving" several_locks/G4_two_users_want_two_locks contract
fault "keeps the places behind a lost lock" several_locks/G5_nodes_are_deleted_by_somebody contract
fault "keeps what is held behind the one that is missing" several_locks/G4_three_locks_in_a_circle contract
fault "ends with the first that is gone" several_locks/G3_one_cancels_at_any_moment G3

fault "barrier forgotten" session_walk/connections_break_and_sessions_expire G1
fault "barrier behind the news" session_walk/connections_break_and_sessions_expire G1
fault "writes in front of the barrier's answer" session_walk/connections_break_and_sessions_expire G1
fault "no write any more" session_walk/connections_break_and_sessions_expire G4
fault "refused barrier accepted" session_walk/servers_refuse_the_barrier G1
fault "no pause behind a refused barrier" session_walk/the_only_server_refuses_the_barrier G4
fault "old connection ignored" session_walk/servers_keep_old_connections G1
fault "lost write forgotten" session_walk/servers_keep_old_connections G1
fault "no server is left" session_walk/servers_keep_old_connections G4
fault "any server will do" session_walk/servers_keep_old_connections G1
fault "unanswered attempt forgotten" session_walk/servers_read_an_attempt_late G1
fault "an attempt that nobody can read binds" session_walk/servers_read_an_attempt_late G1
fault "any only server is tried" session_walk/the_name_service_drops_servers_that_keep_old_connections G1
fault "never over" session_walk/servers_keep_old_connections G4
fault "the only server is left out" session_walk/the_only_server_keeps_old_connections G4
fault "latest server tried first" session_offers/the_server_that_was_lost_last_is_tried_last check
fault "suspension not told" session_walk/connections_break_and_sessions_expire G5
fault "end of a session not told" session_walk/connections_break_and_sessions_expire G5
fault "ended session kept" session_walk/connections_break_and_sessions_expire contract
fault "larger time-out believed" session_walk/connections_break_and_sessions_expire G5
fault "smaller time-out ignored" session_walk/connections_break_and_sessions_expire G5
fault "options not tried" session_walk/chroot_and_credentials_are_tried contract
fault "bad credentials tried again" session_walk/chroot_and_credentials_are_tried contract
fault "callers not answered" session_walk/callers_come_and_go G4
fault "no deadline for a caller" session_walk/callers_come_and_go G4
fault "session given up with its last caller" session_walk/callers_come_and_go contract
fault "session given up at a deadline" session_walk/callers_come_and_go contract
fault "late look-up heeded" session_walk/names_are_looked_up contract
fault "unknown hosts waited for" session_walk/names_are_looked_up G4
fault "attempt without a limit" session_walk/servers_refuse_and_are_silent G4
fault "no attempt behind a failure" session_walk/servers_refuse_and_are_silent G4
fault "no pause between passes" session_walk/servers_refuse_and_are_silent G4
fault "silent server not dropped" session_walk/servers_refuse_and_are_silent contract
fault "connection kept when closed" session_walk/the_client_is_closed contract
fault "no deadline for the end" session_walk/the_client_is_closed G4
fault "end not told" session_walk/the_client_is_closed G4
fault "a broken connection is an end" session_walk/the_client_is_closed contract

for name in $(grep -ho 'planted("[^"]*")' -r "$source_dir/lib/protocol" | sort -u | tr ' ' '_'); do
    name=${name#planted(\"} name=${name%\")} name=${name//_/ }
    if ! grep -qF "fault \"$name\"" "${BASH_SOURCE[0]}"; then
        echo "MISSED  $name: lib/protocol knows this fault, and no walk is named for it here"
        missed=$((missed + 1))
    fi
done

if [[ -n $only_places ]]; then
    echo "$planted faults, $missed without a place"
else
    echo "$planted planted, $missed missed"
fi
test "$planted" != 0 -a "$missed" = 0
