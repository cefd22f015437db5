"""Schemas of records, and the JSON documents that define them."""

from __future__ import annotations

from localcdap.api.schema.schema import Field, LogicalType, Schema, Type, all_same_shape

__all__ = ["Field", "LogicalType", "Schema", "Type", "all_same_shape"]
