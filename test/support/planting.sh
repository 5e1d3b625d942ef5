# For scripts that plant faults in the library, test/model/mutations.sh and test/world/planted/planted.sh, which source it.
# shellcheck shell=bash
: "${source_dir:?the script that sources this sets it}"

# Whether a script for sed -E changes a file of the sources. Tells when it does not.
has_place() # NAME FILE SCRIPT
{
    if [[ ! -r $source_dir/$2 ]] || cmp -s <(sed -E "$3" "$source_dir/$2") "$source_dir/$2"; then
        echo "MISSED  $1: there is no such place in $2 any more; update its script"
        return 1
    fi
}

in_function() # NAME SCRIPT: the script, applied to one function that is a member
{
    echo "/^[a-z].*::$1\(/,/^\}/ { $2 }"
}
