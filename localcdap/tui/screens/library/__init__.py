"""The library screen of the studio: deployed pipelines, drafts and plugin templates.

:class:`~.list_screen.LibraryListScreen` shows the items, :class:`~.screen.LibraryScreen` adds the actions.
"""
