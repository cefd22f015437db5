"""Where things are: the instance's folder and what the package ships.

Every path of localcdap that is not a user's own file is named here.
"""

from __future__ import annotations

import os
from pathlib import Path

SETTINGS_FILE = "localcdap.toml"


class Home:
    """The folder of one instance. Creating the object creates nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().absolute()

    @property
    def settings_file(self) -> Path:
        return self.path / SETTINGS_FILE

    @property
    def database(self) -> Path:
        """The single DuckDB file; only the host opens it."""
        return self.path / "localcdap.duckdb"

    @property
    def backups(self) -> Path:
        """Copies of the database: made by hand, before migrations, and of what was replaced."""
        return self.path / "backups"

    @property
    def runs(self) -> Path:
        """One sub-folder for each run: its order, spool and log."""
        return self.path / "runs"

    @property
    def previews(self) -> Path:
        """One sub-folder for each preview while it goes on."""
        return self.path / "previews"

    @property
    def engine(self) -> Path:
        """Discovery, logs and scratch space of the local Spark server."""
        return self.path / "engine"

    @property
    def artifact_cache(self) -> Path:
        """Copies of good artifacts by digest, so that a broken update does no harm."""
        return self.path / "cache" / "artifacts"

    @property
    def trash(self) -> Path:
        """Plugin folders of deleted namespaces; never emptied by localcdap."""
        return self.path / "trash"

    @property
    def secrets_file(self) -> Path:
        """Values of secure keys where the system has no keyring; for its user's eyes only."""
        return self.path / "secrets.json"

    @property
    def reports(self) -> Path:
        """Reports of faults of localcdap itself."""
        return self.path / "reports"

    def resolve(self, path: str) -> Path:
        """A path from the settings: relative ones are relative to this folder."""
        return self.path / Path(path).expanduser()


def find_home(option: str | None) -> Home:
    """The instance that a command means.

    In this order: the ``--home`` option, ``$LOCALCDAP_HOME``, the nearest folder upwards that has a
    ``localcdap.toml``, the user's data directory.
    """
    named = option or os.environ.get("LOCALCDAP_HOME")
    if named:
        return Home(Path(named))
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / SETTINGS_FILE).is_file():
            return Home(folder)
    import platformdirs

    return Home(platformdirs.user_data_path("localcdap"))


def shipped_plugins() -> Path:
    """The directory of the artifacts that come with localcdap (SYSTEM scope)."""
    return _shipped("plugins_dir")


def shipped_data() -> Path:
    """The directory of the sample data and pipelines that the demo uses."""
    return _shipped("data")


def _shipped(name: str) -> Path:
    """Inside the package when installed from a wheel, beside it in a source checkout."""
    package = Path(__file__).resolve().parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name
