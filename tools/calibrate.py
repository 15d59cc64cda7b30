#!/usr/bin/env python3
"""Fits the free constants of the machine and host models to the measured systems of scenarios/validation.

Few constants (tools/calibration.json, at most 12), all global, each with a unit, a source and a range in the data files;
the fit never leaves the range. Per step, `podsim validate` gives the predictions and their sensitivity to each constant,
then the sum of robust errors is minimised on the linearised predictions. Leave-one-family-out repeats that without a
family and simulates the family with the constants found: those errors tell what to expect for systems nobody measured.

Example: tools/calibrate.py --podsim build/podsim --steps 3 --write
"""
import argparse
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "topology" / "data"
MOST_PARAMETERS = 12
ERROR_SCALE = 0.1  # beyond this relative error, a row pulls linearly instead of quadratically
PRIOR = 0.02       # pull towards the value in the data files, per squared share of the range
RADIUS = 0.5       # largest change per step, as a share of the range


def fail(message):
    sys.exit(f"error: {message}")


class Constant:
    def __init__(self, entry, data):
        self.name, self.files = entry["name"], entry["files"]
        figure = json.loads((data / self.files[-1]).read_text())["parameters"][self.name]
        self.value, self.unit = float(figure["value"]), figure["unit"]
        self.low, self.high = (float(bound) for bound in figure["range"])
        if not self.low < self.high:
            fail(f"{self.name} has no range to fit in")

    def share(self, value):
        return (value - self.low) / (self.high - self.low)

    def at(self, share):
        return self.low + min(max(share, 0.0), 1.0) * (self.high - self.low)


def set_value(text, name, value):
    pattern = re.compile(r'("%s":\s*\{\s*"value":\s*)[-+0-9.eE]+' % re.escape(name))
    changed, count = pattern.subn(lambda match: match.group(1) + f"{value:.6g}", text)
    if count != 1:
        fail(f"{name} occurs {count} times where it should occur once")
    return changed


def write_values(folder, constants, values):
    for constant, value in zip(constants, values):
        for name in constant.files:
            path = folder / name
            path.write_text(set_value(path.read_text(), constant.name, value))


class Model:
    """Predictions by podsim with other constants; each set is simulated once."""

    def __init__(self, podsim, constants, jobs):
        self.podsim, self.constants, self.jobs, self.known = podsim, constants, jobs, {}

    def rows(self, shares):
        key = tuple(round(share, 6) for share in shares)
        if key not in self.known:
            with tempfile.TemporaryDirectory() as folder:
                data = pathlib.Path(folder) / "data"
                shutil.copytree(DATA, data)
                write_values(data, self.constants, [c.at(s) for c, s in zip(self.constants, shares)])
                command = [self.podsim, "validate", "--json"] + (["--jobs", str(self.jobs)] if self.jobs else [])
                done = subprocess.run(command, env=dict(os.environ, PODSIM_DATA=str(data)), capture_output=True,
                                      text=True, check=False)
            if done.returncode != 0:
                fail(done.stderr.strip())
            self.known[key] = json.loads(done.stdout)["rows"]
        return self.known[key]

    def errors(self, shares):
        """Logarithm of predicted over measured, for each row."""
        logs = []
        for row in self.rows(shares):
            if row["predicted_seconds"] <= 0:
                fail(f"{row['id']} has no prediction")
            logs.append(math.log(row["predicted_seconds"] / row["measured_seconds"]))
        return logs


def weights(rows, left_out=None):
    sizes = {}
    for row in rows:
        sizes[row["family"]] = sizes.get(row["family"], 0) + 1
    return [0.0 if row["family"] == left_out else 1 / math.sqrt(sizes[row["family"]]) for row in rows]


def cost(errors, row_weights, shares, prior):
    rows = sum(w * (math.sqrt(1 + (e / ERROR_SCALE) ** 2) - 1) for e, w in zip(errors, row_weights))
    return rows + PRIOR * sum((s - p) ** 2 for s, p in zip(shares, prior))


def sensitivities(model, shares):
    """d log(predicted) / d share of the range: by row, by constant."""
    base = model.errors(shares)
    columns = []
    for index in range(len(shares)):
        step = 0.1 if shares[index] <= 0.5 else -0.1
        moved = list(shares)
        moved[index] += step
        columns.append([(b - a) / step for a, b in zip(base, model.errors(moved))])
    return base, columns


def minimise(base, columns, shares, row_weights, prior):
    """Coordinate search on the linearised errors, inside the ranges and the radius."""
    best, errors, step = list(shares), list(base), 0.2
    value = cost(errors, row_weights, best, prior)
    while step > 1e-4:
        improved = False
        for index, column in enumerate(columns):
            for change in (step, -step):
                share = min(max(best[index] + change, 0.0, shares[index] - RADIUS), 1.0, shares[index] + RADIUS)
                moved = best[:index] + [share] + best[index + 1:]
                there = [e + c * (share - best[index]) for e, c in zip(errors, column)]
                candidate = cost(there, row_weights, moved, prior)
                if candidate < value - 1e-9:
                    best, errors, value, improved = moved, there, candidate, True
        if not improved:
            step /= 2
    return best


def fit(model, start, steps, left_out=None):
    row_weights = weights(model.rows(start), left_out)
    shares, best = start, start
    for _ in range(steps):
        base, columns = sensitivities(model, shares)
        shares = minimise(base, columns, shares, row_weights, start)
        if cost(model.errors(shares), row_weights, shares, start) < cost(model.errors(best), row_weights, best, start):
            best = shares
    return best


def median(values):
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def relative(log_error):
    return math.exp(log_error) - 1


def print_rows(rows, before, after):
    print(f"\n{'row':30} {'measured':>10} {'before':>9} {'after':>9}")
    for row, old, new in zip(rows, before, after):
        print(f"{row['id']:30} {row['measured_seconds']:10.4g} {relative(old):+9.1%} {relative(new):+9.1%}")
    for name, errors in (("before", before), ("after", after)):
        sizes = [abs(relative(e)) for e in errors]
        print(f"{name:8} median {median(sizes):.1%}, worst {max(sizes):.1%}")


def print_constants(constants, shares, columns):
    print(f"\n{'constant':34} {'value':>10} {'unit':9} {'range':>23}  median / largest effect of 10% of the range")
    for constant, share, column in zip(constants, shares, columns):
        sizes = [abs(c) * 0.1 for c in column]
        bounds = f"{constant.low:.3g} … {constant.high:.3g}"
        print(f"{constant.name:34} {constant.at(share):10.4g} {constant.unit:9} {bounds:>23}  "
              f"{median(sizes):.2%} / {max(sizes):.1%}")


def leave_one_family_out(model, start, fitted, steps):
    rows = model.rows(start)
    left = {}
    for family in dict.fromkeys(row["family"] for row in rows):
        if steps > 0:
            shares = fit(model, start, steps, family)
        else:  # one step from the fit, with the sensitivities that are known there
            base, columns = sensitivities(model, fitted)
            shares = minimise(base, columns, fitted, weights(rows, family), start)
        for row, error in zip(rows, model.errors(shares)):
            if row["family"] == family:
                left.setdefault(family, []).append(abs(relative(error)))
    print(f"\n{'family left out':20} {'rows':>5} {'median':>8} {'worst':>8}")
    for family, errors in left.items():
        print(f"{family:20} {len(errors):5} {median(errors):8.1%} {max(errors):8.1%}")
    every = [error for errors in left.values() for error in errors]
    print(f"{'all':20} {len(every):5} {median(every):8.1%} {max(every):8.1%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--podsim", default=str(ROOT / "build" / "podsim"), help="program (default: build/podsim)")
    parser.add_argument("--steps", type=int, default=2, help="steps of the fit; 0: only errors and sensitivities")
    parser.add_argument("--jobs", type=int, default=0, help="simulations at a time (default: all cores)")
    parser.add_argument("--left-out-steps", type=int, default=0,
                        help="steps of each fit without a family, from the start; default 0: one step from the full fit")
    parser.add_argument("--no-cross-validation", action="store_true", help="no fits without a family")
    parser.add_argument("--write", action="store_true", help="put the constants into topology/data")
    arguments = parser.parse_args()
    entries = json.loads((ROOT / "tools" / "calibration.json").read_text())["parameters"]
    if len(entries) > MOST_PARAMETERS:
        fail(f"{len(entries)} free constants, but at most {MOST_PARAMETERS} are allowed")
    if not shutil.which(arguments.podsim):
        fail(f"no program {arguments.podsim}; build it with tools/podsim, or name it with --podsim")
    constants = [Constant(entry, DATA) for entry in entries]
    start = [constant.share(constant.value) for constant in constants]
    model = Model(arguments.podsim, constants, arguments.jobs)
    fitted = fit(model, start, arguments.steps)
    _, columns = sensitivities(model, fitted)
    print_constants(constants, fitted, columns)
    print_rows(model.rows(start), model.errors(start), model.errors(fitted))
    if not arguments.no_cross_validation:
        leave_one_family_out(model, start, fitted, arguments.left_out_steps)
    if arguments.write:
        write_values(DATA, constants, [c.at(s) for c, s in zip(constants, fitted)])


if __name__ == "__main__":
    main()
