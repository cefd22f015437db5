"""The files of a cluster, which only Spark sees."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from localcdap.api import SourceContext
from localcdap.plugin_lib.files.inputs import FilesNotFoundError, is_remote, matching_files

_LOCAL: Final = re.compile("^file:/+")


def cluster_files(
    context: SourceContext, path: str, *, recursive: bool, file_regex: str | None, written: str
) -> list[str]:
    """What :func:`.input_files.input_files` means, as Hadoop on the cluster lists it.

    Those of the cluster's own file system are absolute paths, the others URLs.

    :raises FilesNotFoundError: when there is no such file.
    """
    from pyspark.errors import AnalysisException

    reader = context.spark.read.format("binaryFile")
    if recursive:
        reader = reader.option("recursiveFileLookup", "true")
    try:
        # Contents are not read when no column asks for them.
        rows = reader.load(path).select("path").collect()
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        raise FilesNotFoundError(
            f"Input path '{path}' does not exist on the cluster.", "Check the 'path' property."
        ) from None
    files = [_LOCAL.sub("/", row["path"]) for row in rows]
    return matching_files(files, path, recursive=recursive, file_regex=file_regex, written=written)


def require_file_system(context: SourceContext, files: Sequence[str]) -> None:
    """Refuse files that Spark reaches and the Python processes that would read them do not."""
    other = next((file for file in files if is_remote(file)), None)
    if other is not None:
        raise context.fail(
            f"'{other}' would be read by Python, which reaches only the file systems of the workers.",
            "Copy it to a path that all workers see, or have it as JSON, Parquet, ORC, or plain lines in "
            "UTF-8, which Spark reads itself.",
        )
