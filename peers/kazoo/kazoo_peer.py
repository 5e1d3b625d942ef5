"""kazoo's locks, driven through the standard input; see README.md."""
import itertools
import mmap
import os
import re
import struct
import sys
import threading
import time
from statistics import mean

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import LockTimeout
from kazoo.security import CREATOR_ALL_ACL


class Refused(Exception):
    """A command that cannot be carried out; the message is all there is to say."""


def number(text):
    if not re.fullmatch("[0-9]+", text):
        raise Refused(f"not a number: {text}")
    return int(text)


def positive(text):
    value = number(text)
    if value == 0:
        raise Refused(f"out of range: {text}")
    return value


def sleep_until(moment):
    """Sleeps, but for the last tenth of a millisecond, which is about what a sleep is late."""
    while (left := moment - time.monotonic()) > 0:
        if left > 0.0001:
            time.sleep(left - 0.0001)


def count_turns(next_lock, end, hold=0.0):
    """How many turns were granted before the end, a time of the monotonic clock."""
    turns = 0
    while time.monotonic() < end:
        lock = next_lock()
        lock.acquire()
        try:
            granted = time.monotonic()
            if granted < end:
                turns += 1
                sleep_until(granted + hold)
        finally:
            lock.release()
    return turns


def in_threads(makers, milliseconds, hold=0.0):
    """A thread for each that makes what tells the next lock; the sum of what they count. The first
    failure of one is that of all."""
    counts = []
    failures = []
    begin = threading.Barrier(len(makers))

    def work(make_next_lock):
        try:
            next_lock = make_next_lock()
            begin.wait()
            counts.append(count_turns(next_lock, time.monotonic() + milliseconds / 1e3, hold))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(m,), daemon=True) for m in makers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return f"turns {sum(counts)}"


def share(make, end, log, identifier):
    """The loop of SetPartitioner's documentation, woken by its event instead of running all the time. The log has a line
    for each shard that is owned, or not any more, with the time."""

    def note(what, shards):
        now = time.monotonic_ns()
        log.write("".join(f"{now} {what} {shard} {identifier}\n" for shard in shards))

    changed, partitioner = make()
    while not end.is_set():
        if partitioner.failed:
            changed, partitioner = make()
        elif partitioner.release:
            partitioner.release_set()
        elif partitioner.acquired:
            owned = list(partitioner)
            note("began", owned)
            while partitioner.acquired and not end.is_set():
                changed.wait(0.05)
                changed.clear()
            note("ended", owned)
        else:
            partitioner.wait_for_acquire(1)
    partitioner.finish()


def median(times):
    return sorted(times)[len(times) // 2]


class Peer:
    def __init__(self, zk):
        self.zk = zk
        self.others = []
        self.locks = {}
        self.identifier = f"kazoo-{os.getpid()}"
        self.patterns = []
        # What is held. Each lock command has a lock object of its own; it is not re-entrant, and
        # waiting twice with one would never end.
        self.held = {}
        self.leases = {}
        self.sharing = []  # of each member: what ends it, and its thread
        # Since the last command `work` began: the first state that does not let a lock be taken for held.
        self.interruption = None
        zk.add_listener(self.notice)
        self.commands = {
            "lock": ("PATH", lambda path: self.lock(zk.Lock, path)),
            "try": ("PATH MS", lambda path, ms: self.lock(zk.Lock, path, number(ms) / 1e3)),
            "unlock": ("PATH", lambda path: self.unlock(zk.Lock, path)),
            "read-lock": ("PATH", lambda path: self.lock(zk.ReadLock, path)),
            "read-unlock": ("PATH", lambda path: self.unlock(zk.ReadLock, path)),
            "write-lock": ("PATH", lambda path: self.lock(zk.WriteLock, path)),
            "write-unlock": ("PATH", lambda path: self.unlock(zk.WriteLock, path)),
            "work": ("PATH FILE", self.work),
            "turns": ("PATH COUNT COUNTER", self.turns),
            "contend": ("PATH MS HOLD_US [SESSIONS]", self.contend),
            "cycles": ("PATH COUNT", self.cycles),
            "reads": ("COUNT", self.reads),
            "many": ("PREFIX LOCKS INFLIGHT MS", self.many),
            "local": ("PATH THREADS MS", self.local),
            "acquire": ("PATH MAX", self.acquire),
            "release": ("PATH", self.release),
            "pattern": ("TEXT", self.pattern),
            "queue": ("PATH", self.queue),
            "share": ("PATH COUNT MEMBERS SETTLE_MS FILE", self.share),
            "leave": ("", self.leave),
        }

    def serve(self):
        """Until "quit" or the end of the input."""
        say("ready")
        # Not `for line in sys.stdin`: that waits for more than a line.
        while (line := sys.stdin.readline()) and line.strip() != "quit":
            try:
                say(self.answer(*line.split()))
            except Refused as refused:
                say(f"error {refused}")
            except Exception as error:
                say(f"error {type(error).__name__}: {error}")

    def answer(self, name=None, *arguments):
        if name is None:
            raise Refused("no command")
        if name not in self.commands:
            raise Refused(f"unknown command: {name}")
        parameters, action = self.commands[name]
        most = len(parameters.split())
        least = most - parameters.count("[")
        if not least <= len(arguments) <= most:
            raise Refused(f"usage: {name} {parameters}")
        return action(*arguments)

    def make(self, kind, path):
        return kind(path, self.identifier, extra_lock_patterns=self.patterns)

    def lock(self, kind, path, timeout=None):
        if (kind, path) in self.held:
            raise Refused(f"already locked: {path}")
        lock = self.make(kind, path)
        try:
            # A time-out of 0 would still wait for one.
            granted = lock.acquire(blocking=timeout != 0, timeout=timeout or None)
        except LockTimeout:
            granted = False
        if not granted:
            return "busy"
        self.held[kind, path] = lock
        return f"locked {path}/{lock.node}"

    def unlock(self, kind, path):
        if (kind, path) not in self.held:
            raise Refused(f"not locked: {path}")
        self.held[kind, path].release()
        del self.held[kind, path]
        return "unlocked"

    def notice(self, state):
        if state != KazooState.CONNECTED and self.interruption is None:
            self.interruption = state

    def work(self, path, file):
        with open(file, "r+b") as opened:
            stamps = mmap.mmap(opened.fileno(), 0)
        self.lock(self.zk.Lock, path)
        if self.zk.connected:
            self.interruption = None  # while it waited
        end = 0
        while self.interruption is None:
            struct.pack_into("=q", stamps, end, time.monotonic_ns())
            end += 8
            time.sleep(0.00002)
        return f"lost {self.interruption}"

    def turns(self, path, count, counter):
        lock = self.make(self.zk.Lock, path)
        for _ in range(number(count)):
            with lock:
                data, _ = self.zk.get(counter)
                self.zk.set(counter, b"%d" % (number(data.decode().strip()) + 1))
        return f"done {count}"

    def contend(self, path, milliseconds, hold, sessions="1"):
        def maker(zk):
            lock = self.make(zk.Lock, path)
            return lambda: lambda: lock

        makers = [maker(zk) for zk in self.clients(positive(sessions))]
        return in_threads(makers, number(milliseconds), number(hold) / 1e6)

    def clients(self, count):
        """So many sessions. Those that are missing are made, and kept."""
        while len(self.others) < count - 1:
            self.others.append(connect())
        return [self.zk] + self.others[: count - 1]

    def lock_at(self, path):
        """Kept: its first turn creates the directory, or sees that it is there."""
        if path not in self.locks:
            self.locks[path] = self.make(self.zk.Lock, path)
        return self.locks[path]

    def cycles(self, path, count):
        lock = self.lock_at(path)
        locks = []
        cycles = []
        for _ in range(positive(count)):
            begin = time.perf_counter_ns()
            lock.acquire()
            granted = time.perf_counter_ns()
            lock.release()
            locks.append(granted - begin)
            cycles.append(time.perf_counter_ns() - begin)
        figures = mean(locks), mean(cycles), median(locks), median(cycles)
        return "cycles " + " ".join(f"{figure / 1000:.1f}" for figure in figures)

    def reads(self, count):
        times = []
        for _ in range(positive(count)):
            begin = time.perf_counter_ns()
            self.zk.exists("/")
            times.append(time.perf_counter_ns() - begin)
        return f"reads {median(times) / 1000:.1f}"

    def many(self, prefix, locks, inflight, milliseconds):
        locks = positive(locks)
        counter = itertools.count()  # atomic, like every function of C

        # They meet at one of them only if all the others have been taken meanwhile.
        all_locks = [self.lock_at(f"{prefix}/{i}") for i in range(locks)]

        def make_next_lock():
            return lambda: all_locks[next(counter) % locks]

        return in_threads([make_next_lock] * positive(inflight), number(milliseconds))

    def local(self, path, threads, milliseconds):
        def make_next_lock():
            lock = self.make(self.zk.Lock, path)
            return lambda: lock

        return in_threads([make_next_lock] * positive(threads), number(milliseconds))

    def acquire(self, path, most):
        semaphore = self.zk.Semaphore(path, self.identifier, max_leases=positive(most))
        semaphore.acquire()
        self.leases.setdefault(path, []).append(semaphore)
        return "acquired"

    def release(self, path):
        if not self.leases.get(path):
            raise Refused(f"none acquired at {path}")
        self.leases[path].pop().release()
        return "released"

    def share(self, path, count, members, settle, file):
        names = [str(i) for i in range(positive(count))]
        sessions = self.clients(positive(members))
        log = open(file, "a", buffering=1)
        for i, zk in enumerate(sessions):
            identifier = f"{os.getpid()}-{i}"

            def make(zk=zk, identifier=identifier):
                # By default SetPartitioner waits for 30 s.
                boundary = {"time_boundary": number(settle) / 1e3} if number(settle) else {}
                changed = zk.handler.event_object()
                return changed, zk.SetPartitioner(
                    path, set=names, identifier=identifier, state_change_event=changed, **boundary)

            end = threading.Event()
            thread = threading.Thread(target=share, args=(make, end, log, identifier), daemon=True)
            thread.start()
            self.sharing.append((end, thread))
        return "sharing"

    def leave(self):
        for end, _ in self.sharing:
            end.set()
        for _, thread in self.sharing:
            thread.join()
        self.sharing = []
        return "left"

    def pattern(self, text):
        self.patterns = [text]
        return "ok"

    def queue(self, path):
        # An identifier that is empty is shown as "-".
        identifiers = self.make(self.zk.Lock, path).contenders()
        return " ".join(["queue"] + [i or "-" for i in identifiers])


def say(line):
    print(" ".join(line.splitlines()), flush=True)


def identity():
    """What the client is told of COLOCK_PEER_SASL."""
    known = os.environ.get("COLOCK_PEER_SASL", "")
    if not known:
        return {}
    user, colon, password = known.partition(":")
    if colon:
        sasl = {"mechanism": "DIGEST-MD5", "username": user, "password": password}
    else:
        sasl = {"mechanism": known}
    return {"sasl_options": sasl, "default_acl": CREATOR_ALL_ACL}


def connect():
    zk = KazooClient(sys.argv[1], timeout=int(sys.argv[2]) / 1e3, **identity())
    try:
        zk.start(timeout=15)
    except zk.handler.timeout_exception:
        raise Refused(f"cannot connect to {sys.argv[1]}") from None
    return zk


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: kazoo HOSTS SESSION_TIMEOUT_MS")
    try:
        peer = Peer(connect())
    except Refused as refused:
        say(f"error {refused}")
        return 1
    try:
        peer.serve()
    finally:
        for zk in [peer.zk] + peer.others:
            zk.stop()
            zk.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
