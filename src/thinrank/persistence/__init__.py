"""Saving and loading of fitted models: JSON and NumPy arrays, without pickle.

A model is a folder with two files, ``model.json`` and ``arrays.npz``. The user guide describes
them exactly, so that other programs can read them. Loading checks the files and runs nothing
that is in them.
"""

from thinrank.persistence.files import ModelFileError
from thinrank.persistence.model import load, read_extra, save

__all__ = ["ModelFileError", "load", "read_extra", "save"]
