"""The test kit for authors of plugins and system applications.

A stage without Spark (:class:`StageTester`), a stage or a pipeline on Spark (:func:`run_stage`,
:class:`PipelineTester`), a connector (:class:`ConnectorTester`), an application without processes
(:class:`AppTester`), a dataset type (:class:`DatasetTester`), a format of files (:class:`FormatTester`), and
a whole instance (:class:`TemporaryInstance`). Installing localcdap registers the fixtures of
:mod:`localcdap.testing.fixtures` with pytest.

>>> from localcdap.testing import StageTester
>>> stage = StageTester(Shout, {"field": "name"}, PEOPLE)    # doctest: +SKIP
>>> stage.problems, stage.output_schema                      # doctest: +SKIP
>>> stage.run([{"name": "ada"}]).records                     # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from localcdap.moved import get_moved_name

if TYPE_CHECKING:
    from localcdap.testing.apps import AppTester
    from localcdap.testing.connectors import ConnectorTester
    from localcdap.testing.formats import FormatTester
    from localcdap.testing.instance import DatasetTester, TemporaryInstance
    from localcdap.testing.pipeline import PipelineTester, StageRun, run_stage
    from localcdap.testing.records import StageOutput, TableData
    from localcdap.testing.references import artifact_ref, plugin_ref
    from localcdap.testing.stage import StageTester

__all__ = [
    "AppTester",
    "ConnectorTester",
    "DatasetTester",
    "FormatTester",
    "PipelineTester",
    "StageOutput",
    "StageRun",
    "StageTester",
    "TableData",
    "TemporaryInstance",
    "artifact_ref",
    "plugin_ref",
    "run_stage",
]

_MODULES: Final = {
    "AppTester": "apps",
    "ConnectorTester": "connectors",
    "DatasetTester": "instance",
    "FormatTester": "formats",
    "PipelineTester": "pipeline",
    "StageOutput": "records",
    "StageRun": "pipeline",
    "StageTester": "stage",
    "TableData": "records",
    "TemporaryInstance": "instance",
    "artifact_ref": "references",
    "plugin_ref": "references",
    "run_stage": "pipeline",
}


def __getattr__(name: str) -> Any:
    # pytest imports this package in every environment that has localcdap, mostly without using it.
    if name not in _MODULES:
        return get_moved_name(__name__, name)
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
