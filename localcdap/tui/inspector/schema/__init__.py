"""The schemas of a stage: as a list of fields, and as text that can be edited."""
