#!/usr/bin/env python3
"""How long it takes to run a command that does nothing under a lock: `colock run` beside `etcdctl lock`.

    bench/start_up.py [--colock build/release/bin/colock] [--rounds 9] [--one-after-another 20] [--in-parallel 50] [--disk]

Starts a server of ZooKeeper and one of etcd, with their data in memory (--disk: in /var/tmp, synced), and runs both programs in turns,
A B, B A, A B, ... The figures are medians of the rounds, and the ratios medians of those of the rounds. The time of the processors
includes all that a program starts. The status is 1 when colock takes more than 0.9 of etcdctl's time.
"""
import argparse
import contextlib
import os
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import zookeeper

TARGET = 0.9
PR_SET_CHILD_SUBREAPER = 36


def wait_for(port):
    until = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > until:
                sys.exit(f"nobody listens at port {port}")
            time.sleep(0.05)


def start_zookeeper(directory, disk):
    port = zookeeper.free_ports(1)[0]
    config = os.path.join(directory, "zoo.cfg")
    with open(config, "w", encoding="utf-8") as file:
        file.write(f"tickTime=2000\ndataDir={directory}/zookeeper\nclientPort={port}\nclientPortAddress=127.0.0.1\n"
                   f"maxClientCnxns=0\nadmin.enableServer=false\nforceSync={'yes' if disk else 'no'}\n")
    server = zookeeper.start(config, subprocess.DEVNULL, "-Xms256m", "-Dznode.container.checkIntervalMs=600000")
    wait_for(port)
    return server, f"127.0.0.1:{port}"


def start_etcd(directory):
    client, peer = zookeeper.free_ports(2)
    url, other = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
    server = subprocess.Popen(
        ["etcd", "--data-dir", f"{directory}/etcd", "--listen-client-urls", url, "--advertise-client-urls", url,
         "--listen-peer-urls", other, "--initial-advertise-peer-urls", other, "--initial-cluster", f"default={other}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=zookeeper.end_with_parent)
    wait_for(client)
    return server, url


class System:
    def __init__(self, name, words, environment):
        self.name, self.words = name, words
        self.environment = {**os.environ, **environment}

    def start(self, number):
        words = [word.format(number) for word in self.words]
        null = [(os.POSIX_SPAWN_OPEN, each, "/dev/null", os.O_RDWR, 0) for each in (0, 1)]
        return os.posix_spawnp(words[0], words, self.environment, file_actions=null)

    def measure(self, count, at_once):
        """Milliseconds by the clock, and of the processors."""
        before = processors()
        began = time.monotonic()
        running = set()
        for number in range(count):
            running.add(self.start(number))
            while running and not at_once:
                running.discard(ended())
        while running:
            running.discard(ended())
        took = time.monotonic() - began
        time.sleep(0.05)  # those that they have left
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
        return took * 1000, (processors() - before) * 1000


KEEPER = []


def keep_servers(directory, disk):
    """In a process between, so that wait() means programs. Gives where the servers are."""
    ready, say_ready = os.pipe()
    keeper = os.fork()
    if keeper == 0:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        zookeeper.end_with_parent(signal.SIGTERM)
        try:
            server, hosts = start_zookeeper(directory, disk)
            etcd, url = start_etcd(directory)
            os.write(say_ready, f"{hosts} {url}".encode())
            signal.sigwait({signal.SIGTERM})
            for each in (server, etcd):
                each.kill()
                each.wait()
        except (OSError, SystemExit) as why:
            print(why, file=sys.stderr, flush=True)
        finally:
            os._exit(0)  # the servers end with it, and the directory is the parent's to remove
    KEEPER.append(keeper)
    os.close(say_ready)
    places = os.read(ready, 4096).decode().split()
    return places or sys.exit("the servers have not started")


def ended():
    pid, status = os.wait()
    if pid in KEEPER:
        sys.exit("the servers have ended")
    code = os.waitstatus_to_exitcode(status)
    return pid if code == 0 else sys.exit(f"a program has failed: {code}")


def processors():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare(title, systems, count, at_once, rounds):
    found = {each.name: [] for each in systems}
    for number in range(rounds):
        for each in systems if number % 2 == 0 else reversed(systems):
            found[each.name].append(each.measure(count, at_once))
    print(f"{title}:")
    for name, all_rounds in found.items():
        clock = [each[0] for each in all_rounds]
        print(f"  {name:8} {statistics.median(clock):7.0f} ms ({min(clock):.0f} to {max(clock):.0f}), "
              f"processors {statistics.median(each[1] for each in all_rounds):.0f} ms")
    ours, theirs = (found[each.name] for each in systems)
    ratios = [[a[kind] / b[kind] for a, b in zip(ours, theirs)] for kind in (0, 1)]
    ratio = statistics.median(ratios[0])
    print(f"  ratio {ratio:.2f}, of the processors {statistics.median(ratios[1]):.2f}", flush=True)
    return ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--colock", default="build/release/bin/colock")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--one-after-another", type=int, default=20)
    parser.add_argument("--in-parallel", type=int, default=50)
    parser.add_argument("--disk", action="store_true")
    options = parser.parse_args()
    for each in ("java", "etcd", "etcdctl"):
        if not shutil.which(each):
            sys.exit(f"{each} is missing; ./dev bench --help says what to install")

    zookeeper.exit_at_sigterm()
    # What a program leaves becomes a child of this process, which counts it.
    zookeeper.LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory(dir="/var/tmp" if options.disk else "/dev/shm") as directory:
        try:
            hosts, url = keep_servers(directory, options.disk)
            systems = [System("colock", [options.colock, "run", "/locks/{}", "--", "true"], {"COLOCK_SERVERS": hosts}),
                       System("etcdctl", ["etcdctl", "--endpoints", url, "lock", "locks/{}", "true"], {"ETCDCTL_API": "3"})]
            for each in systems:  # a JVM needs it
                for _ in range(3):
                    each.measure(100, False)
            ratios = [compare(f"{options.one_after_another} one after another", systems, options.one_after_another, False,
                              options.rounds),
                      compare(f"{options.in_parallel} in parallel", systems, options.in_parallel, True, options.rounds)]
        finally:
            while KEEPER:
                keeper = KEEPER.pop()
                with contextlib.suppress(ProcessLookupError, ChildProcessError):  # when it has ended, ended() has told
                    os.kill(keeper, signal.SIGTERM)
                    os.waitpid(keeper, 0)
    return 0 if max(ratios) <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
