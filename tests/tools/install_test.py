"""What `cmake --install` puts down must work alone: the program finds its data, and a project can link the library."""

import os
import pathlib
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["PODSIM_BUILD"])

CMAKE = """cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(podsim REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE podsim::podsim)
"""

MAIN = """#include <iostream>
#include "simulator/config/ipu_config.hpp"
#include "simulator/config/json.hpp"

int main() {
  const auto config = podsim::read_ipu_config(podsim::parse_json(R"({"replication_factor": 3})", "inline"));
  std::cout << config.batch_size_factor(false);
}
"""


def run(*command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if result.returncode:
        raise AssertionError(f"{command}: exit {result.returncode}\n{result.stdout}\n{result.stderr}")
    return result.stdout


class Installation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.prefix = pathlib.Path(cls.folder.name) / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_program_uses_its_installed_data(self):
        chip = self.prefix / "share/podsim/data/chips/bow.json"
        content = chip.read_text()
        command = [str(self.prefix / "bin/podsim"), "describe", "chip", "bow"]
        self.assertIn("clock", run(*command))
        chip.write_text("{")
        broken = subprocess.run(command, capture_output=True, text=True, check=False)
        chip.write_text(content)
        self.assertEqual(broken.returncode, 1)
        self.assertIn(str(chip), broken.stderr)

    def test_scenarios_and_man_page_are_installed(self):
        self.assertTrue(any((self.prefix / "share/podsim/scenarios").glob("*.json")))
        self.assertIn("discrete-event", (self.prefix / "share/man/man1/podsim.1").read_text())

    def test_a_project_links_the_library(self):
        project = pathlib.Path(self.folder.name) / "consumer"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(CMAKE)
        (project / "main.cpp").write_text(MAIN)
        run("cmake", "-S", project, "-B", project / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", project / "build")
        self.assertEqual(run(project / "build/consumer"), "3")


if __name__ == "__main__":
    unittest.main()
