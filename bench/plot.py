#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plots the JSON files of gpufifo-bench: time and bandwidth by message size; of --plot the bandwidth of each mechanism.

    plot.py OUTPUT.svg FILE.json...      (Debian and Ubuntu: python3-matplotlib)
    plot.py --check [OUTPUT]             ends with 0 if it can plot, and into a file of this name
"""
import json
import os
import sys

try:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError:
    sys.exit(1 if sys.argv[1:] == ["--check"] else "plot.py: matplotlib is missing (Debian and Ubuntu: python3-matplotlib)")

TESTS = {"allreduce": "MPI_Allreduce", "latency": "messages, one at a time"}


def rate(row):
    """GB/s: the bus bandwidth of a collective, the bandwidth of messages, that of a side; None if it has none."""
    return next((row[key] for key in ("busbw", "bandwidth", "rate") if key in row), None)


def series(rows, name):
    """Yields (label, sizes, times in µs, bandwidths in GB/s) for each method or side, in the order of the file."""
    for side, method in dict.fromkeys((row.get("side", ""), row["method"]) for row in rows):
        chosen = sorted((row for row in rows if (row.get("side", ""), row["method"]) == (side, method)),
                        key=lambda row: row["bytes"])
        label = " ".join(part for part in (name, side, method) if part)
        yield label, [row["bytes"] for row in chosen], [row["median_us"] for row in chosen], [rate(row) for row in chosen]


def plot_figures(documents):
    """Time and bandwidth, side by side, of all documents."""
    figure, (time_axes, bandwidth_axes) = pyplot.subplots(1, 2, figsize=(12, 5))
    for document in documents:
        name = f"{document['ranks']} ranks" if "ranks" in document else ""
        for label, sizes, times, bandwidths in series(document["rows"], name):
            time_axes.loglog(sizes, times, marker=".", label=label)
            if None not in bandwidths:
                bandwidth_axes.loglog(sizes, bandwidths, marker=".", label=label)
    time_axes.set_ylabel("time (µs)")
    bandwidth_axes.set_ylabel("bandwidth (GB/s)")
    time_axes.legend()
    return figure


def plot_mechanisms(document):
    """The bandwidths of the mechanisms, side by side the tests by which they were measured."""
    tests = list(dict.fromkeys(row["test"] for row in document["rows"]))
    figure, all_axes = pyplot.subplots(1, len(tests), figsize=(7 * len(tests), 6), squeeze=False)
    for axes, test in zip(all_axes[0], tests):
        for number, (label, sizes, _, rates) in enumerate(series([row for row in document["rows"] if row["test"] == test], "")):
            axes.loglog(sizes, rates, marker="osD^"[number // 10 % 4], markersize=4, label=label.rsplit(" ", 1)[0])
        axes.set_title(f"{TESTS.get(test, test)}, {document['ranks'] if test == 'allreduce' else 2} ranks")
        axes.set_ylabel("size over time (GB/s)")
        axes.legend(fontsize="small")
    return figure


def check(output):
    """Ends with a sentence if the end of this name is no format."""
    formats = pyplot.figure().canvas.get_supported_filetypes()
    if os.path.splitext(output)[1][1:].lower() not in formats:
        sys.exit(f"plot.py: {output}: the end of its name must be the format, such as .svg, .png or .pdf")


def main():
    if sys.argv[1:2] == ["--check"]:
        for output in sys.argv[2:]:
            check(output)
        return
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    documents = []
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            documents.append(json.load(file))
    mechanisms = len(documents) == 1 and documents[0]["program"] == "gpufifo-bench --plot"
    figure = plot_mechanisms(documents[0]) if mechanisms else plot_figures(documents)
    for axes in figure.axes:
        axes.set_xlabel("message size (bytes)")
        axes.set_xscale("log", base=2)
        axes.grid(True, which="both", alpha=0.3)
    figure.tight_layout()
    try:
        figure.savefig(sys.argv[1], dpi=120)
    except (OSError, ValueError) as error:
        sys.exit(f"plot.py: {sys.argv[1]}: {error}")


if __name__ == "__main__":
    main()
