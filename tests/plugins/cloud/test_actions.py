"""Actions on buckets: copies, moves, folders made and deleted, markers, arguments from a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from localcdap.artifacts.loading import load_plugin
from localcdap.testing import StageTester, artifact_ref

PLUGINS = Path(__file__).resolve().parents[3] / "plugins_dir" / "google-cloud"


def stage_of(name: str, folder: Path, type: str = "action", **properties: str) -> StageTester:
    cls = load_plugin(artifact_ref(PLUGINS, type, name))
    places = {"gs://x": "x", "gs://y": "y"}
    return StageTester(cls, properties, directory=folder, locations=places)


def fill(folder: Path, *files: str) -> None:
    for file in files:
        place = folder / file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(file)


def inside(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


LISTINGS = ("x/catalog.xml", "x/listings/01/a.csv", "x/listings/02/b.csv")


@pytest.mark.parametrize(
    ("source", "target", "more", "given"),
    [
        ("gs://x", "gs://y", {}, ["catalog.xml"]),
        (
            "gs://x/listings",
            "gs://y/dest",
            {"recursive": "true"},
            ["dest/01/a.csv", "dest/02/b.csv"],
        ),
        ("x/listings", "y", {"recursive": "true"}, ["listings/01/a.csv", "listings/02/b.csv"]),
        ("gs://x/listings/*/*.csv", "gs://y/all", {}, ["all/a.csv", "all/b.csv"]),
        ("gs://x/listings/01/a.csv", "gs://y/new.csv", {}, ["new.csv"]),
        ("gs://x/listings/01/a.csv", "gs://y/f/", {}, ["f/a.csv"]),
    ],
)
def test_where_copies_go(tmp_path: Path, source: str, target: str, more: Mapping[str, str], given):
    fill(tmp_path, *LISTINGS)
    (tmp_path / "y").mkdir()
    stage_of("GCSCopy", tmp_path, sourcePath=source, destPath=target, **more).act()
    assert inside(tmp_path / "y") == given
    assert inside(tmp_path / "x") == sorted(name[2:] for name in LISTINGS)


def test_a_folder_that_is_there_takes_the_folder_in(tmp_path: Path):
    fill(tmp_path, *LISTINGS, "y/dest/z")
    stage_of(
        "GCSMove",
        tmp_path,
        sourcePath="gs://x/listings",
        destPath="gs://y/dest",
        recursive="true",
    ).act()
    assert inside(tmp_path / "y") == ["dest/listings/01/a.csv", "dest/listings/02/b.csv", "dest/z"]
    assert inside(tmp_path / "x") == ["catalog.xml"]


def test_nothing_is_replaced_or_half_done_unless_asked(tmp_path: Path):
    fill(tmp_path, "x/a", "x/b", "y/b")
    both = {"sourcePath": "gs://x/*", "destPath": "gs://y/"}
    with pytest.raises(Exception, match="already exists"):
        stage_of("GCSCopy", tmp_path, **both).act()
    assert inside(tmp_path / "y") == ["b"]
    stage_of("GCSCopy", tmp_path, overwrite="true", **both).act()
    assert (tmp_path / "y/b").read_text() == "x/b"
    with pytest.raises(Exception, match="'gs://x/none' does not exist"):
        stage_of("GCSMove", tmp_path, sourcePath="gs://x/none", destPath="gs://y").act()


def test_patterns_of_destinations_and_wrong_buckets_are_reported(tmp_path: Path):
    wrong = stage_of("GCSCopy", tmp_path, sourcePath="gs://Big/a", destPath="gs://y/*")
    assert wrong.problems == [
        "sourcePath: Invalid bucket name in path 'gs://Big/a'.",
        "destPath: Destination path should not contain wildcard characters.",
    ]


def test_folders_are_made_all_or_none(tmp_path: Path):
    fill(tmp_path, "y/there/f")
    stage_of("GCSBucketCreate", tmp_path, paths="gs://x/a/b, gs://y/there").act()
    assert (tmp_path / "x/a/b").is_dir()
    strict = {"paths": "gs://x/c/d,gs://y/there", "failIfExists": "true"}
    with pytest.raises(Exception, match="'gs://y/there' already exists"):
        stage_of("GCSBucketCreate", tmp_path, **strict).act()
    assert not (tmp_path / "x/c").exists()


def test_deleting(tmp_path: Path):
    fill(tmp_path, "x/a/1", "x/ab/2", "x/c", "y/[a]*", "y/b")
    stage_of("GCSBucketDelete", tmp_path, paths="gs://x/a*,gs://y/b,gs://x/none").act()
    assert inside(tmp_path / "x") == ["c"]
    assert inside(tmp_path / "y") == ["[a]*"]


def test_a_marker_is_made_when_its_condition_holds(tmp_path: Path):
    marker = stage_of(
        "GCSDoneFileMarker", tmp_path, "postaction", path="gs://x/d/_DONE", runCondition="success"
    )
    marker.act(succeeded=False)
    assert not (tmp_path / "x").exists()
    marker.act(succeeded=True)
    assert inside(tmp_path / "x") == ["d/_DONE"]


def arguments(folder: Path, *given: dict[str, Any]) -> dict[str, str]:
    fill(folder, "x/args.json")
    (folder / "x/args.json").write_text(json.dumps({"arguments": given}))
    return dict(stage_of("GCSArgumentSetter", folder, path="gs://x/args.json").act().arguments)


def test_arguments_of_every_type(tmp_path: Path):
    fields = [{"name": "a", "type": "int", "nullable": False}, {"name": "b", "type": "date"}]
    found = arguments(
        tmp_path,
        {"name": "text", "value": "x"},
        {"name": "n", "type": "Int", "value": 7},
        {"name": "r", "type": "double", "value": 1.5},
        {"name": "list", "type": "array", "value": ["a", 1]},
        {"name": "map", "type": "map", "value": {"k": "v", "l": 2}},
        {"name": "schema", "type": "schema", "value": fields},
    )
    schema = json.loads(found.pop("schema"))
    assert [(f["name"], f["type"]) for f in schema["fields"]] == [
        ("a", "int"),
        ("b", ["string", "null"]),
    ]
    assert found == {"text": "x", "n": "7", "r": "1.5", "list": "a\n1", "map": "k=v;l=2"}


@pytest.mark.parametrize(
    ("argument", "reported"),
    [
        ({"name": "n"}, "it has no value"),
        ({"value": 1}, "'name'"),
        ({"name": "n", "type": "int", "value": "x"}, "invalid literal"),
        ({"name": "n", "type": "odd", "value": "x"}, "'odd' is not a type"),
        ({"name": "n", "value": [1]}, "not a single value"),
    ],
)
def test_wrong_arguments_are_reported_with_their_number(tmp_path: Path, argument, reported):
    with pytest.raises(Exception, match=f"argument 2 of 'gs://x/args.json' is wrong: .*{reported}"):
        arguments(tmp_path, {"name": "ok", "value": "x"}, argument)
