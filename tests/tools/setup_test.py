"""tools/podsim on a small stand-in project: builds when sources changed, is quiet and quick when not, passes all on."""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

CMAKE = """cmake_minimum_required(VERSION 3.25)
project(stand_in LANGUAGES CXX)
add_executable(podsim simulator/main.cpp)
set_target_properties(podsim PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
"""

MAIN = """#include <cstdio>
int main(int count, char** words) {
  for (int i = 1; i < count; ++i) std::printf("<%s>", words[i]);
  return count > 1 && words[1][0] == '7' ? 7 : 0;
}
"""

NOBODY = 65534


class SetUp(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name) / "check out"  # a blank in the path must not matter
        for name in ("simulator", "topology", "workloads", "schedules", "tools/cmake"):
            (self.root / name).mkdir(parents=True)
        for name in ("podsim", "setup.sh"):
            shutil.copy2(ROOT / "tools" / name, self.root / "tools" / name)
        (self.root / "CMakeLists.txt").write_text(CMAKE)
        (self.root / "simulator/main.cpp").write_text(MAIN)
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("PODSIM_")}

    def podsim(self, *words, program=None, **options):
        options.setdefault("env", self.environment)
        return subprocess.run([str(program or self.root / "tools/podsim"), *words], capture_output=True, text=True,
                              check=False, **options)

    def build(self):
        first = self.podsim()
        self.assertEqual(first.returncode, 0, first.stderr)
        return first

    def test_first_run_builds_and_later_runs_are_quiet_and_quick(self):
        first = self.build()
        self.assertEqual(first.stdout, "")
        self.assertIn("podsim: building in", first.stderr)
        seconds = []
        for _ in range(5):
            start = time.perf_counter()
            later = self.podsim("a")
            seconds.append(time.perf_counter() - start)
            self.assertEqual((later.stdout, later.stderr, later.returncode), ("<a>", "", 0))
        self.assertLess(min(seconds), 0.1)

    def test_arguments_and_exit_code_pass_through_a_symlink_from_anywhere(self):
        self.build()
        link = pathlib.Path(self.folder.name) / "link"
        link.symlink_to(self.root / "tools/podsim")
        result = self.podsim("7", "a b", "", "*", "--set", 'x="y"', program=link, cwd="/")
        self.assertEqual(result.stdout, '<7><a b><><*><--set><x="y">')
        self.assertEqual(result.returncode, 7)

    def test_changed_and_broken_sources_are_noticed(self):
        self.build()
        source = self.root / "simulator/main.cpp"
        source.write_text(MAIN.replace("<%s>", "[%s]"))
        self.assertEqual(self.podsim("a").stdout, "[a]")
        source.write_text("int main( {")
        broken = self.podsim("a")
        self.assertEqual((broken.stdout, broken.returncode), ("", 2))
        self.assertIn("podsim: the build failed", broken.stderr)
        source.write_text(MAIN)
        self.assertEqual(self.podsim("a").stdout, "<a>")

    def test_concurrent_first_runs_build_once(self):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda i: self.podsim(f"x{i}"), range(4)))
        self.assertEqual([result.stdout for result in results], ["<x0>", "<x1>", "<x2>", "<x3>"])
        self.assertEqual(sum("building" in result.stderr for result in results), 1)

    def test_a_build_folder_that_moved_is_made_anew(self):
        self.build()
        moved = self.root.with_name("moved")
        self.root.rename(moved)
        self.root = moved
        self.assertEqual(self.podsim("a").stdout, "<a>")

    @unittest.skipIf(os.geteuid() != 0, "only root can become somebody who may not install")
    def test_says_what_to_install_where_it_may_not(self):
        commands = pathlib.Path(self.folder.name) / "commands"
        commands.mkdir()
        (commands / "dpkg-query").write_text("#!/bin/sh\nprintf 'installed cmake\\nconfig-files g++\\n'\n")
        (commands / "sudo").write_text("#!/bin/sh\nexit 1\n")
        for path in (*commands.iterdir(), pathlib.Path(self.folder.name), self.root):
            path.chmod(0o777)
        environment = self.environment | {"PATH": f"{commands}:{os.environ['PATH']}"}
        result = self.podsim(env=environment, user=NOBODY, group=NOBODY, extra_groups=[], stdin=subprocess.DEVNULL)
        self.assertEqual(result.returncode, 2)
        self.assertIn("only root or sudo may install them:\n  apt-get install g++ ninja-build", result.stderr)
        self.assertNotIn("install cmake", result.stderr)


if __name__ == "__main__":
    unittest.main()
