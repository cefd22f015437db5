"""What connectors share: folders in which nobody leaves the root, the records of a file, source stages."""
