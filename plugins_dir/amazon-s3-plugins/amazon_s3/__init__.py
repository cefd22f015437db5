"""Plugins of Amazon S3: buckets are folders of this machine."""
