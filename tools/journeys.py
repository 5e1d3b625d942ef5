#!/usr/bin/env python3
"""Counts two journeys through the library: calls, files, and how often the next call is into another file.

    journeys.py [TREE]           of this tree, or of another one with the same interface; needs `./dev build`
    journeys.py --calls [TREE]   prints each call

The calls are those of functions that lib and include/colock define, small ones that a compiler would inline included, in the
thread of the one who locks; a program that GCC has compiled with -finstrument-functions notes them.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

here = Path(__file__).resolve().parents[1]
calls_too = "--calls" in sys.argv
rest = [a for a in sys.argv[1:] if a != "--calls"]
tree = Path(rest[0]).resolve() if rest else here
build = tree / "build/journeys"


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


run("cmake", "-S", here / "tools/journeys", "-B", build, f"-DTREE={tree}", "-DCMAKE_CXX_COMPILER=g++", "-GNinja")
run("cmake", "--build", build, "--target", "journeys")

server = subprocess.Popen([here / "build/release/bin/private_zookeeper", "--until-eof"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True)
try:
    address = re.match(r"connect string: (\S+)", server.stdout.readline()).group(1)
    trace = run(build / "journeys", address).splitlines()
finally:
    server.stdin.close()
    server.wait()

addresses = sorted({line for line in trace if line.startswith("0x")})
told = run("addr2line", "-fC", "-e", build / "journeys", *addresses).splitlines()
where = {}
for address, name, place in zip(addresses, told[::2], told[1::2]):
    file = os.path.relpath(os.path.normpath(place.split(":")[0]), tree)
    where[address] = (file, name) if re.match(r"(lib|include/colock)/", file) else None


def show(name, calls):
    files = [file for file, _ in calls]
    changes = sum(a != b for a, b in zip(files, files[1:]))
    print(f"{name}: {len(calls)} calls, {len(set(files))} files, {changes} changes of file")
    if calls_too:
        for file, function in calls:
            print(f"    {file}: {function}")


journey, calls = None, []
for line in [*trace, None]:
    if line is None or not line.startswith("0x"):
        if journey:
            show(journey, calls)
        journey, calls = line, []
    elif where[line]:
        calls.append(where[line])
