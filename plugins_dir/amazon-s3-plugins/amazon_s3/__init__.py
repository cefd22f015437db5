"""Stand-ins for the plugins of Amazon S3: buckets are folders of this machine."""
