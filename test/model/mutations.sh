#!/usr/bin/env bash
# Proves that the walks of counting.cpp, interleavings.cpp, notes.cpp, sharing.cpp, single_node.cpp, sequence_end.cpp and
# unit/cohort.cpp find faults: plants one after the other in a copy of the protocol, and expects the walk named beside
# it to fail with the guarantee named.
#
#   mutations.sh SOURCE_DIR WORK_DIR COMPILER [FLAG...]
#
# The flags have to suffice for compiling and linking a Boost.Test program.
set -euo pipefail

source_dir=$1 work=$2 compiler=$3
shift 3
flags=(-std=c++20 -O1 -DBOOST_TEST_DYN_LINK "-I$source_dir/include" "$@")
mkdir -p "$work"
cp "$source_dir"/lib/protocol/*.hpp "$work" # for the includes of the mutants

compile() # SOURCE OBJECT
{
    "$compiler" "${flags[@]}" "-I$source_dir/lib" "-I$source_dir/test" -c "$1" -o "$2"
}

echo "compiling the walks and the protocol"
for file in lib/error lib/protocol/{contender,naming,guid,path} \
    test/main test/model/{counting,interleavings,notes,sharing,sequence_end}; do
    compile "$source_dir/$file.cpp" "$work/$(basename "$file").o"
done
compile "$source_dir/test/unit/cohort.cpp" "$work/cohort_walk.o"
compile "$source_dir/test/model/single_node.cpp" "$work/single_node_walk.o"

planted=0 missed=0

# Applies a sed script to a file of the protocol.
plant() # NAME FILE SCRIPT WALK GUARANTEE
{
    local name=$1 file=$2 script=$3 walk=$4 guarantee=$5 mutant=$work/mutant
    planted=$((planted + 1))
    sed -E "$script" "$source_dir/lib/protocol/$file.cpp" > "$mutant.cpp"
    if cmp -s "$mutant.cpp" "$source_dir/lib/protocol/$file.cpp"; then
        echo "MISSED  $name: there is no such place in $file.cpp any more; update mutations.sh"
        missed=$((missed + 1))
        return
    fi
    compile "$mutant.cpp" "$mutant.o"
    local objects=("$mutant.o") other
    if test "$file" = cohort; then
        objects+=("$work"/{main,cohort_walk}.o)
    elif test "$file" = single_node; then
        objects+=("$work"/{error,main,single_node_walk}.o)
    else
        for other in error contender naming guid path main counting interleavings notes sharing sequence_end; do
            test "$other" = "$file" || objects+=("$work/$other.o")
        done
    fi
    "$compiler" "${flags[@]}" "${objects[@]}" -lboost_unit_test_framework -o "$mutant"
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

in_function() # NAME SCRIPT: the script, applied to one member function
{
    echo "/^[a-z].*(contender|cohort|single_node)::$1\(/,/^\}/ { $2 }"
}

plant "grants on an event without looking at the own watch" contender \
    "$(in_function grant_or_list 's/own_watch_.state == watch_state::armed && //')" \
    G1_break_write_deletion G1
plant "the same, and watches its own node last" contender \
    "$(in_function grant_or_list 's/own_watch_.state == watch_state::armed && //');
     $(in_function take_stock 's|// The own node first.*|watch_only(b.nearest ? b.nearest->name : std::string{}, b.ahead ? b.ahead->name : std::string{}, out);|')" \
    G1_G5_a_node_is_deleted_by_somebody G1
plant "does not list again when the predecessor has left first" contender \
    "$(in_function departed 's/in_sight\(\) < blocking_/false/')" \
    G7_one_of_four_cancels G4
plant "does not list again when it could not grant at once" contender \
    "$(in_function grant_or_list 's/send_list\(out\);//')" \
    G4_a_node_is_written_to G4
plant "takes one that it has not seen leave for gone" contender \
    "$(in_function departed 's/if \(blocking_ == 0/if (blocking_ <= 1/')" \
    G1_G2_G4_undisturbed G1
plant "joins again without looking for its node" contender \
    "$(in_function recover 's/found == children.end\(\)/true/')" \
    G4_a_connection_breaks G3
plant "forgets the create that is under way when it leaves" contender \
    "$(in_function leave 's/case state::joining:.*/case state::joining: finish({}, out); break;/')" \
    G3_one_cancels_at_any_moment G3
plant "forgets the create of unknown outcome when it leaves" contender \
    "$(in_function leave 's/case state::lost_track:.*/finish({}, out); break; case state::lost_track: finish({}, out); break;/')" \
    G3_cancel_break_deletion G3
plant "keeps the name of its node when the session has expired" contender \
    "$(in_function expired 's/forget_node\(\);//')" \
    G3_cancel_break_expiry G3
plant "takes the listing of an earlier join for its own" contender \
    "$(in_function begin_again 's/stale_lists_ = open_lists_;//')" \
    G3_two_cancels_and_two_refusals G3
plant "does not list again after a reconnection" contender \
    "$(in_function connected 's/case state::waiting: send_list\(out\);/case state::waiting:/')" \
    G4_a_connection_breaks G4
plant "does not look after its node again after a reconnection" contender \
    "$(in_function connected 's/case state::granted: arm.*/case state::granted: break;/')" \
    G1_break_write_deletion G5
plant "does not repeat a remove whose answer was lost" contender \
    "$(in_function connected 's/^ +remove_node\(out\);//')" \
    G4_a_connection_breaks G3
plant "does not watch again after a change" contender \
    "$(in_function fired 's/arm\(slot, slot.name, out\);//')" \
    G4_a_node_is_written_to G4
plant "ignores that a predecessor is gone when it is to be watched" contender \
    "$(in_function watched 's/departed\(slot, out\)/void()/')" \
    G1_G2_G4_undisturbed G4
plant "ignores that its own node is gone while it waits" contender \
    "$(in_function own_node_vanished 's/begin_again\(out\);//')" \
    G1_G5_a_node_is_deleted_by_somebody G4
plant "never forgets a watch" contender \
    "$(in_function drop 's/out.push_back.*;//')" \
    G3_one_cancels_at_any_moment G3
plant "leaves its node when it is busy" contender \
    "$(in_function take_stock 's/start_leaving\(out\);/finish({}, out);/')" \
    try_two_of_three_one_cancels G3
plant "does not create the directory again when that was refused" contender \
    "$(in_function directory_made 's/is_retryable\(ec\)/false/')" \
    G4_two_refusals_and_the_directory_is_missing contract
plant "does not watch its node again when that was refused" contender \
    "$(in_function watched 's/state_ == state::granted \&\& own/false \&\& own/')" \
    G5_two_refusals_and_a_deletion G5
plant "takes its node for granted when the proof has come" contender \
    "$(in_function proved 's/own_watch_.state == watch_state::armed/true/')" \
    G1_a_node_is_deleted_while_a_proof_is_awaited G1
plant "is granted once more when the proof comes" contender \
    "$(in_function grant 's/proving_ = false;//')" \
    G1_two_requests_are_refused_while_a_proof_is_awaited contract
plant "forgets that it waits for a proof" contender \
    "$(in_function proved 's/send_list\(out\);//')" \
    G3_one_cancels_while_a_proof_is_awaited G4
plant "orders by name" naming \
    's/sort\(all, \{\}, /sort(all, std::greater{}, /; s/std::pair\{e.number, e.shared\}/e.name/' \
    G1_G2_G4_undisturbed G1
plant "does not look for the reader that a writer has become" contender \
    "$(in_function may_have_become_reader 's/return /return false \&\& /')" \
    G1_G4_a_writer_becomes_a_reader G1
plant "forgets which of its nodes is there" contender \
    "$(in_function became_reader 's/own_ = readers_name\(\);//')" \
    G1_G2_G4_one_steps_down G
plant "steps down without looking what became of it" contender \
    "$(in_function connected 's/case state::stepping_down:$/case state::stepping_down: break;/')" \
    G3_one_steps_down_and_one_cancels_or_loses_its_connection G4
plant "leaves while its node is being exchanged" contender \
    "$(in_function leave 's/case state::stepping_down: left_ = true; break;/case state::stepping_down: start_leaving(out); break;/')" \
    G1_G2_G4_one_steps_down G5

plant "holds back, though it is the first one" contender \
    "$(in_function take_stock 's/too_late = drains\(\) \&\& index != 0/too_late = drains()/')" \
    sequence_end/G1_G4_undisturbed_near_the_end G4
plant "joins again whenever the one that it waits for has gone" contender \
    "$(in_function listed 's/is_draining\(queue\) \&\& queue/false \&\& queue/')" \
    sequence_end/G1_G4_undisturbed_near_the_end G4
plant "holds back and does not look whether it may join again" contender \
    "$(in_function look_again 's/send_list\(out\);//')" \
    sequence_end/G1_G4_undisturbed_near_the_end G4
plant "forgets its node when it holds back and leaves" contender \
    "$(in_function leave 's/if \(own_.empty\(\)\)/if (true)/')" \
    sequence_end/G3_two_cancel_and_connections_break G3
plant "deletes the directory before its own node" contender \
    "$(in_function remove_node 's/out.push_back\(\{may_note.*//; s/^\}/    out.push_back({command::kind::remove, own_});\n}/')" \
    sequence_end/G1_G4_undisturbed_near_the_end G4
plant "deletes a directory that is to stay" contender \
    "$(in_function take_stock 's/disposable_ = .*/disposable_ = true;/')" \
    sequence_end/G2_G4_a_directory_that_is_to_stay contract
plant "grants numbers that may come again" contender \
    "$(in_function take_stock 's/ \|\| number_ >= last_number//')" \
    sequence_end/G1_G3_at_the_end G1

plant "takes itself for the only child" contender \
    "$(in_function counted 's/!alone \|\| //')" \
    counting_the_children/G1_G2_G4_undisturbed G1
plant "does not list when others are there" contender \
    "$(in_function counted 's/^ +send_list\(out\);//')" \
    counting_the_children/G1_G2_G4_undisturbed G4
plant "counts near the end of the numbers" contender \
    "$(in_function counted 's/ \|\| is_late\(\)//')" \
    counting_the_children/G1_G4_its_numbers_end G
plant "insists on counting" contender \
    "$(in_function counted 's/count_refused_ = true;//')" \
    counting_the_children/G4_the_directory_must_not_be_written_to G4

plant "takes any note for one of the node that has gone" contender \
    "$(in_function directory_read 's/noted < departed/noted < 0/')" \
    notes/G1_G2_G4_undisturbed G1
plant "takes a directory without a note for an empty queue" contender \
    "$(in_function directory_read 's/ec \|\| noted < departed/ec/')" \
    notes/G1_G2_G4_undisturbed G1
plant "takes a note for the end of the nearest one, too" contender \
    "$(in_function directory_read 's/blocking_ = in_sight\(\);/blocking_ = 0;/')" \
    notes/G1_G2_G4_undisturbed G1
plant "trusts a note that cannot be true" contender \
    "$(in_function directory_read 's/ \|\| mark_refused_ \|\| noted >= number_//')" \
    notes/G1_a_note_cannot_be_true G1
plant "does not list when the note does not help" contender \
    "$(in_function directory_read 's/^ +send_list\(out\);//')" \
    notes/G1_G2_G4_undisturbed G4
plant "does not see that the nearest one has gone before the note came" contender \
    "$(in_function directory_read 's/grant_or_list\(out\);//')" \
    notes/G1_G2_G4_undisturbed G4
plant "writes a note without having held the lock" contender \
    "$(in_function may_note 's/held_ && //')" \
    notes/G3_one_cancels contract
plant "waits for a note of the connection before" contender \
    "$(in_function forget_connection 's/asked_after_ = -1;//')" \
    notes/G4_a_connection_breaks G4
plant "keeps its node when the note is refused" contender \
    "$(in_function removed 's/may_note\(\)/false/')" \
    notes/G3_the_directory_must_not_be_written_to G3
plant "writes to a directory that is somebody else's" contender \
    "$(in_function may_note 's/directory_ == directory::ours/true/')
     $(in_function may_read_notes 's/directory_ != directory::to_stay/true/')" \
    notes/somebody_elses_directory_is_not_written_to contract

plant "lets in a second user" cohort \
    "$(in_function arrive 's/ && has_room\(\)//')" \
    G1_G2_G3_G4_whatever_happens G1
plant "lets in without a bound" cohort \
    "$(in_function is_over 's/grants_left_ == 0/false/')" \
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
plant "takes somebody else's node for its own" single_node \
    "$(in_function recover 's/identity.owner == session_ && //')" \
    G1_G3_G4_a_connection_breaks_twice G1
plant "takes the node of another one of its session" single_node \
    "$(in_function recover 's/ && !spoken_for//')" \
    G1_G3_several_of_one_session G1
plant "removes the node of another one of its session" single_node \
    "$(in_function settle_leaving 's/ && !spoken_for//')" \
    G1_G3_several_of_one_session G1
plant "does not recognise its node" single_node \
    "$(in_function recover 's/exists && identity.owner == session_/false/')" \
    G1_G3_G4_a_connection_breaks_twice G4
plant "forgets the create that is under way when it leaves" single_node \
    "$(in_function leave 's/case state::creating:.*/case state::creating: finish({}, out); break;/')" \
    G3_two_cancels_and_two_breaks G3
plant "forgets the create of unknown outcome when it leaves" single_node \
    "$(in_function leave 's/case state::lost_track:.*/state_ = state::leaving; break; case state::lost_track: finish({}, out); break;/')" \
    G3_two_cancels_and_two_breaks G3
plant "does not watch again after a change" single_node \
    "$(in_function fired 's/arm\(out\);//')" \
    G4_it_is_written_to_and_a_connection_breaks G4
plant "does not try again when the node has gone" single_node \
    "$(in_function fired 's/create\(out\);//')" \
    G1_G4_undisturbed G4
plant "ignores that the node is gone when it is to be watched" single_node \
    "$(in_function watched 's/create\(out\);//')" \
    G1_G4_undisturbed G4
plant "does not watch again after a reconnection" single_node \
    "$(in_function connected 's/case state::waiting:$/case state::waiting: break;/')" \
    G1_G3_G4_a_connection_breaks_twice G4
plant "takes whatever is at the path for its node" single_node \
    "$(in_function watched 's/ \|\| \(!ec && identity != identity_\)//')" \
    G1_G3_the_foreign_service_a_cancel_a_deletion G
plant "removes its node when it has heard that it is gone" single_node \
    "$(in_function own_node_vanished 's/finish\(\{\}, out\);/start_leaving(out);/')" \
    G1_G5_the_node_is_deleted_by_somebody G1
plant "takes its node for granted when the proof has come" single_node \
    "$(in_function proved 's/watch_ == watch_state::armed/true/')" \
    G1_proofs_are_awaited G1
plant "watches a node that it does not want any more" single_node \
    "$(in_function drop_watch 's/out.push_back.*;//')" \
    G3_two_cancels_and_two_breaks G3

echo "$planted planted, $missed missed"
test "$missed" = 0
