"""The namespaces, as far as artifacts depend on them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import msgspec

from localcdap.artifacts.catalog import Catalog
from localcdap.artifacts.model import ArtifactDetail


class Namespaces(Protocol):
    """Knows which namespaces there are."""

    def require(self, name: str) -> None:
        """:raises NotFoundError: when it does not exist; the message lists those that do."""

    def exists(self, name: str) -> bool: ...


class AnyNamespace:
    """Where namespaces do not matter: each exists."""

    def require(self, name: str) -> None: ...

    def exists(self, name: str) -> bool:
        return True


def list_orphaned_artifacts(catalog: Catalog, namespaces: Namespaces) -> Iterator[ArtifactDetail]:
    """The artifacts in sub-folders of plugin directories that are no namespace, each with that error."""
    for detail in catalog.details:
        if not namespaces.exists(detail.namespace):
            error = (
                f"Nobody sees this artifact: there is no namespace '{detail.namespace}'. "
                f"Create it: localcdap namespaces create {detail.namespace}"
            )
            yield msgspec.structs.replace(
                detail, error="\n".join(text for text in (error, detail.error) if text)
            )
