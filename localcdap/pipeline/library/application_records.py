"""The table of applications in the instance's database."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from localcdap.api.errors import NotFoundError
from localcdap.api.failures import ArtifactId
from localcdap.api.pipeline import PipelineSpec
from localcdap.api.serialization.value_types import decode_schema, encode_schema
from localcdap.decoders import decode_json
from localcdap.pipeline.library.application_model import (
    LATEST,
    Application,
    ApplicationFilter,
    ChangeDetail,
    NameMatch,
)
from localcdap.store.store import Transaction
from localcdap.text import format_available

_COLUMNS: Final = (
    "a.namespace, a.name, a.version, a.number, a.description, a.artifact, a.author, a.change, "
    "a.created"
)
_MOST: Final = 2**31 - 1
"""A limit that no list reaches."""
_OF_ALL: Final = "FROM applications a WHERE a.namespace = ?"
_OF_ONE: Final = f"{_OF_ALL} AND a.name = ?"


def add(tx: Transaction, application: Application, document: str, spec: PipelineSpec) -> None:
    """Store a version with the text of its document and its specification."""
    change = application.change
    tx.execute(
        "INSERT INTO applications VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            application.namespace,
            application.name,
            application.number,
            application.version,
            application.description,
            msgspec.json.encode(application.artifact).decode(),
            document,
            change.author,
            change.description,
            change.creation_time_millis,
            msgspec.json.encode(spec, enc_hook=encode_schema).decode(),
        ),
    )


def list_versions(tx: Transaction, namespace: str, name: str) -> list[Application]:
    """Return the versions of an application, newest first; none when there is no such application."""
    rows = tx.execute(f"SELECT {_COLUMNS} {_OF_ONE} ORDER BY a.number DESC", (namespace, name))
    return [_read_application(row, is_latest=not place) for place, row in enumerate(rows)]


def list_latest(tx: Transaction, namespace: str) -> list[Application]:
    """Return the latest version of each application, by name."""
    return list_page(tx, namespace, ApplicationFilter(), None, _MOST)


_MATCHES: Final = {
    NameMatch.CONTAINS: " AND contains(lower(name), ?)",
    NameMatch.EQUALS: " AND name = ?",
    NameMatch.EQUALS_IGNORE_CASE: " AND lower(name) = ?",
}


def list_page(
    tx: Transaction, namespace: str, filter: ApplicationFilter, after: str | None, limit: int
) -> list[Application]:
    """Return the latest versions of applications that match a filter, those after the name ``after``."""
    comparison, order = ("<", "DESC") if filter.is_descending else (">", "ASC")
    of_names, params = "WHERE namespace = ?", list[Any]([namespace])
    if after is not None:
        of_names += f" AND name {comparison} ?"
        params.append(after)
    if filter.name:
        of_names += _MATCHES[filter.match]
        params.append(filter.name if filter.match is NameMatch.EQUALS else filter.name.lower())
    page = f"ORDER BY name {order} LIMIT {int(limit)}"
    of_artifacts, asked = _build_artifact_condition(filter)
    if not asked and limit < _MOST:
        found = _read_first(tx, f"{of_names} ORDER BY name {order}, number DESC", params, limit)
        if found is not None:
            return found
    # Without a condition on artifacts, only the applications of the page are looked up.
    latest = f"SELECT name, max(number) AS number FROM applications {of_names} GROUP BY name"  # noqa: S608
    latest += "" if asked else f" {page}"
    rows = tx.execute(
        f"SELECT {_COLUMNS} FROM applications a JOIN ({latest}) b "  # noqa: S608
        f"ON a.name = b.name AND a.number = b.number WHERE a.namespace = ?{of_artifacts} "
        f"{page.replace('name', 'a.name')}",
        (*params, namespace, *asked),
    )
    return [_read_application(row, is_latest=True) for row in rows]


def _read_first(
    tx: Transaction, of_names: str, params: Sequence[Any], limit: int
) -> list[Application] | None:
    """Return the latest versions among the first rows of applications, which takes a third of the time that a
    query for latest versions takes; None when there are too many older versions among these rows.
    """
    rows = tx.execute(
        f"SELECT {_COLUMNS} FROM applications a {of_names} LIMIT {int(limit)}",  # noqa: S608
        params,
    )
    newest: dict[str, Sequence[Any]] = {}
    for row in rows:
        newest.setdefault(row[1], row)
    if len(rows) == limit and len(newest) < limit:
        return None
    return [_read_application(row, is_latest=True) for row in newest.values()]


def _build_artifact_condition(filter: ApplicationFilter) -> tuple[str, list[Any]]:
    """Return the SQL of a condition on artifacts, which begins with AND, and its parameters."""
    where, params = "", list[Any]()
    if filter.artifact_names:
        where += " AND list_contains(?::VARCHAR[], json_extract_string(a.artifact, '$.name'))"
        params.append(filter.artifact_names)
    if filter.artifact_version:
        where += " AND json_extract_string(a.artifact, '$.version') = ?"
        params.append(filter.artifact_version)
    return where, params


def find(tx: Transaction, namespace: str, name: str, version: str | None = None) -> Application:
    """Return a version by its id, a prefix of the id, its number, ``latest`` or ``-SNAPSHOT``.

    :raises NotFoundError: when there is none, or several; the message lists the versions.
    """
    known = list_versions(tx, namespace, name)
    if not known:
        raise _create_not_found_error(tx, namespace, name, version)
    if version is None or version in LATEST:
        return known[0]
    found = [each for each in known if version == str(each.number)]
    found = found or [each for each in known if version and each.version.startswith(version)]
    if len(found) != 1:
        what = "several versions that begin with" if found else "no version"
        listed = ", ".join(f"{each.number} ({each.version})" for each in known[:10])
        raise NotFoundError(
            f"Application '{name}' has {what} '{version}'.",
            f"Its versions: {listed}.",
            entity=_describe_id(namespace, name, version),
        )
    return found[0]


def find_document(
    tx: Transaction, application: Application
) -> tuple[str, PipelineSpec | None] | None:
    """Return the text of a version's document and its specification; None when it was deleted."""
    rows = tx.execute(
        f"SELECT a.document, a.spec {_OF_ONE} AND a.number = ?",
        (application.namespace, application.name, application.number),
    )
    return (rows[0][0], _read_spec(rows[0][1])) if rows else None


def read_document_text(tx: Transaction, application: Application) -> str:
    """Return the text of the document of a version that the same transaction has found."""
    document = find_document(tx, application)
    assert document is not None
    return document[0]


def list_document_texts(tx: Transaction, namespace: str) -> dict[str, str]:
    """Return the texts of the documents of the latest versions, by application."""
    rows = tx.execute(
        f"SELECT a.name, arg_max(a.document, a.number) {_OF_ALL} GROUP BY a.name ORDER BY a.name",
        (namespace,),
    )
    return dict(rows)


def read_spec(tx: Transaction, application: Application) -> PipelineSpec | None:
    """Return the specification of a version; None for one that was deployed before they were kept."""
    rows = tx.execute(
        f"SELECT a.spec {_OF_ONE} AND a.number = ?",
        (application.namespace, application.name, application.number),
    )
    return _read_spec(rows[0][0])


def list_specs_with(
    tx: Transaction, namespace: str, texts: Sequence[str]
) -> dict[str, PipelineSpec]:
    """Return the specifications of the latest versions in which any of some texts occurs, by application."""
    parts = [msgspec.json.encode(text)[1:-1].decode() for text in texts]
    rows = tx.execute(
        f"SELECT a.name, a.spec {_OF_ALL} AND a.spec IS NOT NULL "  # noqa: S608
        "AND EXISTS (SELECT 1 FROM unnest(?::VARCHAR[]) wanted(part) WHERE contains(a.spec, part)) "
        "AND NOT EXISTS (SELECT 1 FROM applications b "
        "WHERE b.namespace = a.namespace AND b.name = a.name AND b.number > a.number) ORDER BY a.name",
        (namespace, parts),
    )
    return {name: decode_json(text, PipelineSpec, hook=decode_schema) for name, text in rows}


def remove(tx: Transaction, namespace: str, name: str) -> None:
    """Remove an application with all of its versions."""
    tx.execute("DELETE FROM applications WHERE namespace = ? AND name = ?", (namespace, name))


def remove_version(tx: Transaction, application: Application) -> None:
    """Remove one version; the one before it is the latest then, if it was that."""
    tx.execute(
        "DELETE FROM applications WHERE namespace = ? AND name = ? AND number = ?",
        (application.namespace, application.name, application.number),
    )


def remove_all(tx: Transaction, namespace: str) -> None:
    """Remove the applications of a namespace."""
    tx.execute("DELETE FROM applications WHERE namespace = ?", (namespace,))


def create_version() -> str:
    """Return a new time-based version id."""
    return str(uuid.uuid1())


def _read_application(row: Sequence[Any], *, is_latest: bool) -> Application:
    namespace, name, version, number, description, artifact, author, change, created = row
    return Application(
        namespace=namespace,
        name=name,
        version=version,
        number=number,
        description=description,
        artifact=decode_json(artifact, type=ArtifactId),
        change=ChangeDetail(author, change, created, is_latest),
    )


def _read_spec(text: str | None) -> PipelineSpec | None:
    return None if text is None else decode_json(text, PipelineSpec, hook=decode_schema)


def _describe_id(namespace: str, name: str, version: str | None) -> str:
    version = LATEST[1] if version is None or version in LATEST else version
    return f"application:{namespace}.{name}.{version}"


def _create_not_found_error(
    tx: Transaction, namespace: str, name: str, version: str | None
) -> NotFoundError:
    rows = tx.execute("SELECT DISTINCT name FROM applications WHERE namespace = ?", (namespace,))
    names = [name for (name,) in rows]
    known = format_available(name, names) if names else "none; deploy one: localcdap import FILE"
    return NotFoundError(
        f"There is no application '{name}' in namespace '{namespace}'.",
        f"Available: {known}.",
        entity=_describe_id(namespace, name, version),
    )
