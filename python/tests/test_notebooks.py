"""The notebooks of the documentation run, and are kept without their outputs."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "clear the outputs before you commit"
    ran = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": tmp_path}}).execute()
    # The line of progress is of another kind.
    kinds = {"stream", "execute_result"}
    cells = [cell for cell in ran.cells if cell.cell_type == "code"]
    silent = [cell.source for cell in cells if not any(output.output_type in kinds for output in cell.outputs)]
    assert not silent, "each cell shows something"
    shown = [output for cell in ran.cells for output in cell.get("outputs", [])]
    pictures = [kind for output in shown for kind in output.get("data", {}) if kind in ("image/svg+xml", "text/html")]
    assert pictures, "a notebook shows at least one picture"
