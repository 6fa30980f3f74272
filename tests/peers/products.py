"""Measures the products of a training block alone: builds products.c for a level, and runs it with the libraries that
are found."""

import json
import os
import subprocess

WINDOW_SECONDS = 0.02  # there are nine windows of each contender for each of twelve products

# Search for OpenBLAS in the folders of wheels: SciPy's own package of it, or NumPy's bundled libraries.
FIND = """
import importlib.util, pathlib
for name, pattern in (("scipy_openblas32", "lib/*openblas*.so*"), ("numpy", "../numpy.libs/*openblas*.so*")):
    spec = importlib.util.find_spec(name)
    found = spec and sorted(pathlib.Path(spec.origin).parent.glob(pattern))
    if found:
        print(found[0].resolve())
        break
"""


def find_openblas(interpreters):
    """Returns the path of OpenBLAS; None: it is not found."""
    named = os.environ.get("OPENBLAS")
    if named:
        return named
    for python in dict.fromkeys(interpreters):
        try:
            found = subprocess.run([python, "-c", FIND], capture_output=True, text=True, check=False).stdout.strip()
        except OSError:
            continue
        if found:
            return found
    return None


def measure(root, sources, level, environment, interpreters):
    """Returns {"rows": lines of products.c, "skipped": messages about missing libraries}. sources: the sources of a
    trainer, whose tiles are used. environment: variables that restrict libraries to the level."""
    program = root / f"build/peers/products.{level}"
    library, skipped = find_openblas(interpreters), []
    build = subprocess.run(["make", "-s", f"build/peers/products.{level}", f"SOURCES={sources}"], cwd=root,
                           capture_output=True, text=True, check=False)
    if build.returncode != 0:
        return {"rows": [], "skipped": [f"products: they do not compile: {build.stderr.strip()[-300:]}"]}
    if library is None:
        skipped.append("OpenBLAS: no wheel has it; pip install scipy-openblas32, or name a library: OPENBLAS=...")
    process = subprocess.run([str(program), str(WINDOW_SECONDS)] + ([library] if library else []), text=True,
                             env=os.environ | environment | {"OPENBLAS_NUM_THREADS": "1"}, capture_output=True,
                             check=False)
    if process.returncode != 0:
        return {"rows": [], "skipped": skipped + [f"products: {process.stderr.strip()}"]}
    rows = [json.loads(line) for line in process.stdout.splitlines()]
    skipped += [f"OpenBLAS: {line}" for line in process.stderr.splitlines()]
    if all(row["libxsmm"] is None for row in rows):
        skipped.append("libxsmm: not found, or it makes no code here; apt-get install libxsmm-dev, or name the folder "
                       "that has include and lib: LIBXSMM=...")
    return {"rows": rows, "skipped": skipped}
