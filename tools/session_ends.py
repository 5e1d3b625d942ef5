#!/usr/bin/env python3
"""Who ends the session of a process that dies, and after how long: the figures in test/records/session_ends.md.

    session_ends.py [--timeout S] [--rounds N] [WORD...]   only the rows that have one of the words

Needs `./dev build`; control groups, namespaces and a systemd of its own need root. A private server, and for each row a
process with a session guard that holds a lock, and another one that waits for it. What cannot be done here is said.
"""

import argparse
import contextlib
import math
import os
import re
import resource
import select
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
BIN = HERE / "build/release/bin"
HOLDER, COLOCK = str(BIN / "guarded_holder"), str(BIN / "colock")
PATIENCE = 60

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--timeout", type=int, default=10, help="of the sessions, in seconds (10)")
parser.add_argument("--rounds", type=int, default=5, help="of each row (5); one where the servers end it")
parser.add_argument("words", nargs="*")
options = parser.parse_args()


class NotHere(Exception):
    """This machine, or this user, cannot do that."""


def wait_until(what, condition):
    end = time.monotonic() + PATIENCE
    while not (result := condition()):
        if time.monotonic() > end:
            sys.exit(f"failed: {what}")
        time.sleep(0.005)
    return result


def processes(word, program=""):
    """Whose command line has the word, and that are the program."""
    for each in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if each.name.isdigit() and word.encode() in (each / "cmdline").read_bytes():
                if program in os.readlink(each / "exe"):
                    yield int(each.name)


# ---- the servers, a holder, a waiter


class Server:
    def __init__(self):
        self.process = subprocess.Popen([BIN / "private_zookeeper", "--until-eof"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.hosts = re.match(r"connect string: (\S+)", self.process.stdout.readline()).group(1)

    def contenders(self, path):
        """The ephemeral nodes below it."""
        host, port = self.hosts.split(":")
        with socket.create_connection((host, int(port))) as asks:
            asks.sendall(b"dump")
            answer = b"".join(iter(lambda: asks.recv(65536), b""))
        return answer.decode().count(path + "/")

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Scene:
    """A lock of its own, and who has to do with it."""

    number = 0

    def __init__(self, server):
        Scene.number += 1
        self.server = server
        self.path = f"/ends-{os.getpid()}-{Scene.number}"
        self.files = Path(tempfile.mkdtemp(prefix="session-ends-"))
        self.guard = f"guard-{os.getpid()}-{Scene.number}"  # what it shows as its name
        self.helper = self.files / self.guard
        shutil.copy(BIN / "colock-session-guard", self.helper)
        for module in BIN.glob("colock-session-guard-*.so"):
            shutil.copy(module, self.files)
        self.ends = contextlib.ExitStack()

    def words(self, what="hold"):
        return [HOLDER, self.server.hosts, self.path, str(self.helper), what, str(options.timeout)]

    def start_guard_by(self, script):
        """The helper is a script that goes elsewhere, and becomes the installed one."""
        program = self.files / "apart"
        self.helper.rename(program)
        self.helper.write_text(f'#!/bin/sh\n{script} {program} "$@"\n')
        self.helper.chmod(0o755)

    def start(self, words, **more):
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   cwd=self.files, text=True, **more)
        self.ends.callback(process.wait)
        self.ends.callback(process.kill)
        return process

    def start_holder(self, words, **more):
        self.holder = self.start(words, **more)
        wait_for_word(self.holder, "held")

    def owner(self):
        """The holder itself, below whatever has started it."""
        return next(processes(self.path, "guarded_holder"))

    def start_waiter(self):
        self.waiter = self.start(self.words())
        wait_until("a waiter", lambda: self.server.contenders(self.path) == 2)

    def watch(self, pid):
        """Notes when that process is dead."""
        self.pidfd = os.pidfd_open(pid)
        self.ends.callback(os.close, self.pidfd)

    def times(self):
        """When it was dead, and when the next one had the lock."""
        dead = granted = None
        waited = select.poll()
        waited.register(self.pidfd, select.POLLIN)
        waited.register(self.waiter.stdout, select.POLLIN)
        while granted is None:
            for which, _ in waited.poll(PATIENCE * 1000) or sys.exit("failed: nobody ends the session"):
                if which == self.pidfd:
                    dead = time.monotonic()
                    waited.unregister(which)
                else:
                    granted = time.monotonic()
                    wait_for_word(self.waiter, "held")
        return dead or granted, granted

    def end(self):
        self.ends.close()
        for word in (self.path, self.guard, str(self.files)):
            for pid in processes(word):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.files)


def wait_for_word(process, word):
    for line in process.stdout:
        if line.strip() == word:
            return
    sys.exit(f"failed: a process that is {word}")


def kill(*pids):
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


# ---- control groups


def own_group(controller):
    """Where this process is, in the hierarchy of version 1 that has the controller, or of version 2 for an empty one."""
    where = None
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            where = path
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, at, kind, flags = line.split()[:4]
        if where is not None and (kind == "cgroup2" if controller == "" else
                                  kind == "cgroup" and controller in flags.split(",")):
            return Path(at) / where.lstrip("/")
    raise NotHere("there is no such hierarchy of control groups")


@contextlib.contextmanager
def group(controller, files):
    at = own_group(controller) / f"session-ends-{os.getpid()}"
    try:
        at.mkdir()
    except OSError as e:
        raise NotHere(f"a control group: {e.strerror}") from e
    try:
        for name, value in files.items():
            try:
                (at / name).write_text(value)
            except OSError as e:
                raise NotHere(f"{name}: {e.strerror}") from e
        yield at
    finally:
        wait_until("an end of a control group", lambda: ended(at))


def ended(at):
    for folder, _, _ in os.walk(at, topdown=False):
        with contextlib.suppress(OSError):
            for pid in (Path(folder) / "cgroup.procs").read_text().split():
                os.kill(int(pid), signal.SIGKILL)
            os.rmdir(folder)
    return not at.exists()


def entering(at, words):
    return ["sh", "-c", f'echo $$ >{at}/cgroup.procs && exec "$@"', "sh", *words]


# ---- systemd


MANAGER = """
mount -t cgroup2 none /sys/fs/cgroup && mount -t tmpfs none /run/systemd && mkdir /run/systemd/system || exit 1
exec /lib/systemd/systemd --user --log-target=null
"""


@contextlib.contextmanager
def manager(scene):
    """A service manager in control groups and mounts of its own, with units in scene.files."""
    if os.geteuid() != 0 or not Path("/lib/systemd/systemd").exists():
        raise NotHere("it needs root, and systemd")
    environment = {"XDG_RUNTIME_DIR": str(scene.files / "run"), "SYSTEMD_UNIT_PATH": str(scene.files),
                   "HOME": str(scene.files), "PATH": os.environ["PATH"]}
    (scene.files / "run").mkdir()
    (scene.files / "default.target").write_text("[Unit]\nDefaultDependencies=no\n")
    with group("", {}) as at:
        scene.start(entering(at, ["unshare", "--mount", "--cgroup", "sh", "-c", MANAGER]), env=environment)

        def control(*words):
            return subprocess.run(["systemctl", "--user", *words], env=environment, capture_output=True, text=True)
        wait_until("a manager", lambda: control("list-units").returncode == 0)
        yield control


def unit(mode, how, stubborn=False, apart=False):
    def row(scene):
        with manager(scene) as control:
            if apart:
                scene.start_guard_by(f"export XDG_RUNTIME_DIR={scene.files}/run\n"
                                     "exec systemd-run --user --scope --quiet")
            (scene.files / "holder.service").write_text(
                f"[Unit]\nDefaultDependencies=no\n[Service]\nKillMode={mode}\nTimeoutStopSec=2s\n"
                f"StandardOutput=file:{scene.files}/said\n"
                + "ExecStart=" + (f"sh -c \"trap '' TERM; exec {' '.join(scene.words())}\"" if stubborn
                                  else " ".join(scene.words())) + "\n")
            control("start", "holder.service")
            wait_until("a unit", lambda: "held" in (scene.files / "said").read_text()
                       if (scene.files / "said").exists() else False)
            scene.start_waiter()
            scene.watch(scene.owner())
            begin = time.monotonic()
            if how == "stop":
                control("stop", "--no-block", "holder.service")
            else:
                kill(scene.owner())
            return begin, *scene.times()
    return row


# ---- the rows


def told(what, word="\n"):
    """Ends by itself, when it is told to."""
    def row(scene):
        scene.start_holder(scene.words(what))
        scene.start_waiter()
        scene.watch(scene.holder.pid)
        begin = time.monotonic()
        scene.holder.stdin.write(word)
        scene.holder.stdin.flush()
        return begin, *scene.times()
    return row


def killed(and_guard=False):
    def row(scene):
        scene.start_holder(scene.words())
        scene.start_waiter()
        scene.watch(scene.holder.pid)
        begin = time.monotonic()
        kill(*(processes(scene.guard, scene.guard) if and_guard else []), scene.holder.pid)
        return begin, *scene.times()
    return row


def dumped(megabytes):
    def row(scene):
        pattern = Path("/proc/sys/kernel/core_pattern").read_text()
        if pattern.startswith(("|", "/")):
            raise NotHere(f"cores go to {pattern.strip()}")
        scene.start_holder(scene.words("eat"), preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)))
        scene.holder.stdin.write(f"{megabytes}\n")
        scene.holder.stdin.flush()
        wait_for_word(scene.holder, "eaten")
        scene.start_waiter()
        scene.watch(scene.holder.pid)
        begin = time.monotonic()
        scene.holder.send_signal(signal.SIGSEGV)
        return begin, *scene.times()
    return row


def out_of_memory(scene):
    with group("memory", {"memory.limit_in_bytes": str(256 << 20)}) as at:
        scene.start_holder(entering(at, scene.words("eat")))
        scene.start_waiter()
        scene.watch(scene.owner())
        begin = time.monotonic()
        scene.holder.stdin.write("1024\n")
        scene.holder.stdin.flush()
        return begin, *scene.times()


def group_killed(apart=False):
    def row(scene):
        with group("", {}) as at:
            if apart:
                scene.start_guard_by(f"echo $$ >{at.parent}/cgroup.procs\nexec")
            scene.start_holder(entering(at, scene.words()))
            scene.start_waiter()
            scene.watch(scene.owner())
            begin = time.monotonic()
            (at / "cgroup.kill").write_text("1")
            return begin, *scene.times()
    return row


def contained(script):
    """What is in a container has a process table of its own: the first process is the script's shell, or what it becomes."""
    def row(scene):
        namespace = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if subprocess.run([*namespace, "true"], capture_output=True).returncode:
            raise NotHere("a namespace of processes needs root")
        scene.start_holder([*namespace, "sh", "-c", script, "sh", *scene.words()])
        scene.start_waiter()
        scene.watch(scene.owner())
        begin = time.monotonic()
        kill(scene.owner())
        return begin, *scene.times()
    return row


def command(victims, script="echo held; exec sleep 1000"):
    """colock run, of which these are killed."""
    def row(scene):
        scene.start_holder([COLOCK, "run", "--servers", scene.server.hosts, "--session-timeout",
                            f"{options.timeout}s", "--grace", "1s", scene.path, "--", "sh", "-c", script])
        scene.start_waiter()
        supervisor = scene.holder.pid
        guardian = int(Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()[0])
        scene.watch(supervisor)
        begin = time.monotonic()
        # The guardian first: it may not see that the supervisor is dead.
        kill(*([guardian] if "guardian" in victims else []), *([supervisor] if "supervisor" in victims else []))
        return begin, *scene.times()
    return row


ROWS = {
    "SIGKILL for the process": killed(),
    "`exit` without `async_close`": told("leave"),
    "an uncaught exception": told("throw"),
    "SIGSEGV, with a core dump of 2 GB": dumped(2048),
    "the OOM killer, for one process of a control group (a limit of 256 MB)": out_of_memory,
    "SIGKILL for all processes of a control group (`cgroup.kill`)": group_killed(),
    "the same, with a guard that has moved to another group": group_killed(apart=True),
    "the first process of a container": contained('exec "$@"'),
    "another process of a container, whose first one exits with it": contained('"$@"; exit'),
    "the same, whose first one exits a second later": contained('"$@"; sleep 1'),
    "SIGKILL for the process and its guard, as when a machine dies": killed(True),
    **{f"systemd, `KillMode={mode}`: {words}": unit(mode, how, stubborn)
       for mode in ("control-group", "mixed", "process")
       for words, how, stubborn in (("the main process is killed", "crash", False),
                                    ("stopped, it ends by SIGTERM", "stop", False),
                                    ("stopped, it ignores SIGTERM (`TimeoutStopSec=2s`)", "stop", True))},
    "systemd, `KillMode=mixed`: the main process is killed, the guard is in a scope of its own":
        unit("mixed", "crash", apart=True),
    "`colock run` is killed, its command obeys SIGTERM": command("supervisor"),
    "`colock run` is killed, its command ignores SIGTERM (`--grace 1s`)":
        command("supervisor", "trap '' TERM; echo held; while :; do sleep 1; done"),
    "`colock run` and its guardian are killed": command("supervisor guardian"),
}


def shown(seconds):
    return f"{1000 * seconds:.0f} ms" if seconds < 0.9995 else f"{seconds:.1f} s"


def measured(server, row):
    deaths, grants = [], []
    while len(grants) != options.rounds:
        scene = Scene(server)
        try:
            begin, dead, granted = row(scene)
        finally:
            scene.end()
        deaths.append(dead - begin)
        grants.append(granted - dead)
        if grants[-1] > options.timeout / 2 and len(grants) == 1:
            break
    early = sum(each < options.timeout / 2 for each in grants)
    who = "the guard" if early == len(grants) else "the servers" if early == 0 else \
        f"the guard {early} times of {len(grants)}, else the servers"
    most = "" if len(grants) == 1 else f", at most {shown(max(grants))}"
    if len(grants) >= 20:
        most += f", 95 % within {shown(sorted(grants)[math.ceil(0.95 * len(grants)) - 1])}"
    return f"{shown(statistics.median(deaths))} | {shown(statistics.median(grants))}{most} | {who}"


def main():
    server = Server()
    try:
        print(f"Sessions of {options.timeout} s, a tick of 2 s; medians of {options.rounds}, one where the servers end it.\n")
        print("| how | dead after | the next grant after that | who ended the session |\n|---|---|---|---|")
        for name, row in ROWS.items():
            if options.words and not any(word in name for word in options.words):
                continue
            try:
                result = measured(server, row)
            except NotHere as e:
                result = f"not measured here: {e} | | "
            print(f"| {name} | {result} |", flush=True)
    finally:
        server.end()


main()
