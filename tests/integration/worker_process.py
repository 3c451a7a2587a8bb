"""A worker as a process of its own: `python worker_process.py`, settings from the environment."""

import os
import sys

from tocsin.logs import configure_logging
from tocsin.settings import load_settings
from tocsin_worker.service import run_worker

if __name__ == "__main__":
    configure_logging()
    sys.exit(run_worker(load_settings(os.environ)))
