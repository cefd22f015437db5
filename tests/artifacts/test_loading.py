from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from localcdap.api.errors import PluginError
from localcdap.api.failures import ArtifactId
from localcdap.artifacts.directories.contents import compute_digest
from localcdap.artifacts.loading import list_module_names, load_artifact, load_plugin, mount
from localcdap.artifacts.model import PluginRef
from tests.artifacts.authoring import project, source, write

REPOSITORY = Path(__file__).resolve().parents[2]


def load(path: Path):
    return load_artifact(str(path), compute_digest(path))


def ref(path: Path, class_name: str) -> PluginRef:
    artifact = ArtifactId("hasher", "1.0.0", "USER")
    return PluginRef(artifact, str(path), compute_digest(path), "transform", "Hasher", class_name)


def test_single_file(tmp_path):
    path = write(tmp_path / "my-hasher-1.0.0.py", source())

    assert [cls.__name__ for cls in load(path)] == ["Hasher"]
    assert load_plugin(ref(path, "my_hasher.Hasher")) is load(path)[0]


def versioned(folder: Path, version: str) -> Path:
    """An artifact whose modules import each other in every way."""
    return project(
        folder,
        "hasher",
        version,
        {
            "hasher/__init__.py": "",
            "hasher/constants.py": f"VERSION = {version!r}\n",
            "hasher/deep/__init__.py": "",
            "hasher/deep/names.py": f"from ..constants import VERSION\nNAME = 'v' + {version!r}\n",
            "hasher_extras.py": f"EXTRA = 'extra ' + {version!r}\n",
            "hasher/plugin.py": source()
            + """
    relative = None

    def everything(self):
        import hasher.deep.names
        import hasher.deep.names as aliased
        import hasher_extras
        from hasher import constants
        from hasher.constants import VERSION
        from .deep import names
        return [
            hasher.deep.names.NAME, aliased.NAME, hasher_extras.EXTRA, constants.VERSION, VERSION,
            names.NAME,
        ]
""",
        },
    )


def test_two_versions_live_side_by_side(tmp_path):
    classes = [load(versioned(tmp_path / v, v)) for v in ("1.0.0", "2.0.0")]

    for version, (cls,) in zip(("1.0.0", "2.0.0"), classes, strict=True):
        assert cls(None).everything() == [
            f"v{version}",
            f"v{version}",
            f"extra {version}",
            version,
            version,
            f"v{version}",
        ]
    assert "hasher" not in sys.modules


def test_own_module_hides_an_installed_one_only_inside_the_artifact(tmp_path):
    path = project(
        tmp_path / "a",
        "a",
        "1.0.0",
        {
            "shelve.py": "MINE = 1\n",
            "plug.py": "import shelve\n" + source() + "    mine = shelve.MINE\n",
        },
    )

    (cls,) = load(path)
    import shelve

    assert cls.mine == 1
    assert not hasattr(shelve, "MINE")


def test_imported_plugin_classes_are_not_counted_twice(tmp_path):
    path = project(
        tmp_path / "a",
        "a",
        "1.0.0",
        {
            "pack/__init__.py": "from .hasher import Hasher\n",
            "pack/hasher.py": source() + "\nAlias = Hasher\n",
            "pack/special.py": "from .hasher import Hasher\nclass Special(Hasher): pass\n",
        },
    )

    assert [cls.__name__ for cls in load(path)] == ["Hasher"]


def test_tests_and_scripts_are_no_modules(tmp_path):
    path = project(
        tmp_path / "a",
        "a",
        "1.0.0",
        dict.fromkeys(
            [
                "pack/__init__.py",
                "pack/plugin.py",
                "pack/__main__.py",
                "pack/tests/__init__.py",
                "pack/test_plugin.py",
                "tests/test_all.py",
                "setup.py",
                "conftest.py",
                "docs/conf.py",
            ],
            "",
        ),
    )

    assert list_module_names(str(path)) == ["pack", "pack.plugin"]


def test_source_layout(tmp_path):
    files = {"src/pack/__init__.py": "", "src/pack/hasher.py": source(), "tool.py": "1/0"}

    assert [c.__name__ for c in load(project(tmp_path / "a", "a", "1.0.0", files))] == ["Hasher"]


def test_error_names_file_and_line_of_the_artifact(tmp_path):
    path = project(
        tmp_path / "a", "a", "1.0.0", {"p/__init__.py": "", "p/x.py": "def f():\n    1/0\nf()\n"}
    )

    with pytest.raises(PluginError, match="p/x.py:2 in f: ZeroDivisionError") as caught:
        load_plugin(ref(path, "p.x.Hasher"))

    assert caught.value.traceback == [
        "p/x.py:3 in <module>: f()",
        "p/x.py:2 in f: 1/0",
        "ZeroDivisionError: division by zero",
    ]


def test_missing_class(tmp_path):
    path = write(tmp_path / "hasher-1.0.0.py", source())

    with pytest.raises(PluginError, match="has no class hasher.Other"):
        load_plugin(ref(path, "hasher.Other"))


def test_another_process_unpickles_what_is_in_a_mounted_artifact(tmp_path):
    import pickle

    path = write(tmp_path / "hasher-1.0.0.py", source())
    pickled = pickle.dumps(load(path)[0])
    program = (
        "import pickle, sys; from localcdap.artifacts.loading import mount;"
        f"mount({str(path)!r}, {compute_digest(path)!r});"
        f"print(pickle.loads({pickled!r}).__name__, *(m for m in {HEAVY} if m in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "Hasher"


HEAVY = ("duckdb", "pyarrow", "pyspark", "pandas", "rapidfuzz", "psutil")


def test_mounting_again_is_the_same_namespace(tmp_path):
    path = write(tmp_path / "hasher-1.0.0.py", source())

    assert mount(str(path), "a" * 64) == mount(str(path), "a" * 64)
    assert mount(str(path), "b" * 64) != mount(str(path), "a" * 64)
