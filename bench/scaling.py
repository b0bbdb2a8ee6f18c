#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Simulates what a rank needs on 8 to 16384 ranks: connections, memory, and messages until they are there. docs/scaling.md says
what of it is built.

    scaling.py FIGURES.json                 prints the tables of docs/scaling.md
    scaling.py FIGURES.json --plot OUT.svg  draws them (Debian and Ubuntu: python3-matplotlib)
    scaling.py FIGURES.json --write DOC.md  puts them into that file
    scaling.py FIGURES.json --check DOC.md  ends with 1 if they are not in that file

FIGURES.json is what tests/unit/setup_figures prints, from the headers and by counting; bench/scaling.json is a copy of it.
"""
import argparse
import json
import math
import sys

RANKS = (8, 64, 512, 4096, 16384)
POOL_SLOTS = 64                 # of staging that all peers of a process share, for sending and as many for receiving
SETTINGS_BYTES = 16             # least and greatest hash of the settings, by one allreduce
SAMPLE = 1000                   # about so many ranks are simulated, of more
PIECE_BYTES = 512 * 1024        # coll_gpufifo_pipe_chunk_bytes
LINK_BYTES = 4096               # most of the lanes to another rank: mca_coll_gpufifo/pt2pt/links_private.h asserts that
POINTER_BYTES = 8
BEGIN, END = "<!-- scaling.py -->\n", "<!-- /scaling.py -->\n"


# Patterns: (the ranks to which `rank` sends, those from which it receives).

def ring(rank, ranks):
    return {(rank + 1) % ranks}, {(rank - 1) % ranks}


def tree(rank, ranks):
    """A binary tree, up and down."""
    peers = {peer for peer in ((rank - 1) // 2, 2 * rank + 1, 2 * rank + 2) if 0 <= peer < ranks}
    return peers, peers


def halo(rank, ranks):
    """A torus of three dimensions, as near to a cube as powers of two allow: the neighbours at its six faces."""
    power = ranks.bit_length() - 1
    peers, stride = set(), 1
    for side in (2 ** ((power + i) // 3) for i in range(3)):
        place = rank // stride % side
        peers |= {rank + ((place + step) % side - place) * stride for step in (1, side - 1)}
        stride *= side
    return peers - {rank}, peers - {rank}


def all_of_these(rank, ranks):
    """A program that uses all three: a pair of ranks is connected once."""
    ends = [pattern(rank, ranks) for pattern in (ring, tree, halo)]
    return set().union(*(to for to, _ in ends)), set().union(*(come_from for _, come_from in ends))


def alltoall(rank, ranks):
    peers = set(range(ranks)) - {rank}
    return peers, peers


PATTERNS = {"ring": ring, "tree": tree, "halo": halo, "ring, tree and halo": all_of_these, "all-to-all": alltoall}


def counts(ranks, pattern):
    """(peers, ends of connections) of the rank with the most, of all or of a sample."""
    sample = range(0, 1 if pattern is alltoall else ranks, max(1, ranks // SAMPLE))
    ends = [pattern(rank, ranks) for rank in sample]
    return max((len(to | come_from), len(to) + len(come_from)) for to, come_from in ends)


def check_patterns():
    """Who sends to a rank is one from which that rank receives."""
    for name, pattern in PATTERNS.items():
        for ranks in (8, 64):
            ends = [pattern(rank, ranks) for rank in range(ranks)]
            if any((a in ends[b][0]) != (b in ends[a][1]) for a in range(ranks) for b in range(ranks)):
                sys.exit(f"scaling.py: the pattern {name} on {ranks} ranks has a connection with one end")


# What MPI sends for an exchange among all: the fewest messages of one rank, and its bytes.

def of_allgather(ranks, size):
    return math.ceil(math.log2(ranks)), (ranks - 1) * size


def of_alltoall(ranks, size):
    return ranks - 1, (ranks - 1) * size


def total(costs):
    costs = list(costs)
    return sum(messages for messages, _ in costs), sum(size for _, size in costs)


def as_built(figures, ranks):
    """Set-up as core/ does it: all ranks of the communicator, whatever the pattern."""
    phases = (figures["create"], figures["ring"])
    return total([of_allgather(ranks, size) for phase in phases for size in phase["allgather"]] +
                 [of_alltoall(ranks, size) for phase in phases for size in phase["alltoall"]])


def in_pairs(figures, ranks, peers):
    """Set-up as it would scale: who meets a peer for the first time exchanges with it alone what an exchange among all has
    for one rank now, with the peer's description; the settings are compared by one allreduce."""
    messages = len(figures["ring"]["alltoall"])
    size = sum(figures["ring"]["alltoall"]) + figures["info_bytes"]
    rounds = math.ceil(math.log2(ranks))
    return rounds + messages * peers, rounds * SETTINGS_BYTES + peers * size


def line_bytes(figures, ends, width):
    """Of lanes that serve `width` channels: lines for notices at both ends, for credits at the sending one."""
    notices = ends * math.ceil(figures["channels"] / width) * figures["notice_lines"]
    return (notices + ends // 2 * figures["channels"] * figures["depth"]) * figures["line_bytes"]


def of_messages(figures, ranks, name):
    """What the network's messages take of the busiest rank: a lane for each way, its record and its lines, and pieces that all
    lanes share. Each end of a lane tells the other its address once, and nothing is exchanged among all."""
    peers, lanes = counts(ranks, PATTERNS[name])
    each = figures["carrier_lane_bytes"] + figures["carrier_lines"] * figures["line_bytes"]
    return [str(ranks), name, str(peers), str(lanes), str(lanes), amount(peers * LINK_BYTES + lanes * each),
            amount(ranks * POINTER_BYTES), amount(2 * figures["carrier_pieces"] * PIECE_BYTES)]


def memory(figures, peers, ends):
    """Bytes of a rank: staging with slots of each connection's own, and with shared ones; lines at sending ends."""
    return {
        "own": ends * figures["slots_bytes"],
        "shared": 2 * POOL_SLOTS * figures["slot_bytes"],
        "lines": line_bytes(figures, ends, 1),
        "table": peers * (figures["info_bytes"] + 2 * figures["link_bytes"]),
    }


def simulate(figures, ranks, name):
    """What the busiest rank needs."""
    peers, ends = counts(ranks, PATTERNS[name])
    channels = figures["channels"]
    row = {"ranks": ranks, "pattern": name, "peers": peers, "lanes": ends * channels,
           "grouped": ends * math.ceil(channels / figures["group"]), "setup": in_pairs(figures, ranks, peers)}
    row.update(memory(figures, peers, ends))
    return row


def amount(size):
    """Bytes in words, to two digits or three."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.2g} {unit}"
        size /= 1024
    return None


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def report(figures):
    """The tables: connections and staging; messages of the set-up; what a rank keeps of its peers."""
    rows = [[simulate(figures, ranks, name) for name in PATTERNS] for ranks in RANKS]
    text = table(("ranks", "pattern", "peers", "lanes, one a channel", f"{figures['group']} channels a lane", "one lane a peer",
                  "lines", "staging, each connection its own", "staging, shared"),
                 [[str(row["ranks"]), row["pattern"]] + [str(row[key]) for key in ("peers", "lanes", "grouped", "peers")] +
                  [amount(row[key]) for key in ("lines", "own", "shared")] for group in rows for row in group])
    setups, tables = [], []
    for group in rows:
        ranks = group[0]["ranks"]
        mark = "({})" if ranks > figures["most_ranks"] else "{}"
        messages, size = as_built(figures, ranks)
        setups.append([str(ranks), mark.format(f"{messages}: {amount(size)}")] +
                      [f"{row['setup'][0]}: {amount(row['setup'][1])}" for row in group])
        entries = ranks * (figures["info_bytes"] + 2 * figures["link_bytes"])
        tables.append([str(ranks), mark.format(amount(entries))] + [amount(row["table"]) for row in group])
    heads = ["ranks", "as built"] + list(PATTERNS)
    lanes = table(("ranks", "pattern", "peers", "lanes", "messages until connected", "records and lines", "table of ranks",
                   "pinned pieces"), [of_messages(figures, ranks, name) for ranks in RANKS for name in PATTERNS])
    return (f"Connections and staging of the busiest rank:\n\n{text}\nMessages that a rank sends until it is connected, and "
            f"their bytes:\n\n{table(heads, setups)}\nWhat a rank keeps about its peers:\n\n{table(heads, tables)}\n"
            f"Messages between nodes by the network, as built, of the busiest rank:\n\n{lanes}")


def replace(document, text):
    """The document with the tables between its marks."""
    before, found, rest = document.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        sys.exit(f"scaling.py: the document has no lines {BEGIN.strip()} and {END.strip()} for the tables")
    return before + BEGIN + "\n" + text + "\n" + END + after


def plot(figures, path):
    try:
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        sys.exit("scaling.py: matplotlib is missing (Debian and Ubuntu: python3-matplotlib)")
    figure, (setup_axes, staging_axes) = pyplot.subplots(1, 2, figsize=(13, 5))
    setup_axes.loglog(RANKS, [as_built(figures, ranks)[1] for ranks in RANKS], marker="s", label="as built")
    for name in PATTERNS:
        rows = [simulate(figures, ranks, name) for ranks in RANKS]
        setup_axes.loglog(RANKS, [row["setup"][1] for row in rows], marker=".", label=f"{name}, in pairs")
        staging_axes.loglog(RANKS, [row["own"] for row in rows], marker=".", label=f"{name}, each connection its own")
    staging_axes.loglog(RANKS, [row["shared"] for row in rows], marker="s", label="shared")
    for axes, title in ((setup_axes, "set-up, bytes of a rank"), (staging_axes, "staging, bytes of a rank")):
        axes.set_xscale("log", base=2)
        axes.set_xlabel("ranks")
        axes.set_title(title)
        axes.grid(True, which="both", alpha=0.3)
        axes.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("figures")
    parser.add_argument("--plot")
    parser.add_argument("--write")
    parser.add_argument("--check")
    options = parser.parse_args()
    with open(options.figures, encoding="utf-8") as file:
        figures = json.load(file)
    if options.plot:
        plot(figures, options.plot)
    elif options.write or options.check:
        path = options.write or options.check
        with open(path, encoding="utf-8") as file:
            document = file.read()
        updated = replace(document, report(figures))
        check_patterns()
        if options.check and updated != document:
            sys.exit(f"scaling.py: {path} has other tables than these figures give: run it with --write {path}")
        if options.write:
            with open(path, "w", encoding="utf-8") as file:
                file.write(updated)
    else:
        print(report(figures), end="")


if __name__ == "__main__":
    main()
