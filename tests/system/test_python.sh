# The Python package: specs, formulas and commands without a trainer. test_analyze.sh has the tests with a trainer,
# test_own_bias.sh the notebook.

. tests/system/common.sh

# The installed package finds its clone, and has its version.
installs() {
    mkdir "$work/clone" && cp -r python VERSION "$work/clone" && mkdir "$work/clone/generator" &&
        ln -s "$root/longhand" "$work/clone/longhand" && ln -s "$root/generator/main.lua" "$work/clone/generator" &&
        "$PYTHON" -m pip install -q --no-build-isolation --no-index --no-deps --target "$work/site" \
            "$work/clone/python" || return
    cd / && PYTHONPATH=$work/site "$PYTHON" -c '
import importlib.metadata, pathlib, sys, longhand
clone = pathlib.Path(sys.argv[1], "clone")
assert longhand.launcher.find_root() == clone, longhand.launcher.find_root()
version = (clone / "VERSION").read_text().strip().replace("-dev", ".dev0")
assert importlib.metadata.version("longhand") == longhand.__version__ == version
assert longhand.check("bucket_sort_rope")["id"] == "bucket_sort_rope"
' "$work"
}

expect_python python_writes_specs_and_runs_commands "$PYTHON" tests/python/test_specs.py
if has_python; then
    if "$PYTHON" -c 'import sys, importlib.util
sys.exit(not all(map(importlib.util.find_spec, ("pip", "setuptools", "wheel"))))'; then
        expect python_package_is_installed_by_pip installs
    else
        echo "skip python_package_is_installed_by_pip: no pip, setuptools and wheel"
    fi
fi
finish
