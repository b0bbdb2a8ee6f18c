#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plots the JSON files of gpufifo-bench: time and bandwidth by message size.

    plot.py OUTPUT.png FILE.json...      (Debian and Ubuntu: python3-matplotlib)
"""
import json
import sys

import matplotlib
matplotlib.use("Agg")
from matplotlib import pyplot


def rate(row):
    """GB/s: the bus bandwidth of a collective, the bandwidth of messages, that of a side; None if it has none."""
    return next((row[key] for key in ("busbw", "bandwidth", "rate") if key in row), None)


def series(document, name):
    """Yields (label, sizes, times in µs, bandwidths in GB/s) for each method or side."""
    labels = sorted({(row.get("side", ""), row["method"]) for row in document["rows"]})
    for side, method in labels:
        rows = sorted((row for row in document["rows"] if (row.get("side", ""), row["method"]) == (side, method)),
                      key=lambda row: row["bytes"])
        label = " ".join(part for part in (name, side, method) if part)
        yield label, [row["bytes"] for row in rows], [row["median_us"] for row in rows], [rate(row) for row in rows]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    figure, (time_axes, bandwidth_axes) = pyplot.subplots(1, 2, figsize=(12, 5))
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        name = f"{document['ranks']} ranks" if "ranks" in document else ""
        for label, sizes, times, bandwidths in series(document, name):
            time_axes.loglog(sizes, times, marker=".", label=label)
            if None not in bandwidths:
                bandwidth_axes.loglog(sizes, bandwidths, marker=".", label=label)
    for axes, title in ((time_axes, "time (µs)"), (bandwidth_axes, "bandwidth (GB/s)")):
        axes.set_xlabel("message size (bytes)")
        axes.set_ylabel(title)
        axes.grid(True, which="both", alpha=0.3)
    time_axes.legend()
    figure.tight_layout()
    figure.savefig(sys.argv[1], dpi=120)


if __name__ == "__main__":
    main()
