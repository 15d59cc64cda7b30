#!/usr/bin/python3
"""The host side of a podsim trace: depth of the prefetch queues over time, and when IPUs wait for the host, and why."""

import argparse
import math

import podsim_trace as pt

EXAMPLES = """examples:
  plot_host.py run.h5 -o run.png                       queues and stalls of the second host call, and totals
  plot_host.py run.h5 -o run.png --from 0 --to 0.02    a stretch of time, in seconds
  plot_host.py run.h5 -o run.png --part queues --replicas 0-3
  plot_host.py run.h5 -o run.svg --part totals         seconds of each cause on each IPU
"""
SUFFIXES = (".png", ".svg", ".pdf")
PARTS = ("queues", "stalls", "totals")
MANY_QUEUES = 12
MANY_IPUS = 16
GAP = 0.85  # inches between the parts
QUEUE_COLOURS = ("#4285f4", "#db4437", "#0f9d58", "#f4a000", "#7b1fa2", "#00bcd4")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", help="HDF5 file of `podsim run SCENARIO -o FILE`")
    parser.add_argument("-o", "--output", required=True, help="picture: " + ", ".join(SUFFIXES))
    parser.add_argument("--part", choices=PARTS, help="one part only (default: all that the trace has)")
    parser.add_argument("--from", dest="start", type=float, metavar="SECONDS", help="start of the shown time")
    parser.add_argument("--to", dest="end", type=float, metavar="SECONDS", help="end of the shown time")
    parser.add_argument("--replicas", metavar="LIST", help="replicas whose queues are shown, e.g. 0-3 (default: as many as fit)")
    parser.add_argument("--ipus", metavar="LIST", help="IPUs to show, e.g. 0-3,8 (default: all up to 16)")
    return parser.parse_args()


def shown_time(trace, options):
    """The given stretch, else the second host call (the first fills the queues), or all where there is one."""
    spans = list(zip([0.0, *trace.run_ends[:-1]], trace.run_ends)) or [(0.0, trace.makespan)]
    start, end = spans[min(1, len(spans) - 1)]
    start = start if options.start is None else options.start
    end = end if options.end is None and options.start is None else trace.makespan if options.end is None else options.end
    if not 0 <= start < end:
        raise pt.UserError(f"--from {start} --to {end}: give 0 <= from < to")
    if start >= trace.makespan:
        raise pt.UserError(f"--from {start}: the trace ends at {trace.makespan:.6g} s")
    return start, min(end, trace.makespan)


def queues_of(trace, replicas):
    """[(replica, stream, name), …] of the streams that have changed their depth."""
    group = trace.file["host"]
    names = pt.texts(group["stream"])
    present = sorted(set(zip(group["queue_replica"][:].tolist(), group["queue_stream"][:].tolist())))
    return [(replica, stream, names[stream]) for replica, stream in present if replicas is None or replica in replicas]


def draw_queues(figure, area, trace, queues, start, end):
    factor, unit = pt.time_unit(end - start)
    grid = area.subgridspec(len(queues), 1, hspace=0.12)
    deepest = 1
    rows = []
    for replica, stream, name in queues:
        rows.append(trace.queue(replica, stream, start, end))
        deepest = max(deepest, *rows[-1]["depth"], 1)
    for place, ((replica, stream, name), row) in enumerate(zip(queues, rows)):
        axes = figure.add_subplot(grid[place, 0])
        edges = [*(row["start"] * factor), row["end"][-1] * factor]
        pt.step_area(axes, edges, 0 * row["depth"], row["depth"],
                     facecolor=QUEUE_COLOURS[stream % len(QUEUE_COLOURS)], linewidth=0)
        seconds = row["end"] - row["start"]
        empty = seconds[row["depth"] == 0].sum() / seconds.sum()
        mean = (seconds * row["depth"]).sum() / seconds.sum()
        axes.set(xlim=(start * factor, end * factor), ylim=(0, deepest + 0.3), yticks=[0, deepest])
        axes.set_ylabel(f"replica {replica}\n{name}", rotation=0, ha="right", va="center", fontsize=8)
        axes.text(1.005, 0.5, f"mean {mean:.2f}\nempty {100 * empty:.0f} %", transform=axes.transAxes, fontsize=7,
                  va="center")
        if place == 0:
            axes.set_title("Micro-batches in the ring buffers of the host streams")
        if place + 1 < len(queues):
            axes.set_xticklabels([])
        else:
            axes.set_xlabel(f"time [{unit}]")


def draw_stalls(axes, trace, causes, ipus, start, end):
    factor, unit = pt.time_unit(end - start)
    for place, ipu in enumerate(ipus):
        rows = trace.intervals(ipu, start, end)
        states = trace.states_of(rows)
        for cause in causes:
            spans = [(a * factor, (b - a) * factor) for a, b, state in zip(rows["start"], rows["end"], states)
                     if state == cause]
            axes.broken_barh(spans, (place - 0.4, 0.8), facecolor=pt.colour_of(cause), hatch=pt.hatch_of(cause) or None,
                             edgecolor="#888888" if pt.hatch_of(cause) else "none", linewidth=0)
    axes.set_yticks(range(len(ipus)), [f"IPU {ipu}" for ipu in ipus])
    axes.set(xlim=(start * factor, end * factor), ylim=(len(ipus) - 0.5, -0.5), xlabel=f"time [{unit}]",
             title="When the IPUs wait for the host (white: at work, or waiting for each other)")


def draw_totals(axes, trace, causes, ipus):
    group = trace.file["host"]
    names = pt.texts(group["cause"])
    totals = group["total"][:]
    bottom = 0 * totals[ipus, 0]
    for cause in causes:
        shares = 100 * totals[ipus, names.index(cause)] / trace.makespan
        axes.bar(range(len(ipus)), shares, bottom=bottom, width=0.85, color=pt.colour_of(cause),
                 hatch=pt.hatch_of(cause) or None, edgecolor="#888888" if pt.hatch_of(cause) else "none", linewidth=0)
        bottom = bottom + shares
    step = max(1, math.ceil(len(ipus) / 32))
    axes.set_xticks(range(0, len(ipus), step), [str(ipu) for ipu in ipus[::step]])
    axes.set(xlim=(-0.6, len(ipus) - 0.4), ylim=(0, max(1e-3, 1.1 * bottom.max())), xlabel="IPU",
             ylabel="share of time [%]", title="Waits for the host by cause, whole run")


def draw(trace, options, parts, queues, causes, ipus, start, end):
    plt = pt.pyplot()
    heights = {"queues": 0.5 + 0.55 * len(queues), "stalls": 0.8 + 0.28 * len(ipus), "totals": 2.2}
    height = 1.5 + sum(heights[part] for part in parts) + GAP * (len(parts) - 1)
    figure = plt.figure(figsize=(13, height))
    figure.subplots_adjust(top=1 - 0.95 / height, bottom=0.5 / height)
    mean = sum(heights[part] for part in parts) / len(parts)
    grid = figure.add_gridspec(len(parts), 1, height_ratios=[heights[part] for part in parts], hspace=GAP / mean)
    for row, part in enumerate(parts):
        if part == "queues":
            draw_queues(figure, grid[row, 0], trace, queues, start, end)
        elif part == "stalls":
            draw_stalls(figure.add_subplot(grid[row, 0]), trace, causes, ipus, start, end)
        else:
            draw_totals(figure.add_subplot(grid[row, 0]), trace, causes, ipus)
    figure.suptitle(trace.name, y=1 - 0.1 / height, fontsize=11)
    if parts != ["queues"]:
        handles = [plt.Rectangle((0, 0), 1, 1, facecolor=pt.colour_of(cause), hatch=pt.hatch_of(cause), edgecolor="#888888",
                                 lw=0) for cause in causes]
        figure.legend(handles, [pt.label_of(cause) for cause in causes], loc="upper center",
                      bbox_to_anchor=(0.5, 1 - 0.3 / height), ncol=len(causes), frameon=False, fontsize=8)
    pt.save(figure, options.output)


def main():
    options = arguments()
    pt.check_output(options.output, SUFFIXES)
    trace = pt.Trace(options.trace)
    start, end = shown_time(trace, options)
    replicas = pt.parse_numbers(options.replicas, "--replicas", trace.replicas) if options.replicas else None
    ipus = pt.parse_numbers(options.ipus, "--ipus", trace.ipus) if options.ipus else list(range(min(trace.ipus, MANY_IPUS)))
    queues = queues_of(trace, replicas)[:MANY_QUEUES]
    totals = trace.file["host/total"][:]
    names = pt.texts(trace.file["host/cause"])
    causes = pt.in_style_order([name for place, name in enumerate(names) if totals[:, place].any()])
    if not queues and options.part == "queues":
        raise pt.UserError(f"{trace.path}: holds no queues (synthetic data)")
    if not causes and options.part in ("stalls", "totals"):
        raise pt.UserError(f"{trace.path}: no IPU has waited for the host")
    parts = [options.part] if options.part else [part for part in PARTS if (queues if part == "queues" else causes)]
    if not parts:
        raise pt.UserError(f"{trace.path}: synthetic data, and no IPU has waited for the host")
    draw(trace, options, parts, queues, causes, ipus, start, end)


if __name__ == "__main__":
    pt.run_tool(main)
