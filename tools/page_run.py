#!/usr/bin/env python3
"""Makes a script for bash of a page, which does what a reader of the page does. `./dev clean-root 12 --pages` runs it.

    tools/page_run.py [--debian 12|13] PAGE      the script; PAGE may end with the anchor of a section, #such-as-this
    tools/page_run.py --left-out PAGE...         which blocks are not run, and why
    tools/page_run.py --before PAGE              the page that has to be done before, if there is one

What a page says with its blocks:

    ```sh                 all lines are run, in order, in one shell
    ```console            the lines behind "$ " are run in that shell
    <!--terminal-->       above a block: each of its lines is run in a terminal of its own, until the page has ended. The next
                          block follows when it has printed something
    <!--file:PATH-->      above a block: it is a file, written to that place
    <!--not-run:REASON--> above a block: it is left out, with hyphens in place of blanks
    <!--add:COMMAND-->    is run as well, and does not show on the page: what a reader has already, or does in an editor
    <!--debian13:A=B-->   on Debian 13 the page says to write B in place of A
    <!--with-server-->    begins after the first step of the tutorial, in the same root: with colock installed, and with
                          `colock serve` in a terminal

Blocks of other languages are fragments, and those of none output; both are left out. Each mark is for what follows it at once.
A script begins in a home of its own, with a clone of the repository in the folder colock; `<!--add:cd colock-->` goes there.
"""

import argparse
import pathlib
import re
import shlex
import sys
from dataclasses import dataclass, field

FIRST = "docs/tutorial.md#1-a-lock"
ROOT = pathlib.Path(__file__).resolve().parent.parent

REASONS = {
    "": "output, or lines that show a form",
    "cpp": "a fragment, which test/snippets compiles",
    "console": "nothing in it is a command",
}

PRELUDE = r"""#!/usr/bin/env bash
# Made by tools/page_run.py of {page}
set -eE
_commands=0 _line=0 _logs=$(mktemp -d) _terminals=()
trap 'printf "== FAILED: %s:%d\n" {page} "$_line"; for _log in "$_logs"/*; do echo "-- $_log"; tail -5 "$_log"; done' ERR
_at() {{ # LINE COMMANDS
    (exit $?) # of the last command, also where that was in a list
    local process
    for process in "${{_terminals[@]}}"; do kill -0 "$process"; done # they have not ended
    _line=$1
    ((_commands += $2)) || true
    printf '== %s:%d\n' {page} "$1"
}}
# Another terminal: runs on, and has said something when this returns. At the end it gets Ctrl-C.
_terminal() {{ # COMMAND
    local log=$_logs/${{#_terminals[@]}} first
    mkfifo "$log.pipe"
    setsid env --default-signal=INT bash -c "$1" >"$log.pipe" 2>&1 </dev/null &
    _terminals+=($!)
    exec {{said}}<"$log.pipe"
    rm "$log.pipe"
    IFS= read -r -t 60 first <&"$said" || {{ echo "it said nothing in another terminal: $1"; return 1; }}
    printf '| %s\n' "$first"
    {{ printf '%s\n' "$first"; cat <&"$said"; }} >"$log" 2>&1 &
    exec {{said}}<&-
}}
_end() {{
    local status=$? process
    for process in "${{_terminals[@]}}"; do kill -INT -- "-$process" 2>/dev/null || true; done
    [[ $status != 0 ]] || printf "\\n%s\\n" "== page: {page}: $SECONDS s, $_commands commands, {added} added, {left} blocks left out"
}}
trap _end EXIT
"""


@dataclass
class Block:
    line: int
    language: str
    marks: list = field(default_factory=list)
    lines: list = field(default_factory=list)

    def mark(self, name):
        return [text for kind, text in self.marks if kind == name]


def fail(text):
    sys.exit(f"page_run: {text}")


def slug(heading):
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower().replace("`", ""))
    return kept.replace(" ", "-")


def read(page):
    """The lines of a page, or of one of its sections, as (number, text)."""
    name, _, anchor = page.partition("#")
    lines = list(enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1))
    if not anchor:
        return lines
    found, depth, fenced = [], 0, False
    for number, text in lines:
        fenced ^= text.startswith("```")
        heading = None if fenced else re.match(r"(#+) (.*)", text)
        if heading and depth and len(heading[1]) <= depth:
            break
        if heading and slug(heading[2]) == anchor:
            depth = len(heading[1])
        if depth:
            found.append((number, text))
    return found or fail(f"{name} has no section #{anchor}")


def parse(page):
    """Blocks, and marks that stand alone: those are blocks without a language."""
    blocks, marks, block = [], [], None
    for number, text in read(page):
        if block:
            if text.startswith("```"):
                blocks.append(block)
                block = None
            else:
                block.lines.append(text)
        elif text.startswith("```"):
            block, marks = Block(number, text[3:].strip(), marks), []
        elif mark := re.fullmatch(r"<!--(terminal|file|not-run|add|debian13|with-server):?(.*)-->", text):
            if mark[1] in ("add", "debian13", "with-server"):
                blocks.append(Block(number, "mark", [(mark[1], mark[2])]))
            else:
                marks.append((mark[1], mark[2]))
        elif marks and text and not text.startswith("<!-- "):
            fail(f"{page}:{number}: a mark stands above no block")
    if block:
        fail(f"{page}: a block does not end")
    return blocks


def commands(block):
    if block.language == "console":
        return [line[2:] for line in block.lines if line.startswith("$ ")]
    return block.lines


def reason(block):
    """Why a block is left out, or nothing."""
    if block.language == "mark" or block.mark("file"):
        return ""
    if block.mark("not-run"):
        return block.mark("not-run")[0].replace("-", " ")
    if block.language in ("sh", "console") and commands(block):
        return ""
    return REASONS.get(block.language, f"a fragment ({block.language})")


def count(lines):
    return sum(1 for before, line in zip([""] + lines, lines)
               if line.strip() and not re.match(r"\s*#", line) and not before.endswith("\\"))


def script(page, debian):
    blocks = parse(page)
    other = [text.split("=", 1) for block in blocks for text in block.mark("debian13") if debian == "13"]
    added = [text for block in blocks for text in block.mark("add")]
    left = sum(1 for block in blocks if reason(block))
    out = [PRELUDE.format(page=shlex.quote(page), added=len(added), left=left)]
    for block in blocks:
        if reason(block):
            continue
        if block.language == "mark":
            if block.mark("with-server"):
                out += [f"_at {block.line} 0", "_terminal 'colock serve'"]
            for text in block.mark("add"):
                out += [f"_at {block.line} 0", text]
            continue
        lines = commands(block)
        for old, new in other:
            lines = [line.replace(old, new) for line in lines]
        if block.mark("file"):
            place = shlex.quote(block.mark("file")[0])
            out += [f"_at {block.line} 0", f'mkdir -p "$(dirname {place})"', f"cat >{place} <<'END_OF_FILE'",
                    *lines, "END_OF_FILE"]
        elif block.mark("terminal"):
            out += [f"_at {block.line} {count(lines)}", *(f"_terminal {shlex.quote(line)}" for line in lines)]
        else:
            out += [f"_at {block.line} {count(lines)}", *lines]
    return "\n".join(out) + "\n(exit $?)\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--debian", choices=("12", "13"), default="12")
    parser.add_argument("--left-out", action="store_true")
    parser.add_argument("--before", action="store_true")
    parser.add_argument("pages", nargs="+", metavar="PAGE")
    options = parser.parse_args()
    for page in options.pages:
        if options.left_out:
            for block in parse(page):
                if why := reason(block):
                    print(f"{page}:{block.line}: left out: {why}")
                for text in block.mark("add"):
                    print(f"{page}:{block.line}: added: {text}")
        elif options.before:
            print(FIRST if any(block.mark("with-server") for block in parse(page)) else "")
        else:
            print(script(page, options.debian), end="")


if __name__ == "__main__":
    main()
