"""The scheduler: owns partitions of jobs and emits their runs exactly once."""
