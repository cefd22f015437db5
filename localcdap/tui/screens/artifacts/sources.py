"""The file in which a plugin is written."""

from __future__ import annotations

from pathlib import Path


def source_of(artifact: str, class_name: str) -> Path | None:
    """The file to open in an editor; None for a wheel, which has none.

    :param artifact: where the artifact lies.
    :param class_name: ``package.module.Class``; empty for the artifact itself.
    """
    path = Path(artifact)
    if not path.is_dir():
        return path if path.suffix == ".py" and path.is_file() else None
    module = class_name.rpartition(".")[0].replace(".", "/")
    for root in (path, path / "src"):
        for file in (root / f"{module}.py", root / module / "__init__.py"):
            if module and file.is_file():
                return file
    project = path / "pyproject.toml"
    return project if project.is_file() else None
