"""The home screen of the studio: :class:`~.screen.HomeScreen`, and the import of pipeline files."""
