#!/usr/bin/env python3
"""Dead links of the Markdown pages: files that are not there, and headings that are not.

    tools/links.py [ROOT]

Every `[text](target)` of every Markdown file: a relative target has to be a file or a
folder of the repository, and behind `#` the name of a heading, as a forge makes it. Links to the network are not
followed. The site (mkdocs.yml) makes the same names of headings. Comments of sources that name a page,
`docs/locks.md`, are held to it as well.
"""
import os
import re
import sys

FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
IMAGE = re.compile(r"!\[[^\[\]]*\]\(\s*<?([^)\s>]+)>?\s*\)")  # which may be the text of a link
LINK_FROM_ABOVE = re.compile(r"^[^\[\]]*\]\(([^)\s]+)\)")  # whose text begins in the line before
DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s+(\S+)")
HTML = re.compile(r"\b(?:src|href)=\"([^\"]+)\"")
TARGETS = (LINK, IMAGE, LINK_FROM_ABOVE, HTML, DEFINITION)
HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
NAMED = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"|\{\s*#([\w-]+)\s*\}")
PAGE = re.compile(r"\bdocs/[\w/-]+\.md\b")


def prose(text):
    """The lines that are not code, with their numbers; code within a line becomes blanks."""
    fence = None
    for number, line in enumerate(text.split("\n"), 1):
        mark = FENCE.match(line)
        if fence:
            if mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence):
                fence = None
        elif mark:
            fence = mark[1]
        else:
            yield number, line


def without_code(line):
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", lambda m: " " * len(m[0]), line)


def heading_id(title):
    """As a forge names it: small letters, no punctuation, a dash for each blank."""
    title = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", title)
    title = re.sub(r"<[^>]+>", "", title).replace("`", "")
    title = re.sub(r"\*\*?(.+?)\*\*?", r"\1", title)
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


def ids_of(text):
    ids, seen = set(), {}
    for _, line in prose(text):
        heading = HEADING.match(line)
        if heading:
            name = heading_id(heading[2])
            count = seen.get(name, 0)
            seen[name] = count + 1
            ids.add(f"{name}-{count}" if count else name)
        for found in NAMED.finditer(line):
            ids.add(found[1] or found[2])
    return ids


def targets_of(text):
    for number, line in prose(text):
        line = without_code(line)
        for pattern in TARGETS:
            for found in pattern.finditer(line):
                yield number, found[1]


def files_below(root, ending):
    """Files of the repository: not those of a build, nor hidden ones."""
    for folder, folders, files in os.walk(root):
        if "CMakeCache.txt" in files:
            folders.clear()
            continue
        folders[:] = sorted(f for f in folders if f not in (".git", "build"))
        for file in sorted(files):
            if file.endswith(ending):
                yield os.path.relpath(os.path.join(folder, file), root)


def faults_of(root):
    texts = {}
    for name in files_below(root, ".md"):
        with open(os.path.join(root, name), encoding="utf-8") as file:
            texts[name] = file.read()
    ids = {name: ids_of(text) for name, text in texts.items()}
    links = 0
    for name, text in texts.items():
        for number, target in targets_of(text):
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            links += 1
            path, _, anchor = target.partition("#")
            file = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            if target.startswith("/") or file.startswith(".."):
                yield f"{name}:{number}: {target}: not within the repository"
            elif not os.path.exists(os.path.join(root, file)):
                yield f"{name}:{number}: {target}: there is no such file"
            elif anchor and file in ids and anchor not in ids[file]:
                yield f"{name}:{number}: {target}: {file} has no such heading"
    for name in files_below(root, (".hpp", ".cpp")):
        with open(os.path.join(root, name), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                for page in PAGE.findall(line):
                    links += 1
                    if page not in texts:
                        yield f"{name}:{number}: {page}: there is no such page"
    if links < 50:
        yield f"only {links} links were found: is this check right?"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    faults = list(faults_of(root))
    for fault in faults:
        print(fault)
    if faults:
        sys.exit(f"{len(faults)} dead link(s)")


if __name__ == "__main__":
    main()
