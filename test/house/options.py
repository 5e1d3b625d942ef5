"""Options of colock that no test gives to it. They stand where the program adds them; tests are those that run it."""
import collections
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
added = re.compile(r'\b(?:add_\w+(?:<[\w:]+>)?)\(\s*(?:\*?\w+(?:\.\w+)?,\s*)?"(-[-\w,]+)"')
options = []  # the command, if it is one command's own; its names
for source in sorted((root / "cli").rglob("*.cpp")):
    text = source.read_text()
    commands = re.findall(r'\.name = "(\w+)"', text)
    for names in sorted(set(added.findall(text))):
        options.append((commands[0] if len(commands) == 1 else "", names.split(",")))
if len(options) < 80:
    sys.exit(f"options.py finds {len(options)} options only: does the program add them in another way?")

tests = [f for part in ("cli", "security", "tls", "serve", "integration", "interop", "consume", "chaos", "fence", "fault")
         for f in sorted((root / "test" / part).rglob("*")) if f.suffix in (".cpp", ".hpp")]
text = "\n".join(re.sub("//.*", "", f.read_text()) for f in tests)
# A test runs what stands after a `$` in blocks of this page.
text += "\n" + "\n".join(re.findall(r"^\$ .*(?:\n> .*)*", (root / "docs/command.md").read_text(), re.M))
often = collections.Counter(names[0] for _, names in options)
missing = []
for command, names in options:
    either = "|".join(map(re.escape, names))
    word = rf'"(?:{either})"'
    if command and often[names[0]] > 1:  # others have it, too: in one statement with the command
        word = rf'(?:(?:\{{|COLOCK_PROGRAM,)\s*"{command}"|\b{command}\()[^;]*{word}'
    if not re.search(rf"{word}|colock {command or '[a-z]+'} (?:[^\n]* )?(?:{either})(?![-\w])", text):
        missing.append(f"{command or 'run'} {names[0]}")
for option in missing:
    print(f"{option}: no test gives it to colock")
print(f"{len(options)} options, {len(missing)} without a test")
sys.exit(1 if missing else 0)
