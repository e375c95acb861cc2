"""How a bench is run as a program: --build BUILD [--quick], in a folder of its own that is gone afterwards."""
import argparse
import pathlib
import shutil
import signal
import sys
import tempfile

from table import Table


def run(description, bench):
    """`bench(table, build, folder, quick)`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was begun is cleared up
    folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-bench-"))
    try:
        bench(Table(), options.build, folder, options.quick)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
