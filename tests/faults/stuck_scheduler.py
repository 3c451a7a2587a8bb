"""A scheduler whose loop can be made to stand still: a module to run.

SIGUSR1 holds up the loop's thread for `STUCK_S` seconds, while the Kafka client's threads go on, as
behind a disk or a lock that does not answer.
"""

import os
import signal
import sys
from time import sleep

from tocsin.logs import configure_logging
from tocsin.settings import load_settings
from tocsin_scheduler.service import run_scheduler

if __name__ == "__main__":
    configure_logging()
    stuck_s = float(os.environ["STUCK_S"])
    signal.signal(signal.SIGUSR1, lambda *_: sleep(stuck_s))
    sys.exit(run_scheduler(load_settings(os.environ)))
