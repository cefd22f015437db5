"""What each package loads when it is imported, and what shipped plugins and modules may import.

The direction of imports between the packages is in ``[tool.importlinter]`` of ``pyproject.toml``.
"""

from __future__ import annotations

import ast
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import localcdap
from tests.quality.source_tree import REPOSITORY, list_sources, name_of, read_nodes

HEAVY = (
    "textual",
    "pyspark",
    "duckdb",
    "_duckdb",
    "pyarrow",
    "pandas",
    "numpy",
    "grpc",
    "fastavro",
    "py_mini_racer",
)
WITH_TEXTUAL = ("tui",)
FOR_PLUGINS = [
    [name]
    for name in ("api", "files", "googlesql", "java", "plugin_lib", "processes", "workspace_views")
]
IN_SPARK = {"localcdap.engine.local.worker_daemon"}
"""Modules that run inside Spark's own Python processes, whose first import is pyspark."""

HEADLESS = [m.name for m in pkgutil.iter_modules(localcdap.__path__) if m.name not in WITH_TEXTUAL]
LOADED = f"""
import sys
print(*sorted({set(HEAVY)!r} & {{name.partition(".")[0] for name in sys.modules}}))
"""


def heavy_modules_after(code: str) -> list[str]:
    """Names of the heavy libraries that a new process has loaded after running ``code``."""
    done = subprocess.run(
        [sys.executable, "-c", code + LOADED], capture_output=True, text=True, cwd=REPOSITORY
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()


def modules_after(code: str) -> set[str]:
    """Names of all modules that a new process has loaded after running ``code``."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("module", ["host.services", "runs.service"])
def test_neither_a_host_nor_a_client_of_runs_loads_parsers_and_web_clients_ahead(module):
    loaded = modules_after(f"import localcdap.{module}")
    assert f"localcdap.{module}" in loaded
    assert not loaded & {"lark", "regex", "urllib.request", "http.client"}


def modules_of(package: str) -> list[str]:
    """The package and every module in it, except those that run when imported."""
    folder = REPOSITORY / "localcdap" / package
    found = [f"localcdap.{package}"]
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(REPOSITORY).with_suffix("").parts
        found.append(".".join(p for p in parts if p != "__init__"))
    return [m for m in found if not m.endswith("__main__") and m not in IN_SPARK]


def imported_names(path: Path) -> Iterator[str]:
    """Absolute names imported anywhere in a file, also inside functions and for type checking."""
    for node in read_nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


def test_imports_keep_to_their_contracts():
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", command, "--no-cache"],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_importing_headless_packages_loads_nothing_heavy():
    """One process imports them all, and names each package whose import has loaded a heavy library."""
    steps = [f"import {', '.join(modules_of(package))}\nnote({package!r})" for package in HEADLESS]
    code = f"""
import sys
found = {{}}
def note(package):
    heavy = {set(HEAVY)!r} & {{name.partition(".")[0] for name in sys.modules}}
    found.update((name, package) for name in heavy if name not in found)
{chr(10).join(steps)}
print(found)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY
    )

    assert (done.returncode, done.stdout) == (0, "{}\n"), done.stdout + done.stderr


def test_the_list_of_commands_loads_nothing_heavy():
    code = "from localcdap.cli.main import run\nassert run(['--help']) == 0\n"

    assert heavy_modules_after(code) == []


@pytest.mark.parametrize("command", ["validate", "run", "doctor"])
def test_the_help_of_a_command_loads_nothing_heavy(command):
    code = f"from localcdap.cli.main import run\nassert run([{command!r}, '--help']) == 0\n"

    assert heavy_modules_after(code) == []


def test_a_client_imports_no_service_before_it_calls_one():
    code = """
import sys
import localcdap.host
from localcdap.host.service_table import SERVICES
print(*(n for n, entry in SERVICES.items() if entry.module in sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY
    )

    assert (done.returncode, done.stdout) == (0, "\n"), done.stdout + done.stderr


def test_inspecting_shipped_artifacts_loads_nothing_heavy():
    """One process inspects them all, and names each artifact that has loaded a heavy library."""
    artifacts = sorted(str(p.parent) for p in (REPOSITORY / "plugins_dir").glob("*/pyproject.toml"))
    code = f"""
import sys
from pathlib import Path
from localcdap.artifacts.inspection import inspect_artifact
from localcdap.artifacts.directories.contents import compute_digest
import localcdap.sandbox.worker
heavy = {{}}
for path in map(Path, {artifacts!r}):
    found = inspect_artifact(str(path), compute_digest(path))
    assert found.errors == [], path
    assert found.plugins or found.applications, path
    for name in {set(HEAVY)!r} & {{each.partition(".")[0] for each in sys.modules}}:
        heavy.setdefault(name, path.name)
print(len({artifacts!r}), heavy)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY
    )

    assert artifacts
    assert (done.returncode, done.stdout) == (0, f"{len(artifacts)} {{}}\n"), (
        done.stdout + done.stderr
    )


def test_shipped_plugins_import_only_libraries_and_the_packages_for_plugins():
    found = [
        f"{name_of(path)}: {name}"
        for path in list_sources("plugins_dir")
        for name in imported_names(path)
        if name.partition(".")[0] == "localcdap" and name.split(".")[1:2] not in FOR_PLUGINS
    ]

    assert found == []


@pytest.mark.parametrize("folder", ["localcdap", "plugins_dir", "benchmarks"])
def test_nothing_imports_the_root_of_the_package(folder):
    guilty = [
        name_of(path) for path in list_sources(folder) if "localcdap" in set(imported_names(path))
    ]

    assert guilty == []
