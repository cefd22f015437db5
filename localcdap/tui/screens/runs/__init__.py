"""The runs screen of the studio.

:class:`~.history_screen.RunHistoryScreen` shows the history of a namespace, with a
:class:`~.run_view.RunView` of the highlighted run. :class:`~.screen.RunsScreen` adds the actions.
"""
