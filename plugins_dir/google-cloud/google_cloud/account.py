"""Properties by which CDAP's plugins access Google Cloud. They have no effect on this machine."""

from __future__ import annotations

from typing import Final

from localcdap.api import PluginConfig, field

WITHOUT_EFFECT: Final = "Google Cloud, without effect here"
"""The group of the properties that have no effect on this machine."""


class GoogleKeyFileConfig(PluginConfig, macros=True, rename="camel"):
    """Project and key file, which all plugins of Google Cloud have."""

    project: str | None = field(
        "Project; 'auto-detect' stands for the configured project.",
        default=None,
        group=WITHOUT_EFFECT,
    )
    service_file_path: str | None = field(
        "File with the key of the service account. It is not read here.",
        default=None,
        group=WITHOUT_EFFECT,
    )


class GoogleProjectConfig(GoogleKeyFileConfig, macros=True, rename="camel"):
    """Project and service account."""

    service_account_type: str | None = field(
        "Form of the service account: filePath or JSON.", default=None, group=WITHOUT_EFFECT
    )
    service_account_json: str | None = field(
        "Key of the service account. It is not used here.",
        default=None,
        secret=True,
        name="serviceAccountJSON",
        group=WITHOUT_EFFECT,
    )


class GoogleAccountConfig(GoogleProjectConfig, macros=True, rename="camel"):
    """Project and service account, which a connection can supply."""

    use_connection: bool = field(
        "Whether a connection of the instance supplies the account and the project.",
        default=False,
        group=WITHOUT_EFFECT,
        macro=False,
    )
    connection: str | None = field(
        "The connection, as ${conn(name)}.", default=None, group=WITHOUT_EFFECT
    )


class BigQueryProjectConfig(GoogleProjectConfig, rename="camel"):
    """Properties of plugins that use tables of a dataset."""

    reference_name: str | None = field(
        "Name of this stage in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
        default=None,
    )
    dataset_project: str | None = field(
        "Project of the dataset; projects are ignored here.",
        default=None,
        macro=True,
        group=WITHOUT_EFFECT,
    )


class BigQueryConfig(BigQueryProjectConfig, GoogleAccountConfig):
    """Properties of sources and sinks of tables."""
