"""The settings of OpenLineage, and the variables of its clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcdap.api.errors import SettingsError
from localcdap.openlineage.destinations import find_unknown_transport
from localcdap.settings import Settings, describe_settings, read_settings
from localcdap.tui.screens.settings.settings_file import build_rows

FILE = Path("localcdap.toml")
BOTH = '[openlineage]\nfile = "events.jsonl"\nurl = "http://own"\n'


def read(text: str = "", **environment: str) -> Settings:
    return read_settings(text, FILE, environment)


def test_nothing_is_sent_by_default() -> None:
    settings = read()
    assert (settings.openlineage_file, settings.openlineage_url) == ("", "")


def test_the_simple_variables_of_clients() -> None:
    settings = read(
        BOTH,
        OPENLINEAGE_URL="http://server:5000",
        OPENLINEAGE_ENDPOINT="events",
        OPENLINEAGE_API_KEY="secret",
    )
    assert settings.openlineage_url == "http://server:5000"
    assert settings.openlineage_endpoint == "events"
    assert settings.openlineage_api_key == "secret"
    assert settings.openlineage_file == "events.jsonl"
    assert settings.origins["openlineage.url"] == "$OPENLINEAGE_URL"
    assert describe_settings(settings)["openlineage.api_key"] == "********"
    assert "secret" not in str(describe_settings(settings))


def test_a_transport_wins_over_the_simple_variables_and_a_variable_of_localcdap_over_both() -> None:
    transport = {
        "OPENLINEAGE__TRANSPORT__TYPE": "http",
        "OPENLINEAGE__TRANSPORT__URL": "https://transport",
        "OPENLINEAGE__TRANSPORT__AUTH__APIKEY": "key",
        "OPENLINEAGE__TRANSPORT__TIMEOUT": "2.5",
        "OPENLINEAGE_URL": "http://simple",
    }
    settings = read(**transport)
    assert settings.openlineage_url == "https://transport"
    assert (settings.openlineage_api_key, settings.openlineage_timeout_s) == ("key", 2.5)
    settings = read(**transport, LOCALCDAP_OPENLINEAGE_URL="http://mine")
    assert settings.openlineage_url == "http://mine"
    assert settings.origins["openlineage.url"] == "$LOCALCDAP_OPENLINEAGE_URL"


def test_other_transports() -> None:
    kind = "OPENLINEAGE__TRANSPORT__TYPE"
    path = {"OPENLINEAGE__TRANSPORT__LOG_FILE_PATH": "/var/log/events"}
    settings = read(BOTH, **{kind: "file"}, **path)
    assert (settings.openlineage_file, settings.openlineage_url) == ("/var/log/events", "")
    settings = read(BOTH, **{kind: "noop"})
    assert (settings.openlineage_file, settings.openlineage_url) == ("", "")
    settings = read(BOTH, **{kind: "kafka"})
    assert settings.openlineage_url == "http://own"
    assert find_unknown_transport({kind: "Kafka"}) == "kafka"
    for known in ("http", "async_http", "file", "noop", ""):
        assert find_unknown_transport({kind: known}) is None


def test_disabled_wins_over_everything() -> None:
    variables = {"OPENLINEAGE_URL": "http://a", "LOCALCDAP_OPENLINEAGE_FILE": "b"}
    settings = read(BOTH, **variables, OPENLINEAGE_DISABLED="True")
    assert (settings.openlineage_file, settings.openlineage_url) == ("", "")
    assert read(BOTH, **variables, OPENLINEAGE_DISABLED="false").openlineage_file == "b"


def test_wrong_values_are_found() -> None:
    text = (
        '[openlineage]\nurl = "ftp://x"\nfile_mb = 0\nfile_keep = -1\nkeep_events = 0\n'
        'instance = "a/b"\ntimeout_s = 0\n'
    )
    with pytest.raises(SettingsError) as caught:
        read(text)
    lines = caught.value.message.splitlines()
    assert len(lines) == 6
    assert lines[0] == (
        "localcdap.toml:2: openlineage.url: Expected a URL such as 'http://localhost:5000', got 'ftp://x'"
    )
    with pytest.raises(SettingsError, match=r"\$OPENLINEAGE_URL: openlineage.url: Expected a URL"):
        read(OPENLINEAGE_URL="server")


def test_the_studio_hides_the_key_and_names_the_variable_of_a_setting() -> None:
    settings = read('openlineage.api_key = "hush"', OPENLINEAGE_URL="http://a")
    rows = {row.key: row for row in build_rows(settings, {})}
    key, url = rows["openlineage.api_key"], rows["openlineage.url"]
    assert "hush" not in key.text
    assert not key.is_simple  # else it would be overwritten by what is shown
    assert (url.is_simple, url.variable) == (True, "OPENLINEAGE_URL")
