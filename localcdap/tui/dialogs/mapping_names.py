"""The names that the mappings of a schedule complete, and how they are completed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.suggester import Suggester

from localcdap.api.errors import LocalcdapError
from localcdap.host.cdap import Cdap
from localcdap.pipeline.document.reader import read_document
from localcdap.schedules.texts import parse_run_trigger


@dataclass(frozen=True)
class MappingNames:
    """The names in the mappings of a schedule.

    :param targets: the arguments that the pipeline takes.
    :param arguments: those of the pipelines whose runs trigger it.
    :param properties: of the stages of those pipelines, such as ``Sink.path``.
    """

    targets: Sequence[str]
    arguments: Sequence[str]
    properties: Sequence[str]


class PairSuggester(Suggester):
    """Completes the last of the pairs in a field: first the target, after ``=`` the source."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self.targets: Sequence[str] = ()
        self.sources: Sequence[str] = ()

    async def get_suggestion(self, value: str) -> str | None:
        pair = value.rpartition(",")[2].lstrip()
        target, equals, source = pair.partition("=")
        known = self.sources if equals else [f"{each}=" for each in self.targets]
        typed = source if equals else target
        found = next((each for each in known if each.startswith(typed) and each != typed), None)
        return None if found is None else value[: len(value) - len(typed)] + found


def read_mapping_names(
    cdap: Cdap, namespace: str, pipeline: str, triggers: Sequence[str]
) -> MappingNames:
    """Read the names in the documents of a pipeline and of those whose runs trigger it.

    :param triggers: as :func:`parse_run_trigger` reads them; one of a pipeline that is not deployed gives no
        names.
    """
    arguments: dict[str, None] = {}
    properties: dict[str, None] = {}
    for each in triggers:
        program = parse_run_trigger(each, namespace).program_id
        names, found = _read_names(cdap, program.namespace, program.application)
        arguments |= dict.fromkeys(names)
        properties |= dict.fromkeys(found)
    targets, _ = _read_names(cdap, namespace, pipeline)
    return MappingNames(targets, list(arguments), list(properties))


def _read_names(cdap: Cdap, namespace: str, pipeline: str) -> tuple[list[str], list[str]]:
    """Return the arguments of a deployed pipeline, and the properties of its stages."""
    try:
        text = cdap.applications.export(namespace, pipeline)
        arguments = cdap.runs.get_arguments(namespace, text, pipeline).arguments
        stages = read_document(text).stages
    except LocalcdapError:
        return [], []
    properties = [f"{each.name}.{name}" for each in stages for name in each.plugin.properties]
    return [each.name for each in arguments], properties
