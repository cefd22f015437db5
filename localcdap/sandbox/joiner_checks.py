"""The checks of a joiner that declares which stages it joins (CDAP 6 ``AutoJoiner``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from localcdap.api.stage import StageConfigurer

_ACTION: Final = "Check with the plugin developer to make sure it is implemented correctly."


def check_joined(stage: StageConfigurer) -> None:
    """Add failures for inputs that a joiner leaves out, and for joined stages that are not inputs."""
    joined = stage.joined_stages
    if joined is None:
        return
    missing = [name for name in stage.input_schemas if name not in joined]
    extra = [name for name in joined if name not in stage.input_schemas]
    if missing:
        stage.failures.add(
            f"Joiner stage '{stage.name}' did not include input stage{_list(missing)} in the join.",
            _ACTION,
        )
    if extra:
        is_are = "is not an input" if len(extra) == 1 else "are not inputs"
        stage.failures.add(
            f"Joiner stage '{stage.name}' is trying to join stage{_list(extra)}, which {is_are}.",
            _ACTION,
        )


def _list(names: Iterable[str]) -> str:
    listed = list(names)
    return f"{'s' if len(listed) > 1 else ''} {', '.join(listed)}"
