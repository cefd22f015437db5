"""Every property of a shipped plugin is one of CDAP's plugin, or is declared as an addition with a reason.

``original_properties.json`` was read in the sources of CDAP's plugins. For each plugin it has the files with
their repositories and commits, and the names of the properties there, with what becomes of each here:
``supported``, ``without effect``, or ``refused: REASON``. ``not built`` lists names that the plugin does not
have here, with reasons. A plugin without an original has no sources and a ``note``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from localcdap.api.config import ConfigField
from localcdap.artifacts.loading import load_plugin
from tests.pipeline.shelf import load_shipped

LIST: Final = Path(__file__).parent / "original_properties.json"
ORIGINAL: Final[dict[str, Any]] = json.loads(LIST.read_text(encoding="utf-8"))
TELLS_OF_NO_EFFECT: Final = (
    *("without effect", "no effect", "ignored here", "not used here"),
    *("not read here", "not loaded here", "is always 'part'"),
)
SOURCE: Final = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{8,40}\^?: \S.*")

Declared = dict[str, Mapping[str, ConfigField]]


@pytest.fixture(scope="module")
def declared() -> Declared:
    """The properties of each shipped plugin."""
    return {
        f"{candidate.ref.type} {candidate.ref.name}": load_plugin(candidate.ref).Config.get_fields()
        for candidate in load_shipped().candidates
    }


def reject(problems: list[str], action: str) -> None:
    assert not problems, "\n".join([*problems, action])


def test_every_shipped_plugin_is_listed(declared: Declared):
    reject(
        [f"{plugin} is not in {LIST.name}" for plugin in declared.keys() - ORIGINAL.keys()],
        "Add an entry with the names in the sources of CDAP's plugin: {'sources': "
        "['OWNER/REPOSITORY@COMMIT: FILE'], 'properties': {NAME: 'supported'}}. If CDAP has no such plugin: "
        "{'sources': [], 'properties': {}, 'note': REASON}.",
    )
    reject(
        [
            f"{plugin} in {LIST.name} is not a plugin"
            for plugin in ORIGINAL.keys() - declared.keys()
        ],
        "Remove the entry.",
    )


def test_every_entry_says_where_its_names_were_read():
    reject(
        [
            plugin
            for plugin, entry in ORIGINAL.items()
            if not entry["sources"] and not entry["note"]
        ],
        "Give the 'sources' of the original, or a 'note' why there are none.",
    )
    reject(
        [
            f"{plugin}: {source}"
            for plugin, entry in ORIGINAL.items()
            for source in entry["sources"]
            if SOURCE.fullmatch(source) is None
        ],
        "Write each source as OWNER/REPOSITORY@COMMIT: FILE.",
    )


def test_every_property_is_original_or_a_declared_addition(declared: Declared):
    problems = []
    for plugin, fields in declared.items():
        entry = ORIGINAL.get(plugin, {})
        for name, info in fields.items() if entry.get("sources") else ():
            if name in entry["properties"] and info.addition:
                problems.append(f"{plugin}: '{name}' is a property of CDAP's plugin")
            if name not in entry["properties"] and not info.addition:
                problems.append(f"{plugin}: '{name}' is not a property of CDAP's plugin")
    reject(
        problems,
        "Give a property the name that CDAP has for it. A property that CDAP lacks needs a reason: "
        "field(..., addition=REASON), or 'additions' of the class for one that it inherits. Remove the "
        "reason from a property that CDAP has.",
    )


def test_every_original_property_is_known_or_has_a_reason(declared: Declared):
    problems = []
    for plugin, entry in ORIGINAL.items():
        fields = declared.get(plugin, {})
        missing = entry["properties"].keys() - fields.keys()
        built = entry.get("not built", {}).keys() & (entry["properties"].keys() | fields.keys())
        problems += [f"{plugin}: '{name}' is not declared" for name in sorted(missing)]
        problems += [f"{plugin}: '{name}' is declared and 'not built'" for name in sorted(built)]
        problems += [
            f"{plugin}: '{name}' has no reason"
            for name, reason in entry.get("not built", {}).items()
            if not reason
        ]
    reject(
        problems,
        "Declare the property, or move its name to 'not built' of the plugin's entry, with a reason.",
    )


def test_no_former_name_is_a_name_of_cdap(declared: Declared):
    reject(
        [
            f"{plugin}: '{former}' is a former name of '{name}' and a name of CDAP"
            for plugin, fields in declared.items()
            for name, info in fields.items()
            for former in info.former_names
            if former in fields or former in ORIGINAL.get(plugin, {}).get("properties", {})
        ],
        "Declare both as properties.",
    )


def test_descriptions_say_what_becomes_of_each_property(declared: Declared):
    problems = []
    for plugin, entry in ORIGINAL.items():
        for name, state in entry["properties"].items():
            info = declared.get(plugin, {}).get(name)
            kind, _, reason = state.partition(": ")
            text = f"{info.description} {info.group}".lower() if info is not None else ""
            if kind not in ("supported", "without effect", "refused"):
                problems.append(f"{plugin}: '{name}' is '{kind}'")
            if (kind == "refused") != bool(reason):
                problems.append(
                    f"{plugin}: '{name}' needs a reason if it is refused, and only then"
                )
            if kind == "without effect" and not any(words in text for words in TELLS_OF_NO_EFFECT):
                problems.append(
                    f"{plugin}: the description of '{name}' does not say 'without effect'"
                )
            if kind == "refused" and "must be" not in text and "only" not in text:
                problems.append(
                    f"{plugin}: the description of '{name}' does not say what it must be"
                )
    reject(problems, "Correct the state in the list, or the description in the plugin.")
