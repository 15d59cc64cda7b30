"""Reads a trace file with h5py, pandas and xarray, as users do, and checks what they find. Arguments: TRACE.h5"""

import sys

import h5py
import numpy
import pandas
import xarray

PATH = sys.argv[1]
GROUPS = {"intervals", "repeats", "utilization", "bubbles", "host", "links", "tiles", "memory", "summary", "scenario"}

with h5py.File(PATH) as file:
    assert set(file) == GROUPS, set(file)
    lacking = []
    file.visititems(lambda name, item: lacking.append(name) if isinstance(item, h5py.Dataset)
                    and not ("units" in item.attrs and "description" in item.attrs) else None)
    assert not lacking, lacking
    intervals = file["intervals"]
    names = intervals["state"].attrs["names"]
    assert intervals["state"].dtype == numpy.uint8 and len(names) == 16 and names[0] == "forward"
    assert intervals["start"].attrs["units"] == "s"
    makespan = intervals.attrs["makespan_seconds"]

    table = pandas.DataFrame({name: column[:] for name, column in intervals.items()})
    seconds = (table["end"] - table["start"]).groupby([table["ipu"], table["state"]]).sum().unstack(fill_value=0)
    assert numpy.allclose(seconds.sum(axis=1), makespan, rtol=1e-12)
    totals = file["summary/ipu_state_seconds"][:]
    for state in seconds:
        assert numpy.allclose(seconds[state], totals[:, state], rtol=1e-9)
    tiles = file["tiles"]
    operators, rows = tiles["operator"].asstr()[:], tiles["use_superstep"][:]
    passes, phases = tiles["pass"].attrs["names"], tiles["phase"].asstr()[:]
    for use, superstep in enumerate(rows[:6]):  # of the first IPU: each superstep's first use
        words = (passes[tiles["pass"][superstep]], operators[tiles["use_operator"][use]], phases[superstep])
        assert tiles["name"].asstr()[superstep] == "/".join(words), words
    assert tiles["activity"].attrs["names"][tiles["activity"][0]] == "compute_and_exchange"
    assert file["scenario/text"].asstr()[()].startswith('{ "version": 1, // as given')

for engine in {"h5netcdf", *xarray.backends.list_engines()} & {"h5netcdf", "netcdf4"}:
    for group in sorted(GROUPS):
        with xarray.open_dataset(PATH, group=group, engine=engine) as data:
            data.load()
    with xarray.open_dataset(PATH, group="utilization", engine=engine) as data:
        share = data["share"]
        assert share.dims == ("time", "ipu", "state")
        assert numpy.allclose(share.sum("state"), 1, atol=1e-5)
        forward = float(share.sel(state="forward", ipu=0).mean()) * makespan
        assert numpy.isclose(forward, totals[0, 0], rtol=1e-4), (forward, totals[0, 0])
    with xarray.open_dataset(PATH, group="memory", engine=engine) as data:
        assert data["bytes"].sel(category="weights", ipu=1).sizes == {"tile": 1472}
        assert int(data["bytes"].sel(ipu=0).sum("category").max()) <= int(data["limit"].sel(ipu=0))
    with xarray.open_dataset(PATH, group="bubbles", engine=engine) as data:
        assert numpy.allclose(data["total"].sel(kind="ramp_up"), totals[:, list(names).index("ramp_up")])
