"""The properties by which the original reaches Google Cloud: read, kept, and of no effect here."""

from __future__ import annotations

from localcdap.api import PluginConfig, field

_GROUP = "Google Cloud, without effect here"


class AccountConfig(PluginConfig):
    use_connection: bool = field(
        "Whether a connection of the instance says the account and the project.",
        default=False,
        name="useConnection",
        group=_GROUP,
    )
    connection: str | None = field(
        "The connection, as ${conn(name)}.", default=None, macro=True, group=_GROUP
    )
    project: str | None = field(
        "The project; 'auto-detect' is the one that localcdap is said to be in.",
        default=None,
        macro=True,
        group=_GROUP,
    )
    service_account_type: str | None = field(
        "How the account is given: filePath or JSON.",
        default=None,
        macro=True,
        name="serviceAccountType",
        group=_GROUP,
    )
    service_file_path: str | None = field(
        "File with the key of the service account. Nothing reads it here.",
        default=None,
        macro=True,
        name="serviceFilePath",
        group=_GROUP,
    )
    service_account_json: str | None = field(
        "The key of the service account itself. Nothing reads it here.",
        default=None,
        macro=True,
        secret=True,
        name="serviceAccountJSON",
        group=_GROUP,
    )


class TablesConfig(AccountConfig):
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
        group=_GROUP,
    )
