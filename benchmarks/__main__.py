"""``python -m benchmarks [ROW …] [--rounds N] [--folder DIR]``: prints a table, keeps JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Row
from benchmarks.rows import ALL


def main() -> int:
    """Measure, print, keep. Returns 1 when a promise was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("rows", nargs="*", choices=[*ALL, []], metavar="ROW", help=", ".join(ALL))
    parser.add_argument("--rounds", type=int, default=5, help="counted turns of each command")
    default = Path(tempfile.gettempdir()) / "localcdap-benchmarks"
    parser.add_argument("--folder", type=Path, default=default, help="inputs, outputs, results")
    options = parser.parse_args()
    own_servers(options.folder)
    # As in an installed program: Python compiles a module once, not in each process.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    results: list[Row] = []
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"{'what':34}{'localcdap':>10}  {'reference':28}{'':>9}{'ratio':>7}  target")
    try:
        for name in options.rows or ALL:
            # A warm server of the row before would hold ports and memory.
            stop_servers(options.folder)
            for row in ALL[name](options.folder, options.rounds):
                results.append(row)
                print(line(row), flush=True)
    finally:
        stop_servers(options.folder)
    kept = options.folder / "results.json"
    kept.write_text(json.dumps([row.__dict__ | {"ratio": row.ratio} for row in results], indent=1))
    print(f"kept in {kept}")
    return 0 if all(row.met for row in results) else 1


def line(row: Row) -> str:
    """One line of the table."""
    verdict = "met" if row.met else "MISSED"
    return (
        f"{row.name:34}{_amount(row.ours_s, row.unit):>10}  "
        f"{row.reference:28}{_amount(row.reference_s, row.unit):>9}"
        f"{row.ratio:>7.2f}  {row.target} {verdict}"
    )


def _amount(amount: float, unit: str) -> str:
    return _time(amount) if unit == "s" else f"{amount:.0f} {unit}"


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{seconds * 1000:.1f} ms"


def own_servers(folder: Path) -> None:
    """Have both sides start Spark servers in this folder: those of others are neither used nor stopped."""
    temporary = folder.resolve() / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    os.environ["LOCALCDAP_ENGINE_DIRECTORY"] = str(folder.resolve() / "engine")
    # PySpark keeps what it knows of its local server in the folder for temporary files.
    os.environ["TMPDIR"] = str(temporary)


def stop_servers(folder: Path) -> None:
    """Stop the Spark servers that the runs left warm, ours and the reference's."""
    ours = [sys.executable, "-m", "localcdap.cli", "engine", "stop", "--home", str(folder / "home")]
    theirs = [sys.executable, "-m", "pyspark.sql.connect.local_server", "--stop"]
    for command in (ours, theirs):
        subprocess.run(command, capture_output=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
