"""Checks that queue depths are repeated with the window that holds them. Arguments: TOOLS_FOLDER TRACE.h5"""

import sys

import numpy

sys.path.insert(0, sys.argv[1])
import podsim_trace  # noqa: E402

trace = podsim_trace.Trace(sys.argv[2])
rows = trace.queue(0, 0, 0.0, 0.0095)
assert numpy.allclose(rows["start"], [0.001 * k for k in range(9)], rtol=0, atol=1e-12), rows
assert list(rows["depth"]) == [0, 1, 2, 1, 2, 1, 2, 1, 2], rows
middle = trace.queue(0, 0, 0.0035, 0.0055)
assert numpy.allclose(middle["start"], [0.0035, 0.004, 0.005], rtol=0, atol=1e-12), middle
assert list(middle["depth"]) == [1, 2, 1], middle
