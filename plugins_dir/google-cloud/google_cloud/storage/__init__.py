"""Plugins of Cloud Storage: folders of this machine stand for its buckets."""
