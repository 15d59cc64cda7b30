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
        self.categories = [str(name, "utf-8") if isinstance(name, bytes) else str(name)
                           for name in group["category"][:]]
        self.always_live = group["always_live"][:].astype(bool)
        self.limit = group["limit"][:]
        self.peak = group["peak_tile_bytes"][:]
        self.always_live_bytes = group["always_live_bytes"][:]
        self.step_ipu = group["step_ipu"][:]
        self.step_bytes = group["step_bytes"][:]
        self.step_names = [str(name, "utf-8") if isinstance(name, bytes) else str(name) for name in group["step_name"][:]]
        self.ipus = self.bytes.shape[0]

    def present(self):
        return [i for i in range(len(self.categories)) if self.bytes[:, i, :].any()]


def colours(plt, memory):
    """Blues and greens for what is always live, warm colours for the rest."""
    cool, warm = plt.get_cmap("GnBu_r"), plt.get_cmap("YlOrRd_r")
    chosen = {}
    for always, scale in ((True, cool), (False, warm)):
        members = [i for i in memory.present() if memory.always_live[i] == always]
        for place, index in enumerate(members):
            chosen[index] = scale(0.1 + 0.65 * place / max(1, len(members) - 1) if len(members) > 1 else 0.3)
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


def draw_liveness(axes, plt, memory, ipus):
    shades = plt.get_cmap("tab10")
    for place, ipu in enumerate(ipus):
        chosen = memory.step_ipu == ipu
        steps = (memory.always_live_bytes[ipu] + memory.step_bytes[chosen]) / KIB
        axes.stairs(steps, [i / max(1, len(steps)) for i in range(len(steps) + 1)], baseline=None,
                    color=shades(place % 10), linewidth=1.3,
                    label=f"IPU {ipu} ({len(steps)} steps)")
        axes.axhline(memory.always_live_bytes[ipu] / KIB, color=shades(place % 10), linewidth=0.7, linestyle=":")
        if len(steps):
            peak = int(steps.argmax())
            name = [n for n, c in zip(memory.step_names, chosen) if c][peak]
            axes.plot((peak + 0.5) / len(steps), steps[peak], "o", color=shades(place % 10), markersize=4)
            axes.annotate(name, ((peak + 0.5) / len(steps), steps[peak]), xytext=(4, 3 + 7 * (place % 3)),
                          textcoords="offset points", fontsize=6.5, color=shades(place % 10))
    limit = memory.limit[list(ipus)].max()
    if limit > 0:
        axes.axhline(limit / KIB, color="black", linewidth=1)
    axes.set(xlim=(0, 1), ylim=(0, None), xlabel="progress of the program (share of its steps)", ylabel="fullest tile [KiB]",
             title="Live bytes over the program (dotted: always live, line: what there is)")
    axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))


def draw(trace, memory, options, parts, ipus):
    plt = pt.pyplot()
    rows = math.ceil(len(ipus) / COLUMNS)
    map_rows = math.ceil(len(ipus) / (2 * COLUMNS))
    heights = {"ipus": 3.0, "tiles": 2.3 * rows, "map": 2.2 * map_rows, "liveness": 2.8}
    height = 0.6 + sum(heights[part] + 0.6 for part in parts)
    figure = plt.figure(figsize=(13, height))
    figure.subplots_adjust(top=1 - 0.75 / height, bottom=0.5 / height)
    grid = figure.add_gridspec(len(parts), 1, height_ratios=[heights[part] for part in parts], hspace=0.5)
    palette = colours(plt, memory)
    for row, part in enumerate(parts):
        if part == "tiles":
            draw_tiles(figure, grid[row, 0], memory, ipus, palette)
        elif part == "map":
            draw_map(figure, grid[row, 0], memory, ipus)
        elif part == "ipus":
            draw_ipus(figure.add_subplot(grid[row, 0]), memory, ipus, palette)
        else:
            draw_liveness(figure.add_subplot(grid[row, 0]), plt, memory, ipus)
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
