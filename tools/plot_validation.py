#!/usr/bin/python3
"""Predicted against measured times of one weight update, with the band of 10 %, from `podsim validate --json`.

With `podsim validate --uncertainty --json` each prediction has its interval from 5 to 95 %."""

import argparse
import json
import sys

import podsim_trace as pt

EXAMPLES = """examples:
  podsim validate --json > validation.json && plot_validation.py validation.json -o validation.png
  podsim validate --json | plot_validation.py - -o validation.svg
"""
SUFFIXES = (".png", ".svg", ".pdf")
BAND = 0.1
LABELLED_ABOVE = 0.25  # rows further off carry their name


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("validation", help="output of podsim validate --json; - for standard input")
    parser.add_argument("-o", "--output", required=True, help="picture to write (png, svg, pdf)")
    return parser.parse_args()


def read_rows(name):
    label = "standard input" if name == "-" else name
    try:
        if name == "-":
            return json.load(sys.stdin)["rows"]
        with open(name, encoding="utf-8") as file:
            return json.load(file)["rows"]
    except FileNotFoundError as error:
        raise pt.UserError(f"{name}: no such file; `podsim validate --json > {name}` writes one") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise pt.UserError(f"{label}: is not the output of `podsim validate --json`") from error


def draw_intervals(axes, rows, colour):
    for row in rows:
        if "interval_seconds" in row:
            axes.plot([row["measured_seconds"]] * 2, row["interval_seconds"], color=colour, linewidth=1.2, alpha=0.6,
                      zorder=2)


def draw(rows, output):
    matplotlib = pt.require("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    shown = [row for row in rows if row["predicted_seconds"] > 0]
    if not shown:
        raise pt.UserError("none of the rows has a prediction; their field \"error\" says why")
    times = [row[key] for row in shown for key in ("measured_seconds", "predicted_seconds")]
    ends = [min(times) / 1.5, max(times) * 1.5]
    figure, axes = plt.subplots(figsize=(8, 6.5))
    axes.fill_between(ends, [e * (1 - BAND) for e in ends], [e * (1 + BAND) for e in ends], color="0.88", label="± 10 %")
    axes.plot(ends, ends, color="0.6", linewidth=0.8)
    colours = plt.get_cmap("tab20")
    for number, family in enumerate(dict.fromkeys(row["family"] for row in shown)):
        members = [row for row in shown if row["family"] == family]
        axes.scatter([row["measured_seconds"] for row in members], [row["predicted_seconds"] for row in members],
                     s=28, color=colours(number), label=family, zorder=3)
        draw_intervals(axes, members, colours(number))
    for row in shown:
        if abs(row["relative_error"]) > LABELLED_ABOVE:
            axes.annotate(row["id"], (row["measured_seconds"], row["predicted_seconds"]), fontsize=6.5,
                          textcoords="offset points", xytext=(5, -3))
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, xlabel="measured weight update [s]",
             ylabel="predicted weight update [s]")
    missing = len(rows) - len(shown)
    axes.set_title(f"{len(shown)} measured systems" + (f", {missing} without a prediction" if missing else ""))
    axes.legend(fontsize=7.5, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    pt.save(figure, output)


def main():
    options = arguments()
    pt.check_output(options.output, SUFFIXES)
    draw(read_rows(options.validation), options.output)


if __name__ == "__main__":
    pt.run_tool(main)
