"""One service as a process: `python -m tests.bench.service_process scheduler`.

The command line's own, except that it does not outlive the process that started it.
"""

import sys

from tests.bench.processes import die_with_parent
from tocsin_cli.main import main

if __name__ == "__main__":
    die_with_parent()
    main(sys.argv[1:])
