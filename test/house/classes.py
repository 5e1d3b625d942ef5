"""No class of include, lib, cli and testing has more than 20 data members, or more than 500 lines of functions.

    classes.py          looks; the exit status is 1 if a class is over
    classes.py --all    prints all classes, the largest first

A class has as data members: its own that are not static; those of a nested type that exactly one of them has as its type,
directly or in an optional, unique_ptr or shared_ptr; and those of a base class that no other class has. The elements of a
container and the alternatives of a variant are not its members. Nor are those of a nested type that is for its users: a
public aggregate without functions. Where `include` defines one, it may have more than 20.

The lines are those of all its member functions, wherever they stand, from the first one of a definition to its last one,
without blank lines and comments; and those of its nested types and such bases, as above.

OVER lists the classes that are over today: they may only shrink, and then the table has to say so.
"""

import re
import sys
from pathlib import Path

MOST_MEMBERS, MOST_LINES = 20, 500

OVER = {  # name: (data members, lines, rounded up to 50)
}

root = Path(__file__).resolve().parents[2]
me = "test/house/classes.py"


def bare(text):
    """The text without comments, literals and directives, with the same lines."""

    def blank(match):
        found = match.group()
        if found.startswith(("/", "#")):
            return "\n" * found.count("\n")
        return '""' + "\n" * found.count("\n")

    return re.sub(
        r'R"(\w*)\((?:.|\n)*?\)\1"|//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*",
        blank,
        text,
        flags=re.M,
    )


def closing(text, at):
    """Behind the brace that closes the one at `at`."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(text, at):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.end()
    raise SystemExit("a brace without its end")


def without_angles(text):
    """Without the arguments of templates."""
    text = re.sub(r"operator\s*(<=>|<<|>>|<=|>=|<|>|->)", "operator_", text).replace("->", "  ")
    while True:
        shorter = re.sub(r"<[^<>]*>", "", text)
        if shorter == text:
            return text
        text = shorter


class Class:
    def __init__(self, name, file, bases, outer):
        self.name, self.file, self.bases, self.outer = name, file, bases, outer
        self.members = []  # (type, number)
        self.lines = 0
        self.nested = []
        self.has_functions = False
        self.is_aggregate = True  # as far as its access goes
        self.access = "public"
        self.is_public = True  # in the class around it

    def is_plain(self):
        """A public aggregate without functions."""
        return self.is_aggregate and not self.has_functions and not self.bases

    def held_types(self):
        """The nested types that one data member has, by value or behind a pointer of its own."""
        for each in self.nested:
            if each.is_public and each.is_plain():
                continue
            name = each.name.rsplit("::", 1)[-1]
            own = [t for t, _ in self.members if re.search(rf"\b{name}\b", t)]
            others = [t for n in self.nested if n is not each for t, _ in n.members if re.search(rf"\b{name}\b", t)]
            held = rf"^(const )?(std::(optional|unique_ptr|shared_ptr)<)?(const )?{name}>?$"
            if len(own) == 1 and not others and re.match(held, own[0]):
                yield each


classes = {}
bodies = []  # (scope, the class as it is written, lines, file)
namespaces = set()


def code_lines(text):
    return sum(1 for line in text.splitlines() if line.strip())


HEAD = re.compile(r"^(?:template\b.*?)?\b(class|struct|union)\b(?:\s+alignas\([^)]*\))?(?:\s*\[\[[^]]*\]\])?"
                  r"(?:\s+[A-Z_]+)?\s+(\w+(?:::\w+)*)\s*(?:final\s*)?(?::(?!:)(.*))?$", re.S)


def read(text, at, end, scope, file, inside):
    """The declarations between two places. `scope`: the names around; `inside`: the class, if it is one."""
    begin = at
    token = re.compile(r"[{};]")
    while match := token.search(text, at, end):
        head = text[begin:match.start()]
        label = re.match(r"(?:\s*(?:public|protected|private)\s*:(?!:))+", head)
        if label:
            begin += label.end()
            head = head[label.end():]
            if inside:
                inside.access = re.findall(r"\w+", label.group())[-1]
        plain = without_angles(head).strip()
        if match.group() == "}":
            raise SystemExit(f"{file}: an unexpected brace after {head[-60:]!r}")
        if match.group() == ";":
            if inside:
                declare(inside, head, plain)
            at = begin = match.end()
            continue
        after = closing(text, match.start())
        named = HEAD.match(plain)
        if space := re.match(r"(?:inline\s+)?namespace\b\s*([\w:]*)$", plain):
            name = space.group(1) or f"({file})"
            namespaces.update(name.split("::"))
            read(text, match.end(), after - 1, scope + name.split("::"), file, None)
            at = begin = after
        elif re.match(r"(extern\b|template\s*$)", plain) and "(" not in plain:
            read(text, match.end(), after - 1, scope, file, None)
            at = begin = after
        elif named and not re.search(r"=\s*$", plain):
            bases = [re.sub(r"\b(public|protected|private|virtual)\b", "", b).strip()
                     for b in (named.group(3) or "").split(",") if b.strip()]
            names = scope + named.group(2).split("::")
            it = Class("::".join(names), file, bases, inside)
            it.access = "private" if named.group(1) == "class" else "public"
            it.is_public = not inside or inside.access == "public"
            classes.setdefault(it.name, it)
            if inside:
                inside.nested.append(it)
            read(text, match.end(), after - 1, names, file, it)
            rest = re.compile(r"\s*(\w+)?[^;]*;").match(text, after)
            if inside and rest and rest.group(1):
                inside.members.append((named.group(2), 1))
            at = begin = rest.end()
        elif re.match(r"(typedef\s+)?enum\b", plain):
            at = begin = re.compile(r"[^;]*;").match(text, after).end()
        elif is_function(plain) and not is_initialiser(plain):
            lines = code_lines(text[begin:after])
            if inside:
                inside.lines += lines
                inside.has_functions = True
            else:
                name = re.split(r"[\s&*]+", plain[:plain.index("(")].strip())[-1]
                if "::" in name:
                    bodies.append((scope, name.rsplit("::", 1)[0], lines, file))
            at = begin = after
        else:
            at = after  # of a value


def is_function(plain):
    return "(" in re.split(r"(?<![=!<>])=(?!=)", plain.replace("operator=", "operator_"))[0]


def is_initialiser(plain):
    """Within the list of a constructor's initialisers."""
    return re.search(r"\)\s*(noexcept\s*)?:(?!:)", plain) and re.search(r"[\w>]$", plain)


def declare(inside, head, plain):
    words = re.sub(r"\[\[[^]]*\]\]", "", plain)
    if not words or re.match(r"(using|typedef|friend|static_assert|template|enum|class|struct|union)\b", words):
        return
    first = re.split(r"(?<![=!<>])=(?!=)|\{", head)[0]
    if is_function(re.sub(r"\{.*\}", "", words, flags=re.S)):
        inside.has_functions = inside.has_functions or "static" not in words
        return
    if re.match(r"(mutable\s+|inline\s+)*static\b", words):
        return
    flat = without_angles(head)
    while True:
        shorter = re.sub(r"\{[^{}]*\}|\([^()]*\)", "", flat)
        if shorter == flat:
            break
        flat = shorter
    kind = re.sub(r"\b(mutable|const)\b", "", re.sub(r"\[\[[^]]*\]\]", "", first)).strip()
    kind = re.sub(r"\s*[\w\[\]]+\s*(,.*)?$", "", re.sub(r"\s+", " ", kind))
    number = 1 + flat.count(",")
    inside.is_aggregate = inside.is_aggregate and inside.access == "public"
    inside.members.append((kind, number))


def parse():
    for folder in ("include", "lib", "cli", "testing"):
        for path in sorted((root / folder).rglob("*.?pp")):
            text = bare(path.read_text())
            read(text, 0, len(text), [], str(path.relative_to(root)), None)
    for scope, name, lines, file in bodies:
        for n in range(len(scope), -1, -1):
            of = classes.get("::".join(scope[:n] + [name]))
            if of is None:  # of an unnamed namespace around
                continue
            of.lines += lines
            of.has_functions = True
            break
        else:
            if name.rsplit("::", 1)[-1] in namespaces:
                continue
            raise SystemExit(f"{file}: whose function is {name}::?")


def bases_of_one():
    users = {}
    for each in classes.values():
        for base in each.bases:
            users.setdefault(without_angles(base).rsplit("::", 1)[-1].strip(), []).append(each)
    by_name = {}
    for each in classes.values():
        by_name.setdefault(each.name.rsplit("::", 1)[-1], []).append(each)
    found = {}
    for name, those in users.items():
        if len(those) == 1 and len(by_name.get(name, [])) == 1:
            found.setdefault(those[0].name, []).append(by_name[name][0])
    return found


def main():
    parse()
    only_bases = bases_of_one()

    def size(of, seen=()):
        members, lines = sum(n for _, n in of.members), of.lines
        parts = list(of.held_types()) + [b for b in only_bases.get(of.name, []) if b not in seen]
        for part in parts:
            m, l = size(part, (*seen, of))
            members, lines = members + m, lines + l
        return members, lines

    sizes = {}
    for each in classes.values():
        members, lines = size(each)
        if each.file.startswith("include/") and each.is_plain():
            members = 0
        sizes[re.sub(r"^colock::|\([^)]*\)::", "", each.name)] = (members, lines)
    if "--all" in sys.argv:
        for name, (members, lines) in sorted(sizes.items(), key=lambda s: (-s[1][0], -s[1][1])):
            print(f"{members:4} {lines:5} {name}")
        return 0
    faults = []
    for name, (members, lines) in sizes.items():
        most = OVER.get(name, (MOST_MEMBERS, MOST_LINES))
        has = f"{name} has {members} data members and {lines} lines of functions"
        if members > most[0] or lines > most[1]:
            faults.append(f"{has}; {most[0]} and {most[1]} are the most")
        elif name in OVER and members <= MOST_MEMBERS and lines <= MOST_LINES:
            faults.append(f"{has}, which is little enough: take it out of OVER in {me}")
        elif name in OVER and (members < most[0] or lines <= most[1] - 50):
            faults.append(f"{has}: say so in OVER in {me}, so that it stays so")
    faults += [f"{name} is gone: take it out of OVER in {me}" for name in OVER if name not in sizes]
    print("\n".join(faults))
    return 1 if faults else 0


sys.exit(main())
