#!/usr/bin/python3
"""Gantt chart of the IPUs of a podsim trace: what every IPU does, micro-batch by micro-batch."""

import argparse
import math

import podsim_trace as pt

EXAMPLES = """examples:
  plot_pipeline.py run.h5 -o run.png                       fill, a piece of steady state, and drain of one update
  plot_pipeline.py run.h5 -o run.html                      the same to zoom in a browser (plotly)
  plot_pipeline.py run.h5 -o run.png --update 0            the first weight update as a whole
  plot_pipeline.py run.h5 -o run.png --slots 0:12          slots 0 to 11 of the chosen update
  plot_pipeline.py run.h5 -o run.svg --from 0.2 --to 0.25  a stretch of time, in seconds
  plot_pipeline.py run.h5 -o run.png --ipus 0-3,12-15      some IPUs
"""
SUFFIXES = (".png", ".svg", ".pdf", ".html")
WHOLE_UPDATE_SLOTS = 64   # an update of up to so many slots is shown as a whole
STEADY_SLOTS = 6          # of steady state, where an update is shown in three pieces
MAXIMUM_LABELS = 6000
MANY_IPUS = 16
WORK = ("forward", "recompute", "backward")
SLOT_STATES = (*WORK, "host_input_stall", "host_transfer", "host_output_stall")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", help="HDF5 file of `podsim run SCENARIO -o FILE`")
    parser.add_argument("-o", "--output", required=True, help="picture: " + ", ".join(SUFFIXES))
    parser.add_argument("--from", dest="start", type=float, metavar="SECONDS", help="start of the shown time")
    parser.add_argument("--to", dest="end", type=float, metavar="SECONDS", help="end of the shown time")
    parser.add_argument("--update", type=int, metavar="K", help="weight update to show, from 0 (default: the second)")
    parser.add_argument("--run", type=int, metavar="K", help="host call to show, from 0")
    parser.add_argument("--slots", metavar="A:B", help="slots A to B - 1 of the update or host call")
    parser.add_argument("--ipus", metavar="LIST", help="IPUs to show, e.g. 0-3,8 (default: all up to 16, else one replica)")
    parser.add_argument("--width", type=float, default=15, metavar="INCHES", help="width of the picture (default 15)")
    parser.add_argument("--no-numbers", action="store_true", help="no micro-batch numbers in the boxes")
    return parser.parse_args()


def chosen_ipus(trace, text):
    if text:
        return pt.parse_numbers(text, "--ipus", trace.ipus)
    return list(range(trace.ipus if trace.ipus <= MANY_IPUS else min(MANY_IPUS, trace.ipus_per_replica)))


def chosen_unit(trace, options):
    """(title, start, end) of the update or host call to show."""
    name, spans = trace.units()
    index = options.update
    if options.run is not None:
        name, index = "run", options.run
        spans = list(zip([0.0, *trace.run_ends[:-1]], trace.run_ends))
    elif options.update is not None and name == "run":
        raise pt.UserError("--update: an inference run has no weight updates; use --run")
    if index is None:
        index = min(1, len(spans) - 1)
    if not 0 <= index < len(spans):
        raise pt.UserError(f"--{name} {index}: there are 0 to {len(spans) - 1}")
    label = {"update": "weight update", "run": "host call"}[name]
    return f"{label} {index} of {len(spans)}", *spans[index]


def work_span(trace, ipus, start, end):
    """First start and last end of stage work on the IPUs within a span."""
    first, last = math.inf, -math.inf
    for ipu in ipus:
        rows = trace.intervals(ipu, start, end)
        states = list(trace.states_of(rows))
        passes = [i for i, state in enumerate(states) if state in WORK]
        if not passes:
            continue
        begin = passes[0]  # with what it waits for, but not with transfers before the host call
        while begin > 0 and states[begin - 1] in SLOT_STATES:
            begin -= 1
        first = min(first, rows["start"][begin])
        last = max(last, max(b for b, state in zip(rows["end"], states) if state in SLOT_STATES))
    return (first, last) if first < last else (start, end)


def slot_edges(trace, start, end):
    """Edges of the lockstep slots of replica 0: where exchanges end, or where all work changes at once."""
    ipus = range(min(trace.ipus, trace.ipus_per_replica))
    first, last = work_span(trace, ipus, start, end)
    rows = {ipu: trace.intervals(ipu, first, last) for ipu in ipus}
    exchange = trace.state_names.index("exchange")
    ends = sorted(b for row in rows.values() for b in row["end"][row["state"] == exchange])
    edges = [first, *(ends if ends else edges_without_exchange(trace, rows)), last]
    shortest = 1e-9 * trace.makespan
    return [edge for i, edge in enumerate(edges) if i == 0 or edge - edges[i - 1] > shortest]


def edges_without_exchange(trace, rows):
    """A slot begins where nothing that works spans the moment and a pass comes up that the slot has had already."""
    busy = [(a, b, ipu, state) for ipu, row in rows.items()
            for a, b, state in zip(row["start"], row["end"], trace.states_of(row)) if state in WORK]
    busy.sort()
    edges, seen, reached = [], set(), -math.inf
    tolerance = 1e-9 * trace.makespan
    group, groups = [], []
    for a, b, ipu, state in busy:
        if group and a >= reached - tolerance:
            groups.append(group)
            group = []
        group.append((a, ipu, state))
        reached = max(reached, b)
    groups.append(group)
    for group in groups:
        passes = {(ipu, state) for _, ipu, state in group}
        if seen & passes or not seen:
            if seen:
                edges.append(group[0][0])
            seen = set(passes)
        else:
            seen |= passes
    return edges


def shown_slots(trace, text, start, end):
    first, colon, last = text.partition(":")
    if not colon or not first.isdigit() or not last.isdigit() or int(first) >= int(last):
        raise pt.UserError(f"--slots {text}: give A:B with A < B, e.g. 0:12")
    edges = slot_edges(trace, start, end)
    if int(last) >= len(edges):
        raise pt.UserError(f"--slots {text}: this one has slots 0 to {len(edges) - 2}")
    return edges[int(first)], edges[int(last)]


def default_panels(trace, start, end):
    """The whole span, or its fill, a piece of steady state, and its drain where it has many slots."""
    name, spans = trace.units()
    slots = trace.slots_per_update
    if slots <= WHOLE_UPDATE_SLOTS:
        return [("", start, end)]
    ipus = range(min(trace.ipus, trace.ipus_per_replica))
    first, last = work_span(trace, ipus, start, end)
    slot = (last - first) / slots
    ramp = (2 * trace.ipus_per_replica + 1) * slot
    middle = next_exchange_end(trace, (first + last) / 2, slot)
    panels = [("ramp-up", max(start, first - 2 * slot), first + ramp),
              ("steady state", middle, middle + STEADY_SLOTS * slot),
              ("ramp-down", last - ramp, min(end, last + 2 * slot))]
    if end - last > 2 * slot:
        panels.append(("all-reduce, update" if trace.is_training else "end", max(last - slot, start), end))
    return panels


def next_exchange_end(trace, time, slot):
    """The first end of an exchange within a slot or so after `time`; `time` where there is none."""
    rows = trace.intervals(0, time, time + 1.5 * slot)
    ends = [b for b, state in zip(rows["end"], trace.states_of(rows)) if state == "exchange"]
    return float(ends[0]) if ends else time


def panels_of(trace, options):
    """(title of the picture, [(title, start, end), …])."""
    if options.start is not None or options.end is not None:
        start, end = options.start or 0.0, trace.makespan if options.end is None else options.end
        if not 0 <= start < end:
            raise pt.UserError(f"--from {start:g} --to {end:g}: give 0 <= from < to")
        if start >= trace.makespan:
            raise pt.UserError(f"--from {start:g}: the run lasts {trace.makespan:g} s")
        return "", [("", start, min(end, trace.makespan))]
    title, start, end = chosen_unit(trace, options)
    if options.slots:
        return f"{title}, slots {options.slots}", [("", *shown_slots(trace, options.slots, start, end))]
    if options.update is not None or options.run is not None:
        return title, [("", start, end)]
    return title, default_panels(trace, start, end)


def micro_batch_label(trace, state, micro_batch):
    if micro_batch < 0 or state not in pt.WORK_LETTERS:
        return ""
    per_update = trace.micro_batches_per_update
    return f"{micro_batch % per_update if per_update else micro_batch}"


def draw_panel(axes, trace, ipus, start, end, points, numbers, factor):
    """Boxes of all IPUs within a span; returns the states that appear."""
    present, labels = set(), []
    for row, ipu in enumerate(ipus):
        columns = trace.intervals(ipu, start, end)
        states = trace.states_of(columns)
        present.update(states)
        for state in pt.in_style_order(set(states)):
            boxes = [((a - start) * factor, (b - a) * factor)
                     for a, b, s in zip(columns["start"], columns["end"], states) if s == state]
            axes.broken_barh(boxes, (row - 0.42, 0.84), facecolors=pt.colour_of(state), hatch=pt.hatch_of(state),
                             edgecolor="white" if not pt.hatch_of(state) else "#bbbbbb", linewidth=0.3)
        for a, b, s, m in zip(columns["start"], columns["end"], states, columns["micro_batch"]):
            text = micro_batch_label(trace, s, m)
            if text:
                labels.append(((a + b) / 2, row, s, text, (b - a) / (end - start) * points))
        if row > 0 and ipu // trace.ipus_per_replica != ipus[row - 1] // trace.ipus_per_replica:
            axes.axhline(row - 0.5, color="#444444", linewidth=0.6)
    if numbers:
        draw_labels(axes, labels, start, factor)
    axes.set_xlim(0, (end - start) * factor)
    axes.set_ylim(len(ipus) - 0.5, -0.5)
    return present


def draw_labels(axes, labels, start, factor):
    """Micro-batch numbers where they fit; letters of the passes as well if they fit almost everywhere."""
    def fits(text, width):
        return width > 3.5 * len(text) + 1

    shown = [label for label in labels if fits(label[3], label[4])]
    if not shown or len(shown) > MAXIMUM_LABELS:
        return
    lettered = sum(fits("F" + text, width) for _, _, _, text, width in shown) > 0.95 * len(shown)
    for x, row, state, text, _ in shown:
        axes.text((x - start) * factor, row, (pt.WORK_LETTERS[state] if lettered else "") + text, ha="center", va="center",
                  fontsize=6, color="black" if state == "recompute" else "white", clip_on=True)


def draw_matplotlib(trace, options, ipus, title, panels):
    plt = pt.pyplot()
    height = 1.6 + min(14.0, max(1.2, 0.34 * len(ipus)))
    figure, grid = plt.subplots(1, len(panels), figsize=(options.width, height), sharey=True, squeeze=False,
                                gridspec_kw={"wspace": 0.04, "width_ratios": panel_widths(panels)})
    present = set()
    total = sum(panel_widths(panels))
    for axes, width, (name, start, end) in zip(grid[0], panel_widths(panels), panels):
        factor, unit = pt.time_unit(end - start)
        points = options.width * 72 * 0.77 * width / total
        present |= draw_panel(axes, trace, ipus, start, end, points, not options.no_numbers, factor)
        offset = f" from {start * factor:,.6g}" if start > 0 else ""
        axes.set_xlabel(f"time{offset} [{unit}]")
        axes.set_title(name, fontsize=9)
        axes.tick_params(left=False)
    step = max(1, math.ceil(len(ipus) / 64))
    grid[0][0].set_yticks(range(0, len(ipus), step), [f"IPU {ipu}" for ipu in ipus[::step]], fontsize=8 if step == 1 else 6)
    handles = [plt.Rectangle((0, 0), 1, 1, facecolor=pt.colour_of(s), hatch=pt.hatch_of(s), edgecolor="#bbbbbb", lw=0.3)
               for s in pt.in_style_order(present)]
    figure.suptitle(f"{trace.name}{': ' + title if title else ''}", fontsize=11)
    figure.subplots_adjust(bottom=0.95 / height, top=1 - 0.62 / height)
    figure.legend(handles, [pt.label_of(s) for s in pt.in_style_order(present)], loc="lower center", ncol=8,
                  frameon=False, fontsize=8)
    pt.save(figure, options.output)


def panel_widths(panels):
    """Long stretches of one kind do not squeeze the others: at most twice as wide."""
    spans = [end - start for _, start, end in panels]
    return [min(max(span, max(spans) / 4), 2 * min(spans)) for span in spans]


def draw_plotly(trace, options, ipus, title, panels):
    pt.require("plotly")
    import plotly.graph_objects as go

    start, end = panels[0][1], panels[-1][2]
    factor, unit = pt.time_unit(panels[0][2] - panels[0][1])
    figure, shown = go.Figure(), set()
    boxes = {}
    for ipu in ipus:
        for _, first, last in panels:
            rows = trace.intervals(ipu, first, last)
            for a, b, s, stage, m in zip(rows["start"], rows["end"], trace.states_of(rows), rows["stage"],
                                         rows["micro_batch"]):
                boxes.setdefault(s, []).append((f"IPU {ipu}", a, b, stage, m))
    for state in pt.in_style_order(boxes):
        rows = boxes[state]
        figure.add_bar(name=pt.label_of(state), orientation="h", y=[r[0] for r in rows],
                       base=[r[1] * factor for r in rows], x=[(r[2] - r[1]) * factor for r in rows],
                       marker={"color": pt.colour_of(state), "line": {"color": "white", "width": 0.4}},
                       text=[micro_batch_label(trace, state, r[4]) for r in rows] if not options.no_numbers else None,
                       textposition="inside", insidetextanchor="middle", constraintext="none", textangle=0,
                       hovertext=[hover_of(state, r, factor, unit) for r in rows], hoverinfo="text")
    figure.update_layout(barmode="overlay", bargap=0.16, template="plotly_white", height=200 + 34 * len(ipus),
                         title=f"{trace.name}{': ' + title if title else ''}", legend={"traceorder": "normal"},
                         xaxis={"title": f"time [{unit}]", "range": [start * factor, panels[0][2] * factor]},
                         yaxis={"autorange": "reversed", "categoryorder": "array",
                                "categoryarray": [f"IPU {ipu}" for ipu in ipus]}, uniformtext={"minsize": 7, "mode": "hide"})
    pt.save_html(figure, options.output)


def hover_of(state, row, factor, unit):
    name, a, b, stage, micro_batch = row
    parts = [f"{name}: {pt.label_of(state)}", f"{a * factor:.6g} to {b * factor:.6g} {unit} ({(b - a) * factor:.4g} {unit})"]
    if stage >= 0:
        parts.append(f"stage {stage}")
    if micro_batch >= 0:
        parts.append(f"micro-batch {micro_batch}")
    return "<br>".join(parts)


def main():
    options = arguments()
    suffix = pt.check_output(options.output, SUFFIXES)
    trace = pt.Trace(options.trace)
    ipus = chosen_ipus(trace, options.ipus)
    title, panels = panels_of(trace, options)
    if suffix == ".html":
        draw_plotly(trace, options, ipus, title, panels)
    else:
        draw_matplotlib(trace, options, ipus, title, panels)


if __name__ == "__main__":
    pt.run_tool(main)
