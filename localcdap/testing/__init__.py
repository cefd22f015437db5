"""The kit for the authors of plugins and system applications: a stage without Spark, a pipeline on Spark,
an application without processes, a whole instance.

Installing localcdap makes the fixtures of :mod:`localcdap.testing.fixtures` known to pytest.

>>> from localcdap.testing import StageTester
>>> stage = StageTester(Shout, {"field": "name"}, PEOPLE)    # doctest: +SKIP
>>> stage.problems, stage.output_schema                      # doctest: +SKIP
>>> stage.run([{"name": "ada"}]).records                     # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from localcdap.testing.apps import AppTester
    from localcdap.testing.instance import TemporaryInstance
    from localcdap.testing.output import StageOutput
    from localcdap.testing.pipeline import PipelineTester
    from localcdap.testing.references import artifact_ref, plugin_ref
    from localcdap.testing.single import StageRun, run_stage
    from localcdap.testing.stage import StageTester
    from localcdap.testing.tables import GivenTable

__all__ = [
    "AppTester",
    "GivenTable",
    "PipelineTester",
    "StageOutput",
    "StageRun",
    "StageTester",
    "TemporaryInstance",
    "artifact_ref",
    "plugin_ref",
    "run_stage",
]

_MODULES: Final = {
    "AppTester": "apps",
    "GivenTable": "tables",
    "PipelineTester": "pipeline",
    "StageOutput": "output",
    "StageRun": "single",
    "StageTester": "stage",
    "TemporaryInstance": "instance",
    "artifact_ref": "references",
    "plugin_ref": "references",
    "run_stage": "single",
}


def __getattr__(name: str) -> Any:
    # Every pytest of an environment that has localcdap imports this package; most need nothing of it.
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
