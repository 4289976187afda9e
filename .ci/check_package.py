"""Check the wheel and the source distribution in a folder, and install the wheel in a new venv.

Usage: python .ci/check_package.py dist
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "thinrank"

# Runs in the new environment, outside the repository.
PROGRAM = """
import tempfile
from importlib.resources import files
import thinrank as tr

X, Y, truth = tr.datasets.make_two_way_sparse(n_samples=60, n_features=20, n_targets=10, rank=2,
    row_sparsity=4, column_sparsity=5, random_state=0)
est = tr.SparseReducedRankRegressor().fit(X, Y)
assert est.rank_ >= 1, est.rank_
with tempfile.TemporaryDirectory() as folder:
    tr.save(est, folder + "/model")
    assert (tr.load(folder + "/model").predict(X) == est.predict(X)).all()
assert files("thinrank").joinpath("py.typed").is_file()
assert len(tr.datasets.load_norwegian_paper()) > 0
print("thinrank", tr.__version__, "in", tr.__path__[0])
"""


def main() -> None:
    """Check what ``python -m build`` left in a folder."""
    folder = Path(sys.argv[1])
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    check_contents(wheel, source)
    install(wheel.resolve())


def check_contents(wheel: Path, source: Path) -> None:
    """Both must have every file of the package, and the wheel nothing else."""
    wanted = {
        f"thinrank/{path.relative_to(PACKAGE).as_posix()}"
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    found = set(zipfile.ZipFile(wheel).namelist())
    packed = {name for name in found if ".dist-info/" not in name}
    fail_unless(not wanted - packed, "the wheel lacks", wanted - packed)
    fail_unless(not packed - wanted, "the wheel has files too many:", packed - wanted)
    information = {name.rpartition(".dist-info/")[2] for name in found - packed}
    needed = {"METADATA", "entry_points.txt", "licenses/LICENSE"}
    fail_unless(needed <= information, "the wheel lacks", needed - information)
    with tarfile.open(source) as archive:
        members = {name.partition("/")[2] for name in archive.getnames()}
    needed = {f"src/{name}" for name in wanted} | {"pyproject.toml", "README.md", "LICENSE"}
    fail_unless(needed <= members, "the source distribution lacks", needed - members)
    data = sorted(name for name in wanted if not name.endswith(".py"))
    print(f"{len(wanted)} files in the wheel, {len(data)} of them not Python:", *data, sep="\n  ")


def install(wheel: Path) -> None:
    """Install the wheel in a new environment and use it from there."""
    # only the new environment counts, not what the caller has on its path
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        programs = Path(folder) / ("Scripts" if os.name == "nt" else "bin")

        def run(*command: str) -> str:
            done = subprocess.run(
                [str(programs / command[0]), *command[1:]],
                cwd=folder,
                env=clean,
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
            return done.stdout.strip()

        run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
        run("python", "-m", "pip", "check")
        version = wheel.name.split("-")[1]
        printed = run("thinrank", "--version")
        fail_unless(version in printed, "thinrank --version printed", {printed})
        printed = run("python", "-c", PROGRAM)
        fail_unless(str(Path(folder).resolve()) in printed, "imported from elsewhere:", {printed})
        print(f"installed and used: {wheel.name}")


def fail_unless(condition: bool, message: str, names: set[str]) -> None:
    """End with a message that shows the first few names."""
    if not condition:
        sys.exit(f"{message} {', '.join(sorted(names)[:10])}")


if __name__ == "__main__":
    main()
