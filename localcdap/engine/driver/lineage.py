"""The field lineage of the stages of a run."""

from __future__ import annotations

import logging
from typing import Final

import msgspec

from localcdap.api.lineage import StageLineage
from localcdap.artifacts.loading import UsedPlugins
from localcdap.engine.driver.accesses import list_datasets, list_stage_places
from localcdap.engine.messages.flow import CONDITION, SINKS, SOURCE, Flow, Stage, create_configurer
from localcdap.engine.messages.spool import LineageTraced
from localcdap.engine.plan.contexts import RunContext
from localcdap.engine.plan.error_attribution import stage_scope
from localcdap.engine.plan.preparation import get_plugin
from localcdap.sandbox.stage_lineage import assume_lineage, pass_fields, record_lineage

_LOG: Final = logging.getLogger("localcdap.engine")


def trace_flow(flow: Flow, run: RunContext) -> LineageTraced:
    """Return the lineage of the stages of a phase, after its sinks have written."""
    return LineageTraced([_trace(stage, run) for stage in flow.stages], flow.connections)


def _trace(stage: Stage, run: RunContext) -> StageLineage:
    configurer = create_configurer(stage)
    configurer.find_plugin = UsedPlugins(stage.plugin.uses)
    configurer.find_table = run.find_table
    if stage.type == CONDITION:
        return pass_fields(stage.type, configurer)
    recorded = run.operations.get(stage.name, ())
    try:
        found = record_lineage(get_plugin(run, stage), stage.type, configurer, recorded)
    except (Exception, SystemExit) as error:
        with stage_scope(stage.name):
            _LOG.warning("The field lineage of stage '%s' is assumed: %s", stage.name, error)
        found = assume_lineage(stage.type, configurer)
    if stage.type not in (SOURCE, *SINKS):
        return found
    return msgspec.structs.replace(
        found,
        datasets=list(dict.fromkeys(list_datasets(stage, run))),
        places=list_stage_places(stage, run),
    )
