#!/usr/bin/python3
"""Compares two results of the benchmarks (Google Benchmark JSON): a table of ratios, and an exit code for scripts."""

import argparse
import json
import re
import sys

import podsim_trace as pt

EXAMPLES = """examples:
  cmake --build build --target benchmark && cp build/benchmark.json old.json    # before a change, and again after it
  bench_compare.py old.json build/benchmark.json
  bench_compare.py old.json new.json --filter 'sweep|lowering' --threshold 20
  bench_compare.py old.json new.json --metric MB                                # a counter instead of the time

Of repeated benchmarks the least time counts (what disturbs a machine only adds to it), and of rates (counters that end
in "/s") the highest. A benchmark has regressed if it is worse by more than the threshold, or fails only in NEW.
exit code: 0 nothing regressed, 1 input that cannot be compared, 3 something regressed
"""
REGRESSED = 3
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", metavar="OLD", help="benchmark.json before")
    parser.add_argument("new", metavar="NEW", help="benchmark.json after")
    parser.add_argument("--threshold", type=float, default=10, metavar="PERCENT",
                        help="how much worse counts as a regression (default: %(default)s)")
    parser.add_argument("--metric", default="real_time", help="real_time, cpu_time, or a counter's name "
                        "(default: %(default)s)")
    parser.add_argument("--filter", metavar="REGEX", help="only benchmarks whose name contains a match")
    return parser.parse_args()


def read_runs(name):
    try:
        with open(name, encoding="utf-8") as file:
            return json.load(file)["benchmarks"]
    except OSError as error:
        raise pt.UserError(f"{name}: {error.strerror}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise pt.UserError(f"{name}: is no result of Google Benchmark; write one with "
                           "--benchmark_out=FILE --benchmark_out_format=json") from error


def is_rate(metric):
    return metric.endswith("/s")


def best_values(runs, metric):
    """{name: best value}; None for a benchmark that failed, no entry where it does not have the metric."""
    values = {}
    for run in runs:
        name = run.get("run_name", run["name"])
        if run.get("run_type") == "aggregate":
            continue
        if run.get("error_occurred"):
            values.setdefault(name, None)
        elif metric in run:
            value = run[metric] * (SECONDS[run["time_unit"]] if metric.endswith("_time") else 1)
            known = values.get(name)
            values[name] = value if known is None else (max if is_rate(metric) else min)(known, value)
    return values


def text_of(value, metric):
    if value is None:
        return "failed"
    if not metric.endswith("_time"):
        return f"{value:,.4g}"
    for unit, seconds in sorted(SECONDS.items(), key=lambda item: -item[1]):
        if value >= seconds or unit == "ns":
            return f"{value / seconds:,.4g} {unit}"
    return ""


def compare(old, new, metric, threshold):
    """[(name, old, new, ratio, verdict)] of the benchmarks that are in both; a ratio above 1 is worse for times."""
    rows = []
    limit = 1 + threshold / 100
    for name in [name for name in old if name in new]:
        before, after = old[name], new[name]
        ratio = after / before if before and after is not None else None
        if after is None:
            verdict = "failed before too" if before is None else "REGRESSED"
        elif ratio is None:
            verdict = "runs again" if before is None else ""
        else:
            worse = 1 / ratio if is_rate(metric) and ratio > 0 else ratio
            verdict = "REGRESSED" if worse > limit else "better" if worse < 1 / limit else ""
        rows.append((name, before, after, ratio, verdict))
    return rows


def print_table(rows, metric):
    cells = [("benchmark", "old", "new", "new/old", "")]
    cells += [(name, text_of(before, metric), text_of(after, metric), f"{ratio:.3f}" if ratio is not None else "",
               verdict) for name, before, after, ratio, verdict in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(4)]
    for row in cells:
        print((row[0].ljust(widths[0]) + "".join("  " + row[i].rjust(widths[i]) for i in range(1, 4)) + "  " + row[4])
              .rstrip())


def selected(values, pattern):
    if not pattern:
        return values
    try:
        return {name: value for name, value in values.items() if re.search(pattern, name)}
    except re.error as error:
        raise pt.UserError(f"--filter {pattern}: is no regular expression: {error}") from error


def main():
    options = arguments()
    if not options.threshold >= 0:
        raise pt.UserError(f"--threshold {options.threshold:g}: must not be negative")
    old, new = (selected(best_values(read_runs(name), options.metric), options.filter)
                for name in (options.old, options.new))
    rows = compare(old, new, options.metric, options.threshold)
    if not rows:
        raise pt.UserError(f"{options.old} and {options.new} have no benchmark with {options.metric} in common")
    print_table(rows, options.metric)
    for title, names in (("only in OLD", set(old) - set(new)), ("only in NEW", set(new) - set(old))):
        if names:
            print(f"{title}: {', '.join(sorted(names))}")
    regressed = sum(row[4] == "REGRESSED" for row in rows)
    print(f"{len(rows)} compared, {regressed} regressed by more than {options.threshold:g}%")
    sys.exit(REGRESSED if regressed else 0)


if __name__ == "__main__":
    pt.run_tool(main)
