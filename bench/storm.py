#!/usr/bin/env python3
"""How a fleet of clients comes back when all servers restart: colock, and Curator in one process.

    bench/storm.py [--build build/release] [--servers 1] [--processes 1] [--sessions 2000] [--line 1] [--away 3] [--system colock]

Starts so many ZooKeeper servers (1 or 3), with their data in memory, and so many processes with so many clients each, with a session
time-out of 60 s. Every one of them holds a lock of its own; with --line N the first of N holds it, and the others wait for it. Then it
kills all servers, starts them again after --away seconds, and prints when the last client was back (colock: three reads were answered,
one after the other; Curator: it reports RECONNECTED), after the kill and after a server served again; how many locks are still held;
the peaks that `mntr`, asked every 50 ms, told of all servers together; and the memory of the clients and the servers. The status is 1
when colock has lost a lock.
"""
import argparse
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

import zookeeper

TIMEOUT_MS = 60000


class Server:
    def __init__(self, directory, number, ensemble, port):
        self.directory, self.port, self.process = f"{directory}/{number}", port, None
        os.makedirs(self.directory)
        with open(f"{self.directory}/myid", "w", encoding="utf-8") as file:
            file.write(str(number))
        self.config = f"{self.directory}/zoo.cfg"
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(f"tickTime=2000\nmaxSessionTimeout={TIMEOUT_MS}\ninitLimit=10\nsyncLimit=5\n"
                       f"dataDir={self.directory}\nclientPort={port}\n"
                       "clientPortAddress=127.0.0.1\nmaxClientCnxns=0\nadmin.enableServer=false\nforceSync=no\n"
                       "4lw.commands.whitelist=mntr\n" + ensemble)

    def start(self):
        with open(f"{self.directory}/log", "a", encoding="utf-8") as log:
            self.process = zookeeper.start(self.config, log)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def mntr(self):
        """What it answers; None while it does not serve."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 2) as s:
                s.sendall(b"mntr")
                text = b""
                while part := s.recv(65536):
                    text += part
        except OSError:
            return None
        rows = dict(line.split("\t", 1) for line in text.decode().splitlines() if "\t" in line)
        return rows if "zk_server_state" in rows else None


class Watcher(threading.Thread):
    """Asks the servers until it is stopped."""

    def __init__(self, servers):
        super().__init__()
        self.servers, self.ended = servers, threading.Event()
        self.served = self.connections = self.packets = self.outstanding = 0
        self.start()

    def run(self):
        before = {}
        while not self.ended.wait(0.05):
            rate = connections = outstanding = 0
            for each in self.servers:
                now, told = time.monotonic(), each.mntr()
                if told is None:
                    before.pop(each, None)
                    continue
                self.served = self.served or now
                connections += int(told["zk_num_alive_connections"]) - 1  # without this one
                outstanding += int(told["zk_outstanding_requests"])
                packets = int(told["zk_packets_received"])
                if each in before:
                    rate += max(0, packets - before[each][1] - 1) / (now - before[each][0])
                before[each] = now, packets
            self.connections = max(self.connections, connections)
            self.packets = max(self.packets, rate)
            self.outstanding = max(self.outstanding, outstanding)

    def stop(self):
        self.ended.set()
        self.join()


class Fleet:
    def __init__(self, command, processes):
        self.processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                          for _ in range(processes)]

    def answers(self):
        """One of each process."""
        lines = [each.stdout.readline().split() for each in self.processes]
        for words in lines:
            if not words or words[0] == "error":
                sys.exit("a process says: " + " ".join(words))
        return lines

    def ask(self, command):
        for number, each in enumerate(self.processes):
            each.stdin.write(command.format(number) + "\n")
            each.stdin.flush()

    def memory(self):
        return sum(resident(each.pid) for each in self.processes)

    def stop(self):
        for each in self.processes:
            each.kill()
            each.wait()


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


def until_served(servers):
    end = time.monotonic() + 60
    while not all(each.mntr() for each in servers):
        if time.monotonic() > end:
            sys.exit("the servers do not serve")
        time.sleep(0.05)


def storm(directory, options):
    ports = zookeeper.free_ports(3 * options.servers)
    ensemble = "".join(f"server.{i + 1}=127.0.0.1:{ports[3 * i + 1]}:{ports[3 * i + 2]}\n" for i in range(options.servers))
    servers = [Server(directory, i + 1, ensemble if options.servers > 1 else "", ports[3 * i]) for i in range(options.servers)]
    hosts = ",".join(f"127.0.0.1:{each.port}" for each in servers)
    command = ([f"{options.build}/bin/colock_fleet"] if options.system == "colock"
               else [f"{options.build}/bin/peers/curator"])
    if not os.access(command[0], os.X_OK):
        sys.exit(f"{command[0]} is missing: ./dev bench --help builds it")
    fleet = watcher = None
    try:
        for each in servers:
            each.start()
        until_served(servers)
        fleet = Fleet([*command, hosts, str(TIMEOUT_MS)], options.processes)
        fleet.answers()
        line = f" {options.line}" if options.system == "colock" else ""
        fleet.ask(f"hold /storm/{{}} {options.sessions}{line}")
        fleet.answers()
        memory = fleet.memory(), sum(resident(each.process.pid) for each in servers)
        for each in servers:
            each.stop()
        killed = time.monotonic()
        fleet.ask("back")
        watcher = Watcher(servers)
        time.sleep(options.away)
        for each in servers:
            each.start()
        answers = fleet.answers()
    finally:
        if watcher:
            watcher.stop()
        if fleet:
            fleet.stop()
        for each in servers:
            each.stop()
    last = max(int(words[1]) for words in answers) / 1e9
    count = options.processes * -(-options.sessions // options.line)
    lost = count - sum(int(words[2]) for words in answers)
    print(f"{options.system}, {options.processes} x {options.sessions} clients, {options.line} in line for each lock, "
          f"servers: {options.servers}, load {os.getloadavg()[0]:.0f}: "
          f"back {last - killed:.1f} s after the kill, {last - watcher.served:.1f} s after a server served again; locks lost: {lost}; "
          f"peaks: {watcher.connections} connections, {watcher.packets:.0f} packets a second, {watcher.outstanding} outstanding; "
          f"memory: clients {memory[0]:.0f} MB, servers {memory[1]:.0f} MB", flush=True)
    return lost


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--servers", type=int, choices=(1, 3), default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--sessions", type=int, default=2000)
    parser.add_argument("--line", type=int, default=1)
    parser.add_argument("--away", type=float, default=3)
    parser.add_argument("--system", choices=("colock", "curator"), default="colock")
    options = parser.parse_args()
    if options.line != 1 and options.system != "colock":
        parser.error("only clients of colock stand in line")
    if not shutil.which("java"):
        sys.exit("java is missing; ./dev bench --help says what to install")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    zookeeper.exit_at_sigterm()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        lost = storm(directory, options)
    return 1 if lost and options.system == "colock" else 0


if __name__ == "__main__":
    sys.exit(main())
