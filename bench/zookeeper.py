"""Ports, and a server of ZooKeeper, for the programs of this directory."""
import ctypes
import os
import signal
import socket
import subprocess
import sys


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


def end_with_parent(by=signal.SIGKILL):
    """For a child: whoever kills its parent leaves nothing behind."""
    LIBC.prctl(PR_SET_PDEATHSIG, by, 0, 0, 0)


def exit_at_sigterm():
    """In order: what `finally` and `with` stop and remove is not left behind."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


def start(config, log, *flags):
    """The process of a server with the file `config`. `flags` are Java's; `log` takes what it says."""
    path = os.environ.get("COLOCK_TEST_ZOOKEEPER_CLASSPATH", "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar")
    return subprocess.Popen(
        ["java", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xmx1g", *flags, "-Dzookeeper.extendedTypesEnabled=true", "-cp", path,
         "org.apache.zookeeper.server.quorum.QuorumPeerMain", config], stdout=subprocess.DEVNULL, stderr=log,
        preexec_fn=end_with_parent)
