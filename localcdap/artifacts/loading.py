"""Loading the code of an artifact in any process: plugin worker, run process, Spark's Python workers.

Each artifact content has a private module namespace named after its digest, so that one process can load
two versions of a package. Inside it, modules import each other relatively, or absolutely by the artifact's
own top-level names; everything else is imported as usual. This module needs only the standard library and
``localcdap.api``.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import re
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeVar

from localcdap.api.app.application import APPLICATION_MARK, SystemApplication
from localcdap.api.dataset.definition import DATASET_TYPE_MARK, DatasetDefinition
from localcdap.api.errors import LocalcdapError, PluginError
from localcdap.api.plugin import PLUGIN_MARK, Plugin
from localcdap.artifacts.model import ApplicationRef, PluginRef
from localcdap.artifacts.version import split_file_name
from localcdap.moved import report_import

_SHOWN_FRAMES: Final = 30
_DUMPED: Final = re.compile(r'^  File "(.+)", line (\d+) in (.+)$', re.MULTILINE)


def user_frames(error: BaseException, path: Path) -> list[str]:
    """Return the frames of an exception in the artifact at ``path``, innermost last, and the exception.

    A frame is ``module.py:12 in method: source line``, the file relative to the artifact.
    """
    frames = [
        f"{_to_relative(frame.filename, path)}:{frame.lineno} in {frame.name}: {frame.line or ''}"
        for frame in _find_frames(error, path)[-_SHOWN_FRAMES:]
    ]
    return [*frames, _format_exception(error)]


def to_plugin_error(who: str, error: BaseException, path: Path) -> PluginError:
    """Return an exception of user code as a PluginError with the frames in the artifact at ``path``.

    :param who: the beginning of the message.
    """
    if isinstance(error, LocalcdapError):
        message, action = error.message, error.corrective_action
    else:
        message, action = f"{type(error).__name__}: {error}", None
    return PluginError(f"{who}: {message}", action, traceback=user_frames(error, path))


def parse_dumped_frames(dump: str, path: Path) -> list[str]:
    """Return the frames in the artifact at ``path`` from a dump of ``faulthandler``, innermost last."""
    # Only the last dump counts; it lists the innermost frame first.
    last = dump[max(dump.rfind("(most recent call first)"), 0) :]
    return [
        f"{_to_relative(found[1], path)}:{found[2]} in {found[3]}"
        for found in _DUMPED.finditer(last)
        if _is_inside(found[1], path)
    ][:_SHOWN_FRAMES][::-1]


def summarize_error(error: BaseException, path: Path) -> str:
    """Return ``module.py:12: ValueError: text`` with the innermost position in the artifact."""
    if isinstance(error, SyntaxError) and error.filename and _is_inside(error.filename, path):
        return f"{_to_relative(error.filename, path)}:{error.lineno}: {type(error).__name__}: {error.msg}"
    what = _format_exception(error)
    frames = _find_frames(error, path)
    if not frames:
        return what
    innermost = frames[-1]
    scope = "" if innermost.name == "<module>" else f" in {innermost.name}"
    return f"{_to_relative(innermost.filename, path)}:{innermost.lineno}{scope}: {what}"


def _find_frames(error: BaseException, path: Path) -> list[traceback.FrameSummary]:
    frames = traceback.extract_tb(error.__traceback__)
    return [frame for frame in frames if _is_inside(frame.filename, path)]


def _is_inside(filename: str, path: Path) -> bool:
    return Path(filename).is_relative_to(path)


def _to_relative(filename: str, path: Path) -> str:
    inner = Path(filename).relative_to(path)
    return path.name if inner == Path() else inner.as_posix()


def _format_exception(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error)).strip()


_PREFIX: Final = "localcdap_artifact_"
_NOT_CODE: Final = frozenset(("tests", "test", "docs", "examples", "build", "dist", "setup"))
_mounting: Final = threading.Lock()
_Class = TypeVar("_Class")


def load_plugin(ref: PluginRef) -> type[Plugin]:
    """Return the class of a plugin.

    :raises PluginError: when its module cannot be imported or has no such plugin.
    :raises MemoryError: when importing it takes more memory than there is.
    """
    return _load_class(ref, Plugin, "Plugin")


def load_dataset_type(ref: PluginRef) -> type[DatasetDefinition]:
    """Return the class of a dataset type.

    :raises PluginError: when its module cannot be imported or has no such type.
    :raises MemoryError: when importing it takes more memory than there is.
    """
    return _load_class(ref, DatasetDefinition, "Dataset type")


def load_application(ref: ApplicationRef) -> type[SystemApplication]:
    """Return the class of a system application.

    :raises Exception: what importing its module raises.
    """
    module, _, attribute = ref.application.class_name.rpartition(".")
    found: type[SystemApplication] = vars(import_module(ref.path, ref.digest, module))[attribute]
    return found


def _load_class(ref: PluginRef, base: type[_Class], kind: str) -> type[_Class]:
    module_name, _, attribute = ref.class_name.rpartition(".")
    where = f"{kind} '{ref.name}' of artifact {ref.artifact.name} {ref.artifact.version}"
    try:
        module = import_module(ref.path, ref.digest, module_name)
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        frames = user_frames(error, Path(ref.path))
        raise PluginError(
            f"{where} cannot be loaded: {summarize_error(error, Path(ref.path))}", traceback=frames
        ) from error
    found = vars(module).get(attribute)
    if not isinstance(found, type) or not issubclass(found, base):
        raise PluginError(f"{where} has no class {ref.class_name}.")
    return found


class UsedPlugins:
    """The plugins that a stage uses besides its own, by type and name.

    :param sent: the references for Spark's workers, which replace ``refs`` when the object is pickled.
    """

    def __init__(self, refs: Iterable[PluginRef], sent: Iterable[PluginRef] | None = None) -> None:
        self._refs: Final = {(ref.type, ref.name): ref for ref in refs}
        self._sent: Final = None if sent is None else list(sent)

    def __reduce__(self) -> tuple[Any, ...]:
        return UsedPlugins, (list(self._refs.values()) if self._sent is None else self._sent,)

    def __call__(self, type: str, name: str) -> type[Plugin] | None:
        """Return the class of a plugin; None when the stage's properties do not name it, or it does not
        exist.

        :raises PluginError: when it cannot be loaded.
        """
        ref = self._refs.get((type, name))
        return None if ref is None else load_plugin(ref)

    def list_names(self, type: str) -> list[str]:
        """Return the names of the plugins of a type."""
        return [name for found, name in self._refs if found == type]


def load_artifact(path: str, digest: str) -> list[type[Plugin]]:
    """Return the plugin classes of an artifact, in the order of its modules and of their definitions.

    :raises Exception: what importing one of the modules raises.
    """
    return [
        cls
        for name in list_module_names(path)
        for _, cls in find_plugin_classes(import_module(path, digest, name))
    ]


def import_module(path: str, digest: str, name: str) -> ModuleType:
    """Import one module of an artifact by the name that its own code uses for it."""
    return importlib.import_module(f"{mount(path, digest)}.{name}")


def list_module_names(path: str) -> list[str]:
    """Return the names of an artifact's modules that may contain plugins, as in its own code.

    For a folder these are the top-level modules and all modules in packages (below ``src`` if it exists),
    without tests.

    :param path: a ``.py`` file or a folder.
    """
    place = Path(path)
    if place.is_file():
        return [to_file_module_name(place)]
    return sorted(_find_modules(find_code_root(place), ""))


def find_plugin_classes(module: ModuleType) -> Iterator[tuple[str, type[Plugin]]]:
    """Return the plugin classes that a module defines itself, each with its name there."""
    return _find_marked_classes(module, Plugin, PLUGIN_MARK)


def find_application_classes(module: ModuleType) -> Iterator[tuple[str, type[SystemApplication]]]:
    """Return the system applications that a module defines itself, each with its name there."""
    return _find_marked_classes(module, SystemApplication, APPLICATION_MARK)


def find_dataset_type_classes(module: ModuleType) -> Iterator[tuple[str, type[DatasetDefinition]]]:
    """Return the dataset types that a module defines itself, each with its name there."""
    return _find_marked_classes(module, DatasetDefinition, DATASET_TYPE_MARK)


def is_artifact_module(name: str) -> bool:
    """Return whether a module of that name belongs to an artifact."""
    return name.startswith(_PREFIX)


def mount(path: str, digest: str) -> str:
    """Make the modules of an artifact importable, and return their package.

    Repeated calls are cheap. A process must mount an artifact before it unpickles objects of its plugins.

    :param path: a ``.py`` file or a folder whose content never changes while the digest is the same.
    """
    package = f"{_PREFIX}{digest[:20]}"
    if package not in sys.modules:
        with _mounting:
            if package not in sys.modules:
                finder = ArtifactFinder(package, locate_content(path))
                sys.meta_path.insert(0, finder)
                sys.modules[package] = finder.root_module()
    return package


def unmount(digest: str) -> None:
    """Forget the modules of an artifact; objects of its code stay as they are."""
    package = f"{_PREFIX}{digest[:20]}"
    sys.meta_path[:] = [
        each
        for each in sys.meta_path
        if not (isinstance(each, ArtifactFinder) and each.package == package)
    ]
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]


def locate_content(path: str) -> Path:
    """Return the path of a content; on a cluster its path is relative to a folder of ``sys.path``."""
    if Path(path).is_absolute():
        return Path(path)
    places = (Path(folder, path) for folder in sys.path)
    return next((place for place in places if place.exists()), Path(path))


def find_code_root(folder: Path) -> Path:
    """Return the folder with the top-level packages of a folder artifact."""
    source = folder / "src"
    return source if source.is_dir() and not (source / "__init__.py").exists() else folder


def to_file_module_name(file: Path) -> str:
    """Return the module name of a single-file artifact: the artifact's name as a Python identifier."""
    name = re.sub(r"\W", "_", split_file_name(file.stem)[0])
    return name if name.isidentifier() else f"_{name}"


def _find_modules(folder: Path, prefix: str) -> Iterator[str]:
    for entry in folder.iterdir():
        if not entry.stem.isidentifier() or entry.stem in _NOT_CODE:
            continue
        if entry.suffix == ".py" and not entry.stem.startswith(("test_", "conftest", "__")):
            yield prefix + entry.stem
        elif (entry / "__init__.py").is_file():
            yield prefix + entry.name
            yield from _find_modules(entry, f"{prefix}{entry.name}.")


def _find_marked_classes(
    module: ModuleType, base: type[_Class], mark: str
) -> Iterator[tuple[str, type[_Class]]]:
    seen: set[type] = set()
    for name, value in list(vars(module).items()):
        if not isinstance(value, type) or not issubclass(value, base) or value in seen:
            continue
        if mark in vars(value) and value.__module__ == module.__name__:
            seen.add(value)
            yield name, value


class ArtifactFinder(importlib.abc.MetaPathFinder):
    """Finds the modules of one artifact in its private namespace."""

    def __init__(self, package: str, path: Path) -> None:
        self.package = package
        self._single = path if path.is_file() else None
        self._root = path.parent if self._single else find_code_root(path)
        self.top_level_names = (
            _list_top_level_names(self._root) if not self._single else frozenset()
        )
        self._import = _own_import(package, self.top_level_names)

    def root_module(self) -> ModuleType:
        module = ModuleType(self.package)
        module.__path__ = [str(self._root)]
        module.__package__ = self.package
        return module

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(f"{self.package}."):
            return None
        if self._single:
            return self._find_single_spec(fullname)
        for folder in path or ():
            spec = importlib.machinery.FileFinder(folder, *self._get_loaders()).find_spec(fullname)
            if spec is not None:
                return spec
        return None

    def find_distributions(self, context: Any = None) -> Iterable[Any]:
        """Return the artifact's own metadata to ``importlib.metadata``, for calls of its own code only."""
        from importlib.metadata import DistributionFinder, MetadataPathFinder

        if (
            self._single
            or context is None
            or not _find_calling_module().startswith(f"{self.package}.")
        ):
            return ()
        name = context.name and context.name.removeprefix(f"{self.package}.")
        here = DistributionFinder.Context(name=name, path=[str(self._root)])
        return MetadataPathFinder.find_distributions(here)

    def _find_single_spec(self, fullname: str) -> importlib.machinery.ModuleSpec | None:
        assert self._single is not None
        if fullname != f"{self.package}.{to_file_module_name(self._single)}":
            return None
        loader = self._make_loader(fullname, str(self._single))
        return importlib.util.spec_from_file_location(fullname, self._single, loader=loader)

    def _get_loaders(self) -> list[tuple[Any, list[str]]]:
        return [
            (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES),
            (self._make_loader, importlib.machinery.SOURCE_SUFFIXES),
        ]

    def _make_loader(self, fullname: str, path: str) -> _ArtifactLoader:
        return _ArtifactLoader(fullname, path, self._import)


class _ArtifactLoader(importlib.machinery.SourceFileLoader):
    """Gives each module the import function of its artifact, which imports inside functions use too."""

    def __init__(self, fullname: str, path: str, own_import: Any) -> None:
        super().__init__(fullname, path)
        self._own_import = own_import

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__builtins__"] = vars(builtins) | {"__import__": self._own_import}
        super().exec_module(module)


def _own_import(package: str, top_level_names: frozenset[str]) -> Any:
    """Return an ``__import__`` that looks for the artifact's own top-level names in its namespace."""

    def own_import(
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        top = name.partition(".")[0]
        if level or top not in top_level_names:
            module = builtins.__import__(name, globals, locals, fromlist or (), level)
            if top == "localcdap" and not level:
                report_import(name, fromlist or ())
            return module
        # A from-list makes __import__ return the innermost module instead of the outermost.
        wanted = fromlist or ("__name__",)
        module = builtins.__import__(f"{package}.{name}", globals, locals, wanted, 0)
        return module if fromlist else sys.modules[f"{package}.{top}"]

    return own_import


def _find_calling_module() -> str:
    """Return the name of the module whose code called importlib."""
    from inspect import currentframe

    frame = currentframe()
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name != __name__ and not name.startswith("importlib"):
            return name
        frame = frame.f_back
    return ""


def _list_top_level_names(root: Path) -> frozenset[str]:
    return frozenset(
        entry.stem
        for entry in root.iterdir()
        if entry.name.isidentifier() or entry.suffix in (".py", ".so")
    )
