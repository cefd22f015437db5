"""Warnings about the names of properties: unknown ones, and those that Data Fusion ignores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from localcdap.api.config import PluginProperty
from localcdap.api.errors import BadRequestError
from localcdap.api.failures import ADDED_PROPERTY, UNKNOWN_PROPERTY, Cause, ValidationFailure
from localcdap.pipeline.document.model import StageUse
from localcdap.pipeline.validation.plugins import PluginFinder
from localcdap.text import nearest_names


def find_name_warnings(
    stage: StageUse, declared: Mapping[str, PluginProperty]
) -> list[ValidationFailure]:
    """Return the warnings about the names of the properties that a stage sets.

    CDAP ignores undeclared properties silently, so that a misspelt optional property goes unnoticed. A
    property with an empty value gets no warning.

    :param declared: the properties of the plugin by name.
    """
    ignored = list(_find_ignored(stage, declared))
    names = declared.keys() | {warning.field for warning in ignored}
    unknown = [
        name for name, value in stage.plugin.properties.items() if value and name not in names
    ]
    return [*(_create_unknown_name_warning(stage, name, declared) for name in unknown), *ignored]


def find_ignored_properties(
    stages: Iterable[StageUse], finder: PluginFinder
) -> list[ValidationFailure]:
    """Return the warnings about properties that have an effect here and that Data Fusion ignores.

    No code of plugins runs. A stage whose plugin is not installed has no warnings.
    """
    warnings: list[ValidationFailure] = []
    for stage in stages:
        try:
            plugin = finder.find(stage.name, stage.plugin).plugin
        except BadRequestError:  # an invalid artifact, which validation reports
            continue
        if plugin is not None:
            warnings += _find_ignored(stage, finder.properties(plugin))
    return warnings


def _find_ignored(
    stage: StageUse, declared: Mapping[str, PluginProperty]
) -> Iterator[ValidationFailure]:
    """Yield a warning for each former name, and for each addition whose value is not its default."""
    present = {
        former: name for name, info in declared.items() for former in info.former_names or ()
    }
    for name, value in stage.plugin.properties.items():
        info = declared.get(name)
        if value and info is None and name in present:
            yield _create_warning(
                stage,
                name,
                f"'{name}' is a former name of the property '{present[name]}' of plugin "
                f"'{stage.plugin.name}'. It has an effect here, and Data Fusion ignores it.",
                f"Did you mean '{present[name]}'?",
            )
        elif info is not None and info.addition and not info.is_default(value):
            yield _create_warning(
                stage,
                name,
                f"Data Fusion ignores the property '{name}': its plugin '{stage.plugin.name}' has no such "
                f"property. {info.addition}",
                "Remove it if the pipeline must do the same in Data Fusion.",
                ADDED_PROPERTY,
            )


def _create_unknown_name_warning(
    stage: StageUse, name: str, declared: Mapping[str, PluginProperty]
) -> ValidationFailure:
    near = nearest_names(name, declared.keys() - stage.plugin.properties.keys(), limit=5)
    action = "Remove it, unless it is meant for another version of the plugin."
    return _create_warning(
        stage,
        name,
        f"Plugin '{stage.plugin.name}' has no property '{name}'; it is ignored.",
        f"Did you mean '{near[0]}'?" if near else action,
    )


def _create_warning(
    stage: StageUse, name: str, message: str, action: str, type: str = UNKNOWN_PROPERTY
) -> ValidationFailure:
    cause = Cause({"stageConfig": name})
    return ValidationFailure(type, message, action, [cause], stage=stage.name, field=name)
