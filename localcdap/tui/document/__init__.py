"""The open pipeline without its widgets: its document, where it is saved, and what the service says of it."""
