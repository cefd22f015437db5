"""Which folders the sinks of a pipeline replace: no two may write to one, or one below another's.

A run gives all folders their names together, at its end, and Hadoop refuses an output folder that exists, too
(``FileOutputFormat.checkOutputSpecs``). So this is checked as soon as the paths are known: at
validation, and for paths with macros at the start of the run.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable

from localcdap.api.errors import StageError
from localcdap.api.failures import ValidationFailure
from localcdap.api.locations import Locations, is_inside
from localcdap.pipeline.document.model import create_structural_failure
from localcdap.pipeline.rules.graph import Graph
from localcdap.pipeline.validation.stage_configuration import ConfiguredStage

_ACTION = "Give each sink a folder of its own, which is not inside that of another one."


def check_written_folders(
    graph: Graph, outcomes: Iterable[ConfiguredStage], locations: Locations | None
) -> list[ValidationFailure]:
    """Return a failure for both of two stages that a run would have replace one folder, or parts of it.

    :param locations: maps paths to folders; None: paths are compared as they are written.
    """
    written = [
        (outcome.stage.name, name, path, _find_folder(path, locations))
        for outcome in outcomes
        for name, paths in outcome.result.written_folders.items()
        for path in paths
    ]
    failures = []
    for pair in itertools.combinations(written, 2):
        (one, _, _, folder), (other, _, _, second) = pair
        if one == other or graph.are_alternatives(one, other):
            continue
        if not (is_inside(folder, second) or is_inside(second, folder)):
            continue
        for (stage, name, path, mine), (with_stage, _, its_path, its) in (pair, pair[::-1]):
            how = "contains" if is_inside(its, mine) else "is inside"
            message = (
                f"Stages '{stage}' and '{with_stage}' both write to the folder '{path}'."
                if mine == its
                else f"The folder '{path}' {how} '{its_path}', to which stage '{with_stage}' writes."
            )
            failures.append(create_structural_failure(message, _ACTION, stage=stage, property=name))
    return failures


def _find_folder(path: str, locations: Locations | None) -> str:
    try:
        found = path if locations is None else locations.resolve(path)
    except (
        StageError
    ):  # without a location, of which the stage has a failure, or a folder of a dataset
        found = path
    return os.path.realpath(found) if found.startswith("/") else found.rstrip("/")
