"""Configures a stage as the studio does, but in this process."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from localcdap.api.errors import InvalidPipelineError
from localcdap.api.failures import ValidationFailure
from localcdap.api.locations import Locations
from localcdap.api.schema import Schema
from localcdap.api.stage import FindTable
from localcdap.artifacts.loading import load_plugin
from localcdap.artifacts.model import PluginRef
from localcdap.pipeline.document.model import PluginUse, StageUse
from localcdap.pipeline.macros.evaluation import MacroContext
from localcdap.pipeline.macros.parser import create_macro_functions
from localcdap.pipeline.validation.plugins import PinnedPlugins
from localcdap.pipeline.validation.stage_configuration import (
    ConfiguredStage,
    StageConfiguration,
    StagePosition,
)
from localcdap.sandbox.stage_configuration import configure_stage

START: Final = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
"""The logical start time in tests."""


def validate_stage(
    name: str,
    ref: PluginRef,
    properties: Mapping[str, str],
    inputs: Mapping[str, Schema | None],
    *,
    ports: Sequence[str] = (),
    arguments: Mapping[str, str] | None = None,
    runtime: bool = False,
    locations: Locations | None = None,
    find_table: FindTable | None = None,
) -> ConfiguredStage:
    """Configure one stage.

    :param ports: the connected ports of a splitter.
    :param arguments: the values of macros.
    :param runtime: whether every macro must have a value, as in a run.
    :param locations: when given, ``configure_connected`` is called too.
    :param find_table: returns tables for ``configure_connected``; there are none by default.
    """
    start = int(START.timestamp() * 1000)
    configure = StageConfiguration(
        PinnedPlugins({name: ref}, load_plugin),
        partial(configure_stage, find_table=find_table, in_run=runtime),
        MacroContext(arguments, create_macro_functions(start), runtime=runtime),
        locations=locations,
    )
    use = StageUse(name, PluginUse(ref.type, ref.name, dict(properties)))
    return configure(use, dict(inputs), StagePosition(list(ports)))


def raise_failures(failures: Sequence[ValidationFailure]) -> None:
    """Raise the failures of a stage.

    :raises InvalidPipelineError: when there are any.
    """
    if failures:
        raise InvalidPipelineError(
            " ".join(failure.full_message for failure in failures),
            failures=[msgspec.to_builtins(failure) for failure in failures],
        )
