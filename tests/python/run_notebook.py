"""Runs the code cells of a notebook in their order, without Jupyter:

    python3 run_notebook.py NOTEBOOK [NAME=VALUE ...]

VALUE replaces the number in a line of a cell that sets NAME. The notebook writes into the working folder.
"""

import json
import pathlib
import re
import sys

notebook = json.loads(pathlib.Path(sys.argv[1]).read_text())
names = {"__name__": "__main__"}
for number, cell in enumerate(cell for cell in notebook["cells"] if cell["cell_type"] == "code"):
    source = "".join(cell["source"])
    for word in sys.argv[2:]:
        name, value = word.split("=")
        source = re.sub(rf"(?m)^{name} = [\d.]+", f"{name} = {value}", source)
    exec(compile(source, f"{sys.argv[1]}, code cell {number + 1}", "exec"), names)
