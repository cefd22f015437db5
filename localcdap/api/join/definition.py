"""The definition of a join (CDAP 6 ``JoinDefinition``, ``JoinStage``, ``JoinCondition``)."""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from localcdap.api.errors import BadRequestError
from localcdap.api.failures import FailureBuilder, FailureCollector
from localcdap.api.schema import Field, Schema

_SQL_TOKEN: Final = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|`[^`]+`|[\w$]+|\S")


def list_words(sql: str) -> set[str]:
    """Return the tokens of an SQL expression in lower case; names are without backquotes."""
    return {token.strip("`").lower() for token in _SQL_TOKEN.findall(sql)}


def find_qualified_names(sql: str) -> Iterator[tuple[str, str]]:
    """Yield each ``name.field`` of an SQL expression, for a longer path its first two parts."""
    tokens = _SQL_TOKEN.findall(sql)
    at = 0
    while at + 2 < len(tokens):
        first, dot, second = tokens[at : at + 3]
        if dot == "." and _is_name(first) and _is_name(second):
            yield first.strip("`"), second.strip("`")
            at += 3
            while at + 1 < len(tokens) and tokens[at] == ".":
                at += 2
        else:
            at += 1


def _is_name(token: str) -> bool:
    return token.startswith("`") or (token[0].isalpha() or token[0] == "_")


class JoinField(NamedTuple):
    """An output field: a field of an input stage, under an alias."""

    stage: str
    field: str
    alias: str | None = None
    """None for the name of the field."""

    @property
    def name(self) -> str:
        """The name of the output field."""
        return self.alias or self.field

    def __str__(self) -> str:
        return f"{self.stage}.{self.field} as {self.name}"


class JoinKey(NamedTuple):
    """The fields of one stage that are compared, in the same order as those of the other stages."""

    stage: str
    fields: Sequence[str]


@dataclasses.dataclass(frozen=True)
class JoinStage:
    """An input of a join.

    Two required stages make an inner join, a required one and an optional one an outer join that keeps the
    records of the required one, two optional ones a full outer join.
    """

    name: str
    schema: Schema | None
    """None when it is not known, for instance before macros have values."""
    required: bool = True
    broadcast: bool = False
    """Whether its records are few: a hint to send them to every worker, in place of a shuffle. Spark does not
    follow it for the side of an outer join whose records are all kept."""

    def replace(self, *, required: bool | None = None, broadcast: bool | None = None) -> JoinStage:
        """Return the stage with other values; None keeps one."""
        return dataclasses.replace(
            self,
            required=self.required if required is None else required,
            broadcast=self.broadcast if broadcast is None else broadcast,
        )


@dataclasses.dataclass(frozen=True)
class JoinOnKeys:
    """The condition that keys are equal, one for each stage."""

    keys: Sequence[JoinKey]
    null_safe: bool = True
    """Whether null keys are equal to each other, unlike in SQL; as in CDAP this is the default."""

    def get_fields(self, stage: str) -> Sequence[str]:
        """Return the fields of a stage that are compared; none for another stage."""
        return next((key.fields for key in self.keys if key.stage == stage), ())


@dataclasses.dataclass(frozen=True)
class JoinOnExpression:
    """A condition as an SQL expression over ``stage.field``, for a join of two stages."""

    expression: str
    aliases: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Other names by stage, for the expression."""

    def get_alias(self, stage: str) -> str:
        """Return the name of a stage in the expression."""
        return self.aliases.get(stage, stage)


@dataclasses.dataclass(frozen=True)
class JoinDistribution:
    """What divides skewed keys: the records of the skewed stage get random numbers, those of the other stage
    are repeated for each of these, and both are compared, too.
    """

    factor: int
    """How many parts a key is divided into."""
    skewed_stage: str
    """A required stage."""


@dataclasses.dataclass(frozen=True)
class JoinDefinition:
    """How a join is to be executed. Whether it fits its stages is checked by :func:`check_join`."""

    selected: Sequence[JoinField]
    """The output fields, in order."""
    stages: Sequence[JoinStage]
    """All inputs, in the order in which they are joined; required ones are joined before the others."""
    condition: JoinOnKeys | JoinOnExpression
    distribution: JoinDistribution | None = None
    schema_name: str = "joined"

    def __post_init__(self) -> None:
        names = [stage.name for stage in self.stages]
        if len(set(names)) < len(names):
            raise BadRequestError(f"A stage is joined twice: {', '.join(names)}.")

    def find_stage(self, name: str) -> JoinStage | None:
        """Return the stage of a name; None when it is not joined."""
        return next((stage for stage in self.stages if stage.name == name), None)

    def build_output_schema(self) -> Schema | None:
        """Return the schema of the joined records of a valid join; None if a selected stage has no schema.

        Fields of optional stages become nullable.
        """
        fields = []
        for selected in self.selected:
            stage = self.find_stage(selected.stage)
            found = stage and stage.schema and stage.schema.field(selected.field)
            if not stage or not found:
                return None
            type = found.schema if stage.required else found.schema.as_nullable
            fields.append(Field(selected.name, type))
        return Schema.record(self.schema_name, fields)

    def list_compared_fields(self) -> list[tuple[str, str]]:
        """Return the fields, with their stage, that decide which records are joined."""
        if isinstance(self.condition, JoinOnKeys):
            return [(key.stage, name) for key in self.condition.keys for name in key.fields]
        inputs = {s.name: s.schema.field_names if s.schema else [] for s in self.stages}
        stages = {self.condition.get_alias(name).lower(): name for name in inputs}
        found: dict[tuple[str, str], None] = {}
        for owner, name in find_qualified_names(self.condition.expression):
            stage = stages.get(owner.lower())
            fields = inputs[stage] if stage is not None else ()
            found |= {(stage or "", each): None for each in fields if each.lower() == name.lower()}
        qualified = {name.lower() for _, name in found}
        for word in list_words(self.condition.expression) - qualified:
            found |= {
                (stage, each): None
                for stage, fields in inputs.items()
                for each in fields
                if each.lower() == word
            }
        return list(found)

    def list_input_fields(self, stage: JoinStage) -> list[str]:
        """Return the fields of a stage that the join reads; none when its schema is not known."""
        if stage.schema is None:
            return []
        needed = {s.field for s in self.selected if s.stage == stage.name}
        words: set[str] = set()
        if isinstance(self.condition, JoinOnKeys):
            needed.update(self.condition.get_fields(stage.name))
        else:
            words = list_words(self.condition.expression)
        return [n for n in stage.schema.field_names if n in needed or n.lower() in words]


class JoinPart(enum.Enum):
    """A part of a join that a property of a plugin may define."""

    SELECTED_FIELDS = "selected fields"
    BROADCAST = "broadcast stages"
    KEYS = "keys"
    EXPRESSION = "expression"
    EXPRESSION_STAGES = "stages of an expression"
    ALIASES = "aliases"
    DISTRIBUTION_FACTOR = "distribution factor"
    DISTRIBUTION_STAGE = "skewed stage"


class JoinFailures:
    """Adds failures of a join to a stage.

    :param properties: the properties that define the parts; failures of other parts are those of the stage.
    """

    def __init__(self, failures: FailureCollector, properties: Mapping[JoinPart, str]) -> None:
        self._failures = failures
        self._properties = properties

    def __len__(self) -> int:
        return len(self._failures)

    def add(
        self, part: JoinPart, message: str, action: str | None = None, element: str | None = None
    ) -> FailureBuilder:
        """Add a failure of a part of the join.

        :param element: of the property, where it is a list.
        """
        failure = self._failures.add(message, action)
        if part in self._properties:
            failure.with_config_property(self._properties[part], element=element)
        return failure
