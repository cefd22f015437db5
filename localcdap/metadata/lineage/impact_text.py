"""An impact report as lines of text, for the command line and the studio."""

from __future__ import annotations

from localcdap.metadata.lineage.column_edges import describe_influence, format_field
from localcdap.metadata.lineage.impact_service import (
    ADDED,
    STORED_SOURCES,
    TYPE,
    DatasetFieldChange,
    FieldReader,
    ImpactReport,
    StageFieldChange,
)
from localcdap.metadata.lineage.pipeline_lineage import StageFieldLineage


def summarize_impact(report: ImpactReport) -> str:
    """Return what was compared, and whether anything changes."""
    if report.against is None:
        return f"No pipeline '{report.pipeline}' is deployed, so there is nothing to compare with."
    changes = report.stages or report.datasets or report.readers
    return f"Compared with {report.against}{'.' if changes else ': no field changes.'}"


def describe_impact(report: ImpactReport) -> list[tuple[str, list[str]]]:
    """Return titles with their lines, without those that have none."""
    parts = [
        ("Fields of stages", [_describe_stage(each) for each in report.stages]),
        ("Fields of datasets", [_describe_dataset(each) for each in report.datasets]),
        (
            "Pipelines that depend on these fields",
            [describe_reader(each) for each in report.readers],
        ),
        (
            "Fields of datasets that the pipeline reads and does not use",
            [".".join(each) for each in report.unused],
        ),
        (
            "Fields of datasets that no pipeline writes",
            [".".join(each) for each in report.unwritten],
        ),
    ]
    return [(title, lines) for title, lines in parts if lines]


def describe_stage_field(lineage: StageFieldLineage, namespace: str) -> list[tuple[str, list[str]]]:
    """Return where a field of a stage comes from, and where it goes, as titles with lines.

    :param namespace: the namespace that is not named.
    """
    incoming = [
        f"{format_field(each.source, namespace)}  {describe_influence(each.influence)}"
        for each in lineage.incoming
    ]
    outgoing = [
        f"{format_field(each.target, namespace)}  {describe_influence(each.influence)}"
        for each in lineage.outgoing
    ]
    return [
        ("Comes from", list(dict.fromkeys(incoming)) or ["no field of a dataset"]),
        ("Goes to", list(dict.fromkeys(outgoing)) or ["no field of a dataset"]),
    ]


def _describe_stage(change: StageFieldChange) -> str:
    if change.change == TYPE:
        return f"{change.stage}: '{change.field}' is {change.after} instead of {change.before}"
    verb = "gets" if change.change == ADDED else "loses"
    return f"{change.stage} {verb} '{change.field}'"


def _describe_dataset(change: DatasetFieldChange) -> str:
    before, after = (", ".join(each) or "nothing" for each in (change.before, change.after))
    if change.change == TYPE:
        return f"{change.dataset}.{change.field} is {after} instead of {before}"
    if change.change == STORED_SOURCES:
        return f"{change.dataset}.{change.field} comes from {after} instead of {before}"
    verb = "gets" if change.change == ADDED else "loses"
    return f"{change.dataset} {verb} '{change.field}'"


def describe_reader(reader: FieldReader) -> str:
    """Return what depends on a field, as one line."""
    read = f"{reader.pipeline} reads {reader.dataset}.{reader.field}"
    if reader.target is None:
        return f"{read} in stage '{reader.stage}'"
    return f"{read} for {reader.target} ({reader.kind})"
