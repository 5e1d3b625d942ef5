"""Options of colock that no test gives to it. They stand where the program adds them; tests are those that run it."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
added = re.compile(r'\b(?:add_\w+(?:<[\w:]+>)?)\(\s*(?:\*?\w+(?:\.\w+)?,\s*)?"(-[-\w,]+)"')
options = {}
for source in sorted((root / "cli").rglob("*.cpp")):
    for names in added.findall(source.read_text()):
        options.setdefault(names.split(",")[0], names.split(","))
if len(options) < 60:
    sys.exit(f"options.py finds {len(options)} options only: does the program add them in another way?")

texts = [f.read_text() for part in ("cli", "security", "tls", "serve", "integration", "interop", "consume", "chaos", "fence", "fault")
         for f in sorted((root / "test" / part).rglob("*")) if f.suffix in (".cpp", ".hpp", ".sh", ".py", ".cmake", ".txt")]
# A test runs what stands after a `$` in blocks of this page.
texts += re.findall(r"^\$ .*(?:\n> .*)*", (root / "docs/command.md").read_text(), re.M)
used = set(re.findall(r"(?<![-\w])--?[a-zA-Z][-\w]*", "\n".join(texts)))
missing = [names for names in options.values() if used.isdisjoint(names)]
for names in missing:
    print(f"{names[0]}: no test gives it to colock")
print(f"{len(options)} options, {len(missing)} without a test")
sys.exit(1 if missing else 0)
