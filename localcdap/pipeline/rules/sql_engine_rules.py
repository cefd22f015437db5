"""The SQL engine of a pipeline, in whose database CDAP executes some stages; localcdap runs all on Spark."""

from __future__ import annotations

from localcdap.api.failures import INVALID_PIPELINE, ValidationFailure
from localcdap.pipeline.document.model import PipelineDocument

SQL_ENGINE = "batchsqlengine"


def check_sql_engine(document: PipelineDocument) -> list[ValidationFailure]:
    """Return a warning that the SQL engine is not used, or that its plugin is of another type."""
    plugin = document.sql_engine
    if plugin is None:
        return []
    if not plugin.name or plugin.type != SQL_ENGINE:
        message = (
            f"The plugin of 'transformationPushdown' must have a name and the type '{SQL_ENGINE}', not "
            f"'{plugin.type}'."
        )
        return [_warn(message, "Correct it before the pipeline is deployed in CDAP.")]
    return [
        _warn(
            f"The SQL engine '{plugin.name}' is not used: all stages run on Spark.",
            "Nothing is to be done. It stays in the document, and CDAP uses it.",
        )
    ]


def _warn(message: str, action: str) -> ValidationFailure:
    return ValidationFailure(INVALID_PIPELINE, message, action, [])
