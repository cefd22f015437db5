"""The lineage of a dataset: CDAP's LineageAdminTest by name, times, and the shape of the answer."""

from __future__ import annotations

import json

import msgspec
import pytest

from localcdap.api.errors import BadRequestError
from localcdap.decoders import decode_json
from localcdap.metadata.lineage.dataset_lineage import CollapseType, LineageRecord
from localcdap.metadata.lineage.relations import (
    AccessType,
    DatasetId,
    ProgramId,
    ProgramRunId,
    Relation,
    find_scan_range,
    read_run_time,
)
from localcdap.metadata.lineage.time_range import TimeRange
from tests.metadata.lineage.run_ids import make_run

READ, WRITE, UNKNOWN = AccessType.READ, AccessType.WRITE, AccessType.UNKNOWN
D = {number: DatasetId("default", f"dataset{number}") for number in range(1, 8)}
P = {
    1: ProgramId("default", "app1", "MapReduce", "mr1"),
    2: ProgramId("default", "app2", "Spark", "spark2"),
    3: ProgramId("default", "app3", "Worker", "worker3"),
    4: ProgramId("default", "app4", "Service", "service4"),
    5: ProgramId("default", "app5", "Service", "service5"),
}
TIMES = TimeRange(500, 20_000)


def relate(run, *uses):
    """The relations of a run, from pairs of dataset and access."""
    return [Relation(data, run.program, access, run.run) for data, access in uses]


@pytest.fixture
def add(lineage, store):
    def add_relations(relations):
        with store.transaction() as tx:
            lineage.add_relations(tx, relations)
        return set(relations)

    return add_relations


@pytest.fixture
def run(runs):
    """A run of each program that goes on for ever, by the number of the program."""
    starts = {1: 10_000, 2: 900, 3: 800, 4: 800, 5: 700}
    return {number: runs.add(P[number], start) for number, start in starts.items()}


def find(lineage, number, levels=100, rollup=None):
    return lineage.get_lineage(D[number], TIMES, levels, rollup).relations


def test_simple_lineage(lineage, add, run):
    """D3 -> P2 -> D2 -> P1 -> D1 <-> P3."""
    add(relate(run[1], (D[1], UNKNOWN)))
    first = add(relate(run[1], (D[1], WRITE), (D[2], READ)))
    second = add(relate(run[2], (D[2], WRITE), (D[3], READ)))
    third = add(relate(run[3], (D[1], UNKNOWN)))

    assert find(lineage, 1) == first | second | third
    assert find(lineage, 2) == first | second | third
    assert find(lineage, 1, levels=1) == first | third
    assert lineage.get_lineage(DatasetId("custom", "dataset1"), TIMES, 100).relations == set()


def test_simple_loop_lineage(lineage, add, run):
    """D1 -> P1 -> D2 -> P2 -> D3 -> P3 -> D4, and P2 -> D1."""
    first = add(relate(run[1], (D[1], READ), (D[2], WRITE)))
    second = add(relate(run[2], (D[2], READ), (D[1], WRITE), (D[3], WRITE)))
    third = add(relate(run[3], (D[3], READ), (D[4], WRITE)))

    assert find(lineage, 1) == find(lineage, 2) == first | second | third
    assert find(lineage, 1, levels=1) == first | second


def test_direct_cycle(lineage, add, run):
    both = add(relate(run[1], (D[1], READ), (D[1], WRITE)))

    assert find(lineage, 1) == both
    assert len(both) == 2


def test_direct_cycle_two_runs(lineage, add, run):
    again = ProgramRunId(P[1], run[2].run)
    both = add(relate(run[1], (D[1], READ)) + relate(again, (D[1], WRITE)))

    assert find(lineage, 1) == both


def add_branches(add, run):
    """D1 -> P1 -> D2, D4; D2 -> P2 -> D3, D5; D5 -> P3 -> D6; D2, D3 -> P4 -> D7."""
    return (
        add(relate(run[1], (D[1], READ), (D[2], WRITE), (D[4], WRITE)))
        | add(relate(run[2], (D[2], READ), (D[3], WRITE), (D[5], WRITE)))
        | add(relate(run[3], (D[5], READ), (D[6], WRITE)))
        | add(relate(run[4], (D[2], READ), (D[3], READ), (D[7], WRITE)))
    )


def test_branch_lineage(lineage, add, run):
    expected = add_branches(add, run)

    assert [find(lineage, number) for number in (7, 6, 3)] == [expected] * 3


def test_branch_loop_lineage(lineage, add, run):
    expected = add_branches(add, run)
    expected |= add(relate(run[5], (D[3], READ), (D[6], READ), (D[1], WRITE)))

    assert [find(lineage, number) for number in (1, 5, 7)] == [expected] * 3
    assert find(lineage, 5, levels=1) == {
        *relate(run[2], (D[2], READ), (D[3], WRITE), (D[5], WRITE)),
        *relate(run[3], (D[5], READ), (D[6], WRITE)),
    }


def program(type, name, application="testApp"):
    return ProgramId("default", application, type, name)


def test_workflow_lineage(lineage, add, runs, run):
    """D3 -> spark -> D2 -> mr -> D1 <-> P3, and D1 -> P5; mr and spark are inside a workflow.

    As in the original's test, the workflow lists the second program with another type than it ran with.
    """
    workflow = runs.add(program("Workflow", "wf1"), 900)
    mr = runs.add(program("MapReduce", "mr1"), 900)
    spark = runs.add(program("MapReduce", "spark1"), 900)
    runs.put_inside(workflow, mr, spark)
    runs.list_inner_runs = lambda _: [mr, ProgramRunId(program("Spark", "spark1"), spark.run)]
    own = add(relate(mr, (D[1], WRITE), (D[2], READ)))
    own |= add(relate(spark, (D[2], WRITE), (D[3], READ)))
    others = add(relate(run[3], (D[1], UNKNOWN)) + relate(run[5], (D[1], READ)))
    rolled_up = relate(workflow, (D[1], WRITE), (D[2], READ), (D[2], WRITE), (D[3], READ))

    assert find(lineage, 1, rollup="workflow") == {*rolled_up, *others}
    assert find(lineage, 2, rollup="workflow") == {*rolled_up, *others}
    assert find(lineage, 1, levels=1, rollup="workflow") == {*rolled_up[:2], *others}
    assert find(lineage, 1) == find(lineage, 2) == own | others
    assert find(lineage, 1, levels=1) == {*relate(mr, (D[1], WRITE), (D[2], READ)), *others}
    custom = DatasetId("custom_namespace", "dataset1")
    assert lineage.get_lineage(custom, TIMES, 100, "workflow").relations == set()


def test_local_datasets_in_workflow(lineage, add, runs):
    """D1, D2 -> mr1 -> local1 -> mr2 -> local2 -> spark -> D3, all inside one workflow."""
    workflow = runs.add(program("Workflow", "wf1"), 900)
    mr1, mr2, spark = (
        runs.add(program(type, name), 900)
        for type, name in (("MapReduce", "mr1"), ("MapReduce", "mr2"), ("Spark", "spark1"))
    )
    runs.put_inside(workflow, mr1, mr2, spark)
    local1 = DatasetId("default", f"localDataset1{workflow.run}")
    local2 = DatasetId("default", f"localDataset2{workflow.run}")
    everything = add(relate(mr1, (D[1], READ), (D[2], READ), (local1, WRITE)))
    everything |= add(relate(mr2, (local1, READ), (local2, WRITE)))
    everything |= add(relate(spark, (local2, READ), (D[3], WRITE)))
    rolled_up = set(relate(workflow, (D[1], READ), (D[2], READ), (D[3], WRITE)))

    assert find(lineage, 1) == find(lineage, 3) == everything
    assert find(lineage, 3, levels=1) == set(relate(spark, (local2, READ), (D[3], WRITE)))
    for number in (1, 2, 3):
        assert find(lineage, number, levels=1, rollup="workflow") == rolled_up


def test_only_runs_that_were_running_in_the_range_count(lineage, add, runs):
    early, late = runs.add(P[1], 1_000, 2_000), runs.add(P[1], 3_000)
    first = add(relate(early, (D[1], READ)))
    second = add(relate(late, (D[1], READ)))

    def found(start, end):
        return lineage.get_lineage(D[1], TimeRange(start, end)).relations

    assert found(0, 999) == set()
    assert found(0, 1_000) == found(1_500, 1_500) == found(2_000, 2_500) == first
    assert found(2_001, 2_500) == set()
    assert found(2_001, 9_000) == found(3_000, 3_000) == second
    assert found(2_000, 3_000) == first | second


def test_a_program_counts_only_with_runs_that_were_running(lineage, add, runs):
    """The program used the dataset in another run of the same range of start times."""
    over, still = runs.add(P[1], 1_000, 1_100), runs.add(P[1], 900)
    other = runs.add(P[2], 1_200)
    add(relate(over, (D[1], READ)) + relate(still, (D[2], READ)))
    expected = add(relate(other, (D[1], READ)))

    assert lineage.get_lineage(D[1], TimeRange(1_500, 9_000)).relations == expected


def test_unknown_is_left_out_beside_another_access_of_the_same_run_only(lineage, add, runs):
    first, second = runs.add(P[1], 1_000), runs.add(P[1], 1_000)
    add(relate(first, (D[1], UNKNOWN), (D[1], READ)))
    add(relate(second, (D[1], UNKNOWN)))

    assert find(lineage, 1) == {*relate(first, (D[1], READ)), *relate(second, (D[1], UNKNOWN))}


def test_relations_are_stored_once(lineage, add, store, run):
    relation = Relation(D[1], P[1], READ, run[1].run, ("stage",))
    for _ in range(2):
        add([relation, relation])

    assert store.read("SELECT count(*) FROM lineage_relations") == [(1,)]
    assert find(lineage, 1) == {relation}


def test_a_transaction_that_fails_leaves_no_relation(lineage, store, run):
    def fail():
        with store.transaction() as tx:
            lineage.add_relations(tx, relate(run[1], (D[1], READ)))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert find(lineage, 1) == set()


def test_the_answer_has_the_shape_of_the_original(lineage, add, runs):
    one = runs.add(P[2], 1_000)
    two = runs.add(P[2], 2_000)
    add(relate(one, (D[1], READ), (D[1], WRITE)) + relate(two, (D[1], READ)))

    record = lineage.get_lineage_record(D[1], TIMES, collapse=[CollapseType.RUN])

    program_id = {
        "entity": "PROGRAM",
        "namespace": "default",
        "application": "app2",
        "type": "Spark",
        "program": "spark2",
        "version": "-SNAPSHOT",
    }
    key = {"data": "dataset.default.dataset1", "program": "spark.default.app2.spark2"}
    assert decode_json(msgspec.json.encode(record), LineageRecord) == record
    assert json.loads(msgspec.json.encode(record)) == {
        "start": 0,
        "end": 20,
        "relations": [
            key | {"accesses": ["read"], "runs": sorted([one.run, two.run]), "components": []},
            key | {"accesses": ["write"], "runs": [one.run], "components": []},
        ],
        "programs": {"spark.default.app2.spark2": {"entityId": program_id}},
        "data": {
            "dataset.default.dataset1": {
                "entityId": {"entity": "DATASET", "namespace": "default", "dataset": "dataset1"}
            }
        },
    }


def test_levels_are_positive(lineage):
    with pytest.raises(BadRequestError) as raised:
        lineage.get_lineage(D[1], TIMES, 0)

    assert str(raised.value) == "Invalid levels (0), should be greater than 0."


def test_scan_range():
    runs = {make_run(time) for time in (500, 400, 600, 200, 700, 100)}

    assert find_scan_range(runs) == (100, 701)
    assert find_scan_range({make_run(100)}) == (100, 101)
    assert find_scan_range(set()) == (0, 0)
    far = {make_run(time) for time in (2**33, 2**40, 2**41, 2**42)}
    assert find_scan_range(far) == (2**33, 2**42 + 1)


def test_a_run_has_a_time(lineage, add):
    assert read_run_time(make_run(1_700_000_000_123)) == 1_700_000_000_123
    with pytest.raises(BadRequestError, match="'r1' of a run is not a time-based UUID"):
        add([Relation(D[1], P[1], READ, "r1")])
    with pytest.raises(BadRequestError, match="not a time-based UUID"):
        read_run_time("6a2f41a3-c54c-4ce8-9b1b-0f64d12b5f2a")


def test_keys_and_entities():
    workflow = ProgramId("ns", "Sales", "Workflow", "DataPipelineWorkflow")

    assert workflow.key == "workflows.ns.Sales.DataPipelineWorkflow"
    assert workflow.to_entity().describe() == (
        "workflow: DataPipelineWorkflow in application: Sales deployed in namespace: ns"
    )
    assert D[1].to_entity().details == {"namespace": "default", "dataset": "dataset1"}
