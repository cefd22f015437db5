"""Imports all Python files of a folder, and nothing else: ``python imports.py FOLDER``."""

import importlib.util
import sys
from pathlib import Path

for number, file in enumerate(sorted(Path(sys.argv[1]).glob("*.py"))):
    spec = importlib.util.spec_from_file_location(f"module_{number}", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
