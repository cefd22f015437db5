"""A process that updates a dataset whose type rewrites its files, until it is killed.

Each update has a number: in the properties, in the schema of the table and in every file.
"""

from __future__ import annotations

import sys
from pathlib import Path

from localcdap.datasets.model import DatasetRequest, DatasetUpdate
from localcdap.home import Home
from localcdap.host import open_in_process

NAME = "counted"
MODULE = '''
"""Files and a table that have the number of the last update."""
from localcdap.api.dataset.definition import DatasetAdmin, DatasetDefinition, dataset_type
from localcdap.api.dataset.specification import FolderLayout, StorageLayout, TableLayout
from localcdap.api.schema import Schema


class Admin(DatasetAdmin):
    def create(self):
        super().create()
        self.write()

    def update(self, old):
        super().update(old)
        self.write()

    def write(self):
        layout = self.definition.lay_out(self.specification)
        folder = self.storage.stage_folder(layout)
        for number in range(5):
            (folder / f"{number}.txt").write_text(self.specification.properties["number"])


@dataset_type("counted", description="Files with a number.")
class Counted(DatasetDefinition):
    admin_class = Admin

    def lay_out(self, specification):
        count = int(specification.properties["number"])
        fields = [("id", Schema.LONG)]
        fields += [(f"f{number}", Schema.LONG.as_nullable) for number in range(count)]
        table = TableLayout(Schema.record("r", fields), "id")
        return StorageLayout({specification.name: table}, FolderLayout(specification.name))
'''


def main(folder: Path) -> None:
    """Update the dataset again and again; print each number before and after."""
    with open_in_process(Home(folder)) as cdap:
        if not cdap.datasets.has_dataset("default", NAME):
            cdap.datasets.create(DatasetRequest(NAME, "counted", {"number": "0"}))
        number = int(cdap.datasets.describe("default", NAME).properties["number"])
        say("ready")
        while True:
            number += 1
            cdap.datasets.update(DatasetUpdate(NAME, {"number": str(number)}))
            say(str(number))


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
