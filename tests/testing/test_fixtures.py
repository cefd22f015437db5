"""What the pytest plugin costs those who do not use it, and that it is found."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from localcdap import testing

NOTHING = "def test_nothing(): pass\n"
LOADED = """
import sys
def pytest_unconfigure():
    print("loaded", *sorted(name for name in sys.modules if name.startswith("localcdap")))
    print("heavy", *sorted({"msgspec", "pyspark", "duckdb", "pyarrow"} & set(sys.modules)))
"""


def test_what_the_package_offers_is_there():
    assert all(getattr(testing, name) for name in testing.__all__)
    with pytest.raises(AttributeError, match="StageTestr"):
        testing.StageTestr  # noqa: B018


def test_it_is_found_after_installing():
    (found,) = [e for e in metadata.entry_points(group="pytest11") if e.name == "localcdap"]

    assert found.value == "localcdap.testing.fixtures"


def test_it_loads_nothing_for_tests_that_do_not_use_it(tmp_path: Path):
    (tmp_path / "test_nothing.py").write_text(NOTHING)
    (tmp_path / "conftest.py").write_text(LOADED)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers"]

    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, cwd=tmp_path)

    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "loaded localcdap localcdap.moved localcdap.testing localcdap.testing.fixtures" in lines
    # Another plugin of this environment may load msgspec; localcdap's parts would show above.
    assert [line for line in lines if line.startswith("heavy") and "pyspark" in line] == []
