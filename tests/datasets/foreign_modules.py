"""Dataset modules of three designs, as different authors would write them."""

from __future__ import annotations

import zipfile
from pathlib import Path

LEDGER = '''
"""One file: two tables, a type made of classes that call each other, an admin that migrates rows."""
import contextlib
from collections.abc import MutableMapping
from decimal import Decimal

from localcdap.api.dataset.access import no_access, read_only, read_write, write_only
from localcdap.api.dataset.dataset import Dataset
from localcdap.api.dataset.definition import DatasetAdmin, DatasetDefinition, dataset_type
from localcdap.api.dataset.specification import StorageLayout, TableLayout, build_specification
from localcdap.api.errors import DatasetPropertiesError, IncompatibleUpdateError
from localcdap.api.schema import Schema

CENTS = ("cents", Schema.LONG)
EUROS = ("euros", Schema.decimal(18, 2).as_nullable)


class Totals:
    """A mixin that is used elsewhere too."""

    @read_only
    def total(self):
        return sum(row["cents"] for row in self.accounts.select())


class Ledger(Totals, Dataset, MutableMapping):
    def __init__(self, context, specification, embedded=None):
        super().__init__(context, specification, embedded)
        self.accounts = self._open_table()
        self.journal = self._open_table("journal")

    @read_only
    def __getitem__(self, account):
        row = self.accounts.read(account)
        if row is None:
            raise KeyError(account)
        return row["cents"]

    @write_only
    def __setitem__(self, account, cents):
        self.accounts.write([{"account": account, "cents": cents}])
        self._note(account, cents)

    @write_only
    def __delitem__(self, account):
        from localcdap.api.dataset.rows import equal

        self.accounts.delete([equal("account", account)])

    @read_only
    def __iter__(self):
        yield from [row["account"] for row in self.accounts.select(order_by=["account"])]

    @read_only
    def __len__(self):
        return self.accounts.count()

    @read_write
    def transfer(self, source, target, cents):
        if self[source] < cents:
            raise ValueError(f"{source} has only {self[source]}")
        self[source] -= cents
        self[target] = self.get(target, 0) + cents

    @contextlib.contextmanager
    def booking(self, account):
        before = self.get(account)
        yield self
        if before is not None and self[account] < 0:
            raise ValueError("overdrawn")

    @no_access
    def describe(self):
        return f"{self.name} in {self.specification.properties['currency']}"

    def _note(self, account, cents):
        self.journal.write([{"account": account, "cents": cents}])


class LedgerAdmin(DatasetAdmin):
    def update(self, old):
        super().update(old)
        if "euros" in self.specification.properties and "euros" not in old.properties:
            layout = self.definition.lay_out(self.specification)
            rows = self.storage.open_table(layout, self.specification.name)
            for row in list(rows.select()):
                rows.update(row["account"], {"euros": Decimal(row["cents"]).scaleb(-2)})


@dataset_type("ledger", description="Accounts, and a journal of their changes.")
class LedgerDefinition(DatasetDefinition):
    properties = {"currency": "It does not change.", "euros": "Whether amounts are shown in euros too."}
    dataset_class = Ledger
    admin_class = LedgerAdmin

    def configure(self, name, properties):
        if not properties.get("currency"):
            raise DatasetPropertiesError("A ledger needs a currency.", property="currency")
        return build_specification(name, self.name, properties)

    def reconfigure(self, name, properties, current):
        reasons = []
        for key in ("currency", "euros"):
            old, new = current.properties.get(key), properties.get(key)
            if old is not None and old != new:
                reasons.append(f"Cannot change property '{key}' from {old} to {new}")
        if reasons:
            raise IncompatibleUpdateError(reasons=reasons)
        return self.configure(name, properties)

    def lay_out(self, specification):
        more = [EUROS] if "euros" in specification.properties else []
        accounts = Schema.record("account", [("account", Schema.STRING), CENTS, *more])
        journal = Schema.record("entry", [("account", Schema.STRING), CENTS])
        return StorageLayout(
            {
                specification.name: TableLayout(accounts, "account"),
                f"{specification.name}.journal": TableLayout(journal),
            }
        )
'''

SENSORS = {
    "pyproject.toml": '[project]\nname = "sensors"\nversion = "VERSION"\n',
    "sensors/__init__.py": '"""A package whose types are made by functions."""\n',
    "sensors/rules.py": """
from localcdap.api.errors import IncompatibleUpdateError


def refuse_smaller(current, properties, key):
    old, new = (int(each.get(key, "1")) for each in (current.properties, properties))
    if new < old:
        raise IncompatibleUpdateError(f"Attempt to change {key} from {old} to {new}: it only grows")
""",
    "sensors/station.py": '''
import threading

from localcdap.api.dataset.access import read_only, read_write
from localcdap.api.dataset.dataset import Dataset


class Base(Dataset):
    """What all stations have; its methods have no annotations."""

    def latest(self, sensor):
        found = self.embedded["latest"].read(sensor.encode())
        return None if found is None else float(found)

    def measure(self, sensor, value):
        self.embedded["latest"].write(sensor.encode(), str(value).encode())


class Station(Base):
    @read_write
    def store(self, day, values):
        """Write a file, its partition, and the latest values, these in threads."""
        files = self.embedded["files"]
        key = {"day": day}
        with files.open_output(f"{day}/values.txt") as file:
            file.write("\\n".join(f"{k} {v}" for k, v in values.items()).encode() + b"\\n")
        files.add_partition(key, day)
        threads = [threading.Thread(target=self.measure, args=each) for each in values.items()]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    @read_only
    def read_day(self, day):
        part = self.embedded["files"].get_partition({"day": day})
        if part is None:
            return {}
        with self.embedded["files"].open_input(f"{part.path}/values.txt") as file:
            lines = file.read().decode().splitlines()
        return {name: float(value) for name, value in map(str.split, lines)}

    @read_only
    def cheat(self, day):
        thread = threading.Thread(target=self._try, args=(day,))
        thread.start()
        thread.join()
        return self.caught

    def _try(self, day):
        try:
            self.embedded["files"].drop_partition({"day": day})
        except Exception as error:
            self.caught = str(error)
''',
    "sensors/types.py": """
from localcdap.api.dataset.definition import CompositeDefinition, dataset_type

from .rules import refuse_smaller
from .station import Station

PARTS = {"files": "partitionedFileSet", "latest": "keyValueTable"}
FILES = {
    "format": "text",
    "partitioning.fields.": "day",
    "partitioning.field.day": "STRING",
}


def make(name, description):
    class Definition(CompositeDefinition):
        embedded = PARTS
        dataset_class = Station

        def configure(self, instance, properties):
            return super().configure(instance, {**FILES, **properties})

        def reconfigure(self, instance, properties, current):
            refuse_smaller(current, properties, "sensors")
            return super().reconfigure(instance, {**FILES, **properties}, current)

    Definition.__name__ = Definition.__qualname__ = name.title()
    return dataset_type(name, description=description)(Definition)


Indoor = make("indoor", "Sensors in a building")
Outdoor = make("outdoor", "Sensors outside")
""",
}

BOXES = {
    "boxes/__init__.py": '''
"""A wheel: documents as files, a generic class, an abstract one, and a type in a type of another module."""
import abc
import json
from dataclasses import asdict, dataclass
from typing import Generic, TypeVar

from localcdap.api.dataset.access import read_only, write_only
from localcdap.api.dataset.dataset import Dataset
from localcdap.api.dataset.definition import (
    CompositeDefinition,
    DatasetAdmin,
    DatasetDefinition,
    dataset_type,
)
from localcdap.api.dataset.specification import FolderLayout, StorageLayout
from localcdap.api.errors import NotFoundError

T = TypeVar("T")


@dataclass(frozen=True)
class Item:
    name: str
    weight: int = 1


class Box(Dataset, Generic[T], abc.ABC):
    kind: type

    @read_only
    def get(self, name: str) -> T:
        place = self._place / f"{name}.json"
        try:
            return self.kind(**json.loads(place.read_text()))
        except FileNotFoundError:
            raise NotFoundError(f"The box has no '{name}'.") from None

    @write_only
    def put(self, item: T) -> None:
        self._place.mkdir(parents=True, exist_ok=True)
        (self._place / f"{item.name}.json").write_text(json.dumps(asdict(item)))

    @property
    @read_only
    def names(self) -> list[str]:
        return sorted(each.stem for each in self._place.glob("*.json"))

    @property
    def _place(self):
        return self.context.locate(FolderLayout(self.specification.name))

    @abc.abstractmethod
    def check(self) -> None: ...


class ItemBox(Box[Item]):
    kind = Item

    def check(self) -> None:
        for each in self.names:
            self.get(each)


class BoxAdmin(DatasetAdmin):
    def update(self, old):
        super().update(old)
        factor = int(self.specification.properties.get("factor", "1"))
        for file in self.storage.stage_folder(self.definition.lay_out(self.specification)).iterdir():
            content = json.loads(file.read_text())
            file.write_text(json.dumps({**content, "weight": content["weight"] * factor}))

    def upgrade(self):
        """Let names be in lower case; a second call changes nothing."""
        folder = self.storage.stage_folder(self.definition.lay_out(self.specification))
        for file in list(folder.iterdir()):
            if file.name != file.name.lower():
                file.rename(folder / file.name.lower())


@dataset_type("box", description="Items as files")
class BoxDefinition(DatasetDefinition):
    dataset_class = ItemBox
    admin_class = BoxAdmin

    def lay_out(self, specification):
        return StorageLayout(folder=FolderLayout(specification.name))


@dataset_type("shelf", description="A box, and a ledger of another module")
class ShelfDefinition(CompositeDefinition):
    embedded = {"box": BoxDefinition(), "prices": "ledger"}


@dataset_type("cabinet", description="Shelves as an object, whose types are found by their names")
class CabinetDefinition(CompositeDefinition):
    embedded = {"upper": ShelfDefinition(), "lower": BoxDefinition()}
''',
}


def write_ledger(folder: Path, version: str = "1.0.0", text: str = LEDGER) -> Path:
    """Write the artifact of one file."""
    place = folder / f"ledger-{version}.py"
    place.write_text(text, encoding="utf-8")
    return place


def write_sensors(folder: Path, version: str = "1.0.0", without: str = "") -> Path:
    """Write the artifact of a folder.

    :param without: a line of its types that is left out.
    """
    place = folder / f"sensors-{version}"
    for name, text in SENSORS.items():
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        kept = text.replace("VERSION", version)
        file.write_text(kept.replace(without, "") if without else kept, encoding="utf-8")
    return place


def write_boxes(folder: Path, version: str = "2.0.0") -> Path:
    """Write the artifact of a wheel."""
    place = folder / f"boxes-{version}-py3-none-any.whl"
    about = f"Metadata-Version: 2.1\nName: boxes\nVersion: {version}\n"
    with zipfile.ZipFile(place, "w") as wheel:
        for name, text in BOXES.items():
            wheel.writestr(name, text)
        wheel.writestr(f"boxes-{version}.dist-info/METADATA", about)
        wheel.writestr(f"boxes-{version}.dist-info/WHEEL", "Wheel-Version: 1.0\n")
        wheel.writestr(f"boxes-{version}.dist-info/RECORD", "")
    return place
