"""The settings of an instance."""

from localcdap.settings.model import (
    NATIVE,
    OPTIONS,
    SECRET_OPTIONS,
    NamespaceSettings,
    Profile,
    Settings,
)
from localcdap.settings.reader import describe_settings, load_settings, read_settings

__all__ = [
    "NATIVE",
    "OPTIONS",
    "SECRET_OPTIONS",
    "NamespaceSettings",
    "Profile",
    "Settings",
    "describe_settings",
    "load_settings",
    "read_settings",
]
