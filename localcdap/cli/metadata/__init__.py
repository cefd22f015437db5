"""Commands for the metadata of entities: tags, lineage and the audit log."""
