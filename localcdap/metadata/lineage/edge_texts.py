"""Fields and the edges between them as texts for people."""

from __future__ import annotations

from localcdap.metadata.lineage.column_edges import DatasetField, Influence

SAME_DATA = "same data"
"""Stands between two names of one dataset."""
ALL_FIELDS = "*"
"""Stands for all fields of a dataset."""


def describe_influence(influence: Influence) -> str:
    """Return how one field influences another, in words.

    >>> describe_influence(Influence())
    'direct: identity'
    """
    kind = influence.kind.value.lower().replace("_", " ")
    marks = ["masking"] * influence.masking + ["assumed"] * influence.assumed
    said = f"{influence.kind.type.value.lower()}: {kind}"
    return f"{said} ({', '.join(marks)})" if marks else said


def format_field(field: DatasetField, namespace: str) -> str:
    """Return the dataset and the field, ``orders.email``; all fields are ``orders.*``.

    :param namespace: the namespace that is not named.
    """
    dataset = field.dataset
    where = "" if dataset.namespace == namespace else f"{dataset.namespace}:"
    return f"{where}{dataset.dataset}.{ALL_FIELDS if field.field is None else field.field}"
