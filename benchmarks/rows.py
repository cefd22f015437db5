"""What is measured: each function sets up its inputs in a folder and gives rows of the table."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks import data, pipelines
from benchmarks.analytics import analytics
from benchmarks.artifacts import artifacts
from benchmarks.datasets import datasets
from benchmarks.editing import editing
from benchmarks.lineage import lineage
from benchmarks.measure import Command, Row, alternate, at_most, remove, times_faster, within
from benchmarks.metadata import metadata
from benchmarks.recipes import checked_seconds
from benchmarks.reports import reports
from benchmarks.rest import rest
from benchmarks.schedules import schedules
from benchmarks.sessions import make_purchases, open_session
from benchmarks.structured import structured
from benchmarks.studio import studio
from benchmarks.workspaces import workspaces
from localcdap.home import Home
from localcdap.host.demo import install_demo

_REFERENCES: Final = Path(__file__).parent / "references"
_REUSE: Final = {"SPARK_LOCAL_CONNECT_REUSE": "1"}
LARGE_ROWS: Final = 10_000_000
RECORD_ROWS: Final = 2_000_000
RECIPE_ROWS: Final = 3_000_000
EXPECTATION_ROWS: Final = 1_000_000
SMALL_ROWS: Final = 1_000
BRANCHES: Final = 11
_SESSION_WARM_UPS: Final = 3
"""The Java compiler still gains in the second and third run of a pipeline."""
BRANCH_ROWS: Final = 8


def _localcdap(
    folder: Path,
    *arguments: str,
    output: Path | None = None,
    counts: bool = True,
) -> Command:
    """A ``localcdap`` command on the benchmark's own instance."""
    return Command(
        "localcdap " + arguments[0],
        [
            sys.executable,
            "-m",
            "localcdap.cli",
            *arguments,
            "--home",
            str(folder / "home"),
            "--json",
        ],
        {"LOCALCDAP_ENGINE_COUNTS": str(counts).lower()},
        remove(output) if output else remove(),
    )


def _script(name: str, source: Path, target: Path, *more: str, warm: bool) -> Command:
    """A hand-written PySpark script, on a warm local Connect server or on one of its own."""
    return Command(
        f"python {name}",
        [sys.executable, str(_REFERENCES / name), str(source), str(target), *more],
        {"PYSPARK_PYTHON": sys.executable} | (_REUSE if warm else {}),
        remove(target),
    )


def small_run(folder: Path, rounds: int) -> Iterator[Row]:
    """A small pipeline on the warm engine, against a script that starts Spark and one that does not."""
    source = data.sales_csv(folder / "small.csv", SMALL_ROWS)
    ours, theirs = folder / "small-ours", folder / "small-theirs"
    file = pipelines.write(pipelines.sales_pipeline(source, ours), folder / "small.json")
    run = _localcdap(folder, "run", str(file), output=ours)
    cold = _script("relational.py", source, theirs, warm=False)
    warm = _script("relational.py", source, theirs, warm=True)
    # A server that stays warm would hold the port that the cold script's own one wants.
    (cold_s,) = alternate([cold], max(1, rounds // 2), warm_ups=0)
    with open_session(folder / "home") as session:
        inside = session.run(file, {}, remove(ours))
        ours_s, inside_s, warm_s = alternate(
            [run, inside, warm], rounds, warm_ups=_SESSION_WARM_UPS
        )
    yield times_faster("small run, warm engine", ours_s, "PySpark script", cold_s, 6)
    yield at_most("small run, open session", inside_s, "same, warm Connect server", warm_s, 0.5)
    yield at_most("small run, localcdap run", ours_s, "same, warm Connect server", warm_s, 0.5)


def demo(folder: Path, rounds: int) -> Iterator[Row]:
    """The demo on a warm engine, 10 stages, 60 records, 3 sinks: its run, its preview, and a stage tried."""
    installed = install_demo(Home(folder / "home"))
    data_folder, theirs = installed.parent, folder / "demo-theirs"
    arguments = {"demo.folder": str(data_folder)}
    script = _script("demo.py", data_folder, theirs, warm=True)
    shown = _script("demo_preview.py", data_folder, folder / "shown.txt", warm=True)
    with open_session(folder / "home") as session:
        run = session.run(installed, arguments, remove(data_folder / "out"))
        preview = session.preview(installed, arguments)
        trial = session.try_stage(installed, arguments, "Amount", make_purchases(100))
        run_s, script_s, preview_s, shown_s, trial_s = alternate(
            [run, script, preview, shown, trial], rounds, warm_ups=_SESSION_WARM_UPS
        )
    yield at_most("run of the demo", run_s, "hand-written, warm server", script_s, 0.5)
    yield within("run of the demo", run_s, 2.0)
    yield at_most("preview of the demo", preview_s, "script, warm Connect server", shown_s, 0.5)
    yield within("preview of the demo", preview_s, 1.0)
    yield within("a stage tried on 100 records", trial_s, 0.2)


def branches(folder: Path, rounds: int) -> Iterator[Row]:
    """11 branches of 8 records each on a warm engine, against a script that runs one after the other."""
    source = data.sales_csv(folder / "branch.csv", BRANCH_ROWS)
    ours, theirs = folder / "branches-ours", folder / "branches-theirs"
    document = pipelines.branches_pipeline(source, ours, BRANCHES)
    file = pipelines.write(document, folder / "branches.json")
    run = _localcdap(folder, "run", str(file), output=ours)
    script = _script("branches.py", source, theirs, warm=True)
    ours_s, theirs_s = alternate([run, script], rounds)
    yield at_most(f"{BRANCHES} branches", ours_s, "hand-written, warm server", theirs_s, 0.5)


def relational(folder: Path, rounds: int) -> Iterator[Row]:
    """10 M rows of CSV in, relational stages, Parquet out, with and without record counts."""
    source = data.sales_csv(folder / "large.csv", LARGE_ROWS)
    ours, theirs = folder / "large-ours", folder / "large-theirs"
    file = pipelines.write(pipelines.sales_pipeline(source, ours), folder / "large.json")
    counted = _localcdap(folder, "run", str(file), output=ours)
    bare = _localcdap(folder, "run", str(file), output=ours, counts=False)
    script = _script("relational.py", source, theirs, warm=True)
    counted_s, bare_s, script_s = alternate([counted, bare, script], rounds)
    yield at_most("10 M rows, counts on", counted_s, "hand-written PySpark", script_s, 0.8)
    yield at_most("10 M rows, counts off", bare_s, "hand-written PySpark", script_s, 0.8)


def records(folder: Path, rounds: int) -> Iterator[Row]:
    """A record-at-a-time Python transform, against ``mapInArrow`` by hand."""
    source = data.sales_parquet(folder / "records.parquet", RECORD_ROWS)
    ours, theirs = folder / "records-ours", folder / "records-theirs"
    file = pipelines.write(pipelines.record_pipeline(source, ours), folder / "records.json")
    run = _localcdap(folder, "run", str(file), output=ours)
    script = _script("records.py", source, theirs, warm=True)
    ours_s, script_s = alternate([run, script], rounds)
    yield at_most(
        "2 M records, Python transform", ours_s, "hand-written mapInArrow", script_s, 1.15
    )


def recipe(folder: Path, rounds: int) -> Iterator[Row]:
    """The recipe of the original's page on performance, against native PySpark, and an interpreter."""
    source = data.people_csv(folder / "people.csv", RECIPE_ROWS)
    ours, theirs = folder / "recipe-ours", folder / "recipe-theirs"
    file = pipelines.write(pipelines.recipe_pipeline(source, ours), folder / "recipe.json")
    run = _localcdap(folder, "run", str(file), output=ours)
    native = _script("recipe_native.py", source, theirs, warm=True)
    rows = _script("recipe_rows.py", source, theirs, warm=True)
    ours_s, native_s = alternate([run, native], rounds)
    (rows_s,) = alternate([rows], max(1, rounds // 2), warm_ups=0)
    yield at_most(
        "recipe of 13 directives, 3 M rows", ours_s, "hand-written PySpark", native_s, 1.2
    )
    yield at_most("the same", ours_s, "row by row in Python", rows_s, 1)


def expectations(folder: Path, rounds: int) -> Iterator[Row]:
    """A recipe whose records are checked by rules and profiled, against the same run without both.

    Both settings have an instance of their own, whose host is warm: a host that finds another environment
    would be replaced by each command.
    """
    source = data.people_csv(folder / "people.csv", EXPECTATION_ROWS)
    output, bare = folder / "expectations-out", folder / "home-without-profiles"
    bare.mkdir(exist_ok=True)
    (bare / "localcdap.toml").write_text("engine.profiles = false\n", encoding="utf-8")
    rules = {"plain": [], "checked": list(pipelines.EXPECTATIONS), "unique": [pipelines.UNIQUE]}
    files = {}
    for name, each in rules.items():
        document = pipelines.recipe_pipeline(source, output)
        document["config"]["stages"][1]["expectations"] = each
        files[name] = pipelines.write(document, folder / f"expectations-{name}.json")
    theirs = folder / "expectations-theirs"
    script = _script("recipe_native.py", source, theirs, *pipelines.UNIQUE["columns"], warm=True)
    command = _localcdap(folder, "run", str(files["unique"]), output=output)
    with open_session(bare) as without, open_session(folder / "home") as session:
        plain = without.run(files["plain"], {}, remove(output))
        runs = [session.run(files[name], {}, remove(output)) for name in ("checked", "unique")]
        # The differences are small: twice as many turns.
        plain_s, checked_s, unique_s = alternate([plain, *runs], 2 * rounds, warm_ups=2)
        command_s, grouped_s = alternate([command, script], rounds)
    for name, ours_s in (("rules and profiles", checked_s), ("rule of uniqueness", unique_s)):
        yield at_most(f"{name}, 1 M rows", ours_s, "the run without", plain_s, 1.10)
    # Values are only unique among all of them: without this product, the data are read again and shuffled.
    yield at_most("the same by localcdap run", command_s, "groupBy by hand", grouped_s, 1.10)


def recipe_check(folder: Path, rounds: int) -> Iterator[Row]:  # noqa: ARG001
    """50 directives compiled and validated in a process that has done so before: what editing costs."""
    ours_s = checked_seconds(rounds)
    yield at_most("50 directives compiled, checked", ours_s, "10 ms", 0.010, 1.0)


def validate(folder: Path, rounds: int) -> Iterator[Row]:
    """A cold ``validate`` of 30 stages, against ``spark-pipelines dry-run`` of as many nodes."""
    source = data.sales_csv(folder / "small.csv", SMALL_ROWS)
    document = pipelines.long_pipeline(source, folder / "unused", transforms=28)
    file = pipelines.write(document, folder / "long.json")
    spec = _declarative_pipeline(folder / "declarative", nodes=30)
    dry_run = Command(
        "spark-pipelines dry-run",
        [str(Path(sys.executable).parent / "spark-pipelines"), "dry-run", "--spec", str(spec)],
        {"PYSPARK_PYTHON": sys.executable},
        remove(),
    )
    ours_s, theirs_s = alternate([_localcdap(folder, "validate", str(file)), dry_run], rounds)
    yield times_faster("validate 30 stages, cold", ours_s, "spark-pipelines dry-run", theirs_s, 20)


def _declarative_pipeline(folder: Path, nodes: int) -> Path:
    """A Spark Declarative Pipelines project of a chain of views. Returns its specification file."""
    sources = folder / "transformations"
    sources.mkdir(parents=True, exist_ok=True)
    views = ["CREATE MATERIALIZED VIEW v0 AS SELECT id, 'x' AS product FROM range(10);"]
    views += [
        f"CREATE MATERIALIZED VIEW v{n} AS SELECT id, product FROM v{n - 1};"
        for n in range(1, nodes)
    ]
    (sources / "views.sql").write_text("\n".join(views), encoding="utf-8")
    spec = folder / "spark-pipeline.yml"
    storage = (folder / "storage").resolve().as_uri()
    spec.write_text(
        f"name: long\nstorage: {storage}\nlibraries:\n  - glob:\n      include: transformations/**\n",
        encoding="utf-8",
    )
    return spec


ALL: Final = {
    "small_run": small_run,
    "demo": demo,
    "branches": branches,
    "relational": relational,
    "records": records,
    "recipe": recipe,
    "expectations": expectations,
    "recipe_check": recipe_check,
    "workspaces": workspaces,
    "validate": validate,
    "artifacts": artifacts,
    "editing": editing,
    "structured": structured,
    "datasets": datasets,
    "metadata": metadata,
    "lineage": lineage,
    "reports": reports,
    "rest": rest,
    "schedules": schedules,
    "analytics": analytics,
    "studio": studio,
}
