# What Doxygen sees of a public header: the interface alone, and comments as the reference lays them out.
#
# A filter for FILTER_PATTERNS of the Doxyfile:
#
#   awk -f tools/docs/comments.awk HEADER
#
# - What is private, or for classes that derive, and specializations for Asio and the standard library, are left out.
# - What every lock has from detail::basic_lock stands in the lock itself.
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
    lock = / detail::basic_lock/
    sub(/ : public detail::[a-z_<:> ]*[a-z_>]/, "")
}
lock && /^public:/ {
    emit($0)
    shown = 0
    while ((getline line < "include/colock/detail/basic_lock.hpp") > 0) {
        if (line ~ /^protected:/) {
            break
        }
        if (shown && line ~ /using executor_type/) {
            print "    /// The type of `get_executor()`."
        }
        if (shown) {
            emit(line)
        }
        shown = shown || line ~ /^public:/
    }
    close("include/colock/detail/basic_lock.hpp")
    lock = 0
    next
}

/using executor_type = / { describe("The type of `get_executor()`.") }
/ operator==\(.*= default;/ { describe("Compares all members.") }
/void swap\(/ { describe("Exchanges what the two have.") }
/ [a-z_]+\([a-z_]+&&( other)?\) noexcept = default;/ { describe("Takes over what another one has, which is empty then.") }
/operator=\([a-z_]+&&( other)?\) noexcept = default;/ {
    describe("Lets go of what it has, and takes over what another one has, which is empty then.")
}

/^ *\/\/\/ (Completion signature|Errors|Cancellation|Executor|Token|Preconditions|Thread safety)[^:]*: ?/ {
    indent = $0
    sub(/\/\/\/.*/, "", indent)
    if (previous !~ /^ *\/\/\/$/) {
        print indent "///"
    }
    label = $0
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
    next
}

/^ *\/\/\/.*docs\/[a-z\/_-]+\.md/ {
    out = ""
    rest = $0
    while (match(rest, /docs\/[a-z\/_-]+\.md/)) {
        page = substr(rest, RSTART, RLENGTH)
        target = page
        sub(/^docs\//, "", target)
        sub(/\.md$/, ".html", target)
        out = out substr(rest, 1, RSTART - 1) "<a href=\"../" target "\">" page "</a>"
        rest = substr(rest, RSTART + RLENGTH)
    }
    $0 = out rest
}

{ emit($0) }
