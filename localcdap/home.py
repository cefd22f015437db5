"""The paths of localcdap: the files of an instance, and the shipped plugins and data.

Every path except those of users' files is defined here.
"""

from __future__ import annotations

import os
from pathlib import Path

SETTINGS_FILE = "localcdap.toml"


class Home:
    """The folder of one instance. Creating this object does not create the folder."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().absolute()

    @property
    def settings_file(self) -> Path:
        """The settings of the instance."""
        return self.path / SETTINGS_FILE

    @property
    def database(self) -> Path:
        """The DuckDB file, which only the host opens."""
        return self.path / "localcdap.duckdb"

    @property
    def backups(self) -> Path:
        """Copies of the database: made by users, before migrations, and of replaced databases."""
        return self.path / "backups"

    @property
    def runs(self) -> Path:
        """One sub-folder for each run, with its order, spool and log."""
        return self.path / "runs"

    @property
    def jobs(self) -> Path:
        """One sub-folder for each running job of a system application."""
        return self.path / "jobs"

    @property
    def previews(self) -> Path:
        """One sub-folder for each running preview."""
        return self.path / "previews"

    @property
    def engine(self) -> Path:
        """The endpoint, logs and temporary files of the local Spark server."""
        return self.path / "engine"

    @property
    def artifact_cache(self) -> Path:
        """Copies of valid artifacts by digest, which stay in use when an update is broken."""
        return self.path / "cache" / "artifacts"

    @property
    def app_files(self) -> Path:
        """The files of system applications, by application and namespace."""
        return self.path / "files"

    @property
    def file_sets(self) -> Path:
        """The files of file sets, by namespace and dataset."""
        return self.path / "filesets"

    @property
    def trash(self) -> Path:
        """The plugin folders of deleted namespaces; localcdap never deletes them."""
        return self.path / "trash"

    @property
    def client_files(self) -> Path:
        """The files that clients of the REST API keep, such as JARs, by namespace."""
        return self.path / "client-files"

    @property
    def server(self) -> Path:
        """The state of the REST server: its token, its process and its log."""
        return self.path / "server"

    @property
    def secrets_file(self) -> Path:
        """The values of secure keys on a system without a keyring; readable by its user only."""
        return self.path / "secrets.json"

    @property
    def reports(self) -> Path:
        """Crash reports: one file per internal error."""
        return self.path / "reports"

    def resolve(self, path: str) -> Path:
        """Resolve a path of the settings, which may be relative to this folder."""
        return self.path / Path(path).expanduser()


def find_home(option: str | None) -> Home:
    """Find the instance of a command.

    In this order: the ``--home`` option, ``$LOCALCDAP_HOME``, the nearest folder upwards with a
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


def find_shipped_plugins() -> Path:
    """Return the directory of the shipped artifacts (SYSTEM scope)."""
    return _find_shipped("plugins_dir")


def find_shipped_data() -> Path:
    """Return the directory of the sample data and pipelines of the demo."""
    return _find_shipped("data")


def _find_shipped(name: str) -> Path:
    """Return a shipped directory: inside the package of a wheel, next to it in a source checkout."""
    package = Path(__file__).resolve().parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name
