# What Doxygen sees of a public header: the interface alone, and comments as the reference lays them out.
#
# A filter for FILTER_PATTERNS of the Doxyfile:
#
#   awk -f tools/docs/comments.awk HEADER
#
# - What is private, or for classes that derive, and specializations for Asio and the standard library, are left out.
# - What a lock has from detail::basic_lock and detail::lock_functions stands in the lock itself, with its guard and owner.
# - Functions that every class has in the same way get the same words.
# - "Errors:" and its kind begin a paragraph of their own, and pages that a comment names become links.

function emit(line) {
    if (row != "") { # of a table, which goes on where the first cell of the next one is empty
        if (line ~ /^ *\/\/\/ \| *\|/) {
            sub(/ *\| *$/, "", row)
            sub(/^ *\/\/\/ \| *\|/, "", line)
            row = row line
            return
        }
        print row
        row = ""
    }
    if (line ~ /^ *\/\/\/ \|/) {
        row = line
    } else {
        print line
    }
    previous = line
}

# A line of a comment, or of code.
function show(line,   indent, label, rest, out, page, target) {
    if (line ~ /^ *\/\/\/ (Completion signature|Errors|Cancellation|Executor|Token|Preconditions|Thread safety)[^:]*: ?/) {
        indent = line
        sub(/\/\/\/.*/, "", indent)
        if (previous !~ /^ *\/\/\/$/) {
            print indent "///"
        }
        label = line
        sub(/^ *\/\/\/ /, "", label)
        rest = label
        sub(/:.*/, "", label)
        sub(/^[^:]*:/, "", rest)
        if (match(label, /,/)) {
            label = "**" substr(label, 1, RSTART - 1) "**" substr(label, RSTART)
        } else {
            label = "**" label "**"
        }
        emit(indent "/// " label ":" rest)
        if (rest == "") {
            emit(indent "///")
        }
        return
    }
    if (line ~ /^ *\/\/\/.*docs\/[a-z\/_-]+\.md/) {
        out = ""
        rest = line
        while (match(rest, /docs\/[a-z\/_-]+\.md/)) {
            page = substr(rest, RSTART, RLENGTH)
            target = page
            sub(/^docs\//, "", target)
            sub(/\.md$/, ".html", target)
            out = out substr(rest, 1, RSTART - 1) "<a href=\"../" target "\">" page "</a>"
            rest = substr(rest, RSTART + RLENGTH)
        }
        line = out rest
    }
    emit(line)
}

# What is public in a base of the lock.
function show_public(base,   header, line, shown) {
    header = "include/colock/detail/" base ".hpp"
    while ((getline line < header) > 0 && line !~ /^protected:/) {
        if (shown && line ~ /using executor_type/) {
            print "    /// The type of `get_executor()`."
        }
        gsub(/Owner\.\.\. owner, ?/, owner, line)
        gsub(/Guard/, guard, line)
        if (shown) {
            show(line)
        }
        shown = shown || line ~ /^public:/
    }
    close(header)
}

# Whether the line before it documents this one.
function documented() { return previous ~ /^ *\/\/\// }

function describe(words) {
    if (!documented()) {
        print "/// " words
    }
}

# The first line says what the header is for.
FNR == 1 {
    row = held_back = ""
    print "/// \\file"
    sub(/^\/\/ /, "/// ")
    print $0
    print "///"
    next
}

# From specializations, which nobody calls by name.
skipping {
    if (/^};/) {
        skipping = 0
    }
    next
}
/^template </ {
    held_back = held_back $0 "\n"
    next
}
held_back != "" {
    if (/^ +requires|^ +typename/) {
        held_back = held_back $0 "\n"
        next
    }
    if (/^struct (boost::|std::hash|associated_diagnostics<diagnostics_binder)/) {
        held_back = ""
        skipping = !/};$/
        next
    }
    printf "%s", held_back
    held_back = ""
}

/^(private|protected):/ {
    inside = 1
    next
}
inside && !/^(public:|};)/ { next }
{ inside = 0 }

/ : public detail::/ {
    of_basic_lock = / detail::(exclusive|owned)_lock/
    guard = / detail::exclusive_lock/ ? "unique_lock" : / detail::owned_lock/ ? "recursive_lock" : / detail::joint_lock/ ? "multi_guard" : ""
    owner = / detail::owned_lock/ ? "lock_owner\\& owner, " : ""
    sub(/ : public detail::[a-z_<:> ]*[a-z_>]/, "")
}
of_basic_lock && /^public:/ {
    emit($0)
    show_public("basic_lock")
    of_basic_lock = 0
    next
}
# After the constructors, and before what the lock has besides.
guard != "" && /^    \/\/ ---- |^private:|^};/ {
    show_public("lock_functions")
    guard = ""
}

/using executor_type = / { describe("The type of `get_executor()`.") }
/ operator==\(.*= default;/ { describe("Compares all members.") }
/void swap\(/ { describe("Exchanges what the two have.") }
/ [a-z_]+\([a-z_]+&&( other)?\) noexcept = default;/ { describe("Takes over what another one has, which is empty then.") }
/operator=\([a-z_]+&&( other)?\) noexcept = default;/ {
    describe("Lets go of what it has, and takes over what another one has, which is empty then.")
}

{ show($0) }
