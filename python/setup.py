"""The version is Longhand's; all else is in pyproject.toml."""

import pathlib

from setuptools import setup

setup(version=(pathlib.Path(__file__).resolve().parents[1] / "VERSION").read_text().strip())
