"""What BigQuery refuses of a sink's properties and fields (CDAP ``BigQuerySinkConfig``, ``BigQueryUtil``).

Properties without an effect on this machine are checked too: the pipeline goes back to Google Cloud.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from localcdap.api import Schema, StageConfigurer, Type
from localcdap.api.rules import check_names
from localcdap.java.numbers import NumberFormatError, parse_int

_CHUNK: Final = 256 * 1024
"""Google's smallest chunk of an upload (``MediaHttpUploader.MINIMUM_CHUNK_SIZE``), in bytes."""
_LONGEST_NAME: Final = 300
"""Characters of a column's name."""
_DEEPEST: Final = 15
"""Levels of nested records (``BigQueryTypeSize.Struct.MAX_DEPTH``)."""
_RESERVED_LABELS: Final = ("job_source", "type")
_MOST_LABELS: Final = 64 - len(_RESERVED_LABELS)
_LONGEST_LABEL: Final = 63
_CLUSTERED: Final = (Type.INT, Type.LONG, Type.STRING, Type.BOOLEAN, Type.BYTES)
"""The types by which a table can be clustered; logical types count as what they are stored as."""
_MOST_CLUSTERED: Final = 4


def check_upload(
    stage: StageConfigurer, bucket: str | None, chunk_size: str | None, job_labels: str | None
) -> None:
    """Add failures for the properties of the upload: ``bucket``, ``gcsChunkSize``, ``jobLabels``."""
    import regex

    if bucket and not regex.fullmatch("[a-z0-9._-]+", bucket) and not _is_macro(bucket):
        stage.failures.add(
            "Bucket name can only contain lowercase letters, numbers, '.', '_', and '-'.",
            f"Correct '{bucket}'.",
        ).with_config_property("bucket")
    if chunk_size and not _is_macro(chunk_size):
        _check_chunk_size(stage, chunk_size)
    if job_labels and not _is_macro(job_labels):
        _check_labels(stage, job_labels)


def _is_macro(text: str) -> bool:
    return "${" in text


def _check_chunk_size(stage: StageConfigurer, text: str) -> None:
    try:
        is_multiple = parse_int(text) % _CHUNK == 0
    except NumberFormatError as error:
        stage.failures.add(f"{error}.", "Input value must be a valid number.").with_config_property(
            "gcsChunkSize"
        )
        return
    if not is_multiple:
        stage.failures.add(
            f"Value must be a multiple of {_CHUNK}.", f"Correct '{text}'."
        ).with_config_property("gcsChunkSize")


def _check_labels(stage: StageConfigurer, text: str) -> None:
    """Add failures for labels of the form ``key:value,key`` (``BigQueryUtil.validateJobLabelKeyValue``)."""
    keys: set[str] = set()
    for pair in text.split(","):
        key, *values = _split_label(pair.strip())
        problems = list(_list_label_problems(pair, key, values))
        if key in keys and not problems:
            problems = [(f"Duplicate job label key '{key}'.", "Job label key should be unique.")]
        for message, action in problems:
            stage.failures.add(message, action).with_config_property("jobLabels")
        keys.add(key)
    if len(keys) > _MOST_LABELS:
        stage.failures.add(
            "Number of job labels exceeds the limit.",
            f"Number of job labels cannot be greater than {_MOST_LABELS}.",
        ).with_config_property("jobLabels")


def _split_label(pair: str) -> list[str]:
    """Split as Java does, which leaves out empty texts at the end."""
    parts = pair.split(":")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts


def _list_label_problems(pair: str, key: str, values: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the message and the corrective action of each failure of a label."""
    import regex

    of_key = f"Invalid job label key '{key}'."
    characters = "can only contain lowercase letters, numeric characters, underscores, and dashes."
    if len(values) > 1:
        yield (
            f"Invalid job label key value pair '{pair}'.",
            "Job label key value pair should be in the format 'key:value'.",
        )
        return
    if key in _RESERVED_LABELS:
        yield of_key, "A system label already exists with same name."
        return
    if not key:
        yield of_key, "Job label key cannot be empty."
    elif len(key) > _LONGEST_LABEL:
        yield of_key, f"Job label key cannot be longer than {_LONGEST_LABEL} characters."
    elif not regex.fullmatch(r"\p{L}[a-z0-9\-_\p{L}]+", key) or regex.search("[A-Z]", key):
        yield of_key, f"Job label key {characters} Check docs for more details."
    for value in values:
        of_value = f"Invalid job label value '{value}'."
        if len(value) > _LONGEST_LABEL:
            yield of_value, f"Job label value cannot be longer than {_LONGEST_LABEL} characters."
        elif not regex.fullmatch(r"[a-z0-9\-_\p{L}]+", value) or regex.search("[A-Z]", value):
            yield of_value, f"Job label value {characters}"


def check_output(stage: StageConfigurer, schema: Schema) -> None:
    """Add failures for fields that cannot be columns: names, arrays of arrays, too deep records."""
    import regex

    check_names(stage, schema)
    for name in schema.field_names:
        # The characters of https://cloud.google.com/bigquery/docs/schemas#flexible-column-names
        if not regex.fullmatch(r"[\p{L}\p{M}\p{N}\p{Pc}\p{Pd}&%+=:'<>#| ]+", name):
            stage.failures.add(
                f"Output field '{name}' contains invalid characters. Check column names docs for more "
                "details.",
                "Rename it.",
            ).with_output_field(name)
        if len(name) > _LONGEST_NAME:
            stage.failures.add(
                f"Output field '{name}' exceeds the maximum length of {_LONGEST_NAME} characters.",
                "Rename it.",
            ).with_output_field(name)
    for field in schema:
        inner = field.schema.non_nullable
        items = inner.items.non_nullable if inner.items is not None else None
        if items is not None and items.type in (Type.ARRAY, Type.MAP):
            stage.failures.add(
                f"Field '{field.name}' is an array of unsupported type '{items.display_name}'.",
                "Change the array component type to be a valid type.",
            ).with_output_field(field.name)
    for path in _list_too_deep(schema, "", 0):
        stage.failures.add(
            f"Field '{path}' exceeds BigQuery maximum allowed depth of {_DEEPEST}.",
            "Please flatten the schema to contain fewer levels.",
        ).with_output_field(path.partition(".")[0])


def _list_too_deep(schema: Schema, prefix: str, depth: int) -> Iterator[str]:
    for field in schema.fields or ():
        if depth == _DEEPEST:
            yield prefix + field.name
            continue
        inner = field.schema.non_nullable
        inner = inner.items.non_nullable if inner.items is not None else inner
        yield from _list_too_deep(inner, f"{prefix}{field.name}.", depth + 1)


def check_json_fields(stage: StageConfigurer, schema: Schema, text: str | None) -> None:
    """Add failures for fields with JSON, as ``payload,user.address``, that are missing or no strings."""
    names = [name for name in (text or "").split(",") if name] if not _is_macro(text or "") else []
    missing = []
    for name in names:
        field = _find_field(schema, name)
        if field is None:
            missing.append(name)
        elif field.type is not Type.STRING or field.logical_type is not None:
            stage.failures.add(
                f"Field '{name}' is of type '{field.display_name}' which is not supported for conversion to "
                "JSON string.",
                "Only type 'STRING' is supported.",
            ).with_config_property("jsonStringFields", element=name)
    if missing:
        stage.failures.add(
            f"Field(s) '{', '.join(missing)}' are not present in the Output Schema.",
            "Remove the field(s) from the list of fields to be converted to JSON strings.",
        ).with_config_property("jsonStringFields")


def _find_field(schema: Schema, path: str) -> Schema | None:
    """Return the schema, without null, of a field or of a nested one; None when there is none."""
    inner: Schema | None = schema
    for name in path.split("."):
        if inner is not None and inner.items is not None:
            inner = inner.items.non_nullable
        field = inner.field(name) if inner is not None and inner.fields is not None else None
        inner = field.schema.non_nullable if field is not None else None
    return inner


def check_clustering(
    stage: StageConfigurer, schema: Schema, names: list[str], partition_field: str | None
) -> None:
    """Add failures for the fields by which a partitioned table is clustered."""
    if names and not partition_field:
        stage.failures.add(
            "Clustering order cannot be validated.", "Partition field must have a value."
        ).with_config_property("clusteringOrder").with_config_property("partitionByField")
        return
    if len(names) > _MOST_CLUSTERED:
        stage.failures.add(
            f"Found '{len(names)}' number of clustering fields.",
            f"Expected at most '{_MOST_CLUSTERED}' clustering fields.",
        ).with_config_property("clusteringOrder")
        return
    for name in names:
        field = schema.field(name)
        if field is None:
            stage.failures.add(
                f"Clustering field '{name}' does not exist in the schema.",
                "Ensure all clustering fields exist in the schema.",
            ).with_config_property("clusteringOrder", element=name)
        elif field.schema.non_nullable.type not in _CLUSTERED:
            stage.failures.add(
                f"Field '{name}' is of unsupported type '{field.schema.non_nullable.display_name}'.",
                "Supported types are : string, bytes, int, long, boolean, date, timestamp and decimal.",
            ).with_config_property("clusteringOrder", element=name).with_input_field(
                name
            ).with_output_field(name)
