"""Checks that the plotting tools expand repeated windows as `podsim export --format csv` does.
Arguments: TOOLS_FOLDER TRACE.h5 EXPORT.csv"""

import sys

import numpy
import pandas

sys.path.insert(0, sys.argv[1])
import podsim_trace  # noqa: E402

trace = podsim_trace.Trace(sys.argv[2])
exported = pandas.read_csv(sys.argv[3])
assert len(trace._windows) == 2
for ipu in range(trace.ipus):
    rows = trace.intervals(ipu)
    other = exported[exported["ipu"] == ipu]
    assert len(rows["start"]) == len(other), (ipu, len(rows["start"]), len(other))
    assert trace.states_of(rows) == list(other["state"])
    assert (rows["stage"] == other["stage"]).all() and (rows["micro_batch"] == other["micro_batch"]).all()
    for column, name in (("start", "start_seconds"), ("end", "end_seconds")):
        assert numpy.allclose(rows[column], other[name], rtol=0, atol=1e-12 * trace.makespan)
    part = trace.intervals(ipu, 0.3 * trace.makespan, 0.4 * trace.makespan)
    inside = other[(other["end_seconds"] > 0.3 * trace.makespan) & (other["start_seconds"] < 0.4 * trace.makespan)]
    assert trace.states_of(part) == list(inside["state"])
