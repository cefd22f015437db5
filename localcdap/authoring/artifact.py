"""Writes a new artifact: whole, or not at all."""

from __future__ import annotations

import contextlib
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from localcdap.api.errors import BadRequestError, ConflictError
from localcdap.authoring.names import Names

_TEMPLATES: Final = Path(__file__).parent / "templates"
_MARK: Final = re.compile(r"\{\{(\w+)\}\}")


def plugin_types() -> list[str]:
    """The plugin types that there are templates for."""
    return sorted(folder.name for folder in _TEMPLATES.iterdir() if folder.is_dir())


def write_artifact(names: Names, type: str, directory: Path) -> Path:
    """Write an artifact with one plugin, its documentation and its tests into a folder of its own.

    The folder appears with all that is in it. When the process is killed before, a hidden folder may be
    left, which nobody takes for an artifact.

    :param type: one of :func:`plugin_types`.
    :param directory: where its folder will lie; made when it is not there.
    :returns: the folder.
    :raises ConflictError: when there is something of that name.
    :raises BadRequestError: when it cannot be written.
    """
    target = directory / names.artifact
    texts = _texts(names, type)
    try:
        if target.exists() or target.is_symlink():
            raise _taken(target)
        directory.mkdir(parents=True, exist_ok=True)
        with _draft(directory, names.artifact) as draft:
            for name, text in texts.items():
                file = draft / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            _appear(draft, target)
    except OSError as error:
        raise BadRequestError(
            f"{target} cannot be written: {error.strerror or error}.",
            "Choose another folder with --directory.",
        ) from error
    return target


def _texts(names: Names, type: str) -> dict[str, str]:
    """The text of each file, by its name inside the artifact."""
    values = {
        "name": names.plugin,
        "class": names.cls,
        "module": names.module,
        "package": names.package,
        "artifact": names.artifact,
        "type": type,
    }
    templates = {
        "pyproject.toml": "pyproject.toml",
        f"{names.package}/__init__.py": "__init__.py",
        f"{names.package}/{names.module}.py": f"{type}/plugin.py",
        f"docs/{names.plugin}-{type}.md": f"{type}/docs.md",
        f"tests/test_{names.module}.py": f"{type}/test.py",
    }
    return {file: _filled(template, values) for file, template in templates.items()}


def _filled(template: str, values: Mapping[str, str]) -> str:
    text = (_TEMPLATES / f"{template}.template").read_text(encoding="utf-8")
    return _MARK.sub(lambda mark: values[mark[1]], text)


@contextlib.contextmanager
def _draft(directory: Path, name: str) -> Iterator[Path]:
    """A hidden folder beside the one it is to become; what is left of it at the end is removed."""
    draft = directory / f".{name}-{secrets.token_hex(4)}"
    draft.mkdir()
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _appear(draft: Path, target: Path) -> None:
    try:
        draft.rename(target)
    except OSError as error:
        if target.exists():  # another one was faster
            raise _taken(target) from error
        raise


def _taken(target: Path) -> ConflictError:
    return ConflictError(
        f"{target} exists already.", "Choose another name, or another folder with --directory."
    )
