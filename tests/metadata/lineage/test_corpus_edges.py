"""The edges of ten real pipelines, written down by hand from their documents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.lineage import EdgeKind
from localcdap.metadata.lineage.pipeline_lineage import build_lineage
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.library.application_model import find_import_problems
from localcdap.pipeline.resolver import PipelineResolver
from localcdap.pipeline.validation.lineage import trace_pipeline
from localcdap.pipeline.validation.plugins import apply_repairs
from localcdap.sandbox.plugin_calls import JobRunner
from tests.pipeline.shelf import create_resolver, load_shipped

EXPECTED = {
    "016": """
        credit_store: id first_name last_name email gender credit_card_type zip expiration credit_card_num
            <- transactions.body ~?
        credit_store.* <- transactions.body FILTER, transactions.body FILTER?
    """,
    "019": """
        productCatalogClean: id price <- productCatalog ~
        productCatalogClean: currency <- productCatalog =
        productCatalogClean.stock <- productCatalog.num =
    """,
    "079": """
        Avro_sink: offset body <- File1 =
        Avro_sink.offset1 <- File1.offset =
        Avro_sink.body1 <- File1.body =
        Avro_sink.* <- File1.offset JOIN
    """,
    "124": """
        Top_Rated_Inexpensive_Books: amazon_product_url author description publisher title id rank price_final
            <- NYT_BestSellers_Raw.body ~
        Top_Rated_Inexpensive_Books.* <- NYT_BestSellers_Raw.body FILTER
    """,
    "141": """
        test.ID <- test_automation.Accounts.ID =
        test: name email <- test_automation.Accounts ~
    """,
    "147": """
        test: body Last_name Age Address Col1 update_date <- Wrangler.Table12 =
        test.First_name <- Wrangler.Table12.Customer_id =
        test.Customer_id <- Wrangler.Table12.First_name =
        test.create_date <- Wrangler.Table12.create_date ~
        test.create_date_1 <- Wrangler.Table12.create_date ~
        test.body_Customer_id <- Wrangler.Table12.body ~, Wrangler.Table12.Customer_id ~
        test.* <- Wrangler.Table12.body FILTER, Wrangler.Table12.create_date FILTER
    """,
    "151": """
        test: body name email <- Test =
        test.ID <- Test.ID ~
        test.one <- Test.body ~
        test.* <- Test.body FILTER, Test.name FILTER, Test.ID FILTER
    """,
    "156": """
        test: First_name Last_name Age Address Col1 body <- Test =
        test.* <- Test.body FILTER, Test.Age FILTER
    """,
    "310": """
        contacts_hbase: fname lname address city state country zipcode <- contacts =
    """,
    "342": """
        BQ_pending_shipment: order_id package_id <- GCSFile_Pending_Shipment.body ~
        BQ_pending_shipment.* <- GCSFile_Pending_Shipment.body FILTER
    """,
}
"""The edges by the number of the file. ``a: x y <- b =`` stands for edges from b.x to a.x, from b.y to a.y;
``=`` is IDENTITY, ``~`` TRANSFORMATION, ``?`` assumed."""
SYMBOLS = {"=": EdgeKind.IDENTITY.value, "~": EdgeKind.TRANSFORMATION.value}


def expand(text: str) -> set[tuple[str, str, str]]:
    found = set()
    for line in text.replace("\n            <-", " <-").strip().splitlines():
        target, _, sources = (part.strip() for part in line.partition("<-"))
        dataset, _, names = target.partition(":")
        for source in sources.split(","):
            name, kind = source.split()
            mark = "?" if kind.endswith("?") else ""
            kind = SYMBOLS.get(kind.rstrip("?"), kind.rstrip("?")) + mark
            if not names:
                found.add((name, target, kind))
            for field in names.split():
                is_field = "body" in name.split(".")
                found.add((name if is_field else f"{name}.{field}", f"{dataset}.{field}", kind))
    return found


class InProcess(JobRunner):
    """Runs the code of plugins in this process."""

    def do(
        self, job: Callable[[Any], Any], request: Any, plugin: Any, who: str, session: str = ""
    ) -> Any:
        return job(request)


@pytest.fixture(scope="module")
def resolver() -> PipelineResolver:
    return create_resolver(load_shipped())


@pytest.mark.parametrize("number", EXPECTED)
def test_edges_of_a_real_pipeline(resolver: PipelineResolver, corpus: Path, number: str) -> None:
    (file,) = (corpus / "pipelines").glob(f"{number}_*.json")
    environment = resolver.environments.create("default")
    document = read_document(file.read_text(encoding="utf-8-sig"))
    problems = find_import_problems(environment.expand_templates(document), environment.plugins)
    repairs = [repair for _, repair in problems if repair is not None]
    if repairs:
        document = read_document(apply_repairs(document, repairs))
    resolved = resolver.resolve_for_run(document, environment, {}, runtime=False)
    assert resolved.spec is not None
    traced = trace_pipeline(resolved, InProcess())
    lineage = build_lineage(traced.stages, traced.connections, "default")

    assert {
        (
            f"{each.source.dataset.dataset}.{each.source.field}",
            f"{each.target.dataset.dataset}.{each.target.field or '*'}",
            each.influence.kind.value + ("?" if each.influence.assumed else ""),
        )
        for each in lineage.edges
    } == expand(EXPECTED[number])
    assert lineage.warnings == []
    assert lineage.operations is not None
