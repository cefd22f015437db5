"""Plugins of Google Cloud with this machine underneath: buckets are folders, datasets are tables here."""
