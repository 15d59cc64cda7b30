"""The include rules must find what they forbid: a check that finds nothing would never fail."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import check_includes  # noqa: E402

HEAD = "// What this is.\n"


class IncludeRules(unittest.TestCase):
    def problems(self, file, include):
        return check_includes.problems_of_file(file, f"{HEAD}#include {include}\n")

    def test_a_stage_may_not_reach_past_its_neighbours(self):
        self.assertEqual(self.problems("schedules/schemes/x.cpp", '"simulator/engine/run.hpp"'),
                         ['schedules/schemes/x.cpp:2: schedules may not include "simulator/engine/run.hpp"'])
        self.assertEqual(len(self.problems("simulator/machine/x.cpp", '"workloads/workload_graph.hpp"')), 1)
        self.assertEqual(self.problems("simulator/machine/x.cpp", '"workloads/operator.hpp"'), [])

    def test_libraries_stay_where_they_belong(self):
        self.assertEqual(len(self.problems("simulator/app/x.cpp", "<simgrid/s4u.hpp>")), 1)
        self.assertEqual(len(self.problems("simulator/trace/x.cpp", "<hdf5.h>")), 1)
        self.assertEqual(len(self.problems("simulator/core/x.cpp", "<nlohmann/json.hpp>")), 1)
        self.assertEqual(len(self.problems("simulator/engine/x.cpp", "<boost/graph/adjacency_list.hpp>")), 1)
        self.assertEqual(self.problems("simulator/engine/x.cpp", "<simgrid/s4u.hpp>"), [])
        self.assertEqual(len(self.problems("workloads/models/onnx.cpp", "<onnx.pb.h>")), 1)
        self.assertEqual(len(self.problems("simulator/app/x.cpp", "<google/protobuf/message.h>")), 1)
        self.assertEqual([problem for problem in self.problems("workloads/onnx_file.cpp", "<onnx.pb.h>")
                          if "is only for" in problem], [])

    def test_simgrid_and_json_stay_out_of_headers(self):
        self.assertIn("simulator/engine/x.hpp:2: <simgrid/s4u.hpp> is only for .cpp files of simulator/engine",
                      self.problems("simulator/engine/x.hpp", "<simgrid/s4u.hpp>"))
        self.assertIn("simulator/app/x.hpp:1: has no #pragma once", self.problems("simulator/app/x.hpp", "<vector>"))

    def test_own_header_comes_first(self):
        self.assertEqual(self.problems("simulator/core/value.cpp", "<vector>"),
                         ['simulator/core/value.cpp:1: does not include its own header "simulator/core/value.hpp" first'])

    def test_files_say_what_they_are_for(self):
        self.assertEqual(check_includes.problems_of_file("simulator/core/x.cpp", "int x;\n"),
                         ["simulator/core/x.cpp:1: does not start with a sentence that says what it is for"])


if __name__ == "__main__":
    unittest.main()
