# SPDX-License-Identifier: BSD-3-Clause
"""A small table from what ncu wrote with --csv --print-units base: time, bytes from and to memory, share of the peak.

    ncu_table.py FILE [NAME*TIMES@US...]

NAME: of each row in turn, where they are ranges that have no kernel's name. TIMES: so often it ran in the range. US: microseconds
that it takes where no profiler looks, which slows the launches of a range: of ncu's then only the bytes are believed.
"""
import csv
import sys

TIME = "gpu__time_duration.sum"
READ, WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
PEAK = "dram__throughput.avg.pct_of_peak_sustained_elapsed"


def number(metrics, name):
    """Of a metric that may be missing or no number: None."""
    try:
        return float(metrics[name].replace(",", ""))
    except (KeyError, ValueError):
        return None


def text(value, form):
    return format(value, form) if value is not None else "-"


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
        lines = [line for line in file if line.startswith('"')]
    kernels, rows = {}, {}
    for row in csv.DictReader(lines):
        kernels[row["ID"]] = row["Kernel Name"].split("(")[0]
        rows.setdefault(row["ID"], {})[row["Metric Name"]] = row["Metric Value"]
    if not rows:
        sys.exit("ncu measured nothing")
    names = dict(zip(rows, sys.argv[2:]))
    print(f"{'':24}  {'us':>9}  {'read GB/s':>9}  {'written':>9}  {'of the peak':>11}")
    for key, metrics in rows.items():
        looked, read, written, share = (number(metrics, name) for name in (TIME, READ, WRITTEN, PEAK))
        named, _, alone = names.get(key, kernels[key]).partition("@")
        name, _, times = named.partition("*")
        time = float(alone) * 1e3 * int(times or 1) if alone else looked
        rates = [bytes_ / time if bytes_ is not None and time else None for bytes_ in (read, written)]
        if share is not None and looked and time:
            share *= looked / time
        print(f"{name:24}  {text(time and time / 1e3 / int(times or 1), '9.1f'):>9}  {text(rates[0], '9.0f'):>9}  "
              f"{text(rates[1], '9.0f'):>9}  {text(share, '9.1f'):>9} %")
    missing = [key for key, metrics in rows.items() if number(metrics, PEAK) is None]
    sys.exit(f"no figure of the throughput in {len(missing)} rows" if missing else 0)


if __name__ == "__main__":
    main()
