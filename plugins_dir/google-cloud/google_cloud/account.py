"""The properties by which the original reaches Google Cloud: read, kept, and of no effect here."""

from __future__ import annotations

from typing import Final

from localcdap.api import PluginConfig, field

WITHOUT_EFFECT: Final = "Google Cloud, without effect here"
"""The group of the properties that have no effect on this machine."""


class GoogleAccountConfig(PluginConfig):
    use_connection: bool = field(
        "Whether a connection of the instance says the account and the project.",
        default=False,
        name="useConnection",
        group=WITHOUT_EFFECT,
    )
    connection: str | None = field(
        "The connection, as ${conn(name)}.", default=None, macro=True, group=WITHOUT_EFFECT
    )
    project: str | None = field(
        "The project; 'auto-detect' is the one that localcdap is said to be in.",
        default=None,
        macro=True,
        group=WITHOUT_EFFECT,
    )
    service_account_type: str | None = field(
        "How the account is given: filePath or JSON.",
        default=None,
        macro=True,
        name="serviceAccountType",
        group=WITHOUT_EFFECT,
    )
    service_file_path: str | None = field(
        "File with the key of the service account. Nothing reads it here.",
        default=None,
        macro=True,
        name="serviceFilePath",
        group=WITHOUT_EFFECT,
    )
    service_account_json: str | None = field(
        "The key of the service account itself. Nothing reads it here.",
        default=None,
        macro=True,
        secret=True,
        name="serviceAccountJSON",
        group=WITHOUT_EFFECT,
    )


class BigQueryConfig(GoogleAccountConfig):
    """Of what reads or writes the tables of a dataset."""

    reference_name: str | None = field(
        "Name of this stage in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
        default=None,
        name="referenceName",
    )
    dataset_project: str | None = field(
        "Project of the dataset; projects are not told apart here.",
        default=None,
        macro=True,
        name="datasetProject",
        group=WITHOUT_EFFECT,
    )
