#!/usr/bin/python3
"""Utilisation in a podsim trace: states over time, states per IPU, and how busy each tile is."""

import argparse
import math

import podsim_trace as pt

EXAMPLES = """examples:
  plot_utilization.py run.h5 -o run.png                    everything
  plot_utilization.py run.h5 -o run.png --part time        states over time only (also: ipus, tiles)
  plot_utilization.py run.h5 -o run.png --part tiles --pass backward --ipus 0,3
  plot_utilization.py run.h5 -o run.png --part tiles --operator attention
  plot_utilization.py run.h5 -o run.html --part ipus       in a browser (plotly; time and ipus)
"""
SUFFIXES = (".png", ".svg", ".pdf", ".html")
HEAT_MAP_ROWS = 64
LONGEST = 3  # supersteps named under a map of tiles
PARTS = ("time", "ipus", "tiles")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", help="HDF5 file of `podsim run SCENARIO -o FILE`")
    parser.add_argument("-o", "--output", required=True, help="picture: " + ", ".join(SUFFIXES))
    parser.add_argument("--part", choices=PARTS, help="one part only (default: all that the trace has)")
    parser.add_argument("--ipus", metavar="LIST", help="IPUs, e.g. 0-3,8 (default: all; tiles: one replica, at most 8)")
    parser.add_argument("--pass", dest="work", choices=("forward", "backward", "weight_update"),
                        help="pass whose tiles are shown (default: forward and backward together)")
    parser.add_argument("--operator", metavar="TEXT", help="tiles: only operators whose name holds TEXT, e.g. encoder/3/")
    return parser.parse_args()


def state_shares(trace, ipus):
    """(bin centres, states, shares as bins x states), mean over the IPUs."""
    group = trace.file["utilization"]
    share = group["share"][:]
    if share.size == 0:
        raise pt.UserError(f"{trace.path}: holds no utilisation over time")
    states = pt.texts(group["state"])
    return group["time"][:], states, share[:, ipus, :].mean(axis=1)


def ipu_shares(trace, ipus):
    """(states, shares as IPUs x states)."""
    group = trace.file["summary"]
    states = pt.texts(group["state"])
    return states, group["ipu_state_seconds"][:][ipus] / trace.makespan


class TileWork:
    """Supersteps of some passes and operators on an IPU (within the replica), with the cycles of a micro-batch."""

    def __init__(self, trace, ipu, work, operator):
        np = pt.require("numpy")
        group = trace.file["tiles"]
        names = [str(name) for name in group["use_state"].attrs["names"]]
        wanted = [names.index(work)] if work else [names.index("forward"), names.index("backward")]
        chosen = (group["use_ipu"][:] == ipu) & np.isin(group["use_state"][:], wanted)
        if operator:
            holds = [number for number, name in enumerate(pt.texts(group["operator"])) if operator in name]
            chosen &= np.isin(group["use_operator"][:], holds)
        supersteps, counts = group["use_superstep"][:][chosen], group["use_count"][:][chosen]
        compute = group["compute_cycles"][:].astype(float)
        duration = compute.max(axis=1) + group["sync_cycles"][:] + group["exchange_cycles"][:]
        times = np.bincount(supersteps, weights=counts, minlength=len(duration))
        total = times @ duration
        self.shares = times @ compute / total if total > 0 else None  # of the time in which each tile computes
        # Of each superstep of each operator: (share of the time, "pass/operator/phase"), longest first.
        self.supersteps = []
        if total > 0:
            cycles = np.zeros((len(group["operator"]), len(duration)))
            np.add.at(cycles, (group["use_operator"][:][chosen], supersteps), counts * duration[supersteps])
            operators, phases = pt.texts(group["operator"]), pt.texts(group["phase"])
            passes = [str(name) for name in group["pass"].attrs["names"]]
            kinds = group["pass"][:]
            longest = np.argsort(-cycles, axis=None, kind="stable")[:LONGEST]
            self.supersteps = [(cycles[o, s] / total, f"{passes[kinds[s]]}/{operators[o]}/{phases[s]}")
                               for o, s in zip(*np.unravel_index(longest, cycles.shape)) if cycles[o, s] > 0]


def shortened(text, length):
    """The end of a name says more than its start."""
    return text if len(text) <= length else "…" + text[-(length - 1):]


def draw_time(axes, trace, ipus):
    times, states, shares = state_shares(trace, ipus)
    factor, unit = pt.time_unit(trace.makespan)
    order = [states.index(s) for s in pt.in_style_order(states) if shares[:, states.index(s)].any()]
    half = (times[1] - times[0]) / 2 if len(times) > 1 else trace.makespan / 2
    edges = [times[0] - half, *(t + half for t in times)]
    bottom = 0 * times
    for index in order:
        top = bottom + 100 * shares[:, index]
        pt.step_area(axes, [e * factor for e in edges], bottom, top, facecolor=pt.colour_of(states[index]),
                     hatch=pt.hatch_of(states[index]) or None, edgecolor="#bbbbbb", linewidth=0)
        bottom = top
    axes.set(xlim=(0, trace.makespan * factor), ylim=(0, 100), xlabel=f"time [{unit}]", ylabel="share of IPUs [%]",
             title=f"States over time, mean of {len(ipus)} IPUs")
    return [states[index] for index in order]


def draw_ipus(axes, trace, ipus):
    states, shares = ipu_shares(trace, ipus)
    order = [states.index(s) for s in pt.in_style_order(states) if shares[:, states.index(s)].any()]
    bottom = 0 * shares[:, 0]
    for index in order:
        axes.bar(range(len(ipus)), 100 * shares[:, index], bottom=bottom, width=0.85 if len(ipus) <= 64 else 1.0,
                 color=pt.colour_of(states[index]), hatch=pt.hatch_of(states[index]) or None,
                 edgecolor="#bbbbbb" if pt.hatch_of(states[index]) else "none", linewidth=0)
        bottom = bottom + 100 * shares[:, index]
    step = max(1, math.ceil(len(ipus) / 32))
    axes.set_xticks(range(0, len(ipus), step), [str(ipu) for ipu in ipus[::step]])
    axes.set(xlim=(-0.6, len(ipus) - 0.4), ylim=(0, 100), xlabel="IPU", ylabel="share of time [%]",
             title="States of each IPU over the whole run")
    return [states[index] for index in order]


def draw_tiles(figure, area, trace, ipus, work, operator):
    """Tiles in columns of 64, one map per IPU, with its longest supersteps."""
    np = pt.require("numpy")
    maps = [(ipu, TileWork(trace, ipu, work, operator)) for ipu in ipus]
    maps = [(ipu, tiles) for ipu, tiles in maps if tiles.shares is not None]
    if not maps:
        raise pt.UserError(f"{trace.path}: no tiles of these IPUs in that pass"
                           + (f" for operators with {operator!r} in their name" if operator else ""))
    grid = area.subgridspec(1, len(maps), wspace=0.25)
    image = None
    for place, (ipu, tiles) in enumerate(maps):
        shares = tiles.shares
        columns = math.ceil(len(shares) / HEAT_MAP_ROWS)
        cells = np.full(columns * HEAT_MAP_ROWS, np.nan)
        cells[:len(shares)] = 100 * shares
        axes = figure.add_subplot(grid[0, place])
        image = axes.imshow(cells.reshape(columns, HEAT_MAP_ROWS).T, origin="lower", vmin=0, vmax=100, cmap="viridis",
                            aspect="auto", interpolation="nearest")
        axes.set_title(f"IPU {ipu}: mean {100 * shares.mean():.0f} %, used {100 * (shares > 0).mean():.0f} %", fontsize=8)
        axes.set_xticks([])
        axes.set_yticks([0, HEAT_MAP_ROWS - 1] if place == 0 else [])
        names = [f"{100 * share:.0f} % {shortened(name, 170 // len(maps))}" for share, name in tiles.supersteps]
        axes.set_xlabel("\n".join([f"{len(shares)} tiles, {HEAT_MAP_ROWS} a column; longest supersteps:", *names]),
                        fontsize=5.5)
    bar = figure.colorbar(image, ax=figure.axes[-len(maps):], fraction=0.02, pad=0.015)
    bar.set_label(f"tile computes\n[% of {pt.label_of(work) if work else 'fwd + bwd'}]", fontsize=8)


def draw_matplotlib(trace, options, parts, ipus, tile_ipus):
    plt = pt.pyplot()
    heights = {"time": 2.6, "ipus": 2.6, "tiles": 3.4}
    height = 1.0 + sum(heights[part] for part in parts)
    figure = plt.figure(figsize=(13, height))
    figure.subplots_adjust(top=1 - 0.75 / height, bottom=0.45 / height)
    grid = figure.add_gridspec(len(parts), 1, height_ratios=[heights[part] for part in parts], hspace=0.42)
    present = []
    for row, part in enumerate(parts):
        if part == "tiles":
            draw_tiles(figure, grid[row, 0], trace, tile_ipus, options.work, options.operator)
        else:
            draw = draw_time if part == "time" else draw_ipus
            present += draw(figure.add_subplot(grid[row, 0]), trace, ipus)
    states = pt.in_style_order(set(present))
    handles = [plt.Rectangle((0, 0), 1, 1, facecolor=pt.colour_of(s), hatch=pt.hatch_of(s), edgecolor="#bbbbbb", lw=0)
               for s in states]
    figure.suptitle(trace.name, y=1 - 0.15 / height, fontsize=11)
    if handles:
        figure.legend(handles, [pt.label_of(s) for s in states], loc="center left", bbox_to_anchor=(0.91, 0.72 if len(parts) > 1 else 0.5),
                      frameon=False, fontsize=8)
    pt.save(figure, options.output)


def draw_plotly(trace, options, parts, ipus):
    pt.require("plotly")
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=len(parts), cols=1)
    for row, part in enumerate(parts, start=1):
        if part == "time":
            times, states, shares = state_shares(trace, ipus)
            x, title = list(times), "time [s]"
        else:
            states, shares = ipu_shares(trace, ipus)
            x, title = [f"IPU {ipu}" for ipu in ipus], ""
        for state in pt.in_style_order(states):
            y = list(100 * shares[:, states.index(state)])
            common = {"x": x, "y": y, "name": pt.label_of(state), "legendgroup": state, "showlegend": row == 1 and any(y)}
            if part == "time":
                figure.add_scatter(**common, stackgroup="one", mode="lines", line={"width": 0},
                                   fillcolor=pt.colour_of(state), row=row, col=1)
            else:
                figure.add_bar(**common, marker={"color": pt.colour_of(state)}, row=row, col=1)
        figure.update_xaxes(title=title, row=row, col=1)
        figure.update_yaxes(title="share [%]", range=[0, 100], row=row, col=1)
    figure.update_layout(barmode="stack", template="plotly_white", title=trace.name, height=200 + 350 * len(parts))
    pt.save_html(figure, options.output)


def main():
    options = arguments()
    suffix = pt.check_output(options.output, SUFFIXES)
    trace = pt.Trace(options.trace)
    ipus = pt.parse_numbers(options.ipus, "--ipus", trace.ipus) if options.ipus else list(range(trace.ipus))
    tile_ipus = sorted({ipu % trace.ipus_per_replica for ipu in ipus})[:8]
    has_tiles = "use_ipu" in trace.file["tiles"] and len(trace.file["tiles/use_ipu"]) > 0
    if not has_tiles and (options.part == "tiles" or options.work or options.operator):
        raise pt.UserError(f"{trace.path}: holds no tiles (its scenario uses no chip model)")
    if suffix == ".html" and options.part == "tiles":
        raise pt.UserError("--part tiles: write a .png, .svg or .pdf")
    parts = [options.part] if options.part else [part for part in PARTS if part != "tiles" or has_tiles]
    if suffix == ".html":
        draw_plotly(trace, options, [part for part in parts if part != "tiles"], ipus)
    else:
        draw_matplotlib(trace, options, parts, ipus, tile_ipus)


if __name__ == "__main__":
    pt.run_tool(main)
