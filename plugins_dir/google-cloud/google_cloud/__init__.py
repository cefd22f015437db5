"""Stand-ins for the plugins of Google Cloud: buckets are folders and datasets are tables of this machine."""
