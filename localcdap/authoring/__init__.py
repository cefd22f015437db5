"""New artifacts for plugin authors, written from the templates of this room."""
