#!/usr/bin/env python3
"""Checks who includes whom: a stage that reaches around its interface is found here, not in a review."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What each module may include of the project, beside itself. A name that ends in .hpp is that header alone.
PROJECT = {
    "simulator/core": [],
    "simulator/config": ["simulator/core"],
    "workloads": ["simulator/core"],
    "topology": ["simulator/core"],
    "simulator/program": ["simulator/core"],
    "simulator/machine": ["simulator/core", "workloads/operator.hpp"],
    "simulator/partition": ["simulator/core", "simulator/machine", "workloads"],
    "schedules": ["simulator/core", "simulator/program", "simulator/partition/staged_model.hpp"],
    "simulator/trace": ["simulator/core", "simulator/program"],
    "simulator/engine": ["simulator/core", "simulator/program", "simulator/trace", "topology"],
    "simulator/output": ["simulator/core", "simulator/trace"],
    "simulator/app": ["simulator", "schedules", "topology", "workloads"],
}

# Libraries by the start of the included name: the modules (or single files) and file endings that may use them.
LIBRARIES = {
    r"(simgrid|xbt)/": (["simulator/engine"], (".cpp",)),
    r"hdf5": (["simulator/output"], (".cpp", ".hpp")),
    r"nlohmann/": (["simulator/config", "simulator/app", "simulator/output"], (".cpp",)),
    r"boost/": (["workloads", "topology", "simulator/partition"], (".cpp", ".hpp")),
    r"CLI/": (["simulator/app"], (".cpp", ".hpp")),
    r"(onnx[./]|google/protobuf/)": (["workloads/onnx_file.cpp"], (".cpp",)),
    r"fmt/": (["simulator/app", "simulator/output"], (".cpp",)),
}

PLUGINS = ("workloads/models", "schedules/schemes")  # a plugin is one .cpp; nothing includes it

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def module_of(path):
    """The module that a root-relative path belongs to, or None."""
    matches = [module for module in PROJECT if path.startswith(module + "/")]
    return max(matches, key=len, default=None)


def may_use(module, path):
    allowed = PROJECT[module] + [module]
    return any(path == entry or path.startswith(entry + "/") for entry in allowed)


def problems_of_include(file, module, bracket, name):
    if bracket == '"':
        if name.startswith(".") or not (ROOT / name).is_file() and "/" not in name:
            return [f'"{name}" is not relative to the root']
        if name.startswith(PLUGINS) and name.endswith(".hpp"):
            return [f'"{name}": plugins have no headers']
        if not may_use(module, name):
            return [f'{module} may not include "{name}"']
        return []
    for pattern, (modules, endings) in LIBRARIES.items():
        if re.match(pattern, name) and (not {module, file} & set(modules) or not file.endswith(endings)):
            return [f"<{name}> is only for {'/'.join(endings)} files of {', '.join(modules)}"]
    return []


def problems_of_file(file, text):
    """Lines "file:line: problem" for one root-relative file."""
    module = module_of(file)
    if module is None:
        return [f"{file}:1: belongs to no module"]
    lines = text.splitlines()
    found = []
    includes = []
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if match:
            includes.append((number, match[2]))
            found += [f"{file}:{number}: {problem}" for problem in problems_of_include(file, module, match[1], match[2])]
    if file.endswith(".hpp"):
        if "#pragma once" not in lines:
            found.append(f"{file}:1: has no #pragma once")
        if file.startswith(PLUGINS):
            found.append(f"{file}:1: plugins have no headers")
    own = file.removesuffix(".cpp") + ".hpp"
    if file.endswith(".cpp") and (ROOT / own).is_file() and (not includes or includes[0][1] != own):
        found.append(f'{file}:1: does not include its own header "{own}" first')
    if not lines or not lines[0].startswith("//"):
        found.append(f"{file}:1: does not start with a sentence that says what it is for")
    return found


def main():
    folders = ("simulator", "schedules", "topology", "workloads")
    files = sorted(file for folder in folders for file in (ROOT / folder).rglob("*.[ch]pp"))
    found = []
    for file in files:
        found += problems_of_file(file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8"))
    for line in found:
        print(line)
    print(f"{len(files)} files, {len(found)} problems")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
