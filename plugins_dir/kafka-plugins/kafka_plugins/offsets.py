"""Offsets of the partitions of a topic, and the file in which a source keeps them between runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from localcdap.api import StageError
from localcdap.files.atomic import write_internal_file

_KEY: Final = "partitionOffsets"


def parse_offsets(text: str | None) -> tuple[dict[int, int], list[tuple[str, str]]]:
    """Parse ``partition:offset`` pairs, separated by commas.

    :returns: the offsets by partition, and each pair that is wrong with the reason.
    """
    offsets: dict[int, int] = {}
    wrong: list[tuple[str, str]] = []
    for pair in filter(None, map(str.strip, (text or "").split(","))):
        partition, _, offset = (part.strip() for part in pair.partition(":"))
        if not partition.isdecimal():
            wrong.append((pair, f"Invalid partition '{partition}' in initialPartitionOffsets."))
        elif not offset.isdecimal():
            wrong.append(
                (
                    pair,
                    f"Invalid offset '{offset}' in initialPartitionOffsets for partition {partition}.",
                )
            )
        else:
            offsets[int(partition)] = int(offset)
    return offsets, wrong


class OffsetsFile:
    """The file with the offsets at which the next run begins, of one pipeline.

    It has the name and the content of CDAP's (``KafkaPartitionOffsets``).
    """

    def __init__(self, directory: str, namespace: str, pipeline: str) -> None:
        self.path: Final = Path(directory) / f"{namespace}.{pipeline}.offsets.json"

    def load(self) -> dict[int, int] | None:
        """Return the offsets by partition; None before the first run.

        :raises StageError: when the file cannot be read.
        """
        try:
            document = json.loads(self.path.read_text(encoding="utf-8"))
            return {int(partition): int(value) for partition, value in document[_KEY].items()}
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
            raise StageError(
                f"The file with the offsets, '{self.path}', cannot be read: {error}",
                "Correct it, or remove it to begin with 'initialPartitionOffsets'.",
            ) from None

    def save(self, offsets: dict[int, int]) -> None:
        """Replace the file; after a crash it has the old offsets or the new ones.

        :raises OSError: when it cannot be written.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({_KEY: {str(key): value for key, value in sorted(offsets.items())}})
        write_internal_file(self.path, text.encode())
