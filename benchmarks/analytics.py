"""The training of models through the application, against the same PySpark ML script."""

from __future__ import annotations

import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from benchmarks import data
from benchmarks.measure import Command, Row, at_most, remove, within

ROWS: Final = 1_000_000
_REFERENCE: Final = Path(__file__).parent / "references" / "train.py"
_SPLIT_LIMIT_S: Final = 120.0
_LOOK_LIMIT_S: Final = 2.0
_SAMPLE: Final = 1000
"""Records of which a first look is taken."""
_SCRIPT: Final = "PySpark ML script, warm server"
_CONTEXT: Final = "/v2/contexts/default"
_TYPES: Final = {
    **{f"n{number}": "double" for number in range(data.NUMBERS)},
    **dict.fromkeys(("channel", "region", "outcome"), "string"),
}
_SCHEMA: Final = {
    "type": "record",
    "name": "person",
    "fields": [{"name": name, "type": [type, "null"]} for name, type in _TYPES.items()],
}


def analytics(folder: Path, rounds: int) -> Iterator[Row]:
    """A first look; a split with its statistics; then trainings: features, fit, evaluation and saving."""
    from localcdap.home import Home
    from localcdap.host import open_in_process

    home = folder / "analytics-home"
    shutil.rmtree(home, ignore_errors=True)
    file = data.outcomes_parquet(folder / "outcomes.parquet", ROWS)
    looks = [_take_look(home, file) for _ in range(rounds + 1)]  # the first one compiles modules
    yield within("first look at a model, cold", statistics.median(looks[1:]), _LOOK_LIMIT_S)
    with open_in_process(Home(home)) as cdap:
        split, seconds = _split(cdap, file)
        yield within(f"split and statistics of {ROWS:,} rows", seconds, _SPLIT_LIMIT_S)
        paths = split["trainingPath"], split["testPath"]
        for algorithm, name in (
            ("logistic.regression", "logistic regression"),
            ("random.forest.classifier", "random forest"),
        ):
            target = folder / "model-theirs"
            script = Command(
                "python train.py",
                [sys.executable, str(_REFERENCE), *paths, str(target), algorithm],
                {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_CONNECT_REUSE": "1"},
                remove(target),
            )
            ours, theirs = [], []
            for _ in range(rounds + 1):  # the first turn is a warm-up
                ours.append(_train(cdap, split["id"], algorithm))
                theirs.append(script.seconds())
            own, other = statistics.median(ours[1:]), statistics.median(theirs[1:])
            yield at_most(f"{name}, {ROWS:,} rows", own, _SCRIPT, other, 1.15)


def _take_look(home: Path, file: Path) -> float:
    """Return the seconds of a first look by an application that was not used before: its process imports
    scikit-learn.
    """
    from localcdap.home import Home
    from localcdap.host import open_in_process

    sample = pq.ParquetFile(file).read_row_group(0).slice(0, _SAMPLE)
    body = {
        "outcome": "outcome",
        "outcomeType": "string",
        "algorithm": "random.forest.classifier",
        "schema": _SCHEMA,
        "records": sample.to_pylist(),
    }
    with open_in_process(Home(home)) as cdap:
        start = time.perf_counter()
        _send(cdap, "POST", f"{_CONTEXT}/looks", body)
        return time.perf_counter() - start


def _split(cdap: Any, file: Path) -> tuple[Any, float]:
    """Make an experiment and its split; return the split, and the seconds that it took."""
    outcome = {"srcpath": str(file), "outcome": "outcome", "outcomeType": "string"}
    _call(cdap, "PUT", "", outcome)
    body = {"type": "random", "params": {"seed": "1"}, "directives": [], "schema": _SCHEMA}
    start = time.perf_counter()
    id = _call(cdap, "POST", "/splits", body)["id"]
    _wait(cdap)
    split = _call(cdap, "GET", f"/splits/{id}")
    if split["status"] != "Complete":
        raise RuntimeError(f"the split failed: {split['error']}")
    return split, time.perf_counter() - start


def _train(cdap: Any, split: str, algorithm: str) -> float:
    """Return the seconds from the request until the model is TRAINED."""
    id = _call(cdap, "POST", "/models", {"name": "m", "split": split})["id"]
    start = time.perf_counter()
    _call(cdap, "POST", f"/models/{id}/train", {"algorithm": algorithm})
    _wait(cdap)
    seconds = time.perf_counter() - start
    model = _call(cdap, "GET", f"/models/{id}")
    if model["status"] != "Trained":
        raise RuntimeError(f"the training failed: {model['error']}")
    _call(cdap, "DELETE", f"/models/{id}")
    return seconds


def _wait(cdap: Any) -> None:
    newest = cdap.jobs.list_jobs("default")[0]
    ended = cdap.jobs.wait(newest.id, 600)
    if ended.status != "COMPLETED":
        raise RuntimeError(f"the job failed: {ended.error}")


def _call(cdap: Any, method: str, path: str, body: Any = None) -> Any:
    return _send(cdap, method, f"{_CONTEXT}/experiments/e{path}", body)


def _send(cdap: Any, method: str, path: str, body: Any) -> Any:
    from localcdap.apps.model import AppRequest

    request = AppRequest(method, path, {}, body)
    answer = cdap.apps.call("ModelManagementApp", request)
    if answer.status != 200:
        raise RuntimeError(f"{method} {path}: {answer.status} {answer.body}")
    return answer.body
