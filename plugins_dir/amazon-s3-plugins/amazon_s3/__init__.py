"""Plugins of Amazon S3 with this machine underneath: buckets are folders here."""
