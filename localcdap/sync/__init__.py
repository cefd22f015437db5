"""Synchronization of a namespace with a folder of JSON files, which its user keeps in Git.

The host reads and changes the entities (:mod:`.service`, with one :class:`~.kinds.EntityKind` for each
kind), and plans what a synchronization does (:mod:`.planner`). Front ends read and write the files
(:mod:`.folder`, :mod:`.synchronizer`), because these belong to the user of the shell.
"""
