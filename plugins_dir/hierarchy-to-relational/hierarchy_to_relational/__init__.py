"""The computation HierarchyToRelational."""
