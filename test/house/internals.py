#!/usr/bin/env python3
"""The pages for those who change colock say what is there.

    internals.py [ROOT]

A name on a page below docs/internals stands as `FILE: FUNCTION`, or `FILE: TYPE`: FILE has to define or declare it. Files
and folders that stand alone, as `lib/queue/waiting.cpp`, have to exist. docs/internals/overview.md answers each of its
questions in at most ten lines, and all pages together have at most 10,000 words.
"""
import glob
import os
import re
import sys

NAME = re.compile(r"`((?:[\w.-]+/)+[\w.-]+): ([\w:~]+)`")
FILE = re.compile(r"`((?:include|lib|cli|test|tools|docs|cmake)/[\w./*-]+)`")
QUESTION = re.compile(r"^\*\*[^*]+\?\*\*$")
TYPE = r"^[ \t]*(?:class|struct|enum|enum class)[ \t]+(?:COLOCK_DECL[ \t]+)?{}\b[^;\n]*$"
FEWEST_NAMES = 40  # fewer: is this test right?
MOST_LINES = 10
MOST_WORDS = 10_000


def has(text, pattern, name):
    return re.search(pattern.format(re.escape(name)), text, re.MULTILINE)


def defines(text, name):
    """A definition begins in the first column, where no call does. A declaration in a class has a type before the name."""
    scope, _, last = name.rpartition("::")
    if has(text, r"^(?:[^\s/#].*[\s*&])?{}\(", name) or not scope and has(text, TYPE, name):
        return True
    declared = r"^[ \t]+(?!return\b|throw\b|co_)(?:[\w:<>,&*\[\]]+[ \t]+)+[*&]?{}\("
    return scope and has(text, TYPE, scope.rpartition("::")[2]) and has(text, declared, last)


def faults_of(root):
    sources, names, words = {}, 0, 0
    for page in sorted(glob.glob(os.path.join(root, "docs/internals/**/*.md"), recursive=True)):
        where = os.path.relpath(page, root)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        words += len(text.split())
        for path, name in NAME.findall(text):
            names += 1
            if path not in sources:
                full = os.path.join(root, path)
                sources[path] = open(full, encoding="utf-8").read() if os.path.isfile(full) else None
            if sources[path] is None:
                yield f"{where}: {path}: {name}: there is no such file"
            elif not defines(sources[path], name):
                yield f"{where}: {path}: {name}: the file does not define it"
        for path in FILE.findall(text):
            if not glob.glob(os.path.join(root, path)) and not glob.glob(os.path.join(root, path + ".cpp")):
                yield f"{where}: {path}: there is no such file"
        if where == "docs/internals/overview.md":
            yield from long_answers(where, text)
    if names < FEWEST_NAMES:
        yield f"only {names} names were found: is this test right?"
    if words > MOST_WORDS:
        yield f"docs/internals has {words} words, more than {MOST_WORDS}"


def long_answers(where, text):
    question, lines, questions = None, 0, 0
    for line in text.split("\n") + ["## "]:
        if question and (line.startswith("#") or QUESTION.match(line)):
            if lines > MOST_LINES:
                yield f"{where}: the answer to {question} has {lines} lines, more than {MOST_LINES}"
            question = None
        if QUESTION.match(line):
            question, lines, questions = line, 0, questions + 1
        elif line.strip():
            lines += 1
    if questions < 5:
        yield f"{where}: only {questions} questions were found: is this test right?"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    faults = list(faults_of(root))
    for fault in faults:
        print(fault)
    if faults:
        sys.exit(f"{len(faults)} fault(s): mend the pages together with the sources")


if __name__ == "__main__":
    main()
