"""Entities and their metadata: tags and properties, in the words and JSON shapes of CDAP 6.

>>> orders = MetadataEntity.of_dataset("orders")
>>> email = orders.append("field", "email")
>>> email.resolve("default").describe()
"namespace=default,dataset=orders,field=email of type 'field'"

Metadata that users and plugins write follows the rules of CDAP 6 ``MetadataValidator``; that of the scope
SYSTEM is not checked.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError

NAMESPACE: Final = "namespace"
APPLICATION: Final = "application"
ARTIFACT: Final = "artifact"
VERSION: Final = "version"
DATASET: Final = "dataset"
TYPE: Final = "type"
PROGRAM: Final = "program"
SCHEDULE: Final = "schedule"
PROGRAM_RUN: Final = "program_run"

KEY_SEQUENCES: Final[Mapping[str, Sequence[tuple[str, ...]]]] = {
    NAMESPACE: [(NAMESPACE,)],
    DATASET: [(NAMESPACE, DATASET), (DATASET,)],
    APPLICATION: [(NAMESPACE, APPLICATION, VERSION), (NAMESPACE, APPLICATION)],
    ARTIFACT: [(NAMESPACE, ARTIFACT, VERSION)],
    PROGRAM: [
        (NAMESPACE, APPLICATION, VERSION, TYPE, PROGRAM),
        (NAMESPACE, APPLICATION, TYPE, PROGRAM),
    ],
    SCHEDULE: [
        (NAMESPACE, APPLICATION, VERSION, SCHEDULE),
        (NAMESPACE, APPLICATION, SCHEDULE),
    ],
    PROGRAM_RUN: [
        (NAMESPACE, APPLICATION, VERSION, TYPE, PROGRAM, PROGRAM_RUN),
        (NAMESPACE, APPLICATION, TYPE, PROGRAM, PROGRAM_RUN),
    ],
}
"""The key sequences that each CDAP entity type allows. All other types are custom and allow any keys."""
PROGRAM_TYPES: Final[Mapping[str, str]] = {
    "mapreduce": "MapReduce",
    "services": "Service",
    "spark": "Spark",
    "workers": "Worker",
    "workflows": "Workflow",
}
"""Program types by their categories in the REST API. Entities have these spellings, which CDAP 6
``ProgramType`` calls pretty names; the names of its constants, such as ``WORKFLOW``, become them."""
WORKFLOW: Final = PROGRAM_TYPES["workflows"]
WORKFLOW_NAME: Final = "DataPipelineWorkflow"
"""The program of a batch pipeline, a workflow (CDAP 6 ``SmartWorkflow``)."""
_TYPES_IN_LOWER_CASE: Final = {name.lower(): name for name in PROGRAM_TYPES.values()}
DEFAULT_VERSION: Final = "-SNAPSHOT"
"""The version of applications that have none, and of their programs and schedules."""


class MetadataScope(enum.StrEnum):
    """Who owns metadata: the platform writes SYSTEM metadata, users and plugins write USER metadata."""

    USER = "USER"
    SYSTEM = "SYSTEM"


class MetadataKind(enum.StrEnum):
    """The two kinds of metadata."""

    TAG = "TAG"
    PROPERTY = "PROPERTY"


class MetadataEntity(msgspec.Struct, frozen=True):
    """An entity: pairs of key and value from the outermost part inwards; its type is one of the keys.

    The rules and messages are those of CDAP 6 ``MetadataEntity``. Keys are stored in lower case. The type
    is a CDAP entity type with one of its ``KEY_SEQUENCES``, or the type of a custom entity.

    :raises BadRequestError: when the keys are empty or do not fit the type.
    """

    details: dict[str, str]
    """The pairs in their order, such as ``{"namespace": "default", "dataset": "orders"}``. The type of a
    program has the spelling of :data:`PROGRAM_TYPES`."""
    type: str = ""
    """The type; when it is not given, the last key."""

    def __post_init__(self) -> None:
        if not self.details:
            raise BadRequestError("key-value pair must be specified")
        lowered: dict[str, str] = {}
        for key, value in self.details.items():
            _check_key(key, lowered)
            lowered[key.lower()] = value
        if TYPE in lowered and PROGRAM in lowered:
            lowered[TYPE] = _TYPES_IN_LOWER_CASE.get(lowered[TYPE].lower(), lowered[TYPE])
        msgspec.structs.force_setattr(self, "details", lowered)
        msgspec.structs.force_setattr(self, "type", self.type.lower() or next(reversed(lowered)))
        _check_hierarchy(self.type, lowered)

    @classmethod
    def of_namespace(cls, namespace: str) -> MetadataEntity:
        """Return the entity of a namespace."""
        return cls({NAMESPACE: namespace})

    @classmethod
    def of_dataset(cls, dataset: str, namespace: str | None = None) -> MetadataEntity:
        """Return the entity of a dataset; it is relative without a namespace, see :meth:`resolve`."""
        if namespace is None:
            return cls({DATASET: dataset})
        return cls({NAMESPACE: namespace, DATASET: dataset})

    @classmethod
    def of_application(cls, application: str, namespace: str) -> MetadataEntity:
        """Return the entity of an application, such as a deployed pipeline, without a version."""
        return cls({NAMESPACE: namespace, APPLICATION: application})

    @classmethod
    def of_artifact(cls, artifact: str, version: str, namespace: str) -> MetadataEntity:
        """Return the entity of an artifact."""
        return cls({NAMESPACE: namespace, ARTIFACT: artifact, VERSION: version}, ARTIFACT)

    @classmethod
    def of_program(
        cls, program: str, program_type: str, application: str, namespace: str
    ) -> MetadataEntity:
        """Return the entity of a program, such as ``DataPipelineWorkflow`` of type ``Workflow``."""
        return cls(
            {NAMESPACE: namespace, APPLICATION: application, TYPE: program_type, PROGRAM: program}
        )

    @property
    def namespace(self) -> str | None:
        """The namespace of the entity, or the entity itself; None for an entity of the whole instance."""
        return self.details.get(NAMESPACE)

    @property
    def name(self) -> str:
        """The value of the key that is the type, such as the name of the dataset."""
        return self.details.get(self.type, "")

    def append(self, key: str, value: str) -> MetadataEntity:
        """Return the entity inside this one whose type is ``key``, such as a field of a dataset.

        :raises BadRequestError: when the key is empty or this entity has it already.
        """
        _check_key(key, self.details)
        return MetadataEntity({**self.details, key: value}, key)

    def head(self, key: str) -> dict[str, str]:
        """Return the pairs up to a key, including it.

        :raises BadRequestError: when the entity does not have the key.
        """
        wanted = key.lower()
        if wanted not in self.details:
            raise BadRequestError(f"The given key {wanted} does not exists in {self}")
        keys = list(self.details)
        return {each: self.details[each] for each in keys[: keys.index(wanted) + 1]}

    def resolve(self, namespace: str) -> MetadataEntity:
        """Return this entity in a namespace, if it names none itself."""
        if NAMESPACE in self.details:
            return self
        return MetadataEntity({NAMESPACE: namespace, **self.details}, self.type)

    def describe(self) -> str:
        """Return the entity in words, as the original's answers have it.

        >>> MetadataEntity.of_dataset("d", "n").describe()
        'dataset: d which exists in namespace: n'
        """
        return "".join(self._describe(self.type))

    def _describe(self, type: str) -> Iterator[str]:
        get = self.details.get
        if type == NAMESPACE:
            yield f"namespace: {get(NAMESPACE)}"
        elif type == APPLICATION:
            version = f" of version: {get(VERSION)}" if VERSION in self.details else ""
            yield f"application: {get(APPLICATION)}{version} deployed in "
            yield from self._describe(NAMESPACE)
        elif type == ARTIFACT:
            yield f"artifact: {get(ARTIFACT)} of version: {get(VERSION)} deployed in "
            yield from self._describe(NAMESPACE)
        elif type == DATASET:
            yield f"dataset: {get(DATASET)} which exists in "
            yield from self._describe(NAMESPACE)
        elif type == PROGRAM:
            yield f"{get(TYPE, '').lower()}: {get(PROGRAM)} in "
            yield from self._describe(APPLICATION)
        elif type == SCHEDULE:
            yield f"schedule: {get(SCHEDULE)} in "
            yield from self._describe(APPLICATION)
        elif type == PROGRAM_RUN:
            yield f"program_run: {get(PROGRAM_RUN)} of "
            yield from self._describe(PROGRAM)
        else:
            pairs = ",".join(f"{key}={value}" for key, value in self.details.items())
            yield f"{pairs} of type '{self.type}'"

    def __str__(self) -> str:
        """Return the pairs as a path, with the plural words of the REST API left out."""
        return "/".join(f"{key}={value}" for key, value in self.details.items())

    def __hash__(self) -> int:
        return hash((self.type, frozenset(self.details.items())))


class Metadata(msgspec.Struct, frozen=True):
    """The metadata of an entity in one scope."""

    properties: dict[str, str] = {}
    tags: list[str] = []
    """Distinct, in alphabetical order."""

    @classmethod
    def of(cls, properties: Mapping[str, str] | None = None, tags: Iterable[str] = ()) -> Metadata:
        """Return metadata whose tags are sorted and distinct."""
        return cls(dict(properties or {}), sorted(set(tags)))

    def is_empty(self) -> bool:
        """Return whether there is neither a property nor a tag."""
        return not self.properties and not self.tags


class ScopedMetadata(msgspec.Struct, frozen=True):
    """All metadata of an entity. Its JSON has a key for each scope: ``{"USER": {…}, "SYSTEM": {…}}``."""

    user: Metadata = msgspec.field(default=Metadata(), name="USER")
    system: Metadata = msgspec.field(default=Metadata(), name="SYSTEM")

    def get(self, scope: MetadataScope) -> Metadata:
        """Return the metadata of one scope."""
        return self.user if scope is MetadataScope.USER else self.system

    def is_empty(self) -> bool:
        """Return whether both scopes are empty."""
        return self.user.is_empty() and self.system.is_empty()


class MetadataName(msgspec.Struct, frozen=True):
    """The name of a tag or property with its scope and kind (CDAP 6 ``ScopedNameOfKind``)."""

    scope: MetadataScope
    kind: MetadataKind
    name: str


class OperationKind(enum.StrEnum):
    """What a program does with the USER metadata of an entity (CDAP 6 ``MetadataOperation``)."""

    PUT = "PUT"
    """Sets properties and adds tags."""
    DELETE = "DELETE"
    """Removes properties and tags by their names."""
    DELETE_ALL = "DELETE_ALL"
    DELETE_ALL_PROPERTIES = "DELETE_ALL_PROPERTIES"
    DELETE_ALL_TAGS = "DELETE_ALL_TAGS"


class MetadataOperation(msgspec.Struct, frozen=True):
    """An operation that a program emits."""

    kind: OperationKind
    entity: MetadataEntity
    properties: dict[str, str] = {}
    """Of PUT."""
    tags: list[str] = []
    """Of PUT and DELETE."""
    names: list[str] = []
    """The names of properties of DELETE."""


def _check_key(key: str, known: Mapping[str, str]) -> None:
    if not key:
        raise BadRequestError("Key cannot be null or empty")
    if key.lower() in known:
        pairs = ", ".join(f"{each}={value}" for each, value in known.items())
        raise BadRequestError(f"key '{key}' already exists in '{{{pairs}}}'")


def _check_hierarchy(type: str, details: Mapping[str, str]) -> None:
    """Check the keys of an entity (CDAP 6 ``MetadataEntity.Builder.validateHierarchy``)."""
    allowed = KEY_SEQUENCES.get(type)
    if allowed is None:
        if type not in details:
            raise BadRequestError(
                f"The type '{type}' of an entity is none of its keys {list(details)}."
            )
        return
    if tuple(details) in allowed:
        return
    pairs = ", ".join(f"{key}={value}" for key, value in details.items())
    sequences = ", ".join(f"[{', '.join(sequence)}]" for sequence in allowed)
    raise BadRequestError(
        f"Failed to build MetadataEntity of type '{type}' from '{{{pairs}}}'. Type '{type}' is a CDAP entity "
        f"type and must follow one of the following key hierarchies '[{sequences}]'.",
        "If you want to represent a CDAP Entity please follow the correct hierarchy. If you are trying to "
        "represent a custom resource please use a different type name. Note: if a type name is not "
        "specified, the last key is considered as the type.",
    )


MAX_CHARS: Final = 50
"""The default of the setting ``metadata.max.allowed.chars``."""
TAGS: Final = "tags"
"""The reserved name: in a search, it stands for all tags."""

_NAME: Final = re.compile(r"[A-Za-z0-9_-]*")
_VALUE: Final = re.compile(r"[A-Za-z0-9_\-\s]*", re.ASCII)


def find_problems(metadata: Metadata, max_chars: int = MAX_CHARS) -> Sequence[str]:
    """Return what is wrong with USER metadata, in the original's words; at most one problem for each item."""
    return [
        *_first_of_each(_check_property(*item, max_chars) for item in metadata.properties.items()),
        *_first_of_each(_check_tag(tag, max_chars) for tag in metadata.tags),
    ]


def require_valid(metadata: Metadata, max_chars: int = MAX_CHARS) -> None:
    """Check USER metadata.

    :raises BadRequestError: with all problems, one for each property and tag.
    """
    problems = find_problems(metadata, max_chars)
    if problems:
        raise BadRequestError(" ".join(problems))


def _check_property(key: str, value: str, max_chars: int) -> Iterator[str]:
    yield from _check_key_or_tag(key)
    if key.lower() == TAGS:
        yield f"Could not set metadata with reserved key {TAGS}"
    yield from _check_length(key, max_chars)
    if not _VALUE.fullmatch(value):
        yield (
            f"Illegal format for the value '{value}'. Should only contain alphanumeric characters (a-z, "
            f"A-Z, 0-9), underscores, hyphens and whitespaces."
        )
    yield from _check_length(value, max_chars)


def _check_tag(tag: str, max_chars: int) -> Iterator[str]:
    yield from _check_key_or_tag(tag)
    yield from _check_length(tag, max_chars)


def _check_key_or_tag(name: str) -> Iterator[str]:
    if not _NAME.fullmatch(name):
        yield (
            f"Illegal format for '{name}'. Should only contain alphanumeric characters (a-z, A-Z, 0-9), "
            f"underscores and hyphens."
        )


def _check_length(text: str, max_chars: int) -> Iterator[str]:
    if len(text) > max_chars:
        yield f"Metadata {text} exceeds maximum of {max_chars} characters."


def _first_of_each(checks: Iterable[Iterator[str]]) -> Iterator[str]:
    for check in checks:
        yield from [problem for problem in [next(check, None)] if problem is not None]


class MetadataWriter:
    """Emits metadata of the scope USER; an entity that names no namespace is in :attr:`namespace`.

    An operation takes effect some moments later, and in the order of the calls.
    """

    namespace: str

    def add_properties(self, entity: MetadataEntity, properties: Mapping[str, str]) -> None:
        """Set properties of an entity.

        :raises BadRequestError: when a key or a value is illegal; nothing is emitted.
        """
        require_valid(Metadata(dict(properties)))
        self._build(OperationKind.PUT, entity, properties=dict(properties))

    def add_tags(self, entity: MetadataEntity, *tags: str) -> None:
        """Add tags to an entity.

        :raises BadRequestError: when a tag is illegal; nothing is emitted.
        """
        require_valid(Metadata.of(tags=tags))
        self._build(OperationKind.PUT, entity, tags=list(tags))

    def remove_metadata(self, entity: MetadataEntity) -> None:
        """Remove all properties and tags of an entity."""
        self._build(OperationKind.DELETE_ALL, entity)

    def remove_properties(self, entity: MetadataEntity, *names: str) -> None:
        """Remove properties of an entity; without names, all of them."""
        kind = OperationKind.DELETE if names else OperationKind.DELETE_ALL_PROPERTIES
        self._build(kind, entity, names=list(names))

    def remove_tags(self, entity: MetadataEntity, *tags: str) -> None:
        """Remove tags of an entity; without tags, all of them."""
        kind = OperationKind.DELETE if tags else OperationKind.DELETE_ALL_TAGS
        self._build(kind, entity, tags=list(tags))

    def _build(self, kind: OperationKind, entity: MetadataEntity, **more: Any) -> None:
        self._emit(MetadataOperation(kind, entity.resolve(self.namespace), **more))

    def _emit(self, operation: MetadataOperation) -> None:
        """Emit an operation, whose entity names a namespace."""
        raise NotImplementedError
