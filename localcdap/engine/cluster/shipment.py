"""The code that the Python workers of a cluster need from this machine: localcdap's own and that of
artifacts.

It is sent as archives of the run's session, which Spark unpacks for its workers into a folder of
``sys.path``. There ``localcdap`` is found as a package, and an artifact's content by a relative path, see
:func:`localcdap.artifacts.loading.located`. Other sessions of the cluster do not see it.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import Distribution
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from localcdap.api.errors import EngineError
from localcdap.artifacts.model import PluginRef
from localcdap.engine.tasks.lookups import LookupFile

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


_IN_SPARK: Final = frozenset(("numpy", "pandas", "pyarrow", "pyspark"))
"""Packages that every cluster has that runs Python stages."""
_SUFFIXES_NOT_SENT: Final = frozenset(("..", "__pycache__"))
_REQUIREMENT: Final = re.compile(r"[\w.-]+")


def find_package_files(names: Iterable[str]) -> dict[str, Path]:
    """Return the files of packages, by their paths relative to a folder of ``sys.path``.

    :param names: as they are installed or as they are imported: ``jsonschema-rs``, ``jsonschema_rs``. A
        package that can be imported but was not installed is taken from its folder.
    :raises EngineError: when one is not found.
    """
    files: dict[str, Path] = {}
    seen: set[str] = set()
    wanted = list(names)
    while wanted:
        name = wanted.pop()
        if (key := re.sub(r"[-_.]+", "-", name).lower()) in seen:
            continue
        seen.add(key)
        distributions = list(_find_distributions(name))
        wanted.extend(each for found in distributions for each in _list_requirements(found))
        installed = dict(each for found in distributions for each in _list_installed_files(found))
        files |= installed or dict(_list_source_files(name))
    return files


def _find_distributions(name: str) -> Iterator[Distribution]:
    try:
        yield importlib.metadata.distribution(name)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        for found in importlib.metadata.packages_distributions().get(name, ()):
            yield importlib.metadata.distribution(found)


def _list_requirements(distribution: Distribution) -> Iterator[str]:
    """Yield unconditional requirements; users must name those that depend on extras or on the machine."""
    for requirement in distribution.requires or ():
        found = _REQUIREMENT.match(requirement)
        if found and ";" not in requirement and found[0].lower() not in _IN_SPARK:
            yield found[0]


def _list_installed_files(distribution: Distribution) -> Iterator[tuple[str, Path]]:
    """Yield the importable files; none for a distribution that only links to its sources."""
    files = [
        file for file in distribution.files or () if not _SUFFIXES_NOT_SENT.intersection(file.parts)
    ]
    if any(not _is_metadata(file.parts[0]) for file in files):
        for file in files:
            yield str(file), Path(str(distribution.locate_file(file)))


def _is_metadata(top: str) -> bool:
    return top.endswith((".dist-info", ".egg-info", ".pth")) or top.startswith("__editable__")


def _list_source_files(name: str) -> Iterator[tuple[str, Path]]:
    spec = importlib.util.find_spec(name) if name.isidentifier() else None
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        raise EngineError(
            f"There is no Python package '{name}' here that could be sent to a cluster.",
            "Install it where localcdap is installed, or remove it from 'packages' of the profile.",
        )
    origin = Path(spec.origin)
    if not spec.submodule_search_locations:
        yield origin.name, origin
        return
    for file in sorted(origin.parent.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield str(file.relative_to(origin.parent.parent)), file


_PACKAGE: Final = "localcdap"
_NOT_SENT: Final = frozenset(("__pycache__", "plugins_dir", "data", "cli", "tui", "server", "host"))
_LIBRARIES: Final = ("msgspec", "lark", "regex")
"""Packages that the sent code imports and a cluster that runs PySpark may lack."""
_CODE: Final = (".py", ".lark", ".txt")
_LIBRARY_FOLDER: Final = "localcdap_libraries"
_ROOT: Final = f'''
import sys
from pathlib import Path

# At the end: packages that the cluster has itself take precedence.
sys.path.append(str(Path(__file__).parent.parent / "{_LIBRARY_FOLDER}"))

from localcdap.moved import install

install()
'''
_OTHER_PYTHON: Final = re.compile(r"PYTHON_VERSION_MISMATCH.*?version:? ?\(?([0-9.]+)", re.DOTALL)


class Shipment:
    """The code that is sent to the cluster for one run.

    :param directory: for the archives; must exist.
    :param packages: Python packages that plugins import and the cluster lacks, as in
        :func:`~localcdap.engine.cluster.shipment.find_package_files`.
    """

    def __init__(self, spark: SparkSession, directory: Path, packages: Iterable[str] = ()) -> None:
        self._spark: Final = spark
        self._directory: Final = directory
        self._packages: Final = list(dict.fromkeys(packages))
        self._is_checked = False
        self._lookups: Final[dict[str, str]] = {}

    def send(self, plugins: Iterable[PluginRef]) -> None:
        """Send localcdap's own code, the packages, and the artifacts of plugins.

        :raises EngineError: when a package is not installed.
        """
        own = [self._pack_own_code(), self._pack_libraries()]
        needed = (each for plugin in plugins for each in (plugin, *plugin.uses))
        artifacts = [self._pack_artifact(p) for p in {p.digest: p for p in needed}.values()]
        self._spark.addArtifacts(*own, *artifacts, archive=True)

    def relocate(self, plugin: PluginRef) -> PluginRef:
        """Return a plugin with its path on a worker. The first call checks that workers can run plugins.

        :raises EngineError: when they cannot.
        """
        if not self._is_checked:
            self._probe_workers()
            self._is_checked = True
        path = f"{_get_artifact_folder(plugin)}/{Path(plugin.path).name}"
        return msgspec.structs.replace(plugin, path=path)

    def send_lookup_file(self, file: LookupFile) -> LookupFile:
        """Return a file for lookups with its path on a worker; the first call sends it."""
        if file.path not in self._lookups:
            folder = f"localcdap_lookup_{len(self._lookups)}"
            path = Path(file.path)
            archive = self._write_archive(folder, [(path, path.name)])
            self._spark.addArtifacts(archive, archive=True)
            self._lookups[file.path] = f"{folder}/{path.name}"
        return msgspec.structs.replace(file, path=self._lookups[file.path])

    def _probe_workers(self) -> None:
        from pyspark.errors import PySparkException

        try:
            rows = (
                self._spark.range(0, 1, 1, 1)
                .mapInArrow(_create_probe(), "problem string")
                .collect()
            )
        except PySparkException as error:
            raise _create_refused_error(str(error)) from error
        if rows[0][0]:
            raise EngineError(
                f"The Python workers of the cluster cannot run localcdap's code: {rows[0][0]}.",
                f"Their Python needs pyarrow and {', '.join(_LIBRARIES)}.",
            )

    def _pack_own_code(self) -> str:
        spec = importlib.util.find_spec(_PACKAGE)
        assert spec is not None
        assert spec.origin is not None
        root = Path(spec.origin).parent
        return self._write_archive(_PACKAGE, _list_own_files(root), {"__init__.py": _ROOT})

    def _pack_libraries(self) -> str:
        files = find_package_files((*_LIBRARIES, *self._packages))
        return self._write_archive(_LIBRARY_FOLDER, ((file, name) for name, file in files.items()))

    def _pack_artifact(self, plugin: PluginRef) -> str:
        path = Path(plugin.path)
        inside = ((file, f"{path.name}/{name}") for file, name in _list_files(path))
        files = [(path, path.name)] if path.is_file() else inside
        return self._write_archive(_get_artifact_folder(plugin), files)

    def _write_archive(
        self, folder: str, files: Iterable[tuple[Path, str]], texts: dict[str, str] | None = None
    ) -> str:
        """Write an archive; return it as ``addArtifacts`` takes it, to be unpacked into ``folder``."""
        path = self._directory / f"{folder}.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
            for file, name in files:
                archive.write(file, name)
            for name, text in (texts or {}).items():
                archive.writestr(name, text)
        return f"{path}#{folder}"


def _list_files(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of a folder with their relative paths."""
    for file in sorted(folder.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file, str(file.relative_to(folder))


def _list_own_files(root: Path) -> Iterator[tuple[Path, str]]:
    for entry in sorted(root.iterdir()):
        if entry.name in _NOT_SENT or entry.name == "__init__.py":
            continue
        for file in [entry] if entry.is_file() else sorted(entry.rglob("*.*")):
            if file.suffix in _CODE:
                yield file, str(file.relative_to(root))


def _get_artifact_folder(plugin: PluginRef) -> str:
    return f"localcdap_content_{plugin.digest[:20]}"


def _create_probe() -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    # Pickled with its code, so that it can report what is missing.
    def probe(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        problem = None
        try:
            import localcdap.engine.tasks.batch_functions
            import localcdap.engine.tasks.fused_pass

            assert localcdap.engine.tasks.batch_functions
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"problem": [problem] * batch.num_rows})

    return probe


def _create_refused_error(text: str) -> EngineError:
    other = _OTHER_PYTHON.search(text)
    here = ".".join(platform.python_version_tuple()[:2])
    if other is not None:
        return EngineError(
            f"The cluster's workers run Python {other[1]}, localcdap runs on Python {here}: Spark can "
            "run Python stages only where both are the same.",
            f"Use a cluster whose workers have Python {here}, or install localcdap with theirs.",
        )
    first = next((line.strip() for line in text.splitlines() if line.strip()), "no reason given")
    return EngineError(
        f"The Python workers of the cluster cannot run stages of this pipeline: {first}",
        f"They need Python {here} with pyarrow (see the cluster's log).",
    )
