"""The lineage area: datasets, pipelines and fields as a graph around what is asked about."""
