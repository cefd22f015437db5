"""Hypothesis strategies: any JSON at all, and pipelines in which something was changed at random."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

from tests.pipeline.pipelines import PLUGINS, config, record

_TEXTS = st.text(max_size=8) | st.sampled_from(
    ["", "a", "b", "true", "${", "${x}", "${a(b}", "${secure(k)}", "batchsource", "transform", "If"]
)
_KEYS = _TEXTS | st.sampled_from(
    ["name", "plugin", "type", "properties", "artifact", "version", "scope", "stages", "config"]
    + ["connections", "from", "to", "port", "condition", "postActions", "source", "sinks"]
    + ["transforms", "configuration", "schema", "field", "properties", "resources", "memoryMB"]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS
JSON = st.recursive(
    SCALARS,
    lambda each: st.lists(each, max_size=4) | st.dictionaries(_KEYS, each, max_size=5),
    max_leaves=20,
)
"""Any decoded JSON, often with the keys of pipelines."""


def _sample() -> dict[str, Any]:
    """A pipeline with a plugin of every kind, a macro, a port, a condition and a post action."""
    document = config(
        "source:s transform:t split:p if:c join:j count:n errors:e sink:z sink:y action:a",
        "s>t t>p p.A>c c?true>n c?false>z n>z t>e e>y z>a",
        s={"schema": record("a", "b")},
        t={"field": "a", "note": "${n}"},
    )
    document["postActions"] = [{"name": "m", "plugin": {"type": "postaction", "name": "Mail"}}]
    return {
        "name": "sample",
        "artifact": {"name": "cdap-data-pipeline", "version": "6.0.0", "scope": "SYSTEM"},
        "config": document,
    }


@st.composite
def changed_pipelines(draw: st.DrawFn) -> Any:
    """The sample with up to four places exchanged, removed or repeated."""
    document = copy.deepcopy(_sample())
    for _ in range(draw(st.integers(0, 4))):
        parent, key = draw(st.sampled_from(list(_places(document)) or [({}, "")]))
        if isinstance(parent, list):
            match draw(st.integers(0, 2)):
                case 0:
                    parent.pop(key)
                case 1:
                    parent.insert(key, copy.deepcopy(parent[key]))
                case _:
                    parent[key] = draw(JSON)
        elif draw(st.booleans()):
            parent[key] = draw(JSON | st.sampled_from([kind for kind, _ in PLUGINS.values()]))
        else:
            parent.pop(key, None)
    return document


def _places(node: Any) -> Any:
    if isinstance(node, dict):
        for key in node:
            yield node, key
            yield from _places(node[key])
    elif isinstance(node, list):
        for index in range(len(node)):
            yield node, index
            yield from _places(node[index])
