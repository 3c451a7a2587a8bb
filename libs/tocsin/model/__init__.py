"""What: jobs, runs, outcomes and the fold of the jobs topic, as frozen values (pure)."""
