#!/usr/bin/python3
"""Curves, heat maps and a Pareto front of a podsim sweep over the parameters that were varied."""

import argparse
import itertools
import math
import os

import podsim_trace as pt

EXAMPLES = """examples:
  plot_sweep.py sweep.csv -o sweep.png
  plot_sweep.py sweep.csv -o sweep.png --metrics throughput,bubbles --x ipu_config.gradient_accumulation_steps
  plot_sweep.py sweep.jsonl -o sweep.png --where system.pod=bow-pod16
  plot_sweep.py sweep.csv -o front.png --part pareto --pareto memory,throughput

metrics: throughput, update, bubbles, stalls, memory, busy, or any column of the sweep
"""
SUFFIXES = (".png", ".svg", ".pdf")
PARTS = ("curves", "heat-maps", "pareto")
MAXIMUM_CURVES = 12
MAXIMUM_MAPS = 8
FIGURES_BEGIN_WITH = ("throughput_samples_per_second", "weight_update_seconds", "run_seconds", "makespan_seconds", "error",
                      "status", "name", "version")
HOST_STALLS = ("host_input_stall", "host_transfer", "host_call", "host_output_stall")
WAITING = ("ramp_up", "ramp_down", "imbalance")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sweep", help="CSV, JSON lines or HDF5 file of `podsim sweep SCENARIO --vary ... -o FILE`")
    parser.add_argument("-o", "--output", required=True, help="picture: " + ", ".join(SUFFIXES))
    parser.add_argument("--part", choices=PARTS, help="one part only (default: all that make sense)")
    parser.add_argument("--metrics", default="throughput,bubbles,stalls,memory", metavar="LIST",
                        help="what to show (default: throughput,bubbles,stalls,memory)")
    parser.add_argument("--parameters", metavar="LIST", help="columns that were varied (default: found)")
    parser.add_argument("--x", metavar="PARAMETER", help="parameter along the x axis (default: that of most values)")
    parser.add_argument("--where", action="append", default=[], metavar="PARAMETER=VALUE", help="only these rows")
    parser.add_argument("--pareto", metavar="X,Y",
                        help="the two metrics of the Pareto front (default: memory,throughput; without memory: "
                        "update,throughput)")
    return parser.parse_args()


def read_table(path):
    pandas = pt.require("pandas")
    if not os.path.exists(path):
        raise pt.UserError(f"{path}: no such file; `podsim sweep SCENARIO --vary … -o {path}` writes one")
    suffix = os.path.splitext(path)[1].lower()
    try:
        if suffix == ".csv":
            table = pandas.read_csv(path)
        elif suffix in (".jsonl", ".ndjson", ".json"):
            table = pandas.read_json(path, lines=True, convert_dates=False)
        elif suffix in (".h5", ".hdf5", ".nc"):
            xarray = pt.require("xarray")
            table = xarray.open_dataset(path).to_dataframe().reset_index()
        else:
            raise pt.UserError(f"{path}: the name of a sweep ends in .csv, .jsonl or .h5")
    except (ValueError, OSError, pandas.errors.ParserError) as error:
        raise pt.UserError(f"{path}: cannot be read: {' '.join(str(error).split())[:200]}") from error
    if table.empty:
        raise pt.UserError(f"{path}: holds no points")
    return table


def is_figure(column):
    return column.startswith(FIGURES_BEGIN_WITH) or column.endswith(("_seconds", "_bytes", "_share"))


def parameters_of(table, text):
    """Varied columns: those before the first figure that have more than one value."""
    if text:
        names = text.split(",")
        for name in names:
            if name not in table:
                raise pt.UserError(f"--parameters {name}: the sweep has {', '.join(table.columns)}")
        return names
    before = list(itertools.takewhile(lambda column: not is_figure(column), table.columns))
    varied = []
    for column in (name for name in before if table[name].nunique(dropna=False) > 1):
        if not any(changes_with(table, column, earlier) for earlier in varied):
            varied.append(column)
    if not varied:
        raise pt.UserError("no column before the figures has more than one value; name the parameters with --parameters")
    return varied


def changes_with(table, column, earlier):
    """Whether two columns always change together, as zipped axes do."""
    pairs = len(table[[column, earlier]].drop_duplicates())
    return pairs == table[column].nunique(dropna=False) == table[earlier].nunique(dropna=False)


def selected(table, conditions):
    for condition in conditions:
        name, equals, value = condition.partition("=")
        if not equals or name not in table:
            raise pt.UserError(f"--where {condition}: give COLUMN=VALUE; the sweep has {', '.join(table.columns)}")
        table = table[table[name].astype(str) == value]
        if table.empty:
            raise pt.UserError(f"--where {condition}: no such point")
    return table


def column_for(table, *names):
    for name in names:
        for column in (name, f"state_seconds_{name}", f"{name}_seconds"):
            if column in table:
                return column
    return None


def share_of(table, states):
    """Percentage of the makespan in some states; None where the sweep does not have them."""
    columns = [column for column in (column_for(table, state) for state in states) if column]
    whole = column_for(table, "makespan_seconds")
    return 100 * table[columns].sum(axis=1, min_count=1) / table[whole] if columns and whole else None


def metric(table, name):
    """(label, values) or None where the sweep has no such figure."""
    scales = {"throughput": ("throughput [samples/s]", 1, ("throughput_samples_per_second",)),
              "update": ("weight update [s]", 1, ("weight_update_seconds",)),
              "busy": ("busy [%]", 100, ("utilization_busy",)),
              "memory": ("memory headroom [KiB per tile]", 1 / 1024, ("memory_headroom_bytes",))}
    if name == "bubbles":
        label, values = "bubbles [% of time]", share_of(table, WAITING)
    elif name == "stalls":
        label, values = "host [% of time]", share_of(table, HOST_STALLS)
    elif name in scales:
        label, factor, columns = scales[name]
        column = next((column for column in columns if column in table), None)
        values = None if column is None else factor * table[column]
    elif name in table:
        label, values = name, table[name]
    else:
        raise pt.UserError(f"metric {name}: use throughput, update, bubbles, stalls, memory, busy or a column")
    return None if values is None or values.isna().all() else (label, values)


def metrics_of(table, text):
    found = [(name, metric(table, name)) for name in text.split(",")]
    present = [(name, *pair) for name, pair in found if pair]
    if not present:
        raise pt.UserError(f"--metrics {text}: the sweep has none of them at any point")
    return present


def short(name):
    return name.rpartition(".")[2]


def text_of(value):
    return f"{value:g}" if isinstance(value, float) else str(value)


def is_numeric(column):
    return pt.require("pandas").api.types.is_numeric_dtype(column)


def values_of(column):
    return sorted(column.dropna().unique(), key=lambda value: (str(type(value)), value))


def choose_x(table, parameters, text):
    if text:
        if text not in parameters:
            raise pt.UserError(f"--x {text}: the varied parameters are {', '.join(parameters)}")
        return text
    return max(parameters, key=lambda name: (is_numeric(table[name]), table[name].nunique()))


def positions(table, name):
    """(place of every row, ticks, their labels, whether the axis is logarithmic)."""
    values = values_of(table[name])
    if is_numeric(table[name]):
        spread = len(values) > 2 and min(values) > 0 and max(values) / min(values) >= 8
        return table[name], values, [text_of(value) for value in values], spread
    place = {value: index for index, value in enumerate(values)}
    return table[name].map(place), list(range(len(values))), [str(value) for value in values], False


def draw_curves(axes, table, x, others, label, values, plt):
    """One curve for each combination of the other parameters; crosses at the bottom: points that cannot run."""
    place, ticks, names, logarithmic = positions(table, x)
    groups = list(table.groupby(others, sort=True, dropna=False).groups.items()) if others else [("", table.index)]
    shades = plt.get_cmap("viridis")
    for number, (key, rows) in enumerate(groups[:MAXIMUM_CURVES]):
        key = key if isinstance(key, tuple) else (key,)
        name = ", ".join(f"{short(other)} {text_of(value)}" for other, value in zip(others, key))
        order = place[rows].argsort(kind="stable").to_numpy()
        xs, ys = place[rows].to_numpy()[order], values[rows].to_numpy()[order]
        colour = shades(0.9 * number / max(1, len(groups) - 1))
        axes.plot(xs, ys, "o-", color=colour, markersize=3.5, linewidth=1.2, label=name or None)
        failed = [a for a, b in zip(xs, ys) if b != b]
        axes.plot(failed, [0.02 + 0.03 * (number % 6)] * len(failed), "x", color=colour, markersize=5,
                  transform=axes.get_xaxis_transform())
    if logarithmic:
        axes.set_xscale("log", base=2)
        axes.minorticks_off()
    axes.set_xticks(ticks[::max(1, math.ceil(len(ticks) / 10))], names[::max(1, math.ceil(len(ticks) / 10))])
    axes.set(xlabel=short(x), ylabel=label)
    low, high = axes.get_ylim()
    low = min(0, low)
    axes.set_ylim(low, high + 0.05 * (high - low))
    axes.grid(alpha=0.25)
    return len(groups) - min(len(groups), MAXIMUM_CURVES)


def draw_heat_map(axes, table, x, y, values, limits):
    """Cells of x and y (the best value where several rows fall into one); crosses: cannot run."""
    np = pt.require("numpy")
    columns, rows = values_of(table[x]), values_of(table[y])
    cells = np.full((len(rows), len(columns)), np.nan)
    tried = np.zeros(cells.shape, bool)
    for index in table.index:
        place = rows.index(table.at[index, y]), columns.index(table.at[index, x])
        tried[place] = True
        if values[index] == values[index]:
            cells[place] = np.nanmax([cells[place], values[index]])
    image = axes.imshow(cells, origin="lower", aspect="auto", cmap="viridis", vmin=limits[0], vmax=limits[1])
    for (row, column), value in np.ndenumerate(cells):
        if value == value:
            bright = (value - limits[0]) / ((limits[1] - limits[0]) or 1) > 0.6
            if cells.size <= 150:
                axes.text(column, row, f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}", ha="center", va="center", fontsize=6.5,
                          color="black" if bright else "white")
        elif tried[row, column]:
            axes.text(column, row, "×", ha="center", va="center", fontsize=9, color="#c00000")
    axes.set_xticks(range(len(columns)), [text_of(value) for value in columns], fontsize=7)
    axes.set_yticks(range(len(rows)), [text_of(value) for value in rows], fontsize=7)
    axes.set_xlabel(short(x), fontsize=8)
    axes.set_ylabel(short(y), fontsize=8)
    return image


def draw_heat_maps(figure, area, table, parameters, x, label, values):
    """A row of maps over x and the next parameter, one for each combination of the rest."""
    others = sorted((name for name in parameters if name != x), key=lambda name: -table[name].nunique())
    y, rest = others[0], others[1:]
    groups = list(table.groupby(rest, sort=True, dropna=False).groups.items()) if rest else [("", table.index)]
    grid = area.subgridspec(1, min(len(groups), MAXIMUM_MAPS), wspace=0.3)
    limits = values.min(), values.max()
    made, image = [], None
    for place, (key, rows) in enumerate(groups[:MAXIMUM_MAPS]):
        key = key if isinstance(key, tuple) else (key,)
        axes = figure.add_subplot(grid[0, place])
        image = draw_heat_map(axes, table.loc[rows], x, y, values, limits)
        axes.set_title(", ".join(f"{short(name)} {text_of(value)}" for name, value in zip(rest, key)), fontsize=8)
        made.append(axes)
    figure.colorbar(image, ax=made, fraction=0.03, pad=0.015).set_label(label, fontsize=8)
    return max(0, len(groups) - MAXIMUM_MAPS)


def pareto_front(xs, ys):
    """Indices of the points that no other one beats in both, by rising x (both are better when larger)."""
    front, best = [], -math.inf
    for index in sorted(range(len(xs)), key=lambda i: (-xs[i], -ys[i])):
        if ys[index] > best:
            best = ys[index]
            front.append(index)
    return front[::-1]


def draw_pareto(axes, table, parameters, text):
    names = text.split(",")
    if len(names) != 2:
        raise pt.UserError(f"--pareto {text}: give two metrics, e.g. memory,throughput")
    pairs = [metric(table, name) for name in names]
    signs = [-1 if name in ("update", "bubbles", "stalls") or name.endswith("_seconds") else 1 for name in names]
    keep = pairs[0][1].notna() & pairs[1][1].notna()
    rows = table[keep]
    xs, ys = pairs[0][1][keep].to_numpy(float), pairs[1][1][keep].to_numpy(float)
    front = pareto_front(signs[0] * xs, signs[1] * ys)
    axes.plot(xs, ys, "o", color="#b0bec5", markersize=4, label="dominated")
    axes.step(xs[front], ys[front], "-", where="pre", color="#db4437", linewidth=1)
    axes.plot(xs[front], ys[front], "o", color="#db4437", markersize=5, label="Pareto front")
    for number, index in enumerate(front[:MAXIMUM_CURVES]):
        label = ", ".join(f"{short(name)} {text_of(rows.iloc[index][name])}" for name in parameters)
        right = xs[index] > (xs.min() + xs.max()) / 2
        axes.annotate(label, (xs[index], ys[index]), xytext=(-5 if right else 5, 4 if number % 2 == 0 else -9),
                      textcoords="offset points", fontsize=6.5, ha="right" if right else "left")
    axes.set(xlabel=pairs[0][0], ylabel=pairs[1][0])
    axes.set_title("Pareto front", fontsize=9)
    axes.margins(x=0.12, y=0.12)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))


def has_front(table, text):
    try:
        return all(metric(table, name) for name in text.split(","))
    except pt.UserError:
        return False


def draw(table, options, parameters):
    plt = pt.pyplot()
    metrics = metrics_of(table, options.metrics)
    x = choose_x(table, parameters, options.x)
    others = [name for name in parameters if name != x]
    parts = [options.part] if options.part else list(PARTS)
    if not options.pareto:
        options.pareto = "memory,throughput" if has_front(table, "memory,throughput") else "update,throughput"
    if not others and options.part == "heat-maps":
        raise pt.UserError("--part heat-maps: two parameters must have been varied")
    if not has_front(table, options.pareto) and options.part == "pareto":
        raise pt.UserError(f"--pareto {options.pareto}: the sweep lacks one of them at every point")
    rows = []
    if "curves" in parts:
        rows.append((3.2, "curves", None))
    if "heat-maps" in parts and others:
        rows += [(2.6, "map", found) for found in metrics]
    if "pareto" in parts and has_front(table, options.pareto):
        rows.append((3.6, "pareto", None))
    height = 0.8 + sum(row[0] + 0.5 for row in rows)
    figure = plt.figure(figsize=(15, height))
    figure.subplots_adjust(top=1 - 0.7 / height, bottom=0.5 / height, left=0.05, right=0.98)
    grid = figure.add_gridspec(len(rows), 1, height_ratios=[row[0] for row in rows], hspace=0.35)
    hidden = 0
    for place, (_, kind, found) in enumerate(rows):
        if kind == "curves":
            hidden = max(hidden, draw_curve_row(figure, grid[place, 0], table, x, others, metrics, plt))
        elif kind == "map":
            hidden = max(hidden, draw_heat_maps(figure, grid[place, 0], table, parameters, x, *found[1:]))
        else:
            draw_pareto(figure.add_subplot(grid[place, 0]), table, parameters, options.pareto)
    failed = int(table["error"].fillna("").astype(str).ne("").sum()) if "error" in table else 0
    title = f"{os.path.basename(options.sweep)}: {len(table)} points" + (f", {failed} cannot run (×)" if failed else "")
    title += f"; {hidden} more combinations not shown, choose with --where" if hidden else ""
    figure.suptitle(title, y=1 - 0.2 / height, fontsize=11)
    pt.save(figure, options.output)


def draw_curve_row(figure, area, table, x, others, metrics, plt):
    grid = area.subgridspec(1, len(metrics), wspace=0.28)
    hidden = 0
    for place, (_, label, values) in enumerate(metrics):
        axes = figure.add_subplot(grid[0, place])
        hidden = draw_curves(axes, table, x, others, label, values, plt)
        if others and place == len(metrics) - 1:
            axes.legend(fontsize=6.5, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return hidden


def main():
    options = arguments()
    pt.check_output(options.output, SUFFIXES)
    table = selected(read_table(options.sweep), options.where).reset_index(drop=True)
    draw(table, options, parameters_of(table, options.parameters))


if __name__ == "__main__":
    pt.run_tool(main)
