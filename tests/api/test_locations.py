"""Paths of pipeline documents on this machine."""

from __future__ import annotations

import pytest

from localcdap.api.errors import StageError
from localcdap.api.locations import Locations

LOCATIONS = Locations(
    {"gs://sales": "data/sales", "gs://sales/eu/": "/eu", "/tmp/fixtures": "data/fixtures"},
    "/home/me",
)


@pytest.mark.parametrize(
    ("path", "local"),
    [
        ("gs://sales", "/home/me/data/sales"),
        ("gs://sales/2024/*.csv", "/home/me/data/sales/2024/*.csv"),
        ("gs://sales/eu/x", "/eu/x"),
        ("gs://sales/europe", "/home/me/data/sales/europe"),
        ("/tmp/fixtures/a", "/home/me/data/fixtures/a"),
        ("/tmp/fixtures2", "/tmp/fixtures2"),
        ("plain/file.csv", "/home/me/plain/file.csv"),
        ("/absolute", "/absolute"),
        ("file:///absolute", "/absolute"),
        ("file:/absolute", "/absolute"),
        ("file://absolute/x", "/absolute/x"),
        ("file:relative", "/home/me/relative"),
        ("FILE:///a b", "/a b"),
    ],
)
def test_where_paths_lie(path, local):
    assert LOCATIONS.resolve(path) == local


@pytest.mark.parametrize(
    ("path", "prefix"),
    [("s3a://bucket/key/x", "s3a://bucket"), ("hdfs://node:8020/x", "hdfs://node:8020")],
)
def test_a_foreign_path_says_what_to_write_into_the_settings(path, prefix):
    with pytest.raises(StageError) as caught:
        LOCATIONS.resolve(path)

    assert f'"{prefix}" = ' in caught.value.corrective_action


@pytest.mark.parametrize("prefix", ["/in", "file:/in", "file:///in/", "FILE:/in"])
@pytest.mark.parametrize("path", ["/in/a.csv", "file:/in/a.csv", "file:///in/a.csv"])
def test_paths_with_file_and_without_it_are_the_same(prefix: str, path: str):
    assert Locations({prefix: "data"}, "/home/me").resolve(path) == "/home/me/data/a.csv"
    assert Locations({prefix: "data"}, "/home/me").resolve("file:/inner") == "/inner"


def test_on_a_cluster_foreign_paths_mean_themselves():
    remote = Locations({}, "/home/me", remote=True)

    assert remote.resolve("gs://sales/x") == "gs://sales/x"


def test_on_a_cluster_a_relative_path_means_nothing():
    remote = Locations({"/data": "s3a://lake", "gs://x": "relative"}, "/home/me", remote=True)

    assert remote.resolve("/data/in.csv") == "s3a://lake/in.csv"
    assert remote.resolve("file:///absolute") == "/absolute"
    for path in ("in.csv", "file:in.csv", "gs://x/in.csv"):
        with pytest.raises(StageError, match="cluster has no folder"):
            remote.resolve(path)
