"""bench_compare.py finds what became slower, and nothing else; its exit code says so."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "bench_compare.py"


def run(name, seconds, unit="s", **counters):
    factor = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[unit]
    return {"name": name, "run_name": name, "run_type": "iteration", "real_time": seconds * factor,
            "cpu_time": 2 * seconds * factor, "time_unit": unit, **counters}


class Comparison(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, content):
        path = pathlib.Path(self.folder.name) / name
        path.write_text(content if isinstance(content, str) else json.dumps({"benchmarks": content}))
        return str(path)

    def compare(self, old, new, *options):
        return subprocess.run([sys.executable, "-B", TOOL, self.file("old.json", old), self.file("new.json", new),
                               *options], capture_output=True, text=True, check=False)

    def verdicts(self, result):
        lines = [line.split() for line in result.stdout.splitlines()[1:-1]]
        return {words[0]: words[-1] for words in lines if words[-1] in ("REGRESSED", "better")}

    def test_ratios_and_exit_code(self):
        old = [run("same", 1.0), run("slower", 1.0), run("faster", 1.0), run("little", 1.0)]
        new = [run("same", 1.0), run("slower", 1.25), run("faster", 0.5), run("little", 1.09)]
        result = self.compare(old, new)
        self.assertEqual(self.verdicts(result), {"slower": "REGRESSED", "faster": "better"})
        self.assertIn("1.250", result.stdout)
        self.assertTrue(result.stdout.endswith("4 compared, 1 regressed by more than 10%\n"))
        self.assertEqual(result.returncode, 3)
        self.assertEqual(self.compare(old, new, "--threshold", "30").returncode, 0)
        self.assertEqual(self.compare(old, new, "--threshold", "5").stdout.count("REGRESSED"), 2)
        self.assertEqual(self.compare(old, new, "--filter", "same|faster").returncode, 0)

    def test_units_are_converted(self):
        result = self.compare([run("a", 0.5, "ms")], [run("a", 0.0005, "us")])
        self.assertIn("0.001", result.stdout)
        self.assertIn("500 us", result.stdout)

    def test_the_least_of_repetitions_counts_and_aggregates_do_not(self):
        mean = {**run("a_mean", 9.0), "run_name": "a", "run_type": "aggregate"}
        result = self.compare([run("a", 1.0), run("a", 3.0)], [run("a", 2.0), run("a", 1.0), mean])
        self.assertEqual(result.returncode, 0)
        self.assertIn("1 compared", result.stdout)

    def test_counters_and_rates(self):
        old = [run("a", 1, MB=100, **{"points/s": 600})]
        new = [run("a", 1, MB=120, **{"points/s": 300})]
        self.assertEqual(self.compare(old, new).returncode, 0)
        self.assertEqual(self.compare(old, new, "--metric", "MB").returncode, 3)
        self.assertEqual(self.compare(old, new, "--metric", "points/s").returncode, 3)
        self.assertEqual(self.compare(new, old, "--metric", "points/s").returncode, 0)

    def test_a_benchmark_that_fails_only_now_has_regressed(self):
        failed = {"name": "a", "run_name": "a", "error_occurred": True, "error_message": "no"}
        result = self.compare([run("a", 1.0)], [failed])
        self.assertEqual((result.returncode, "failed" in result.stdout), (3, True))
        self.assertEqual(self.compare([failed], [run("a", 1.0)]).returncode, 0)

    def test_names_in_one_file_only(self):
        result = self.compare([run("a", 1), run("gone", 1)], [run("a", 1), run("fresh", 1)])
        self.assertIn("only in OLD: gone", result.stdout)
        self.assertIn("only in NEW: fresh", result.stdout)

    def refusal(self, *arguments):
        result = self.compare(*arguments)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        return result.stderr

    def test_refusals(self):
        good = [run("a", 1)]
        self.assertIn("new.json: is no result of Google Benchmark; write one with --benchmark_out=FILE",
                      self.refusal(good, "{}"))
        self.assertIn("old.json: is no result", self.refusal("not JSON", good))
        self.assertIn("have no benchmark with MB in common", self.refusal(good, good, "--metric", "MB"))
        self.assertIn("--filter (: is no regular expression", self.refusal(good, good, "--filter", "("))
        self.assertIn("--threshold -1: must not be negative", self.refusal(good, good, "--threshold", "-1"))
        missing = subprocess.run([sys.executable, "-B", TOOL, "/nowhere.json", "/nowhere.json"], capture_output=True,
                                 text=True, check=False)
        self.assertEqual(missing.stderr, "bench_compare.py: /nowhere.json: No such file or directory\n")

    def test_help_has_examples(self):
        result = subprocess.run([sys.executable, "-B", TOOL, "--help"], capture_output=True, text=True, check=False)
        self.assertIn("bench_compare.py old.json new.json --filter", result.stdout)


if __name__ == "__main__":
    unittest.main()
