"""Reads podsim's HDF5 traces for the plotting tools: columns, repeated windows, names and colours of states."""

import math
import os
import re
import sys

DEBIAN_PACKAGES = {"h5py": "python3-h5py", "numpy": "python3-numpy", "matplotlib": "python3-matplotlib",
                   "pandas": "python3-pandas", "plotly": "python3-plotly", "xarray": "python3-xarray"}


class UserError(Exception):
    """The input is wrong; the text says what and how to mend it, in one line."""


def require(module):
    """The imported module, or a UserError that says what to install."""
    try:
        return __import__(module)
    except ImportError as error:
        package = DEBIAN_PACKAGES.get(module, module)
        raise UserError(f"Python module {module} is missing: apt install {package} (and use /usr/bin/python3)") from error


def run_tool(main):
    """Runs main() with user errors as one line on stderr and exit code 1."""
    try:
        main()
    except UserError as error:
        print(f"{os.path.basename(sys.argv[0])}: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        sys.exit(1)


# Work first, then communication, the host, and waiting; the order of legends and stacks.
STATE_STYLES = {
    "forward": ("forward", "#4285f4", ""),
    "recompute": ("recompute", "#00bcd4", ""),
    "backward": ("backward", "#db4437", ""),
    "weight_update": ("weight update", "#0f9d58", ""),
    "exchange": ("exchange", "#f4a000", ""),
    "all_reduce": ("all-reduce", "#7b1fa2", ""),
    "remote_memory": ("streaming memory", "#795548", ""),
    "host_transfer": ("host transfer", "#c29e78", ""),
    "host_input_stall": ("host input stall", "#ff7043", "xx"),
    "host_output_stall": ("host output stall", "#ffab91", "xx"),
    "host_call": ("host call", "#787878", ""),
    "second_graph": ("second graph", "#455a64", ".."),
    "sync": ("sync", "#b0bec5", ""),
    "imbalance": ("imbalance", "#f0e9b0", ""),
    "ramp_up": ("ramp-up", "#e4e4e4", "//"),
    "ramp_down": ("ramp-down", "#e4e4e4", "\\\\"),
}
WORK_LETTERS = {"forward": "F", "recompute": "R", "backward": "B"}


def label_of(state):
    return STATE_STYLES.get(state, (state.replace("_", " "), "#000000", ""))[0]


def colour_of(state):
    return STATE_STYLES.get(state, (state, "#000000", ""))[1]


def hatch_of(state):
    return STATE_STYLES.get(state, (state, "#000000", ""))[2]


def in_style_order(states):
    known = [state for state in STATE_STYLES if state in states]
    return known + sorted(state for state in states if state not in STATE_STYLES)


class Trace:
    """A trace file. Intervals are read once; repeated windows are expanded only where they are looked at."""

    def __init__(self, path):
        self.path = path
        h5py = require("h5py")
        self._np = require("numpy")
        if not os.path.exists(path):
            raise UserError(f"{path}: no such file; `podsim run SCENARIO -o {path}` writes one")
        try:
            self.file = h5py.File(path, "r")
        except OSError as error:
            raise UserError(f"{path}: cannot be read as HDF5: {error}") from error
        if self.file.attrs.get("format") != "podsim trace":
            raise UserError(f"{path}: this is not a trace of podsim (`podsim run SCENARIO -o TRACE.h5` writes one)")
        summary = self.file["summary"].attrs
        self.name = str(summary["name"]) or os.path.basename(path)
        self.bottleneck = str(summary["bottleneck"])
        self.slots_per_update = int(summary["slots_per_update"])
        self.replicas = int(summary["replicas"])
        self.ipus_per_replica = int(summary["ipus_per_replica"])
        self.batch_size_factor = int(summary["batch_size_factor"])
        self.ipus = int(self.file["intervals"].attrs["ipus"])
        self.makespan = float(self.file["intervals"].attrs["makespan_seconds"])
        self.update_ends = self.file["summary/update_end"][:]
        self.run_ends = self.file["summary/run_end"][:]
        self._read_intervals()
        self._read_windows()

    def _read_intervals(self):
        group = self.file["intervals"]
        self.state_names = [str(name) for name in group["state"].attrs["names"]]
        self._columns = {name: group[name][:] for name in ("ipu", "state", "stage", "micro_batch", "start", "end")}
        if len(self._columns["ipu"]) == 0:
            raise UserError(f"{self.path}: holds no intervals (they were not recorded)")

    def _read_windows(self):
        group = self.file["repeats"]
        rows = zip(group["start"][:], group["period"][:], group["count"][:], group["micro_batches"][:])
        self._windows = sorted((row for row in rows if row[1] > 0 and row[2] > 0), key=lambda row: row[0])

    @property
    def micro_batches_per_update(self):
        """0 where it cannot be told (inference)."""
        if not self.is_training or len(self.run_ends) == 0:
            return 0
        updates_per_run = max(1, len(self.update_ends) // len(self.run_ends))
        return self.batch_size_factor // (max(1, self.replicas) * updates_per_run)

    @property
    def is_training(self):
        return bool(self._np.any(self._columns["state"] == self.state_names.index("backward")))

    def units(self):
        """(name, [(start, end), …]): weight updates; host calls in inference, which does not drain in between."""
        name, ends = ("update", self.update_ends) if self.is_training else ("run", self.run_ends)
        if len(ends) == 0:
            return name, [(0.0, self.makespan)]
        starts = [0.0, *ends[:-1]]
        return name, [(float(start), float(end)) for start, end in zip(starts, ends)]

    def intervals(self, ipu, start=0.0, end=math.inf):
        """Columns (state, stage, micro_batch, start, end) of an IPU within [start, end), repeats expanded."""
        first, last = self._np.searchsorted(self._columns["ipu"], [ipu, ipu + 1])
        rows = {name: column[first:last] for name, column in self._columns.items() if name != "ipu"}
        return self._expanded(rows, start, end)

    def queue(self, replica, stream, start=0.0, end=math.inf):
        """Columns (start, end, depth) of a host stream's ring buffer within [start, end), repeats expanded."""
        np = self._np
        group = self.file["host"]
        chosen = (group["queue_replica"][:] == replica) & (group["queue_stream"][:] == stream)
        times, depths = group["queue_time"][:][chosen], group["queue_depth"][:][chosen]
        order = np.argsort(times, kind="stable")
        edges = np.concatenate([[0.0], times[order], [self.makespan]])
        none = np.full(len(edges) - 1, -1)
        rows = {"state": np.concatenate([[0], depths[order]]), "stage": none, "micro_batch": none,
                "start": edges[:-1], "end": edges[1:]}
        rows = self._expanded(rows, start, end)
        return {"start": rows["start"], "end": rows["end"], "depth": rows["state"]}

    def _expanded(self, rows, start, end):
        np = self._np
        pieces = []
        self._collect(rows, start, min(end, self.makespan), 0.0, 0, pieces)
        if not pieces:
            return {name: column[:0] for name, column in rows.items()}
        joined = {name: np.concatenate([piece[name] for piece in pieces]) for name in rows}
        return self._join_cut_intervals(joined)

    def _collect(self, rows, start, end, shift, micro_batches, pieces):
        """Recorded pieces of [start, end) and, for each repetition in it, the same question moved back in time."""
        reached = start
        for window in self._windows:
            begin, period, count, advance = window
            stop = begin + count * period
            if stop <= start:
                continue
            if begin >= end:
                break
            self._collect_recorded(rows, reached, begin, shift, micro_batches, pieces)
            low, high = max(start, begin), min(end, stop)
            copy = int((low - begin) // period)
            while copy < count and begin + copy * period < high:
                back = (copy + 1) * period
                copy_start = min(max(low - back, begin - period), begin)
                copy_end = min(max(high - back, begin - period), begin)
                if copy_end - copy_start > 1e-15 * self.makespan:
                    self._collect(rows, copy_start, copy_end, shift + back, micro_batches + (copy + 1) * int(advance),
                                  pieces)
                copy += 1
            reached = stop
        self._collect_recorded(rows, reached, end, shift, micro_batches, pieces)

    def _collect_recorded(self, rows, start, end, shift, micro_batches, pieces):
        np = self._np
        if end - start <= 1e-15 * self.makespan:
            return
        first = np.searchsorted(rows["end"], start, side="right")
        last = np.searchsorted(rows["start"], end, side="left")
        if first >= last:
            return
        piece = {name: rows[name][first:last].copy() for name in rows}
        piece["start"] = np.maximum(piece["start"], start) + shift
        piece["end"] = np.minimum(piece["end"], end) + shift
        piece["micro_batch"][piece["micro_batch"] >= 0] += micro_batches
        pieces.append(piece)

    def _join_cut_intervals(self, rows):
        """One interval again where a window's edge had cut it."""
        np = self._np
        close = np.abs(rows["start"][1:] - rows["end"][:-1]) <= 1e-12 * self.makespan
        for name in ("state", "stage", "micro_batch"):
            close &= rows[name][1:] == rows[name][:-1]
        starts = np.concatenate([[True], ~close])
        ends = np.concatenate([~close, [True]])
        joined = {name: rows[name][starts] for name in ("state", "stage", "micro_batch", "start")}
        joined["end"] = rows["end"][ends]
        keep = joined["end"] - joined["start"] > 1e-13 * self.makespan
        return {name: column[keep] for name, column in joined.items()}

    def states_of(self, rows):
        return [self.state_names[number] for number in rows["state"]]


def texts(column):
    """A column or an axis of names as strings."""
    return [str(name, "utf-8") if isinstance(name, bytes) else str(name) for name in column[:]]


def time_unit(seconds):
    """(factor, name) that makes a span of so many seconds readable."""
    for factor, name in ((1.0, "s"), (1e3, "ms"), (1e6, "µs"), (1e9, "ns")):
        if seconds * factor >= 0.5:
            return factor, name
    return 1e9, "ns"


def parse_numbers(text, option, limit):
    """A list like 0-3,8 as sorted numbers below `limit`."""
    chosen = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise UserError(f"{option} {text}: give numbers and ranges, e.g. 0-3,8")
        chosen.update(range(int(first), int(last if dash else first) + 1))
    if not chosen or max(chosen) >= limit:
        raise UserError(f"{option} {text}: there are 0 to {limit - 1}")
    return sorted(chosen)


def pyplot():
    """matplotlib.pyplot without a display."""
    require("matplotlib")
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot

    matplotlib.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False,
                                "hatch.linewidth": 0.5, "svg.hashsalt": "podsim", "figure.dpi": 130})
    return matplotlib.pyplot


def step_area(axes, edges, bottom, top, **style):
    """Fills between two step functions; one value for each gap between edges."""
    np = require("numpy")
    axes.fill_between(edges, np.append(bottom, bottom[-1:]), np.append(top, top[-1:]), step="post", **style)


def check_output(path, suffixes):
    """The suffix of the output's name; UserError unless it is one of those and its folder exists."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in suffixes:
        raise UserError(f"{path}: the name of the output must end in {', '.join(suffixes)}")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise UserError(f"{path}: folder {folder} does not exist")
    return suffix


def save(figure, path):
    """Writes beside its place and renames, so that there is never half a picture. No dates inside."""
    suffix = os.path.splitext(path)[1]
    temporary = f"{path}.tmp{suffix}"
    metadata = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix.lower())
    try:
        figure.savefig(temporary, bbox_inches="tight", metadata=metadata)
        os.replace(temporary, path)
    except OSError as error:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from error


def save_html(figure, path):
    """A plotly figure as a page that needs no network; the random id that plotly gives it is replaced."""
    page = figure.to_html(include_plotlyjs=True, full_html=True)
    page = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "podsim", page)
    try:
        with open(path + ".tmp", "w", encoding="utf-8") as file:
            file.write(page)
        os.replace(path + ".tmp", path)
    except OSError as error:
        if os.path.exists(path + ".tmp"):
            os.remove(path + ".tmp")
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from error
