"""The settings screen of the studio: the settings in force, and changes of ``localcdap.toml``."""
