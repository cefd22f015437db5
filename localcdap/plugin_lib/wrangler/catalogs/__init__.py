"""The data that directives look up outside of the records: files, data models, standards, web services."""
