"""Names of databases and collections, the properties of both plugins, and the tables that stand for them."""

from __future__ import annotations

import re
import uuid
from typing import Final

from localcdap.api import StageConfigurer, field
from localcdap.api.rules import check_reference_name

from ..account import WITHOUT_EFFECT, GoogleProjectConfig

ID: Final = "__id__"
"""The field of the id, by default."""
_DEFAULT: Final = "(default)"
_PLAIN: Final = re.compile(r"[\w$-]+(?:/[\w$-]+)*")
_DATABASE: Final = "databaseName"


class FirestoreConfig(GoogleProjectConfig, macros=True, rename="camel"):
    """The properties of plugins of Firestore."""

    reference_name: str = field("Name of this stage in lineage and metadata.", macro=False)
    service_account_type: str = field(
        "Form of the service account: filePath or JSON.", default="filePath", group=WITHOUT_EFFECT
    )
    database_name: str = field("Name of the database.", default=_DEFAULT)
    collection: str = field(
        "Name of the collection. Here it is the key-value table 'firestore.NAME' of the namespace, or "
        "'firestore.DATABASE.NAME', whose values are the documents in JSON."
    )

    def find_table_name(self) -> str:
        """Return the name of the collection's table."""
        database = "" if self.database_name == _DEFAULT else f"{self.database_name}."
        return f"firestore.{database}{self.collection.strip().replace('/', '.')}"

    @property
    def has_open_name(self) -> bool:
        """Whether the name of the table is not known yet."""
        return self.contains_macro("collection") or self.contains_macro(_DATABASE)

    def check(self, stage: StageConfigurer) -> None:
        """Add failures for names (firestore-plugins, ``FirestoreConfig.java``)."""
        check_reference_name(stage, self.reference_name)
        if not self.contains_macro(_DATABASE):
            for problem in _list_database_problems(self.database_name):
                stage.failures.add(problem).with_config_property(_DATABASE)
        named = self.collection is not None and not self.contains_macro("collection")
        if named and not _PLAIN.fullmatch(self.collection.strip()):
            stage.failures.add(
                f"The collection '{self.collection}' cannot be a table here.",
                "Use letters, digits, '_', '-' and '$', and '/' between parts.",
            ).with_config_property("collection")


def _list_database_problems(name: str) -> list[str]:
    if name == _DEFAULT:
        return []
    rules = {
        "Database name can only include letters, numbers and hyphen characters.": re.fullmatch(
            r"[a-zA-Z0-9-]+", name
        ),
        "Database name must be in lowercase.": name == name.lower(),
        "Database name's first character can only be an alphabet.": name[:1].isalpha(),
        "Database name's last character can only be a letter or a number.": name[-1:].isalnum(),
        "Database name should be at least 4 letters.": len(name) >= 4,
        "Database name cannot be more than 63 characters.": len(name) <= 63,
        "Database name cannot contain a UUID.": not _is_uuid(name),
    }
    return [problem for problem, holds in rules.items() if not holds]


def _is_uuid(name: str) -> bool:
    try:
        uuid.UUID(name)
    except ValueError:
        return False
    return True
