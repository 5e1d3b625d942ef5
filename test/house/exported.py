"""The module `colock` exports every public name of the headers, and no other. `detail` and colock/testing are left out."""
import pathlib
import re
import sys

headers = pathlib.Path(__file__).resolve().parents[2] / "include"
module = headers / "colock/colock.cppm"

not_code = re.compile(r'//[^\n]*|^[ \t]*#(?:\\\n|[^\n])*|"(?:\\.|[^"\\\n])*"|\[\[[^]]*\]\]|\bCOLOCK_DECL\b', re.M)
space = re.compile(r"\s*(?:inline )?namespace ([\w:]+)$")
typename = re.compile(r"(?:template <.*> )?(?:class|struct|enum(?: class)?|union|concept|using) (\w+)(?: final)?(?: ?[:={].*)?$")
operator = re.compile(r"\boperator ?([^\w\s(]+) ?\(")
function = re.compile(r"(\w+) ?\(")
variable = re.compile(r"(\w+)(?: ?[={].*)?$")


def closing(text, at):
    """Behind the brace that closes the one at `at`."""
    depth = 0
    for match in re.compile("[{}]").finditer(text, at):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.end()
    sys.exit(f"a brace without its end: {text[at:at + 60]}")


def without_angles(text):
    """Without arguments and parameters of templates."""
    while (shorter := re.sub(r"<[^<>=]*(?:=[^<>]*)?>", "", text)) != text:
        text = shorter
    return text


def name_of(declaration):
    """The name that a declaration introduces, and whether it is a function."""
    words = " ".join(declaration.split())
    if re.match(r"(static_assert|extern template|using namespace|friend|template <> )", words):
        return "", False
    if named := typename.match(words):
        return named.group(1), False
    if named := operator.search(words):
        return "operator" + named.group(1), True
    plain = re.sub(r"\brequires\b.*?(?=\b(?:auto|void|bool|class|struct)\b)", "", without_angles(words))
    before_value = plain.split("=")[0]
    if named := function.search(before_value):
        return named.group(1), True
    if named := variable.search(before_value.strip()):
        return named.group(1), False
    sys.exit(f"exported.py does not understand: {words[:200]}")


def read(text, scope, found):
    """The names that a namespace declares."""
    at = begin = 0
    while match := re.compile("[{;]").search(text, at):
        head = text[begin:match.start()]
        if match.group() == ";":
            if head.strip():
                found.add("::".join([*scope, name_of(head)[0]]))
            at = begin = match.end()
            continue
        after = closing(text, match.start())
        if head.count("(") > head.count(")"):  # the default of a parameter
            at = after
            continue
        if inner := space.match(" ".join(head.split())):
            if "detail" not in inner.group(1).split("::"):
                read(text[match.end():after - 1], scope + inner.group(1).split("::"), found)
        elif name_of(head)[1]:
            found.add("::".join([*scope, name_of(head)[0]]))
        else:  # the `;` follows
            at = after
            continue
        at = begin = after


public = set()
for header in sorted(headers.rglob("*.hpp")):
    if {"detail", "testing"}.isdisjoint(header.relative_to(headers).parts):
        read(not_code.sub("", header.read_text()), [], public)
public = {name for name in public if name.startswith("colock::") and not name.endswith("::")}
if len(public) < 100:
    sys.exit(f"exported.py finds {len(public)} public names only")
if "--list" in sys.argv:
    print("\n".join(sorted(public)))
    sys.exit()
exported = set(re.findall(r"^ *using (colock::[^;]+);", module.read_text(), re.M))
for name in sorted(public - exported):
    print(f"{name}: public, and not exported by {module.name}")
for name in sorted(exported - public):
    print(f"{name}: exported by {module.name}, and in no public header")
print(f"{len(public)} public names, {len(exported)} exported")
sys.exit(public != exported)
