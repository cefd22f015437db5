"""The configuration of directives: those that nobody may use, and other names for them.

Rules and texts are those of wrangler ``DirectiveConfig``, ``ConfigStore`` and ``GrammarBasedParser``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from localcdap.api.app import (
    BadRequestError,
    FieldType,
    StructuredTableSpecification,
    TransactionContext,
    TransactionRunner,
    decode_json,
)

CONFIGURATION: Final = StructuredTableSpecification(
    "dataprep_config",
    fields={"key": FieldType.STRING, "value": FieldType.STRING},
    primary_key=["key"],
)
"""The table of the configuration; it is that of the whole instance."""
_KEY: Final = "directives"
_NAME: Final = re.compile(r"\s*([A-Za-z][\w-]*)")


class DirectiveConfig(msgspec.Struct):
    """Which directives recipes may use, and how."""

    exclusions: list[str] = []
    """Names of directives and of aliases that are not available."""
    aliases: dict[str, str] = {}
    """The names of directives, by alias."""

    def apply(self, directives: Sequence[str]) -> list[str]:
        """Return directives with their own names in the place of aliases.

        :raises BadRequestError: when one is excluded.
        """
        return [self._apply(each) for each in directives]

    def _apply(self, directive: str) -> str:
        found = _NAME.match(directive)
        if found is None:
            return directive
        name = found[1]
        root = self.aliases.get(name, name)
        for each, what in ((name, "Aliased directive"), (root, "Directive")):
            if each in self.exclusions and (each == root or name != root):
                raise BadRequestError(
                    f"{what if each != root else 'Directive'} '{each}' has been configured as restricted "
                    "directive and is hence unavailable. Please contact your administrator"
                )
        return directive[: found.start(1)] + root + directive[found.end(1) :]


class ConfigStore:
    """Reads and writes the configuration. Threads may share it."""

    def __init__(self, transactions: TransactionRunner) -> None:
        self._transactions = transactions

    def get(self) -> DirectiveConfig:
        """Return the configuration; an empty one until somebody has set it."""

        def read(tx: TransactionContext) -> DirectiveConfig:
            row = tx.table(CONFIGURATION.table).read({"key": _KEY})
            if row is None:
                return DirectiveConfig()
            return decode_json(row["value"], type=DirectiveConfig)

        return self._transactions.run(read)

    def put(self, config: DirectiveConfig) -> None:
        """Replace the configuration."""
        text = msgspec.json.encode(config).decode()

        def write(tx: TransactionContext) -> None:
            tx.table(CONFIGURATION.table).upsert({"key": _KEY, "value": text})

        self._transactions.run(write)
