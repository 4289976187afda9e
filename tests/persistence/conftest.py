"""A saved model to damage."""

import shutil

import example_models
import pytest

import thinrank as tr


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A saved model; tests copy it."""
    path = tmp_path_factory.mktemp("original") / "model"
    tr.save(example_models.named_regressor()[0], path, extra={"note": "unharmed"})
    return path


@pytest.fixture
def folder(original, tmp_path):
    return shutil.copytree(original, tmp_path / "model")
