"""What has to hold of a log and of local stores whatever happened; simulation and storm are judged
by the same rules."""
