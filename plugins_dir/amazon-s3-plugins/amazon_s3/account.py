"""Properties by which CDAP's plugins access Amazon S3, which have no effect here; checks of its paths."""

from __future__ import annotations

import re
from typing import Final

from localcdap.api import PluginConfig, StageConfigurer, field

_GROUP = "Amazon S3, without effect here"
_PATH: Final = re.compile(r"s3[an]?://[^/]+(/.*)?", re.DOTALL)


class AmazonCredentialsConfig(PluginConfig, macros=True, rename="camel"):
    """Credentials, which all plugins of S3 have."""

    authentication_method: str | None = field(
        "Authentication method: Access Credentials or IAM.", default=None, group=_GROUP
    )
    access_id: str | None = field(
        "Access ID. It is not used here.", default=None, name="accessID", group=_GROUP
    )
    access_key: str | None = field(
        "Access key. It is not used here.", default=None, secret=True, group=_GROUP
    )


class AmazonRegionConfig(AmazonCredentialsConfig, macros=True, rename="camel"):
    """Credentials and region."""

    session_token: str | None = field(
        "Session token. It is not used here.", default=None, secret=True, group=_GROUP
    )
    region: str | None = field("Region.", default=None, group=_GROUP)


class AmazonAccountConfig(AmazonRegionConfig, macros=True, rename="camel"):
    """Credentials and region, which a connection can supply."""

    use_connection: bool = field(
        "Whether a connection of the instance supplies the account.",
        default=False,
        group=_GROUP,
        macro=False,
    )
    connection: str | None = field("The connection, as ${conn(name)}.", default=None, group=_GROUP)


def check_path(
    stage: StageConfigurer, config: PluginConfig, path: str | None, name: str = "path"
) -> None:
    """Check that the path is a path of S3, and that a local folder stands for its bucket.

    :param name: the property's name.
    """
    if not path or config.contains_macro(name):
        return
    if _PATH.fullmatch(path.strip()) is None:
        stage.failures.add(
            f"Invalid path '{path}'.", "Write s3://bucket/folder or s3a://bucket/folder."
        ).with_config_property(name)
    else:
        stage.requires_location(name, path)
