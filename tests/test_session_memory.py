"""The memory of sessions of plugin methods, which is part of that of a plugin worker."""

from __future__ import annotations

import pytest

from localcdap.api.errors import SettingsError
from localcdap.settings import load_settings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 512),
        ("plugin.memory_mb = 4096", 512),
        ("plugin.memory_mb = 300", 150),
        ("plugin.memory_mb = 1", 1),
        ("plugin.memory_mb = 300\nplugin.session_memory_mb = 300", 300),
        ("plugin.memory_mb = 4096\nplugin.session_memory_mb = 3000", 3000),
    ],
)
def test_the_default_leaves_half_of_the_memory_of_the_worker(tmp_path, text, expected):
    file = tmp_path / "localcdap.toml"
    file.write_text(text)

    assert load_settings(file, {}).plugin_session_memory_mb == expected


@pytest.mark.parametrize(
    ("text", "environment", "expected"),
    [
        (
            "plugin.session_memory_mb = 1025",
            {},
            "at most 1024, as it is part of plugin.memory_mb, got 1025",
        ),
        (
            "plugin.session_memory_mb = 512",
            {"LOCALCDAP_PLUGIN_MEMORY_MB": "200"},
            "at most 200, as it is part of plugin.memory_mb, got 512",
        ),
    ],
)
def test_more_than_the_memory_of_the_worker_is_a_problem(tmp_path, text, environment, expected):
    file = tmp_path / "localcdap.toml"
    file.write_text(text)

    with pytest.raises(SettingsError) as caught:
        load_settings(file, environment)

    assert (
        caught.value.message == f"localcdap.toml:1: plugin.session_memory_mb: Expected {expected}"
    )
