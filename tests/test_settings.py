from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.errors import SettingsError
from localcdap.engine.endpoint import find_address_error, hide_parameters
from localcdap.settings import (
    OPTIONS,
    NamespaceSettings,
    Profile,
    Settings,
    describe_settings,
    load_settings,
)

REMOTE_WANTED = "Expected an address such as 'sc://host:15002/;token=…'"
MINUTES_WANTED = "Expected 0 (never) or more minutes"


@pytest.fixture
def file(tmp_path) -> Path:
    return tmp_path / "localcdap.toml"


def load(file: Path, text: str, **environment: str) -> Settings:
    file.write_text(text, encoding="utf-8")
    return load_settings(file, environment)


def problems(file: Path, text: str, **environment: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load(file, text, **environment)
    return caught.value.message.splitlines()


def test_an_absent_or_empty_file_means_the_defaults(file):
    assert load_settings(file, {}) == load(file, "") == Settings(origins={})


def test_defaults_are_not_shared(file):
    load_settings(file, {}).plugin_directories.append("more")
    load_settings(file, {}).origins["x"] = "y"

    assert load_settings(file, {}) == Settings(origins={})


EVERY_SETTING = """
        plugin.directories = ["plugins", "more"]
        plugin.required.capabilities = ["native", "PII"]
        plugin.capabilities.known = ["PII", "gcp"]
        plugin.time_limit_s = 2.5
        plugin.memory_mb = 512
        plugin.session_memory_mb = 64
        app = {time_limit_s = 5, memory_mb = 300, idle_minutes = 1, jobs_at_once = 2, job_memory_mb = 900}
        runs.parallel = 3
        runs.keep_days = 30
        runs.keep_newest = 9
        runs.update_datasets = true
        runs.recorded_on_clusters = true
        schedules = {catch_up = true}
        host.idle_seconds = 0
        backups.daily = false
        security.enabled = true
        locations."gs://sales" = "data/sales"
        recordings."plugin:SapOdp" = "generate:7"
        lineage.retention.days = 0.5
        data.tx = {timeout = 7, max.timeout = 70}
        datasets.shipped_annotations = true
        preview.records = 7
        engine = {cores=2, memory="512m", idle_minutes=0, counts=false, profiles=false, directory="e"}
        [openlineage]
        file = "events.jsonl"
        file_mb = 1
        file_keep = 0
        url = "http://server:5000"
        endpoint = "x"
        api_key = "hush"
        timeout_s = 1
        keep_events = 5
        instance = "shop"
        [profiles.cluster]
        remote = "sc://spark.example:15002"
        required_capabilities = ["cloud"]
        locations = {"gs://sales" = "/mnt/sales"}
        [namespaces.eu]
        profile = "cluster"
"""


def test_every_setting_can_be_set_in_the_file(file):
    settings = load(file, EVERY_SETTING)

    assert describe_settings(settings) == {
        "plugin.directories": ["plugins", "more"],
        "plugin.required.capabilities": ["mode_native", "pii"],
        "plugin.capabilities.known": ["pii", "gcp"],
        "plugin.time_limit_s": 2.5,
        "plugin.memory_mb": 512,
        "plugin.session_memory_mb": 64,
        "app.time_limit_s": 5,
        "app.memory_mb": 300,
        "app.idle_minutes": 1,
        "app.jobs_at_once": 2,
        "app.job_memory_mb": 900,
        "host.idle_seconds": 0,
        "backups.daily": False,
        "engine.cores": "2",
        "engine.memory": "512m",
        "engine.idle_minutes": 0,
        "engine.counts": False,
        "engine.profiles": False,
        "engine.warm_up": True,
        "engine.directory": "e",
        "engine.profile": "native",
        "runs.keep_days": 30,
        "runs.keep_newest": 9,
        "runs.parallel": 3,
        "runs.update_datasets": True,
        "schedules.catch_up": True,
        "lineage.retention.days": 0.5,
        "data.tx.timeout": 7.0,
        "data.tx.max.timeout": 70.0,
        "datasets.shipped_annotations": True,
        "preview.records": 7,
        "openlineage.file": "events.jsonl",
        "openlineage.file_mb": 1,
        "openlineage.file_keep": 0,
        "openlineage.url": "http://server:5000",
        "openlineage.endpoint": "x",
        "openlineage.api_key": "********",
        "openlineage.timeout_s": 1,
        "openlineage.keep_events": 5,
        "openlineage.instance": "shop",
        "security.enabled": True,
        "locations": {"gs://sales": "data/sales"},
        "recordings": {"plugin:SapOdp": "generate:7"},
        "runs.recorded_on_clusters": True,
        "profiles": {
            "cluster": {
                "remote": "sc://spark.example:15002",
                "required_capabilities": ["mode_cloud"],
                "locations": {"gs://sales": "/mnt/sales"},
                "packages": [],
            }
        },
        "namespaces": {"eu": {"profile": "cluster"}},
        "security.privileges": {},
    }


def test_privileges_are_read_and_every_problem_has_its_line(file):
    settings = load(
        file, '[security.privileges.alice]\n"namespaces/eu" = ["READ", "write"]\n"*" = "admin"'
    )
    assert settings.security_privileges == {
        "alice": {"namespaces/eu": ["READ", "WRITE"], "*": ["ADMIN"]}
    }

    with pytest.raises(SettingsError) as wrong:
        load(
            file,
            '[security]\nenabled = "perhaps"\n[security.privileges."a.b"]\n"namespaces/eu" = ["FLY"]\n'
            '"tables/eu" = ["READ"]\n[security.privileges]\nbob = 3',
        )
    lines = wrong.value.message.splitlines()
    assert [line.split(": ")[:2] for line in lines] == [
        ["localcdap.toml:2", "security.enabled"],
        ["localcdap.toml:4", "security.privileges.a.b.namespaces/eu"],
        ["localcdap.toml:5", "security.privileges.a.b.tables/eu"],
        ["localcdap.toml:7", "security.privileges.bob"],
    ]


def test_every_setting_is_declared_and_has_a_default_of_its_type(file):
    fields = set(Settings.__struct_fields__) - {
        "locations",
        "recordings",
        "profiles",
        "namespaces",
        "security_privileges",
        "origins",
    }

    assert set(OPTIONS.values()) == fields
    assert load(file, "engine.cores = '*'").engine_cores == "*"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'mode_native, PII,'", ["mode_native", "pii"]),
        ("''", []),
        ("[]", []),
        ("['Remote']", ["mode_cloud"]),
        ("['native, PII', 'x']", ["mode_native", "pii", "x"]),
    ],
)
def test_required_capabilities_are_a_list_or_a_comma_text(file, text, expected):
    settings = load(file, f"plugin.required.capabilities = {text}")

    assert settings.plugin_required_capabilities == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "'(cloud && spark_2)||(native && spark_1), PII'",
            ["(mode_cloud && spark_2) || (mode_native && spark_1)", "pii"],
        ),
        ("['a || b', 'c']", ["a || b", "c"]),
    ],
)
def test_required_capabilities_may_be_expressions(file, text, expected):
    plugins = load(file, f"plugin.required.capabilities = {text}")
    profile = load(file, f"[profiles.a]\nremote = 'sc://a'\nrequired_capabilities = {text}")

    assert plugins.plugin_required_capabilities == expected
    assert profile.profiles["a"].required_capabilities == expected


def test_a_malformed_expression_names_its_line_and_what_is_missing(file):
    with pytest.raises(SettingsError) as caught:
        load(file, "\nplugin.required.capabilities = 'a && (b'")

    assert caught.value.message.startswith(
        f"{file.name}:2: plugin.required.capabilities: A ')' is missing: 'a && (b'."
    )


def test_the_environment_adds_to_required_capabilities_and_never_lifts_them(file):
    name = "LOCALCDAP_PLUGIN_REQUIRED_CAPABILITIES"
    both = load(file, "plugin.required.capabilities = 'PII'", **{name: "native"})
    empty = load(file, "plugin.required.capabilities = 'PII'", **{name: ""})

    assert both.plugin_required_capabilities == ["pii", "mode_native"]
    assert both.origins["plugin.required.capabilities"] == f"{file.name}:1 and ${name}"
    assert empty.plugin_required_capabilities == ["pii"]


def test_the_environment_wins_over_the_file(file):
    settings = load(
        file,
        "engine.cores = 2\nengine.memory = '1g'\n",
        LOCALCDAP_ENGINE_CORES="4",
        LOCALCDAP_ENGINE_COUNTS="false",
        LOCALCDAP_PLUGIN_TIME_LIMIT_S="1.5",
        LOCALCDAP_PLUGIN_MEMORY_MB="256",
        LOCALCDAP_PLUGIN_DIRECTORIES="one, two",
        LOCALCDAP_PLUGIN_REQUIRED_CAPABILITIES="native",
        LOCALCDAP_OTHER="ignored",
    )

    assert (settings.engine_cores, settings.engine_memory) == ("4", "1g")
    assert settings.engine_counts is False
    assert (settings.plugin_time_limit_s, settings.plugin_memory_mb) == (1.5, 256)
    assert settings.plugin_directories == ["one", "two"]
    assert settings.plugin_required_capabilities == ["mode_native"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", []),
        (" ['one', \"two, three\",] ", ["one", "two, three"]),
        ("one, two,", ["one", "two"]),
        ("", []),
    ],
)
def test_a_list_in_the_environment_has_commas_or_is_an_array(file, text, expected):
    settings = load(file, "", LOCALCDAP_PLUGIN_DIRECTORIES=text)

    assert settings.plugin_directories == expected


def test_capabilities_in_the_environment_may_be_an_array(file):
    settings = load(
        file,
        "",
        LOCALCDAP_PLUGIN_REQUIRED_CAPABILITIES="[]",
        LOCALCDAP_PLUGIN_CAPABILITIES_KNOWN="['PII', 'native']",
    )

    assert settings.plugin_required_capabilities == []
    assert settings.plugin_capabilities_known == ["pii", "mode_native"]


@pytest.mark.parametrize("text", ["[native]", "['a'", "a]", "[1]", "[['a']]"])
def test_an_array_in_the_environment_must_be_one_of_texts(file, text):
    names = ("plugin.directories", "plugin.required.capabilities", "plugin.capabilities.known")
    variables = {f"LOCALCDAP_{name.replace('.', '_').upper()}": text for name in names}

    found = problems(file, "", **variables)

    wanted = "Expected a list of texts such as ['a', 'b'], or a text such as 'a, b'"
    assert found == [
        f"${variable}: {name}: {wanted}, got {text!r}"
        for name, variable in zip(names, variables, strict=True)
    ]


def test_each_setting_knows_where_it_came_from(file):
    settings = load(
        file,
        "# first\n[engine]\ncores = 2 # two\nmemory = '1g'\n\n[locations]\n'gs://a=b' = 'x'\n",
        LOCALCDAP_ENGINE_CORES="4",
    )

    assert settings.origins == {
        "engine.cores": "$LOCALCDAP_ENGINE_CORES",
        "engine.memory": "localcdap.toml:4",
        "locations": "localcdap.toml:6",
    }


def test_all_problems_are_found_at_once_each_with_its_line_and_key(file):
    found = problems(
        file,
        "engine.cores = 0\n"
        "engine.memroy = '2g'\n"
        "[plugin]\n"
        "memory_mb = 'much'\n"
        "[preview]\n"
        "records = -1\n"
        "[locations]\n"
        "'gs://a=b' = 5\n"
        "good = 'path'\n"
        "[profiles.cluster]\n"
        "remot = 'sc://x'\n"
        "[profiles.other]\n"
        "remote = 'spark://x'\n",
        LOCALCDAP_ENGINE_IDLE_MINUTES="-1",
        LOCALCDAP_RUNS_KEEP_NEWEST="-1",
    )

    assert found == [
        "localcdap.toml:1: engine.cores: Expected '*' or a number of threads, got '0'",
        "localcdap.toml:2: unknown setting 'engine.memroy'. Did you mean 'engine.memory'?",
        "localcdap.toml:4: plugin.memory_mb: Expected `int`, got `str`",
        "localcdap.toml:6: preview.records: Expected a number above 0, got -1",
        "localcdap.toml:8: locations.gs://a=b: Expected `str`, got `int`",
        "localcdap.toml:10: profiles.cluster: It has no 'remote'",
        (
            "localcdap.toml:11: profiles.cluster.remot: Unknown key; known are: remote, "
            "required_capabilities, locations, packages"
        ),
        f"localcdap.toml:13: profiles.other.remote: {REMOTE_WANTED}, got one whose scheme is 'spark'",
        f"$LOCALCDAP_ENGINE_IDLE_MINUTES: engine.idle_minutes: {MINUTES_WANTED}, got -1.0",
        "$LOCALCDAP_RUNS_KEEP_NEWEST: runs.keep_newest: Expected 0 (no limit) or more, got -1",
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("engine.cores = '1.5'", "Expected '*' or a number of threads, got '1.5'"),
        ("engine.cores = true", "Expected '*' or a number of threads, got 'True'"),
        ("engine.memory = '2 gigabytes'", "Expected a size such as '2g' or '512m'"),
        ("engine.memory = 2", "Expected `str`, got `int`"),
        ("engine.idle_minutes = nan", "Expected 0 (never) or more minutes"),
        ("host.idle_seconds = -1", "Expected 0 or more seconds, got -1"),
        ("engine.counts = 'perhaps'", "Expected `bool`, got `str`"),
        ("plugin.time_limit_s = 0", "Expected a number above 0"),
        ("plugin.directories = 5", "Expected `array`, got `int`"),
        ("plugin.required.capabilities = [1]", "Expected `str`, got `int`"),
        ("locations = 'gs://a'", "Expected `object`, got `str`"),
        ("profiles.x.remote = 5", "Expected `str`, got `int`"),
        ("plugin = 5", "unknown setting 'plugin'."),
        ("profiles.x = {remote = 'sc://a', cores = 1}", "Unknown key; known are: remote,"),
    ],
)
def test_a_wrong_value_is_named(file, line, problem):
    (found,) = problems(file, f"\n{line}\n")

    assert found.startswith("localcdap.toml:2: ")
    assert problem in found


def test_an_unknown_setting_like_no_other_comes_with_the_list(file):
    (found,) = problems(file, "zzz = 1")

    assert all(key in found for key in (*OPTIONS, "locations", "profiles"))


@pytest.mark.parametrize(
    "text",
    [
        "[engine]\nx=1\ncores = 0",
        "[ engine ] # comment\n\n'cores'=0",
        "# cores = 0\n\nengine.cores = 0",
        "[preview]\nrecords = 1\n[engine]\ncores=0",
        'x = "engine.cores = 0"\n\n"engine" . "cores" = 0',
    ],
)
def test_the_line_is_found_however_the_key_is_written(file, text):
    line = next(p for p in problems(file, text) if "engine.cores:" in p).split(": ")[0]

    assert line == f"localcdap.toml:{len(text.splitlines())}"


def test_what_is_no_toml_or_no_text_is_a_settings_error(file):
    with pytest.raises(SettingsError, match=r"localcdap\.toml: .*line 2") as caught:
        load(file, "\nengine.cores 2\n")
    assert caught.value.corrective_action == "Correct the TOML syntax at that place."

    file.write_bytes(b"engine.memory = '\xff'")
    with pytest.raises(SettingsError, match=r"localcdap\.toml cannot be read"):
        load_settings(file, {})

    file.unlink()
    file.mkdir()
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings(file, {})


def test_profiles(file):
    settings = load(file, "[profiles]\na.remote = 'sc://a'\n[profiles.b]\nremote = 'sc://b:1'\n")

    assert settings.profiles == {"a": Profile("sc://a"), "b": Profile("sc://b:1")}
    assert settings.profiles["a"].required_capabilities == ["mode_cloud"]
    assert settings.origins == {"profiles": "localcdap.toml:1"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("[]", []), ("'aws, PII'", ["aws", "pii"]), ("['Remote']", ["mode_cloud"])],
)
def test_what_a_profile_requires(file, text, expected):
    settings = load(file, f"[profiles.a]\nremote = 'sc://a'\nrequired_capabilities = {text}")

    assert settings.profiles["a"].required_capabilities == expected


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("http://a", REMOTE_WANTED),
        ("sc://", "without a host"),
        ("sc://a:x/;token=hidden", "Port could not be cast"),
        ("sc://a:99999/;token=hidden", "Port out of range"),
        ("sc://me:hidden@a", "has no user"),
        ("sc://a/folder;token=hidden", "The port is followed by '/;'"),
        ("sc://a;token=hidden", "Parameters follow '/;'"),
        ("sc://a/;hidden", "'key=value'"),
        ("sc://a/;token=hidden==", "write it as %3D"),
        ("sc://a/;session_id=1", "set by localcdap"),
        ("sc://a b", "no blanks"),
    ],
)
def test_a_wrong_address_is_reported_without_its_secrets(file, address, problem):
    (found,) = problems(file, f"[profiles.p]\nremote = '{address}'")

    assert found.startswith("localcdap.toml:2: profiles.p.remote: ")
    assert problem in found
    assert "hidden" not in found


@given(st.text())
def test_any_text_is_an_address_or_not(text):
    find_address_error(f"sc://{text}")
    assert hide_parameters(f"sc://host:1/;token={text}") == "sc://host:1"


def test_secrets_of_profiles_are_not_effective_settings(file):
    settings = load(file, "[profiles.p]\nremote = 'sc://a:1/;token=hidden'")

    assert describe_settings(settings)["profiles"]["p"]["remote"] == "sc://a:1"
    assert "hidden" not in str(describe_settings(settings))


@pytest.mark.parametrize("name", ["native", "Native", "'a:b'", "''"])
def test_names_that_a_profile_cannot_have(file, name):
    (found,) = problems(file, f"[profiles.{name}]\nremote = 'sc://a'")

    assert found.startswith("localcdap.toml:1: profiles.")


def test_profiles_that_are_named_must_be_there(file):
    assert load(
        file, "engine.profile = 'p'\n[profiles.p]\nremote = 'sc://a'\n[namespaces.n]\n"
    ).namespaces == {"n": NamespaceSettings()}
    found = problems(
        file,
        "engine.profile = 'q'\n[profiles.p]\nremote = 'sc://a'\n[namespaces.n]\nprofile = 'r'\n",
    )

    assert found == [
        "localcdap.toml:5: namespaces.n.profile: There is no profile 'r'; available: native, p",
        "localcdap.toml:1: engine.profile: There is no profile 'q'; available: native, p",
    ]


def test_a_recording_that_is_none_is_a_problem_with_its_line(file):
    found = problems(file, '[recordings]\n"Orders" = "orders.csv"\n"Store" = "generate:0"\nX = 1\n')
    assert found[0].startswith(
        "localcdap.toml:3: recordings.Store: 'generate:0' does not say how many records to generate."
    )
    assert found[1].startswith("localcdap.toml:4: recordings.X: ")
