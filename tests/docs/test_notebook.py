"""A notebook with fpgart in it, run by Jupyter's own kernel: activation, the magic of a cell, a report."""

from __future__ import annotations

from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="the extra `notebooks` is not installed")
nbclient = pytest.importorskip("nbclient", reason="the extra `notebooks` is not installed")
pytest.importorskip("ipykernel", reason="the extra `notebooks` is not installed")
pytest.importorskip("pyopencl")

CELLS = (
    "%load_ext fpgart\n%fpgart hetero",
    """
import numpy
import pyopencl as cl
import fpgart
fpgart.activate("hetero", trace=True)
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
program = cl.Program(context, "kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }").build()
line = numpy.arange(1024, dtype=numpy.int32)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, line.nbytes)
context.devices[0].name
""",
    """%%fpgart
cl.enqueue_copy(queue, buffer, line)
program.twice(queue, line.shape, None, buffer)
cl.enqueue_copy(queue, line, buffer)
assert line[5] == 10
""",
    "fpgart.report()",
    "fpgart.activate('usm_s10')  # too late: the driver has its boards",
)


def outputs(cell: Any, kind: str) -> list[Any]:
    return [output for output in cell.outputs if output.output_type == kind]


@pytest.mark.slow
def test_a_notebook_activates_boards_and_shows_reports_and_prints_nothing_else() -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbclient.NotebookClient(notebook, kernel_name="python3", allow_errors=True).execute()
    begin, device, magic, report, mistake = notebook.cells
    assert not outputs(begin, "error")
    assert not outputs(device, "error")
    (named,) = outputs(device, "execute_result")
    assert named.data["text/plain"] == "'hetero : fpgart'"
    (cell,) = [*outputs(magic, "execute_result"), *outputs(magic, "display_data")]
    assert cell.data["text/html"].count("<svg") == 1
    assert "twice" in cell.data["text/plain"]
    (whole,) = outputs(report, "execute_result")
    assert "buffers-table" in whole.data["text/html"]
    assert "buffer 1" in whole.data["text/plain"]
    (error,) = outputs(mistake, "error")
    assert error.ename.endswith("ActivationError")
    assert "restart the kernel" in error.evalue
    assert not [output for each in notebook.cells for output in outputs(each, "stream")]
