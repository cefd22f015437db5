"""Real data that scikit-learn ships, as CSV files."""

from __future__ import annotations

import csv
from pathlib import Path

_COLUMNS = 8


def write_tumours(file: Path) -> Path:
    """Write tumours of the breast (569 records), whose diagnosis is a class."""
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    names = [name.replace(" ", "_") for name in found.feature_names[:_COLUMNS]]
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow([*names, "diagnosis"])
        for values, target in zip(found.data, found.target, strict=True):
            row = [float(value) for value in values[:_COLUMNS]]
            writer.writerow([*row, ["malignant", "benign"][target]])
    return file


def write_diabetes(file: Path) -> Path:
    """Write patients (442 records), whose progression of diabetes after a year is a number."""
    from sklearn.datasets import load_diabetes

    found = load_diabetes(scaled=False)
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow([*found.feature_names, "progression"])
        for values, target in zip(found.data, found.target, strict=True):
            writer.writerow([*(float(value) for value in values), int(target)])
    return file
