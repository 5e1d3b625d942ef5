"""A lock in Redis as people write it: SET NX PX with a random value, which a thread renews. Driven through the standard
input; see README.md. Nothing tells the holder of a loss: that is what it is an example of."""
import mmap
import struct
import sys
import threading
import time
import uuid

import redis

IF_MINE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call("
RENEW = IF_MINE + "'pexpire', KEYS[1], ARGV[2]) else return 0 end"
RELEASE = IF_MINE + "'del', KEYS[1]) else return 0 end"


class Lock:
    def __init__(self, db, key, milliseconds):
        self.db = db
        self.key = key
        self.milliseconds = milliseconds
        self.value = uuid.uuid4().hex
        self.released = threading.Event()

    def acquire(self):
        while not self.db.set(self.key, self.value, nx=True, px=self.milliseconds):
            time.sleep(0.05)
        threading.Thread(target=self.renew, daemon=True).start()

    def renew(self):
        while not self.released.wait(self.milliseconds / 3000):
            try:
                self.db.eval(RENEW, 1, self.key, self.value, self.milliseconds)
            except redis.RedisError as error:
                print(error, file=sys.stderr)  # the next one may succeed

    def release(self):
        self.released.set()
        self.db.eval(RELEASE, 1, self.key, self.value)


def work(lock, file):
    with open(file, "r+b") as opened:
        stamps = mmap.mmap(opened.fileno(), 0)
    lock.acquire()
    for at in range(0, len(stamps), 8):
        struct.pack_into("=q", stamps, at, time.monotonic_ns())
        time.sleep(0.00002)
    raise RuntimeError("the file is full")


def answer(db, milliseconds, locks, command, path, *arguments):
    if command == "unlock":
        locks.pop(path).release()
        return "unlocked"
    if command not in ("lock", "work"):
        return f"error unknown command: {command}"
    locks[path] = Lock(db, path, milliseconds)
    if command == "work":
        return work(locks[path], *arguments)
    locks[path].acquire()
    return "locked"


def main(hosts, milliseconds):
    host, port = hosts.rsplit(":", 1)
    db = redis.Redis(host, int(port))
    db.ping()
    locks = {}
    print("ready", flush=True)
    while (line := sys.stdin.readline()) and line.strip() != "quit":
        try:
            print(answer(db, int(milliseconds), locks, *line.split()), flush=True)
        except Exception as error:
            print(f"error {type(error).__name__}: {error}", flush=True)


main(*sys.argv[1:])
