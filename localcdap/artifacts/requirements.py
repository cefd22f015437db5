"""The command that installs a missing module of an artifact, from its declared requirements if possible."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path
from typing import Any, Final

from localcdap.api.errors import BadRequestError
from localcdap.artifacts.directories.identity import PROJECT_FILE, script_metadata

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
