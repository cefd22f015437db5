"""Plugins of Google Cloud: buckets are folders and datasets are tables of this machine."""
