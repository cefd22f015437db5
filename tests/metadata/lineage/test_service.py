"""The service of lineage in an instance, and its command: datasets and fields, directions, unknown names."""

from __future__ import annotations

import json
import re
import uuid

import pytest

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.serialization.value_types import pack, unpack
from localcdap.cli.main import COMPLETION
from localcdap.cli.main import run as run_command
from localcdap.home import Home
from localcdap.host import open_in_process
from localcdap.metadata.lineage.field_lineage import Direction
from localcdap.metadata.lineage.relations import AccessType, DatasetId, ProgramId, Relation
from localcdap.metadata.lineage.service import DatasetTrace, FieldTrace
from tests.metadata.lineage.shop import write_shop

INCOMING, OUTGOING = Direction.INCOMING, Direction.OUTGOING


@pytest.fixture(scope="module")
def home(tmp_path_factory, fresh_home):
    return Home(fresh_home(tmp_path_factory.mktemp("shop")))


@pytest.fixture(scope="module")
def cdap(home):
    with open_in_process(home) as cdap:
        yield cdap


@pytest.fixture(scope="module")
def runs(cdap):
    return write_shop(cdap)


@pytest.fixture(autouse=True)
def shop(runs):
    """Every test finds the shop."""


@pytest.fixture
def command(home, capsys):
    def call(*arguments):
        code = run_command(["lineage", *arguments, "--home", str(home.path)])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call


def of(name, namespace="default"):
    return MetadataEntity.of_dataset(name, namespace)


def fields(graph):
    return {f"{n.field.dataset.dataset}.{n.field.field or '*'}": n.distance for n in graph.nodes}


def test_datasets_are_traced_in_both_directions(cdap):
    trace = cdap.lineage.trace_datasets(of("clean"), hops=1)
    assert [each.data.dataset for each in trace.incoming.nodes] == ["clean", "orders"]
    assert [each.data.dataset for each in trace.outgoing.nodes] == ["clean", "sales"]
    assert cdap.lineage.trace_datasets(of("clean"), INCOMING).outgoing is None
    assert cdap.lineage.trace_datasets(of("orders"), OUTGOING, limit=2).outgoing.truncated
    assert unpack(pack(trace), DatasetTrace) == trace


def test_fields_are_traced_over_pipelines(cdap):
    trace = cdap.lineage.trace_fields(of("report"), "total", INCOMING)
    assert fields(trace.incoming) == {
        "report.total": 0,
        "sales.price": 1,
        "sales.name": 1,
        "clean.price": 2,
        "clean.id": 2,
        "people.id": 2,
        "people.name": 2,
        "orders.price": 3,
        "orders.id": 3,
    }
    direct = cdap.lineage.trace_fields(of("report"), "total", INCOMING, indirect=False)
    assert list(fields(direct.incoming)) == [
        "report.total",
        "sales.price",
        "clean.price",
        "orders.price",
    ]
    assert unpack(pack(trace), FieldTrace) == trace


def test_all_fields_of_a_dataset_are_traced_together(cdap):
    trace = cdap.lineage.trace_fields(of("clean"), hops=1)
    assert fields(trace.incoming) == {"clean.*": 0, "orders.id": 1, "orders.price": 1}
    assert fields(trace.outgoing).keys() == {"clean.*", "sales.id", "sales.price", "sales.*"}


def test_a_dataset_is_described(cdap, runs):
    found = cdap.lineage.describe(of("clean"))
    assert [each.name for each in found.fields] == ["id", "price"]
    assert all(each.lineage for each in found.fields)
    assert found.last_write.run == runs["tidy"].run
    assert found.last_write.application == "tidy"
    orders = cdap.lineage.describe(of("orders"))
    assert orders.last_write is None
    assert [each.name for each in orders.fields if not each.lineage] == ["note"]
    names = [each.dataset for each in cdap.lineage.list_datasets("default")]
    assert names == ["clean", "orders", "people", "report", "sales"]


def test_operations_and_summaries_of_fields(cdap):
    found = cdap.lineage.get_field_operations(of("clean"), "price", INCOMING)
    assert [each.name for each in found.incoming[0].operations] == [
        "Orders.Read",
        "Round.Round price",
        "Clean.Write",
    ]
    summary = cdap.lineage.get_field_lineage(of("orders"), "price", OUTGOING)
    assert [(e.dataset.dataset, e.fields) for e in summary.outgoing] == [("clean", ["price"])]
    assert [e.name for e in cdap.lineage.list_fields(of("clean"))] == ["id", "price"]
    assert cdap.lineage.get_dataset_field_lineage(of("clean")).incoming[0].field_count == 2


def test_relations_of_one_direction(cdap):
    def find(name, direction):
        found = cdap.lineage.get(of(name), direction=direction)
        return {(each.data.split(".")[2], each.program.split(".")[2]) for each in found.relations}

    assert find("clean", INCOMING) == {("clean", "tidy"), ("orders", "tidy")}
    assert find("sales", OUTGOING) == {("sales", "summary"), ("report", "summary")}
    assert find("orders", INCOMING) == set()


def test_programs_without_stored_runs_are_shown(cdap):
    """A system application has no runs."""
    service = ProgramId("system", "dataprep", "service", "worker")
    used = [("far", AccessType.READ), ("near", AccessType.WRITE)]
    with cdap.lineage._lineage._store.transaction() as tx:
        cdap.lineage._lineage.add_relations(
            tx,
            {
                Relation(DatasetId("system", name), service, access, str(uuid.uuid1()))
                for name, access in used
            },
        )
    found = cdap.lineage.get(of("near", "system")).relations
    assert {each.data.split(".")[2] for each in found} == {"far", "near"}
    assert {each.program.split(".")[2] for each in found} == {"dataprep"}


def test_unknown_names_are_answered_with_similar_ones(cdap):
    with pytest.raises(NotFoundError) as dataset:
        cdap.lineage.trace_datasets(of("ordres"))
    assert dataset.value.message == "There is no dataset 'ordres' in namespace 'default'."
    assert "orders" in dataset.value.corrective_action
    with pytest.raises(NotFoundError) as field:
        cdap.lineage.trace_fields(of("orders"), "prize")
    assert field.value.full_message == (
        "No field 'prize' of dataset 'orders' is known. Known fields: id, note, price."
    )
    with pytest.raises(NotFoundError):
        cdap.lineage.trace_fields(of("orders", "nowhere"), "price")
    with pytest.raises(BadRequestError, match="Lineage is known of datasets"):
        cdap.lineage.describe(MetadataEntity.of_application("tidy", "default"))


def test_the_command_shows_where_a_field_comes_from_and_goes_to(command):
    code, out, _ = command("datasets/sales/field/name")
    assert code == 0
    assert [re.split(" {2,}", line) for line in out.splitlines()[1:]] == [
        ["incoming", "1", "clean.id", "sales.*", "indirect: join", "enrich"],
        ["incoming", "1", "people.id", "sales.*", "indirect: join", "enrich"],
        [
            *("incoming", "1", "people.name", "sales.name"),
            *("direct: transformation (masking, assumed)", "enrich"),
        ],
        ["incoming", "2", "orders.id", "clean.id", "direct: identity", "tidy"],
        ["outgoing", "1", "sales.name", "report.*", "indirect: group by", "summary"],
        ["outgoing", "1", "sales.name", "report.name", "direct: identity", "summary"],
    ]


@pytest.mark.parametrize("words", [("sales",), ("dataset:sales",), ("datasets/sales",)])
def test_a_dataset_is_named_in_several_ways(command, words):
    whole = command("datasets/sales/field/price", "--json")
    assert command(*words, "--field", "price", "--json") == whole
    assert json.loads(whole[1]).keys() == {"incoming", "outgoing"}


def test_the_command_takes_a_direction_and_levels(command):
    _, out, _ = command("report", "--field", "total", "--direction", "incoming", "--levels", "1")
    assert [line.split()[2] for line in out.splitlines()[1:]] == ["sales.name", "sales.price"]
    code, out, _ = command("sales", "--direction", "OUTGOING")
    assert code == 0
    assert [line.split() for line in out.splitlines()[1:]] == [
        ["report", "write", "summary", "1"],
        ["sales", "read", "summary", "1"],
    ]
    assert command("report", "--direction", "outgoing")[::2] == (
        1,
        "No run has read the dataset 'report'.\n",
    )


def test_the_command_says_what_is_wrong(command):
    code, _, err = command("ordres")
    assert code == 1
    assert "There is no dataset 'ordres'" in err
    assert "orders" in err
    code, _, err = command("orders", "--field", "nte")
    assert code == 1
    assert "Known fields: id, note, price." in err
    code, _, err = command("orders", "--field", "note")
    assert (code, err) == (
        1,
        "No deployed pipeline and no run relates the field 'note' to another field.\n",
    )
    assert command("datasets/orders/field/id", "--field", "note")[0] == 2
    assert command("orders", "--field", "id", "--since", "now-1d")[0] == 2
    assert command("orders", "--field", "id", "--levels", "0")[0] == 2
    assert command("orders", "--direction", "up")[0] == 2


def test_datasets_and_their_fields_are_completed(command, home, capsys, monkeypatch):
    monkeypatch.setenv("LOCALCDAP_HOME", str(home.path))
    monkeypatch.setenv(COMPLETION, "bash_complete")

    def complete(*words):
        monkeypatch.setenv("COMP_WORDS", " ".join(("localcdap", "lineage", *words)))
        monkeypatch.setenv("COMP_CWORD", str(1 + len(words)))
        with pytest.raises(SystemExit):
            run_command([])
        return [line.removeprefix("plain,") for line in capsys.readouterr().out.splitlines()]

    assert complete("or") == ["orders"]
    assert complete("datasets/s") == ["datasets/sales"]
    assert complete("orders", "--field", "") == ["id", "note", "price"]
    assert complete("orders", "--direction", "i") == ["incoming"]
