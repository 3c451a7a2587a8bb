"""A whole cluster in one process and in virtual time, the same for the same seed.

Schedulers with their real core and shell, workers, users, and everything that goes wrong: see
`mischief`. What they leave in the log is judged by `verdict`.
"""
