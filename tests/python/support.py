"""The test cases and imports that files of this folder share; puts the package longhand on the path."""

import importlib.util
import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))


def is_installed(package):
    return importlib.util.find_spec(package) is not None


def import_model(path):
    """Imports an exported model.py."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class FolderCase(unittest.TestCase):
    """Tests that each have a folder of their own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
