"""Plugin directories: finding and identifying artifacts, watching for changes, updating the index.

:class:`~localcdap.artifacts.directories.sync.ArtifactSynchronizer` compares the directories with the index,
:class:`~localcdap.artifacts.directories.watcher.FolderWatcher` starts it after changes.
"""
