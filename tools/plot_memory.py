#!/usr/bin/python3
"""Memory in a podsim trace: bytes on every tile by category, live bytes over the program's steps, and each IPU."""

import argparse
import math

import podsim_trace as pt

EXAMPLES = """examples:
  plot_memory.py run.h5 -o memory.png                       everything, for the IPUs of one replica
  plot_memory.py run.h5 -o memory.png --part liveness       one part: tiles, liveness, ipus or map
  plot_memory.py run.h5 -o memory.png --part tiles --ipus 0,3
"""
SUFFIXES = (".png", ".svg", ".pdf")
PARTS = ("ipus", "tiles", "map", "liveness")
KIB, MIB = 1024.0, 1024.0 * 1024.0
MAP_ROWS = 64
COLUMNS = 4
LIVENESS_COLUMNS = 2


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", help="HDF5 file of `podsim run SCENARIO -o FILE`")
    parser.add_argument("-o", "--output", required=True, help="picture: " + ", ".join(SUFFIXES))
    parser.add_argument("--part", choices=PARTS, help="one part only (default: all)")
    parser.add_argument("--ipus", metavar="LIST", help="IPUs of the replica, e.g. 0-3 (default: all)")
    return parser.parse_args()


class Memory:
    """The group /memory: arrays over IPUs of a replica, categories and tiles."""

    def __init__(self, trace):
        group = trace.file["memory"]
        if "bytes" not in group:
            raise pt.UserError(f"{trace.path}: holds no memory (its scenario uses no chip model)")
        self.bytes = group["bytes"][:]
        self.categories = pt.texts(group["category"])
        self.always_live = group["always_live"][:].astype(bool)
        self.limit = group["limit"][:]
        self.peak = group["peak_tile_bytes"][:]
        self.always_live_bytes = group["always_live_bytes"][:]
        self.step_ipu = group["step_ipu"][:]
        self.step_bytes = group["step_bytes"][:]
        self.step_names = pt.texts(group["step_name"])
        self.ipus = self.bytes.shape[0]

    def present(self):
        return [i for i in range(len(self.categories)) if self.bytes[:, i, :].any()]


# Blues, greens and yellows for what is always live, warm colours for the rest; by place among their kind.
ALWAYS_LIVE_COLOURS = ("#1f4e79", "#2e86c1", "#85c1e9", "#117a65", "#58d68d", "#a9dfbf", "#9a7d0a", "#d4ac0d", "#f7dc6f",
                       "#aeb6bf")
PEAK_COLOURS = ("#c0392b", "#e67e22", "#af7ac5", "#f5b7b1")


def colours(memory):
    chosen = {}
    for always, palette in ((True, ALWAYS_LIVE_COLOURS), (False, PEAK_COLOURS)):
        members = [i for i in range(len(memory.categories)) if memory.always_live[i] == always]
        chosen.update({index: palette[place % len(palette)] for place, index in enumerate(members)})
    return chosen


def label_of(memory, index):
    return memory.categories[index].replace("_", " ") + ("" if memory.always_live[index] else " (at peak)")


def draw_ipus(axes, memory, ipus, palette):
    bottom = [0.0] * len(ipus)
    for index in memory.present():
        totals = [memory.bytes[ipu, index, :].sum() / MIB for ipu in ipus]
        axes.bar(range(len(ipus)), totals, bottom=bottom, color=palette[index], width=0.7, label=label_of(memory, index))
        bottom = [b + t for b, t in zip(bottom, totals)]
    limits = [memory.limit[ipu] * memory.bytes.shape[2] / MIB for ipu in ipus]
    for place, ipu in enumerate(ipus):
        if limits[place] > 0:
            axes.hlines(limits[place], place - 0.42, place + 0.42, color="black", linewidth=1.2)
        free = (memory.limit[ipu] - memory.peak[ipu]) / KIB
        if memory.limit[ipu] > 0:
            axes.annotate(f"fullest tile\n{abs(free):,.0f} KiB {'free' if free >= 0 else 'too much'}", (place, bottom[place]),
                          xytext=(0, 3), textcoords="offset points", ha="center", fontsize=7,
                          color="black" if free >= 0 else "#c00000")
    axes.set_xticks(range(len(ipus)), [f"IPU {ipu}" for ipu in ipus])
    axes.set(ylabel="all tiles [MiB]", title="Memory of each IPU at its peak (line: what there is)",
             ylim=(0, 1.12 * max(*limits, *bottom)))


def draw_tiles(figure, area, memory, ipus, palette):
    columns = min(COLUMNS, len(ipus))
    grid = area.subgridspec(math.ceil(len(ipus) / columns), columns, wspace=0.12, hspace=0.45)
    top = 1.05 * max(memory.limit.max(), memory.bytes[ipus].sum(axis=1).max()) / KIB
    tiles = range(memory.bytes.shape[2] + 1)
    for place, ipu in enumerate(ipus):
        axes = figure.add_subplot(grid[place // columns, place % columns])
        bottom = 0 * memory.bytes[ipu, 0, :]
        for index in memory.present():
            level = bottom + memory.bytes[ipu, index, :] / KIB
            pt.step_area(axes, tiles, bottom, level, facecolor=palette[index], linewidth=0)
            bottom = level
        if memory.limit[ipu] > 0:
            axes.axhline(memory.limit[ipu] / KIB, color="black", linewidth=1)
        axes.set(xlim=(0, len(bottom)), ylim=(0, top), xlabel="tile")
        axes.set_title(f"IPU {ipu}: bytes on every tile", fontsize=9)
        axes.set_ylabel("KiB" if place % columns == 0 else "")
        axes.tick_params(labelleft=place % columns == 0)


def draw_map(figure, area, memory, ipus):
    np = pt.require("numpy")
    columns = min(2 * COLUMNS, len(ipus))
    grid = area.subgridspec(math.ceil(len(ipus) / columns), columns, wspace=0.12, hspace=0.4)
    made, image = [], None
    for place, ipu in enumerate(ipus):
        tiles = memory.bytes[ipu].sum(axis=0)
        cells = np.full(math.ceil(len(tiles) / MAP_ROWS) * MAP_ROWS, np.nan)
        cells[:len(tiles)] = 100 * tiles / memory.limit[ipu] if memory.limit[ipu] > 0 else tiles
        axes = figure.add_subplot(grid[place // columns, place % columns])
        image = axes.imshow(cells.reshape(-1, MAP_ROWS).T, origin="lower", cmap="inferno_r", aspect="auto", vmin=0,
                            vmax=100 if memory.limit[ipu] > 0 else None, interpolation="nearest")
        axes.set_title(f"IPU {ipu}: {MAP_ROWS} tiles a column", fontsize=8)
        axes.set_xticks([])
        axes.set_yticks([])
        made.append(axes)
    figure.colorbar(image, ax=made, fraction=0.02, pad=0.015).set_label("tile memory used [%]", fontsize=8)


def draw_liveness(figure, area, memory, ipus):
    columns = min(LIVENESS_COLUMNS, len(ipus))
    grid = area.subgridspec(math.ceil(len(ipus) / columns), columns, wspace=0.1, hspace=0.55)
    top = 1.12 * max(memory.limit.max(), memory.peak.max()) / KIB
    for place, ipu in enumerate(ipus):
        axes = figure.add_subplot(grid[place // columns, place % columns])
        chosen = [i for i, other in enumerate(memory.step_ipu) if other == ipu]
        always = memory.always_live_bytes[ipu] / KIB
        edges = range(len(chosen) + 1)
        steps = always + memory.step_bytes[chosen] / KIB
        if len(chosen):
            pt.step_area(axes, edges, 0 * steps, 0 * steps + always, facecolor="#a9cce3", linewidth=0)
            pt.step_area(axes, edges, 0 * steps + always, steps, facecolor="#e67e22", linewidth=0)
            annotate_peak(axes, steps, memory.step_names[chosen[int(steps.argmax())]])
        if memory.limit[ipu] > 0:
            axes.axhline(memory.limit[ipu] / KIB, color="black", linewidth=1)
        axes.set(xlim=(0, max(1, len(chosen))), ylim=(0, top), xlabel="step of the program",
                 ylabel="fullest tile [KiB]" if place % columns == 0 else "")
        axes.set_title(f"IPU {ipu}: live bytes (blue: always; line: what there is)", fontsize=9)


def annotate_peak(axes, steps, name):
    peak = int(steps.argmax())
    right = peak > len(steps) / 2
    axes.plot(peak + 0.5, steps[peak], "o", color="#c0392b", markersize=3)
    axes.annotate(f"{name}: {steps[peak]:,.0f} KiB", (peak + 0.5, steps[peak]), xytext=(-5 if right else 5, 4),
                  textcoords="offset points", fontsize=7, ha="right" if right else "left", color="#c0392b")


def draw(trace, memory, options, parts, ipus):
    plt = pt.pyplot()
    rows = math.ceil(len(ipus) / COLUMNS)
    map_rows = math.ceil(len(ipus) / (2 * COLUMNS))
    heights = {"ipus": 3.0, "tiles": 2.3 * rows, "map": 2.2 * map_rows, "liveness": 2.1 * math.ceil(len(ipus) / LIVENESS_COLUMNS)}
    height = 0.6 + sum(heights[part] + 0.6 for part in parts)
    figure = plt.figure(figsize=(13, height))
    figure.subplots_adjust(top=1 - 0.75 / height, bottom=0.5 / height)
    grid = figure.add_gridspec(len(parts), 1, height_ratios=[heights[part] for part in parts], hspace=0.5)
    palette = colours(memory)
    for row, part in enumerate(parts):
        if part == "tiles":
            draw_tiles(figure, grid[row, 0], memory, ipus, palette)
        elif part == "map":
            draw_map(figure, grid[row, 0], memory, ipus)
        elif part == "ipus":
            draw_ipus(figure.add_subplot(grid[row, 0]), memory, ipus, palette)
        else:
            draw_liveness(figure, grid[row, 0], memory, ipus)
    if "tiles" in parts or "ipus" in parts:
        handles = [plt.Rectangle((0, 0), 1, 1, color=palette[index]) for index in reversed(memory.present())]
        figure.legend(handles, [label_of(memory, index) for index in reversed(memory.present())], frameon=False, fontsize=8,
                      loc="upper left", bbox_to_anchor=(0.905, 1 - 0.7 / height))
    figure.suptitle(f"{trace.name}: memory of the IPUs of a replica", y=1 - 0.15 / height, fontsize=11)
    pt.save(figure, options.output)


def main():
    options = arguments()
    pt.check_output(options.output, SUFFIXES)
    trace = pt.Trace(options.trace)
    memory = Memory(trace)
    ipus = pt.parse_numbers(options.ipus, "--ipus", memory.ipus) if options.ipus else list(range(memory.ipus))
    draw(trace, memory, options, [options.part] if options.part else list(PARTS), ipus)


if __name__ == "__main__":
    pt.run_tool(main)
