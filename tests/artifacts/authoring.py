"""Writes small real artifacts."""

from __future__ import annotations

import zipfile
from pathlib import Path
from textwrap import dedent

PLUGIN = """
from localcdap.api import PluginConfig, Transform, capability, field, plugin

@plugin(type="transform", name="{name}", description="{description}")
class {name}(Transform):
    class Config(PluginConfig):
        fields: list[str] = field(description="Fields to hash.", macro=True)
        digest: str = field(description="Digest.", default="MD5", choices=["MD5", "SHA256"])

    def transform(self, record, emit):
        emit(record)
"""


def source(name: str = "Hasher", description: str = "Hashes fields.") -> str:
    return PLUGIN.format(name=name, description=description)


def write(path: Path, text: str) -> Path:
    """Write a file whose text is indented like the code around it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text), encoding="utf-8")
    return path


def project(folder: Path, name: str, version: str, files: dict[str, str]) -> Path:
    """Write a folder artifact."""
    write(folder / "pyproject.toml", f'[project]\nname = "{name}"\nversion = "{version}"\n')
    for file, text in files.items():
        write(folder / file, text)
    return folder


def wheel(path: Path, name: str, version: str, files: dict[str, str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, dedent(text))
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        archive.writestr(f"{name}-{version}.dist-info/METADATA", metadata)
    return path


def capable(name: str, declaration: str) -> str:
    """Source of a plugin with ``@capability`` declarations, one a line."""
    text = source(name).replace("@plugin", f"{declaration}\n@plugin")
    return text.replace("import PluginConfig", "import Capabilities, PluginConfig")
