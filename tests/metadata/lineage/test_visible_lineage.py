"""With privileges, lineage shows the datasets and programs that its caller sees, and no others."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Principal
from localcdap.home import Home
from localcdap.host import open_in_process
from localcdap.metadata.lineage.field_lineage import Direction
from localcdap.metadata.lineage.impact_service import ImpactRequest
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.security.principals import act_as
from tests.metadata.lineage import test_impact as pipelines
from tests.metadata.lineage.shop import write_shop

SETTINGS = """
[security]
enabled = true
[security.privileges.ada]
"namespaces/default" = ["READ", "ADMIN"]
[security.privileges.bob]
"namespaces/default/datasets/clean" = ["READ"]
"namespaces/default/datasets/sales" = ["READ"]
"namespaces/default/datasets/report" = ["READ"]
"namespaces/default/apps/enrich" = ["EXECUTE"]
"namespaces/default/apps/tidy" = ["EXECUTE"]
"""
ADA, BOB = Principal("ada"), Principal("bob")
CLEAN = MetadataEntity.of_dataset("clean", "default")
SALES = MetadataEntity.of_dataset("sales", "default")


@contextmanager
def open_secured(folder):
    home = Home(folder)
    home.settings_file.write_text(SETTINGS, encoding="utf-8")
    with open_in_process(home) as cdap:
        yield cdap


@pytest.fixture(scope="module")
def cdap(tmp_path_factory, fresh_home):
    with open_secured(fresh_home(tmp_path_factory.mktemp("visible"))) as cdap:
        write_shop(cdap)
        yield cdap


def test_the_last_uses_are_those_of_visible_programs(cdap):
    with act_as(BOB):
        found = cdap.lineage.list_recent("default")
    assert [(each.dataset.dataset, each.program.application) for each in found] == [
        ("clean", "enrich"),
        ("sales", "enrich"),
    ]


def ask(cdap, who, entity=CLEAN):
    """The datasets and applications in all answers about a dataset, without the dataset itself."""
    with act_as(who):
        relations = cdap.lineage.get(entity).relations
        datasets = cdap.lineage.trace_datasets(entity)
        fields = cdap.lineage.trace_fields(entity)
    graphs = (datasets.incoming, datasets.outgoing, fields.incoming, fields.outgoing)
    answers = [
        {
            name
            for each in relations
            for name in (each.data.split(".")[2], each.program.split(".")[2])
        },
        {
            name
            for g in graphs[:2]
            for e in g.edges
            for name in (e.data.dataset, e.program.application)
        },
        {
            name
            for graph in graphs[2:]
            for edge in graph.edges
            for name in (edge.source.dataset.dataset, edge.target.dataset.dataset, edge.application)
        },
    ]
    nodes = {node.data.dataset for graph in graphs[:2] for node in graph.nodes}
    nodes |= {node.field.dataset.dataset for graph in graphs[2:] for node in graph.nodes}
    assert nodes <= set().union(*answers) | {entity.name}
    return [answer - {entity.name} for answer in answers]


def test_who_sees_everything_gets_everything(cdap):
    everything = {"orders", "people", "sales", "report", "tidy", "enrich", "summary"}
    relations, datasets, fields = ask(cdap, ADA)
    assert relations == everything
    assert datasets == everything - {"people"}
    assert fields == everything - {"people"}


def test_what_is_not_visible_is_left_out_and_not_followed(cdap):
    # 'orders' and 'people' are hidden datasets, 'summary' is a hidden program in front of 'report'.
    assert ask(cdap, BOB) == [
        {"tidy", "sales", "enrich"},
        {"tidy", "sales", "enrich"},
        {"sales", "enrich"},
    ]


def test_summaries_and_operations_name_only_what_is_visible(cdap):
    def find(who):
        with act_as(who):
            lineage = cdap.lineage
            summary = lineage.get_field_lineage(CLEAN, "price", Direction.INCOMING)
            operations = lineage.get_field_operations(CLEAN, "price", Direction.INCOMING)
            relations = lineage.get_dataset_field_lineage(CLEAN)
            return len(summary.incoming), len(operations.incoming), len(relations.incoming)

    assert find(ADA) == (1, 1, 1)
    assert find(BOB) == (0, 0, 0)


def test_the_last_write_is_known_to_those_who_see_the_program(cdap):
    report = MetadataEntity.of_dataset("report", "default")
    with act_as(ADA):
        assert cdap.lineage.describe(report).last_write.application == "summary"
    with act_as(BOB):
        assert cdap.lineage.describe(report).last_write is None
        assert cdap.lineage.describe(SALES).last_write.application == "enrich"


def test_the_impact_names_the_pipelines_that_are_visible(tmp_path, fresh_home):
    changed = ImpactRequest(pipelines.load(drop="mail,note"))
    with open_secured(fresh_home(tmp_path / "home")) as cdap:
        with act_as(ADA):
            for document in (pipelines.load(drop="note"), pipelines.report(), pipelines.publish()):
                assert cdap.applications.deploy(DeployRequest(document)).application
            found = {each.pipeline for each in cdap.impact.assess(changed).readers}
            assert found == {"report", "publish"}
        with act_as(BOB):
            assert cdap.impact.assess(changed).readers == []
