"""The plugin types and their roles in a pipeline (CDAP 6)."""

from __future__ import annotations

from typing import Final

SOURCE: Final = "batchsource"
ERROR_TRANSFORM: Final = "errortransform"
SPLITTER: Final = "splittertransform"
JOINER: Final = "batchjoiner"
CONDITION: Final = "condition"
ALERT_PUBLISHER: Final = "alertpublisher"
POST_ACTION: Final = "postaction"

SOURCES: Final = frozenset((SOURCE, "streamingsource", "realtimesource"))
SINKS: Final = frozenset(
    ("batchsink", "sparksink", ALERT_PUBLISHER, "streamingsink", "realtimesink")
)
ACTIONS: Final = frozenset(("action", "sparkprogram"))
CONTROL: Final = ACTIONS | {CONDITION}
"""Types of stages that control the order of others and handle no records."""
ERROR_EMITTERS: Final = (SOURCE, "transform", "batchaggregator", ERROR_TRANSFORM)
"""Types that may be the input of an error transform."""

STREAMING: Final = frozenset(
    ("streamingsource", "streamingsink", "windower", "realtimesource", "realtimesink")
)
"""Types of stages of streaming pipelines only."""
BATCH: Final = frozenset(
    (
        SOURCE,
        "batchsink",
        "transform",
        "batchaggregator",
        JOINER,
        SPLITTER,
        ERROR_TRANSFORM,
        *ACTIONS,
        CONDITION,
        ALERT_PUBLISHER,
        "sparkcompute",
        "sparksink",
    )
)
"""Types of the stages of a batch pipeline."""
HELPERS: Final = frozenset(
    (POST_ACTION, "batchsqlengine", "connector", "validatingInputFormat", "validatingOutputFormat")
)
"""Types of plugins that cannot be stages."""
