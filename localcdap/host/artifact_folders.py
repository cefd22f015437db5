"""The plugin folders of namespaces, as a resource that goes with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from localcdap.artifacts.directories.trash import move_folders_to_trash
from localcdap.artifacts.service import ArtifactService
from localcdap.namespaces.resources import NamespaceResource


def make_artifact_resource(
    artifacts: ArtifactService, directories: Sequence[Path], trash: Path
) -> NamespaceResource:
    """Return the resource that moves the plugin folders of a deleted namespace to the trash."""

    def remove_files(namespace: str, generation: int) -> Sequence[str]:
        kept = move_folders_to_trash(directories, namespace, trash / f"{namespace}-{generation}")
        artifacts.sync()
        return kept

    return NamespaceResource("plugin folders", remove_files=remove_files)
