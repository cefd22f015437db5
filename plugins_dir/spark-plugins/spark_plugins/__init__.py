"""The DataCacher computation."""
