"""Choosing the plugin that a stage means, when several artifacts have one.

Order and choice are those of CDAP 6: artifacts are ordered by name, version and scope (SYSTEM below USER),
and the last one that the selector accepts is chosen.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from email.parser import HeaderParser
from pathlib import Path
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.failures import ArtifactId
from localcdap.artifacts.directories.identity import PROJECT_FILE, script_metadata
from localcdap.artifacts.model import (
    SYSTEM,
    USER,
    ArtifactSelector,
    PluginClass,
    PluginLookup,
    PluginRef,
)
from localcdap.artifacts.version import APPS, ArtifactVersion, VersionRange
from localcdap.text import nearest_names

_MOST_SUGGESTIONS: Final = 5


class Candidate(msgspec.Struct, frozen=True, eq=False):
    """A plugin of an artifact in use, with the path of its content."""

    artifact: ArtifactId
    version: ArtifactVersion
    path: str
    digest: str
    plugin: PluginClass
    apps: frozenset[str] = frozenset(APPS)
    """The names of the applications that can use it; usually all."""

    @property
    def ref(self) -> PluginRef:
        plugin = self.plugin
        return PluginRef(
            self.artifact, self.path, self.digest, plugin.type, plugin.name, plugin.class_name
        )

    @property
    def order(self) -> Any:
        """The sort key; the last candidate is chosen."""
        return artifact_order(self.artifact, self.version)


def artifact_order(artifact: ArtifactId, version: ArtifactVersion) -> Any:
    """Return the sort key of an artifact: name, version, scope."""
    return (artifact.name, version, artifact.scope == USER)


def choose(candidates: Iterable[Candidate], selector: ArtifactSelector) -> Candidate | None:
    """Return the highest candidate that the selector accepts.

    :raises BadRequestError: when scope or version of the selector cannot be read.
    """
    return max(narrow(candidates, selector), key=lambda candidate: candidate.order, default=None)


def narrow(candidates: Iterable[Candidate], selector: ArtifactSelector) -> Iterator[Candidate]:
    """Yield the candidates that the selector accepts.

    :raises BadRequestError: when scope or version of the selector cannot be read.
    """
    return filter(_SelectorFilter(selector), candidates)


def filter_usable(app: str, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield the candidates that an application can use."""
    return (candidate for candidate in candidates if app in candidate.apps)


def look_up(
    candidates: Sequence[Candidate],
    names: Iterable[str],
    name: str,
    selector: ArtifactSelector,
) -> PluginLookup:
    """Choose among the plugins of one type and name.

    :param names: the names of all plugins of that type, for suggestions.
    :raises BadRequestError: when scope or version of the selector cannot be read.
    """
    chosen = choose(candidates, selector)
    if chosen is not None:
        return PluginLookup(chosen.ref)
    if candidates:
        return PluginLookup(None, suggested=max(candidates, key=_get_version_key).ref)
    return PluginLookup(None, nearest=nearest_names(name, names, _MOST_SUGGESTIONS))


class _SelectorFilter:
    """The condition that a selector puts on artifacts."""

    def __init__(self, selector: ArtifactSelector) -> None:
        self._scope = _parse_scope(selector.scope) if selector.scope else None
        self._name = selector.name or None
        self._range = VersionRange.parse(selector.version) if selector.version else None

    def __call__(self, candidate: Candidate) -> bool:
        artifact = candidate.artifact
        return (
            (self._scope is None or artifact.scope == self._scope)
            and (self._name is None or artifact.name == self._name)
            and (self._range is None or candidate.version in self._range)
        )


def _parse_scope(text: str) -> str:
    scope = text.strip().upper()
    if scope not in (SYSTEM, USER):
        raise BadRequestError(
            f"Could not parse '{text}' as a valid scope.", f"Use {SYSTEM} or {USER}."
        )
    return scope


def _get_version_key(candidate: Candidate) -> Any:
    return (candidate.version, candidate.artifact.name, candidate.artifact.scope == USER)


_DISTRIBUTIONS: Final = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "jwt": "PyJWT",
    "magic": "python-magic",
    "PIL": "pillow",
    "py_mini_racer": "mini-racer",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}
"""Distributions whose name differs from the module that they install."""
_EXTRAS: Final = {
    "cramjam": "compression",
    "jsonschema_rs": "standards",
    "openpyxl": "excel",
    "py_mini_racer": "javascript",
    "python_calamine": "excel",
    "sklearn": "sklearn",
    "sqlglot": "bigquery",
    "ua_parser": "user-agents",
}
"""The extras of localcdap that install the libraries of some shipped plugins."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def install_command(module: str, place: Path) -> str:
    """Return the command that installs a module, guessed from its name and the artifact's requirements.

    :param place: a ``.py`` file or a folder.
    """
    guess = _guess_distribution(module)
    for requirement in _read_requirements(place):
        match = _NAME.match(requirement)
        if match is not None and _normalize(match[0]) == _normalize(guess):
            return f"pip install {shlex.quote(requirement.partition(';')[0].strip())}"
    extra = _EXTRAS.get(module.partition(".")[0])
    return f"pip install {guess}" if extra is None else f"pip install 'localcdap[{extra}]'"


def _guess_distribution(module: str) -> str:
    top, *rest = module.split(".")
    if top != "google":
        return _DISTRIBUTIONS.get(top, top)
    # Many distributions share the module google, one for each service.
    service = rest[1].replace("_", "-") if len(rest) > 1 else "<service>"
    return f"google-cloud-{service}"


def _normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _read_requirements(place: Path) -> Iterator[str]:
    """Yield the requirements of an artifact; nothing when they cannot be read."""
    try:
        yield from _read(place)
    except (OSError, ValueError, RecursionError, BadRequestError):
        return


def _read(place: Path) -> Iterator[str]:
    if place.is_file():
        yield from _list_texts(script_metadata(place).get("dependencies"))
        return
    if (place / PROJECT_FILE).is_file():
        document = tomllib.loads((place / PROJECT_FILE).read_text(encoding="utf-8"))
        project = document.get("project")
        yield from _list_texts(project.get("dependencies") if isinstance(project, dict) else None)
    for file in place.glob("*.dist-info/METADATA"):
        headers = HeaderParser().parsestr(file.read_text(encoding="utf-8"))
        yield from _list_texts(headers.get_all("Requires-Dist"))


def _list_texts(values: Any) -> Iterator[str]:
    if isinstance(values, list):
        yield from (value for value in values if isinstance(value, str))
