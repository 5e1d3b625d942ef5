#!/usr/bin/env bash
# Proves that the simulated world finds faults: plants those of faults.sh one after the other in a copy of the library's
# sources, links each with the other objects of the build, and runs seeds until a check finds something.
#
#   planted.sh BUILD_DIR [--seeds N] [--jobs N] [--quick | NAME...]
#   planted.sh --places   looks whether the sources have the places where the faults go, and plants nothing
#
#   BUILD_DIR   a build directory of the Ninja generator, with the program simulated_world up to date
#   --seeds N   the most seeds of a simulated minute for each fault (300)
#   --jobs N    so many faults at a time (1)
#   --quick     those alone that are marked as quick
#   NAME        those alone whose names contain one of them
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=${here%/test/world/planted}

# shellcheck source=test/support/planting.sh
. "$source_dir/test/support/planting.sh"

if [[ ${1-} == --places ]]; then
    places=0 missed=0 quick=()
    plant() # NAME FILE SCRIPT [UNIT...]
    {
        places=$((places + 1))
        has_place "$1" "$2" "$3" || missed=$((missed + 1))
    }
    # shellcheck source=test/world/planted/faults.sh
    . "$here/faults.sh"
    echo "$places faults, $missed without a place"
    exit $((places == 0 || missed > 0))
fi

build=$(cd "$1" && pwd)
shift
seeds=300 jobs=1 only_quick='' wanted=()
while (($#)); do
    case $1 in
        --seeds) seeds=$2; shift ;;
        --jobs) jobs=$2; shift ;;
        --quick) only_quick=1 ;;
        *) wanted+=("$1") ;;
    esac
    shift
done
work=$build/planted${only_quick:+-quick}
clean=$build/bin/simulated_world
processor_seconds=900 # a world that does not end is a finding, too

if [[ $build$source_dir == *[[:space:]]* ]]; then
    echo "planted.sh: it cannot take the commands of a build apart where a path has a space" >&2
    exit 2
fi
rm -rf "$work"
mkdir -p "$work"
ninja=$(sed -n 's/^CMAKE_MAKE_PROGRAM:[^=]*=//p' "$build/CMakeCache.txt")
"$ninja" -C "$build" -t commands simulated_world > "$work/commands"

# Runs the command of the build that compiles a source file, for the copy in a tree. Prints the object of the build.
compile() # TREE SOURCE OBJECT
{
    local tree=$1 command folder original batch
    if ! command=$(grep -F -- " -c $source_dir/$2" "$work/commands"); then
        # The build compiles it with others (COLOCK_UNITY_BUILD): so does this, with the copies of all of them.
        command=''
        while IFS= read -r batch; do # CMake leaves those of an earlier configuration
            if command=$(grep -F -- " -c $batch" "$work/commands"); then break; fi
        done < <(grep -lF -- "\"$source_dir/$2\"" "$build"/{lib,test/world}/CMakeFiles/*/Unity/*.cxx)
        [[ -n $command ]] || { echo "error: nothing compiles $2" >&2 && return 1; }
        sed "s|\"$source_dir/|\"$tree/|" "$batch" > "$3.cxx"
        command=${command/ -c $batch/ -c $3.cxx}
    fi
    original=$(sed -E 's/.* -o ([^ ]+) .*/\1/' <<< "$command")
    for folder in lib include test; do
        command=${command//$source_dir\/$folder/$tree\/$folder}
    done
    # An unused variable is no reason to refuse a fault. The last -O counts.
    command=$(sed -E 's/ -MD -MT [^ ]+ -MF [^ ]+//; s/ -Werror//; s/ -o [^ ]+ / -O0 -w -o OBJECT /' <<< "$command")
    (cd "$build" && eval "${command/OBJECT/$3}") >&2 || return # errexit is off in a condition
    echo "$original"
}

# Seeds until one has a violation.
run() # FOLDER NAME
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
    if ((status != 0)) && ! "$clean" --seed "$seed" "${such[@]}" > /dev/null; then
        line="MISSED  $name: seed $seed has a violation without it"
    fi
    echo "$line"
}

plant_one() # FOLDER NAME FILE SCRIPT UNIT...
{
    local folder=$1 name=$2 file=$3 script=$4 link unit original object
    shift 4
    has_place "$name" "$file" "$script" || return 0
    mkdir -p "$folder/tree/test"
    cp -r "$source_dir"/{lib,include} "$folder/tree"
    cp -r "$source_dir/test/world" "$folder/tree/test"
    sed -i -E "$script" "$folder/tree/$file"
    link=$(tail -n 1 "$work/commands")
    for unit in "$@"; do
        object=$folder/$(basename "$unit").o
        if ! original=$(compile "$folder/tree" "$unit" "$object" 2> "$folder/errors"); then
            echo "MISSED  $name: it does not compile:"
            grep -m 3 error: "$folder/errors" || true
            return
        fi
        link=${link/ $original / $object }
    done
    link=${link/-o bin\/simulated_world/-o $folder\/mutant}
    if ! (cd "$build" && eval "$link") 2> "$folder/errors"; then
        echo "MISSED  $name: it cannot be linked"
        return
    fi
    run "$folder" "$name"
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
# With `rare=NAME` before it: only worlds with that are run.
plant() # NAME FILE SCRIPT [UNIT...]: the script for sed -E, and what is to be compiled for it if the file is a header
{
    local name=$1 file=$2 script=$3 folder
    shift 3
    local units=("$@")
    (($#)) || units=("$file")
    is_wanted "$name" || return 0
    [[ -z $only_quick || " ${quick[*]} " == *" $name "* ]] || return 0
    planted=$((planted + 1))
    while (($(jobs -rp | wc -l) >= jobs)); do
        wait -n || true
    done
    folder=$work/$planted
    mkdir "$folder"
    (
        plant_one "$folder" "$name" "$file" "$script" "${units[@]}" > "$folder/verdict" 2>&1 ||
            echo "MISSED  $name: it could not be planted" >> "$folder/verdict"
        cat "$folder/verdict"
        rm -rf "$folder"/{tree,mutant,*.o}
    ) &
}

# shellcheck source=test/world/planted/faults.sh
. "$here/faults.sh"
wait
missed=$(cat "$work"/*/verdict 2> /dev/null | grep -c '^MISSED' || true)
echo "$planted planted, $missed missed"
((planted > 0 && missed == 0))
