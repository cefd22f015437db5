"""Modules of three designs, from their files to the end of their datasets, as their users meet them."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from localcdap.api.app.transactions import TransactionKind
from localcdap.api.dataset.access import AccessKind, enter_method
from localcdap.api.errors import (
    ConflictError,
    DatasetAccessError,
    DatasetPropertiesError,
    IncompatibleUpdateError,
    NotFoundError,
    TransactionError,
)
from localcdap.artifacts.model import PluginRef
from localcdap.cli.main import run as run_command
from localcdap.datasets.model import DatasetRequest, DatasetUpdate
from localcdap.datasets.sql import SqlRequest
from localcdap.sandbox.dataset_calls import LoadedTypes
from localcdap.testing import TemporaryInstance
from localcdap.transactions.client import HostTransactionRunner

from . import foreign_modules


class Place:
    """An instance with the three modules, added by the command line."""

    def __init__(self, instance: TemporaryInstance, folder):
        self.instance = instance
        self.folder = folder
        self.add_modules()

        def find(namespace: str, type: str) -> PluginRef | None:
            found = self.cdap.artifacts.find_dataset_type(namespace, type)
            return None if found is None else found.plugin

        self.runner = HostTransactionRunner(
            lambda: self.cdap.transaction_service, find_type=LoadedTypes(find).find
        )

    @property
    def files(self):
        return self.instance.home.file_sets / "default"

    @property
    def cdap(self):
        return self.instance.cdap

    def command(self, *words):
        return run_command([*words, "--home", str(self.instance.home.path)])

    def add_modules(self):
        for write in (
            foreign_modules.write_ledger,
            foreign_modules.write_sensors,
            foreign_modules.write_boxes,
        ):
            assert self.command("datasets", "modules", "add", str(write(self.folder))) == 0

    def delete_modules(self):
        for name in ("boxes", "ledger", "sensors"):
            assert self.command("datasets", "modules", "delete", name) == 0

    def delete_datasets(self):
        for each in self.cdap.datasets.list_datasets("default"):
            self.cdap.datasets.drop("default", each.name)

    def create(self, name, type, **properties):
        self.cdap.datasets.create(DatasetRequest(name, type, properties))

    def update(self, name, **properties):
        return self.cdap.datasets.update(DatasetUpdate(name, properties, replaces=False))

    def within(self, name, body, **how):
        return self.runner.run(lambda tx: body(tx.dataset(name)), **how)

    def ask(self, sql):
        return self.cdap.sql.query(SqlRequest(sql)).to_table().to_pylist()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("foreign")
    with TemporaryInstance(folder / "home") as instance:
        assert instance.cdap.is_host
        yield Place(instance, folder)


@pytest.fixture(autouse=True)
def no_datasets(place):
    yield
    place.delete_datasets()


@pytest.fixture
def bank(place):
    """A ledger of two accounts, with what a transfer returned."""
    place.create("bank", "ledger", currency="EUR")

    def fill(bank):
        bank["ada"], bank["bob"] = 1000, 50
        bank.transfer("ada", "bob", 250)
        return dict(bank), len(bank), bank.total(), "ada" in bank, bank.describe()

    return place.within("bank", fill)


def test_the_modules_are_listed_with_their_types(place, capsys):
    assert place.command("datasets", "modules", "--json") == 0
    text = capsys.readouterr().out
    listed = json.loads(text[text.index("[\n") :])
    assert [
        (each["name"], sorted(type["name"] for type in each["types"]), each["uses_modules"])
        for each in listed
    ] == [
        ("boxes", ["box", "cabinet", "shelf"], ["ledger"]),
        ("ledger", ["ledger"], []),
        ("sensors", ["indoor", "outdoor"], []),
    ]
    types = {each.name: each.artifact for each in place.cdap.datasets.list_types("default")}
    assert {types[each] for each in ("ledger", "indoor", "shelf")} == {
        "ledger 1.0.0",
        "sensors 1.0.0",
        "boxes 2.0.0",
    }


def test_a_ledger(place, bank):
    with pytest.raises(DatasetPropertiesError, match="A ledger needs a currency"):
        place.create("other", "ledger")
    assert bank == ({"ada": 750, "bob": 300}, 2, 1050, True, "bank in EUR")
    with pytest.raises(ValueError, match="ada has only 750"):
        place.within("bank", lambda bank: bank.transfer("ada", "bob", 10_000))

    def overdraw(bank):
        with bank.booking("bob"):
            bank["bob"] = -1

    with pytest.raises(ValueError, match="overdrawn"):
        place.within("bank", overdraw)
    with pytest.raises(TransactionError, match="read-only"):
        place.within("bank", lambda bank: bank.pop("ada"), kind=TransactionKind.READ_ONLY)
    journal = 'SELECT count(*) AS n FROM "bank.journal"'
    assert place.ask(f"SELECT *, ({journal}) AS n FROM bank ORDER BY account") == [  # noqa: S608
        {"account": "ada", "cents": 750, "n": 4},
        {"account": "bob", "cents": 300, "n": 4},
    ]


def test_an_update_of_the_ledger_migrates_its_rows(place, bank):
    before = place.cdap.datasets.describe("default", "bank")
    with pytest.raises(IncompatibleUpdateError) as refused:
        place.update("bank", currency="USD")
    assert refused.value.reasons == ["Cannot change property 'currency' from EUR to USD"]
    assert place.cdap.datasets.describe("default", "bank") == before

    change = place.update("bank", euros="yes")
    assert [each.name for each in change.properties] == ["euros"]
    assert place.ask("SELECT account, euros FROM bank ORDER BY account") == [
        {"account": "ada", "euros": Decimal("7.50")},
        {"account": "bob", "euros": Decimal("3.00")},
    ]
    with pytest.raises(IncompatibleUpdateError) as refused:
        place.cdap.datasets.update(DatasetUpdate("bank", {"currency": "USD"}))
    assert len(refused.value.reasons) == 2


def test_stations(place):
    place.create("hall", "indoor", sensors="2")
    values = {"a": 1.5, "b": 20.0}

    def store(hall):
        hall.store("monday", values)
        return hall.read_day("monday"), hall.latest("a"), hall.latest("none")

    assert place.within("hall", store) == (values, 1.5, None)
    for name in ('"hall.files"', "hall.files"):
        sql = f"SELECT body FROM {name} WHERE day = 'monday' ORDER BY body"  # noqa: S608
        assert place.ask(sql) == [{"body": "a 1.5"}, {"body": "b 20.0"}]
    caught = place.within("hall", lambda hall: hall.cheat("monday"))
    assert caught.startswith("Method 'drop_partition' (read and write) cannot be called from")
    with pytest.raises(IncompatibleUpdateError, match="from 2 to 1: it only grows"):
        place.update("hall", sensors="1")
    place.update("hall", sensors="3")
    with pytest.raises(IncompatibleUpdateError) as refused:
        place.update("hall", **{"partitioning.field.day": "INT"})
    assert refused.value.reasons == [
        "hall.files: Partitioning cannot be changed. Existing: {day=STRING}, new: {day=INT}"
    ]
    assert place.within("hall", lambda hall: hall.read_day("monday")) == values


def test_a_shelf_embeds_types_of_two_modules(place):
    place.create("shelf", "shelf", currency="EUR")
    with pytest.raises(
        IncompatibleUpdateError, match="shelf.prices: Cannot change property 'currency'"
    ):
        place.update("shelf", currency="USD")
    place.within("shelf", lambda shelf: shelf.embedded["prices"].update({"nail": 3}))
    assert place.ask('SELECT cents FROM "shelf.prices"') == [{"cents": 3}]
    hold = lambda shelf: shelf.embedded["box"].put(shelf.embedded["box"].kind("Nail"))  # noqa: E731
    place.within("shelf", hold)
    detail = place.cdap.datasets.describe("default", "shelf")
    assert (detail.tables, detail.rows) == (["shelf.prices", "shelf.prices.journal"], 2)
    assert (place.files / "shelf.box" / "Nail.json").exists()
    place.cdap.datasets.truncate("default", "shelf")
    assert not list((place.files / "shelf.box").iterdir())
    assert place.ask('SELECT count(*) AS n FROM "shelf.prices"') == [{"n": 0}]


def test_a_type_of_types_of_types(place):
    place.create("cabinet", "cabinet", currency="EUR")
    place.within("cabinet", lambda it: it.embedded["upper"].embedded["prices"].update({"nail": 3}))
    assert place.ask('SELECT cents FROM "cabinet.upper.prices"') == [{"cents": 3}]
    assert (place.files / "cabinet.upper.box").is_dir()
    with pytest.raises(IncompatibleUpdateError, match="Cannot change property 'currency'"):
        place.update("cabinet", currency="USD")
    place.cdap.datasets.drop("default", "cabinet")
    assert not list(place.files.glob("cabinet*"))


def test_boxes(place):
    place.create("tools", "box")
    item = place.within("tools", lambda box: type(box).kind("Hammer", 2))
    place.within("tools", lambda box: box.put(item))
    assert place.runner.dataset("tools").names == ["Hammer"], "files need no transaction"
    with pytest.raises(NotFoundError, match="The box has no 'Saw'"):
        place.runner.dataset("tools").get("Saw")
    place.update("tools", factor="5")
    place.within("tools", lambda box: box.check())
    assert place.runner.dataset("tools").get("Hammer").weight == 10
    for _ in range(2):
        place.cdap.datasets.upgrade("default", "tools")
    assert place.runner.dataset("tools").names == ["hammer"]


def test_a_method_of_a_mixin_may_do_no_more_than_its_caller(place, bank):
    def call(bank):
        with enter_method(bank.guard, "writes", AccessKind.WRITE):
            return bank.total()

    with pytest.raises(
        DatasetAccessError, match=r"'total' \(read only\) cannot be called from 'writes'"
    ):
        place.within("bank", call)


def test_new_versions_keep_the_rules(place, bank, capsys):
    place.create("hall", "indoor", sensors="2")
    place.create("shelf", "shelf", currency="EUR")
    write = foreign_modules.write_sensors
    smaller = write(place.folder, "1.1.0", 'Outdoor = make("outdoor", "Sensors outside")')
    assert place.command("datasets", "modules", "add", str(smaller)) == 0, "no dataset has the type"
    smaller = write(place.folder, "1.2.0", 'Indoor = make("indoor", "Sensors in a building")')
    assert place.command("datasets", "modules", "add", str(smaller), "--force") == 1
    said = capsys.readouterr().err
    assert "Attempt to remove dataset types [indoor] from module 'sensors'" in said
    assert "existing instances: [hall]" in said
    other = foreign_modules.LEDGER.replace("A mixin", "Another mixin")
    rival = place.folder / "rival-1.0.0.py"
    rival.write_text(other, encoding="utf-8")
    assert place.command("datasets", "modules", "add", str(rival)) == 1
    expected = (
        "Attempt to add dataset module 'rival' containing dataset type 'ledger' that already "
        "exists in module 'ledger'"
    )
    assert expected in capsys.readouterr().err.replace("\n", " ")
    for name in ("ledger", "boxes"):
        with pytest.raises(ConflictError, match=f"Cannot delete module {name}: other"):
            place.cdap.dataset_modules.delete("default", name)
    place.delete_datasets()
    place.delete_modules()
    place.add_modules()


def test_they_are_deleted_after_their_datasets(place, bank, capsys):
    others = {"hall": ("indoor", {"sensors": "2"}), "shelf": ("shelf", {"currency": "EUR"})}
    for name, (type, properties) in (others | {"tools": ("box", {})}).items():
        place.create(name, type, **properties)
    for name in ("bank", "hall", "shelf", "tools"):
        assert place.command("datasets", "delete", name) == 0
    assert place.cdap.datasets.list_datasets("default") == []
    tables = {each.name for each in place.cdap.sql.list_tables("default")}
    assert not {each for each in tables if each.split(".")[0] in ("bank", "hall", "shelf")}
    place.delete_modules()
    assert "ledger" not in {each.name for each in place.cdap.datasets.list_types("default")}
    place.add_modules()
    capsys.readouterr()
