"""Plugins for data about persons, which detectors on this machine find in place of those of Google Cloud."""
