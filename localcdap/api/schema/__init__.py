"""Schemas of records, and the JSON documents that define them."""

from __future__ import annotations

from localcdap.api.schema.schema import Field, Schema, all_same_shape
from localcdap.api.schema.types import LogicalType, Type

__all__ = ["Field", "LogicalType", "Schema", "Type", "all_same_shape"]
