#!/usr/bin/env bash
# Proves that tests find faults: plants those of a list one after the other in a copy of the library's sources, links each
# with the other objects of the build, and runs what has to find it.
#
#   planted.sh BUILD_DIR [--seeds N] [--jobs N] [--quick] [LIST...] [NAME...]
#   planted.sh --places   looks whether the sources have the places where the faults go, and the tests those that are to
#                         find them, and plants nothing
#
#   BUILD_DIR   a build directory of the Ninja generator; what is needed of it is built
#   --seeds N   the most seeds of a simulated minute for each fault (300)
#   --jobs N    so many faults at a time (1)
#   --quick     those alone that are marked as quick
#   LIST        --walks, --world or --red-team; without any, the first two. Of the last, the world need not find each
#   NAME        those alone whose names contain one of them
#
# A list plants each fault with a call:
#
#   by=SUITE/CASE[:TEXT] plant NAME FILE SCRIPT [UNIT...]
#   [rare=NAME]          plant NAME FILE SCRIPT [UNIT...]
#
#   SCRIPT      for `sed -E`, see also in_function; UNIT: what is to be compiled for it if FILE is a header
#   by          the case of a test that finds it, with an error that begins with TEXT, such as a guarantee; without it,
#               seeds of the simulated world find it, or of the rare one
set -euo pipefail
unset COLOCK_WALKS # the large walks find no other faults

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
declare -A list=(
    [walks]=$source_dir/test/model/faults.sh
    [world]=$source_dir/test/world/planted/faults.sh
    [red-team]=$source_dir/test/world/planted/red_team.sh
)

in_function() # NAME SCRIPT: the script, applied to one function that is a member
{
    echo "/^[a-z].*::$1\(/,/^\}/ { $2 }"
}

has_place() # NAME FILE SCRIPT
{
    if [[ ! -r $source_dir/$2 ]] || cmp -s <(sed -E "$3" "$source_dir/$2") "$source_dir/$2"; then
        echo "MISSED  $1: there is no such place in $2 any more; update its script"
        return 1
    fi
}

# The file of a case.
file_of() # SUITE/CASE
{
    local file
    while IFS= read -r file; do
        ! grep -qE "TEST_CASE\((.*, )?${1##*/}[,)]" "$file" || break
    done < <(grep -rlE --include='*.cpp' "TEST_SUITE\(${1%/*}[,)]" "$source_dir/test")
    [[ -n ${file:-} ]] && echo "${file#"$source_dir"/}"
}

has_case() # NAME
{
    [[ -z ${by:-} ]] || file_of "${by%%:*}" > /dev/null || {
        echo "MISSED  $1: there is no test ${by%%:*} any more"
        return 1
    }
}

if [[ ${1-} == --places ]]; then
    places=0 missed=0 quick=()
    plant() # NAME FILE SCRIPT [UNIT...]
    {
        places=$((places + 1))
        { has_place "$1" "$2" "$3" && has_case "$1"; } || missed=$((missed + 1))
    }
    for each in "${list[@]}"; do
        # shellcheck source=test/world/planted/faults.sh
        . "$each"
    done
    echo "$places faults, $missed without a place"
    exit $((places == 0 || missed > 0))
fi

build=$(cd "$1" && pwd)
shift
seeds=300 jobs=1 only_quick='' lists=() wanted=()
while (($#)); do
    case $1 in
        --seeds) seeds=$2; shift ;;
        --jobs) jobs=$2; shift ;;
        --quick) only_quick=1 ;;
        --walks | --world | --red-team) lists+=("${1#--}") ;;
        *) wanted+=("$1") ;;
    esac
    shift
done
((${#lists[@]})) || lists=(walks world)
work=$build/planted/$(IFS=- && echo "${lists[*]}${only_quick:+-quick}")
processor_seconds=900 # a program that does not end is a finding, too

if [[ $build$source_dir == *[[:space:]]* ]]; then
    echo "planted.sh: it cannot take the commands of a build apart where a path has a space" >&2
    exit 2
fi
rm -rf "$work"
mkdir -p "$work"
ninja=$(sed -n 's/^CMAKE_MAKE_PROGRAM:[^=]*=//p' "$build/CMakeCache.txt")
"$ninja" -C "$build" -t commands > "$work/commands"

# The program that a source file is linked into.
program_of() # FILE
{
    local object
    object=$(grep -F -- " -c $source_dir/$1" "$work/commands" | sed -nE '1s/.* -o ([^ ]+) .*/\1/p')
    grep -F -- " $object " "$work/commands" | sed -nE 's/.* -o bin\/([^ ]+) .*/\1/p' | head -n 1
}

# Runs the command of the build that compiles a source file, for the copy in a tree. Prints the object of the build.
compile() # TREE SOURCE OBJECT COMMANDS
{
    local tree=$1 command folder original batch level=-O0
    [[ -z ${by:-} ]] || level=-O1 # a walk is worth it
    if ! command=$(grep -F -- " -c $source_dir/$2" "$4"); then
        # The build compiles it with others (COLOCK_UNITY_BUILD): so does this, with the copies of all of them.
        command=''
        while IFS= read -r batch; do # CMake leaves those of an earlier configuration
            if command=$(grep -F -- " -c $batch" "$4"); then break; fi
        done < <(grep -lF -- "\"$source_dir/$2\"" "$build"/{lib,test/world}/CMakeFiles/*/Unity/*.cxx)
        [[ -n $command ]] || { echo "error: nothing compiles $2" >&2 && return 1; }
        sed "s|\"$source_dir/|\"$tree/|" "$batch" > "$3.cxx"
        command=${command/ -c $batch/ -c $3.cxx}
    fi
    original=$(sed -E 's/.* -o ([^ ]+) .*/\1/' <<< "$command")
    for folder in lib include test; do
        command=${command//$source_dir\/$folder\//$tree\/$folder\/} # and not testing/
        command=${command//$source_dir\/$folder /$tree\/$folder }
    done
    # An unused variable is no reason to refuse a fault. The last -O counts.
    command=$(sed -E 's/ -MD -MT [^ ]+ -MF [^ ]+//; s/ -Werror//; s/ -o [^ ]+ / '$level' -w -o OBJECT /' <<< "$command")
    (cd "$build" && eval "${command/OBJECT/$3}") >&2 || return # errexit is off in a condition
    echo "$original"
}

# Seeds until one has a violation.
run_seeds() # FOLDER NAME
{
    local folder=$1 name=$2 status=0 seed line such=()
    [[ -z ${rare:-} ]] || such=(--rare "$rare")
    (
        ulimit -c 0 -t "$processor_seconds"
        exec "$folder/mutant" --seeds "$seeds" --stop --verbose "${such[@]}"
    ) > "$folder/output" 2> "$folder/errors" || status=$?
    seed=$(($(grep -c '^seed ' "$folder/output") + 1))
    case $status in
        0) line="MISSED  $name: no check finds it in $seeds seeds" ;;
        1)
            seed=$((seed - 1))
            line="found   $name: $(sed -nE 's/^violation: seed [0-9]+, at [^,]+, ([^:]+):.*/\1/p' "$folder/output" |
                head -n 1), after $seed seeds${rare:+ of --rare $rare}"
            ;;
        $((128 + 9)) | $((128 + 24))) line="found   $name: does not come to an end, after $seed seeds" ;;
        *) line="found   $name: the program ends with status $status, after $seed seeds" ;;
    esac
    if ((status != 0)) && ! "$build/bin/simulated_world" --seed "$seed" "${such[@]}" > /dev/null; then
        line="MISSED  $name: seed $seed has a violation without it"
    fi
    echo "$line"
}

run_case() # FOLDER NAME
{
    local folder=$1 name=$2 case=${by%%:*} text=''
    [[ $by != *:* ]] || text=${by#*:}
    if { (
        ulimit -c 0 -t "$processor_seconds"
        exec "$folder/mutant" --color_output=no "--run_test=$case"
    ) > "$folder/output" 2>&1; } 2> "$folder/errors"; then
        echo "MISSED  $name: $case passes"
    elif [[ -n $text ]] && ! grep -q "error: in .*\": $text" "$folder/output"; then
        echo "MISSED  $name: $case fails, but not with $text:"
        grep 'error: ' "$folder/output" || tail -n 5 "$folder/output"
    else
        echo "found   $name: $(sed -nE 's/.*error: in .*": (.*)/\1/p' "$folder/output" | head -n 1)"
    fi
}

plant_one() # FOLDER PROGRAM NAME FILE SCRIPT UNIT...
{
    local folder=$1 program=$2 name=$3 file=$4 script=$5 link unit original object compiled=' '
    shift 5
    has_place "$name" "$file" "$script" || return 0
    mkdir -p "$folder/tree/test"
    cp -r "$source_dir"/{lib,include} "$folder/tree"
    cp -r "$source_dir/test/world" "$folder/tree/test"
    sed -i -E "$script" "$folder/tree/$file"
    link=$(tail -n 1 "$work/$program")
    for unit in "$@"; do
        object=$folder/$(basename "$unit").o
        if ! original=$(compile "$folder/tree" "$unit" "$object" "$work/$program" 2> "$folder/errors"); then
            echo "MISSED  $name: it does not compile:"
            grep -m 3 error: "$folder/errors" || true
            return
        fi
        [[ $compiled != *" $original "* ]] || continue # with another unit
        compiled+="$original "
        # Of a library, only what nothing before it has is linked.
        link=${link/ -o bin\/$program / $object -o bin\/$program }
        link=${link/ $original / }
    done
    link=${link/-o bin\/$program /-o $folder\/mutant }
    if ! (cd "$build" && eval "$link") 2> "$folder/errors"; then
        echo "MISSED  $name: it cannot be linked"
        return
    fi
    if [[ -n ${by:-} ]]; then
        run_case "$folder" "$name"
    else
        run_seeds "$folder" "$name"
    fi
}

is_wanted() # NAME
{
    local each
    ((${#wanted[@]})) || return 0
    for each in "${wanted[@]}"; do
        [[ $1 != *"$each"* ]] || return 0
    done
    return 1
}

planted=0 quick=()
plant() # NAME FILE SCRIPT [UNIT...]
{
    local name=$1 file=$2 script=$3 folder program=simulated_world
    shift 3
    local units=("$@")
    (($#)) || units=("$file")
    is_wanted "$name" || return 0
    [[ -z $only_quick || " ${quick[*]} " == *" $name "* ]] || return 0
    planted=$((planted + 1))
    folder=$work/$planted
    mkdir "$folder"
    has_case "$name" | tee "$folder/verdict" || return 0
    [[ -z ${by:-} ]] || program=$(program_of "$(file_of "${by%%:*}")")
    if [[ ! -e $work/$program ]]; then
        "$ninja" -C "$build" "bin/$program" > "$work/built" || { cat "$work/built" && exit 2; }
        "$ninja" -C "$build" -t commands "bin/$program" > "$work/$program"
    fi
    while (($(jobs -rp | wc -l) >= jobs)); do
        wait -n || true
    done
    (
        plant_one "$folder" "$program" "$name" "$file" "$script" "${units[@]}" > "$folder/verdict" 2>&1 ||
            echo "MISSED  $name: it could not be planted" >> "$folder/verdict"
        cat "$folder/verdict"
        rm -rf "$folder"/{tree,mutant,*.o}
    ) &
}

for each in "${lists[@]}"; do
    # shellcheck source=test/world/planted/faults.sh
    . "${list[$each]}"
done
wait
missed=$(cat "$work"/*/verdict 2> /dev/null | grep -c '^MISSED' || true)
echo "$planted planted, $missed missed"
((planted > 0 && missed == 0))
