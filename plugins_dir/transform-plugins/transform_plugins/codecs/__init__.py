"""Transforms that compress, decompress, encode, decode or hash single fields."""
