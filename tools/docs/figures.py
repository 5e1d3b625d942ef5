#!/usr/bin/env python3
"""The figures in the pages, taken from the committed reports of ./dev bench.

    tools/docs/figures.py [--check]      --check: changes nothing; tells which differ, and fails

A table stands in a page between `<!-- figures: NAME -->` and `<!-- /figures -->`, and is written anew. A sentence is
known by its words, with {} for each figure. Whoever changes the words of such a sentence changes them here as well.
"""
import difflib
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPORTS = ROOT / "docs/benchmarks"


def read(name):
    return json.loads((REPORTS / name).read_text())


DEFAULT = read("default.json")
TARGETS = (REPORTS / "default.md").read_text()
DEEP = read("deep_queue.json")
DEEP_UNSHARED = read("deep_queue_unshared.json")
DEEP_MARKED = read("deep_queue_marked.json")
DEEP_BEFORE = read("deep_queue_before.json")
SHARDS = read("shards.json")
SYSTEMS = ["colock", "curator", "kazoo", "go-zookeeper", "zookeeper-recipe", "etcd"]


# ---- figures


def shown(value):
    """Three digits, or all of a whole number."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def found(report, metric, key="median", **wanted):
    for each in report:
        if each["metric"] == metric and all(each[k] == v for k, v in wanted.items()):
            return each[key]
    return None


def raw_figure(scenario, metric, system="colock", rtt=0, clients=1, servers=1, key="median"):
    return found(DEFAULT, metric, key, scenario=scenario, system=system, rtt_ms=rtt, clients=clients, servers=servers)


def figure(*args, **named):
    return shown(raw_figure(*args, **named))


def spread(*args, **named):
    """A median, and from where to where it went."""
    return f"{figure(*args, **named)} ({figure(*args, key='min', **named)} to {figure(*args, key='max', **named)})"


def hand_overs(system, clients, rtt=0, servers=1):
    return figure("handover", "hand-overs", system, rtt, clients, servers)


def as_good_as(system, scenario, metric, clients=1, rtt=0, servers=1):
    """How many times as good as another: as the report says, of neighbours in turn; the least, and the most."""
    line = (rf"{scenario}, {rtt} ms, {clients} client\(s\), {servers} server\(s\), {metric}: .*?, "
            rf"([\d.]+) times as good as {system}'s \(([\d.]+) to ([\d.]+)\)")
    at = re.search(line, TARGETS)
    return "{:.2f} ({:.2f} to {:.2f})".format(*map(float, at.groups())) if at else ""


def times(system, clients, rtt=0, servers=1):
    return as_good_as(system, "handover", "hand-overs", clients, rtt, servers).partition(" ")[0]


def part_of_most(clients):
    return figure("handover", "hand-overs, part of the most there can be", rtt=10, clients=clients)


def deep(report, metric, clients, rtt=0):
    return found(report, metric, clients=clients, rtt_ms=rtt)


def processor_time(where, system):
    return figure("uncontended", f"processor time a cycle, {where}", system)


def round_trips(system):
    return figure("uncontended", "lock, in round trips", system, rtt=10)


# ---- tables


def table(header, rows):
    lines = ["| " + " | ".join(each) + " |" for each in [header, *rows]]
    return "\n".join([lines[0], "|" + "---|" * len(header), *lines[1:]])


PEERS = [
    ("one client: lock + unlock, µs", lambda s: figure("uncontended", "lock + unlock", s)),
    ("the same with a delay, in round trips",
     lambda s: figure("uncontended", "lock + unlock, in round trips", s, rtt=10)),
    ("its processor time, µs: user and system",
     lambda s: f"{processor_time('user', s)} + {processor_time('system', s)}"),
    ("8 clients: hand-overs a second", lambda s: hand_overs(s, 8)),
    ("32 clients", lambda s: hand_overs(s, 32)),
    ("128 clients", lambda s: hand_overs(s, 128)),
    ("8 clients, 1 ms round trip", lambda s: hand_overs(s, 8, rtt=1)),
    ("128 clients, 1 ms round trip", lambda s: hand_overs(s, 128, rtt=1)),
    ("8 clients, 10 ms round trip", lambda s: hand_overs(s, 8, rtt=10)),
    ("8 clients, three servers", lambda s: hand_overs(s, 8, servers=3)),
    ("1,000 locks, 64 at a time: cycles a second", lambda s: figure("many_locks", "cycles", s)),
    ("8 waiters of one process: grants a second", lambda s: figure("in_process", "grants", s, clients=8)),
]


def beside_peers(rows=range(len(PEERS))):
    return table(["", *SYSTEMS], [[PEERS[row][0], *map(PEERS[row][1], SYSTEMS)] for row in rows])


def in_short():
    last = ["a shard moves: ms without an owner",
            *(without_owner("leave", s) if s in ("colock", "kazoo") else "" for s in SYSTEMS)]
    return beside_peers([0, 3, 11]) + "\n| " + " | ".join(last) + " |"


def beside_raw():
    rows = [
        ("uncontended, lock + unlock, µs", "uncontended", "lock + unlock"),
        ("the same relative to raw (of neighbours in turn)", "uncontended", "lock + unlock, relative to raw"),
        ("1,000 locks, 64 at a time: cycles a second", "many_locks", "cycles"),
        ("the same relative to raw", "many_locks", "cycles, relative to raw"),
        ("allocations a cycle", "costs", "allocations a cycle"),
        ("bytes allocated a cycle", "costs", "bytes allocated a cycle"),
        ("instructions in user space a cycle", "costs", "instructions a cycle"),
    ]
    systems = ["colock", "raw", "raw-tuned"]
    return table(["without a delay", *systems],
                 [[name, *("1" if s == "raw" and metric.endswith("relative to raw") else figure(scenario, metric, s)
                           for s in systems)] for name, scenario, metric in rows])


def hand_over_ratios():
    where = [(8, 1), (32, 1), (128, 1), (8, 3), (32, 3), (128, 3)]
    rows = [[name, *(times(system, clients, servers=servers) for clients, servers in where), target]
            for name, system, target in [("Curator", "curator", "2"), ("kazoo", "kazoo", "3"),
                                         ("go-zookeeper", "go-zookeeper", "2")]]
    return table(["times as many hand-overs as", "8 clients", "32", "128", "three servers, 8", "32", "128", "target"],
                 rows)


def deep_queues():
    rows = []
    for clients in (100, 1000, 10000):
        for name, metric, rtt, before in [
                ("hand-overs a second, 10 ms", "hand-overs", 10, "hand-overs"),
                ("hand-overs a second, without delay", "hand-overs", 0, "hand-overs, without delay"),
                ("bytes a hand-over", "bytes a hand-over", 10, "bytes a hand-over")]:
            rows.append([f"{clients:,} waiters: {name}", shown(deep(DEEP_BEFORE, before, clients, 10)),
                         shown(deep(DEEP_MARKED, metric, clients, rtt)), shown(deep(DEEP, metric, clients, rtt))])
    return table(["", "lists of all", "with a low-water mark", "and lists that are shared"], rows)


def queueing_up():
    rows = []
    for who, clients, suffix, before in [
            ("1,000 waiters of one client", 1000, "", DEEP_MARKED),
            ("10,000 waiters of one client", 10000, "", DEEP_MARKED),
            ("10,000 waiters of 100 processes, each a client", 10000, ", 100 processes", DEEP_UNSHARED)]:
        both = [before, DEEP]
        rows.append([f"{who}: megabytes", *(shown(deep(r, "bytes to queue up" + suffix, clients) / 1e6) for r in both)])
        rows.append([f"{who}: seconds", *(shown(deep(r, "time to queue up" + suffix, clients)) for r in both)])
    return table(["", "each lists", "lists are shared"], rows)


def memory():
    def of(metric, clients=1):
        return figure("memory", metric, clients=clients)

    node = "a waiter with a node of its own, "
    return table(["", "bytes"], [
        ["a client without a lock", of("a client without a lock")],
        ["100,000 locks held by 100 clients, with the clients",
         f"{of('100,000 held locks', 100)} MB, and {of('100,000 held locks, of the server', 100)} MB of the server"],
        ["a waiter with a node of its own, with its coroutine", of(node + "with its coroutine", 1000)],
        ["the same, beyond a coroutine that waits for a channel",
         of(node + "beyond such a coroutine", 1000) + " (target 3,000)"],
        ["a further waiter of its client, beyond such a coroutine",
         of("a waiter behind others of its client, beyond such a coroutine", 1000) + " (target 120)"],
    ])


def duration(seconds):
    return f"{shown(seconds)} s" if seconds >= 1 else f"{shown(seconds * 1e3)} ms"


def without_owner(event, system, unit=1e3):
    return shown(found(SHARDS, f"{event}: time without an owner, the longest", clients=20, system=system) * unit)


def shard_moves(members=(5, 20, 100), events=("join", "leave", "kill")):
    systems = ["colock", "colock-guarded", "kazoo", "kazoo-1s"]
    rows = []
    for event in events:
        for m in members:
            def of(system, metric):
                return found(SHARDS, f"{event}: {metric}", clients=m, system=system)

            rows.append([f"{event}, {m} members", *(
                f"{duration(of(s, 'time without an owner, the longest'))}, "
                f"{shown(of(s, 'shards that had no owner for a while'))}, {shown(of(s, 'requests'))}" for s in systems)])
    return table(["", *systems], rows)


TABLES = {each.__name__: each for each in (beside_peers, in_short, beside_raw, hand_over_ratios, deep_queues,
                                           queueing_up, memory, shard_moves)}


# ---- sentences


def in_process(metric, clients=64, system="colock"):
    return figure("in_process", metric, system, clients=clients)


SENTENCES = {
    "docs/benchmarks/README.md": [
        ("The uncontended cycle takes {} of the time of raw,",
         spread("uncontended", "lock + unlock, relative to raw")),
        ("Many locks come to {} of its rate;", spread("many_locks", "cycles, relative to raw")),
        ("**Instructions** are {} times raw's,", figure("costs", "instructions a cycle, relative to raw")),
        ("({} and {} a second with 8 clients)",
         figure("handover", "hand-overs, one process", "curator", clients=8),
         figure("handover", "hand-overs, eight processes", "curator", clients=8)),
        ("With a round trip of 10 ms colock hands over {}, {} and {} times as often as Curator (target 2), at {}, {} and {} of",
         *(times("curator", c, 10) for c in (8, 32, 128)), *map(part_of_most, (8, 32, 128))),
        ("etcd makes {} cycles a second, colock {}, and raw-tuned, which does no more than it must, {}.",
         *(figure("many_locks", "cycles", s) for s in ("etcd", "colock", "raw-tuned"))),
        ("colock comes to {} times etcd's rate;", as_good_as("etcd", "many_locks", "cycles")),
        ("A grant in memory takes {} times as long as a token from a channel of Asio, and {} times with unlock awaited",
         in_process("grant, released by the guard, relative to channel"),
         in_process("grant, unlock awaited, relative to channel")),
        ("colock takes {} times as long, on eight {} times.",
         *(spread("in_process", f"grant on {threads} threads, released by the guard, relative to channel", clients=64)
           for threads in (2, 8))),
        ("makes a hand-off {} times as long (target 1.1)",
         in_process("hand-off, observed or not, relative to colock", system="colock with observer")),
    ],
    "docs/faq.md": [
        ("1,000 of one client queue up in {} s, 10,000 of 100 processes in {} s ([deep",
         f"{deep(DEEP_MARKED, 'time to queue up', 1000):.1f}",
         f"{deep(DEEP_UNSHARED, 'time to queue up, 100 processes', 10000):.1f}"),
    ],
    "docs/metrics.md": [
        ("makes a hand-off {} times as long, and both together {} times",
         *(in_process("hand-off, observed or not, relative to colock", system=each)
           for each in ("colock with observer", "colock with observer and histograms"))),
    ],
    "docs/scaling.md": [
        ("{} locks taken and released a second, 64 at a time", figure("many_locks", "cycles")),
        ("8 clients handed one lock over {} times a second", hand_overs("colock", 8, servers=3)),
    ],
    "docs/shards.md": [
        ("had no owner for {} ms at most when a member joined, for {} ms when one left,",
         without_owner("join", "colock"), without_owner("leave", "colock")),
        ("or {} ms with a session guard", without_owner("kill", "colock-guarded")),
        ("at each change, for {} s by default", without_owner("join", "kazoo", 1)),
    ],
    "docs/from-etcd.md": [
        ("in the same report {} a second against {} with 8 clients and a round trip of 10 ms, and {} against {} with 128 "
         "clients and no delay", hand_overs("colock", 8, rtt=10), hand_overs("etcd", 8, rtt=10), hand_overs("colock", 128),
         hand_overs("etcd", 128)),
    ],
    "docs/from-curator.md": [
        ("| round trips to take a free lock | {} ([report](benchmarks/default.md)) | {} (the same report) |",
         round_trips("curator"), round_trips("colock")),
        ("| hand-overs a second, 8 clients, 10 ms round trip | {} (the same report) | {} |",
         hand_overs("curator", 8, rtt=10), hand_overs("colock", 8, rtt=10)),
    ],
    "docs/from-kazoo.md": [
        ("| round trips to take a free lock | {} ([report](benchmarks/default.md)) | {} (the same report) |",
         round_trips("kazoo"), round_trips("colock")),
        ("| hand-overs a second, 8 clients, 10 ms round trip | {} (the same report) | {} |",
         hand_overs("kazoo", 8, rtt=10), hand_overs("colock", 8, rtt=10)),
    ],
}
PAGES_WITH_TABLES = ["README.md", "docs/benchmarks/README.md"]


# ---- pages


def with_tables(page, text, faults):
    def filled(block):
        if block[1] not in TABLES:
            faults.append(f"{page}: there is no table '{block[1]}'; there are: {', '.join(TABLES)}")
            return block[0]
        return f"<!-- figures: {block[1]} -->\n\n{TABLES[block[1]]()}\n\n<!-- /figures -->"

    return re.sub(r"<!-- figures: (\w+) -->\n.*?<!-- /figures -->", filled, text, flags=re.S)


def with_sentence(page, text, words, values, faults):
    figure_or_spread = r"[\d.,]*\d(?: \([\d.,]*\d to [\d.,]*\d\))?"
    pattern = figure_or_spread.join(re.escape(each) for each in words.split("{}"))
    if len(re.findall(pattern, text)) != 1:
        faults.append(f"{page}: this sentence is not there once: {words}")
        return text
    if words.count("{}") != len(values) or not all(values):
        faults.append(f"{page}: the reports lack a figure of: {words}")
        return text
    new = words.replace("{}", "\0")
    for value in values:
        new = new.replace("\0", value, 1)
    return re.sub(pattern, lambda _: new, text)


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    check = sys.argv[1:] == ["--check"]
    faults = []
    for page in dict.fromkeys([*PAGES_WITH_TABLES, *SENTENCES]):
        path = ROOT / page
        old = path.read_text()
        new = with_tables(page, old, faults)
        for words, *values in SENTENCES.get(page, []):
            new = with_sentence(page, new, words, values, faults)
        if new == old:
            continue
        if not check:
            path.write_text(new)
            continue
        difference = difflib.unified_diff(old.split("\n"), new.split("\n"), page, "by the reports", n=0, lineterm="")
        faults.append("\n".join(difference))
    if faults:
        sys.exit("\n".join(faults))


main()
